#include "hippo/space/own_workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/study.hpp"
#include "hippo/space/value_reader.hpp"

namespace hippo {

namespace {

using kind = document::kind;

constexpr std::string_view args_prefix = "args.";
constexpr auto from_key = "from";

/// The largest seed, as for the built-in workloads.
constexpr std::uint64_t seed_max = 999'999'999'999;

const std::vector<std::string> kinds{python_workload, command_workload,
                                     files_workload};

/// Takes "./" off the front of a path.
std::string plain_path(std::string path) {
  while (path.starts_with("./"))
    path.erase(0, 2);
  return path;
}

/// Whether a program's name is that of a file beside the study.
bool is_file_beside(const std::string& program) {
  return program.front() != '/' && program.find('/') != std::string::npos;
}

/// A class as `python` names it.
struct class_name {
  std::string where; ///< FILE.py, or a module's name
  std::string name;  ///< empty: the only one in the file

  [[nodiscard]] bool is_file() const { return where.ends_with(".py"); }

  [[nodiscard]] std::string text() const {
    return name.empty() ? where : where + ':' + name;
  }
};

std::optional<class_name> parse_class(const std::string& text) {
  const auto colon = text.rfind(':');
  class_name result{plain_path(text.substr(0, colon)),
                    colon == text.npos ? "" : text.substr(colon + 1)};
  const bool is_whole = colon == text.npos ? result.is_file()
                                           : !result.name.empty();
  if (result.where.empty() || !is_whole)
    return {};
  return result;
}

class own_workload_reader {
public:
  own_workload_reader(const document& x, const study_code& code, bool typed,
                      diagnostics& notes)
    : x_(&x), code_(&code), typed_(typed), values_(notes) {}

  workload_spec read() {
    for (const auto& name : kinds)
      if (x_->find(name) != nullptr && result_.name.empty())
        result_.name = name;
    read_what_runs();
    read_listed_files();
    read_packages();
    read_rest();
    read_initial();
    find_unnamed_files();
    const auto* named = x_->find("python_executable");
    const auto& spoken_of = named != nullptr ? *named : *x_;
    request_.own = true;
    request_.where = spoken_of.where;
    request_.path = spoken_of.path;
    return std::move(result_);
  }

  [[nodiscard]] const code_request& request() const { return request_; }

private:
  [[nodiscard]] bool is(const char* name) const { return result_.name == name; }

  void read_what_runs() {
    std::vector<std::string> known{
      result_.name,      "args",  "seed",  "packages",
      "silence_seconds", "exact", "share", from_key};
    if (!is(files_workload))
      known.emplace_back("files");
    if (is(python_workload)) {
      known.emplace_back("python_executable");
      known.emplace_back("check");
      known.emplace_back("ranks");
    }
    values_.known_keys(*x_, "key", known);
    const auto& what = *x_->find(result_.name);
    if (is(python_workload))
      read_class(what);
    else if (is(command_workload))
      read_command(what);
  }

  void read_class(const document& x) {
    const auto text = values_.word(x);
    if (!text)
      return;
    const auto found = parse_class(*text);
    if (!found) {
      values_.notes().error(x, "must be FILE.py, FILE.py:CLASS, or "
                               "MODULE:CLASS of an installed package, found "
                                 + x.found());
      return;
    }
    result_.options["class"] = found->text();
    if (found->is_file())
      add_file(x, found->where);
    else
      installed_ = &x;
  }

  void read_command(const document& x) {
    auto words = values_.words(x);
    if (!words)
      return;
    auto& program = words->front();
    if (is_file_beside(program)) {
      add_program(x.items.front(), plain_path(program));
      program = "./" + plain_path(program);
    } else {
      installed_ = &x;
    }
    result_.options["command"] = nlohmann::json(*words).dump();
  }

  void read_listed_files() {
    const auto* list = x_->find("files");
    if (list == nullptr)
      return;
    const auto words = values_.words(*list);
    if (!words)
      return;
    if (is(files_workload))
      result_.options["program"] = "./" + plain_path(words->front());
    for (std::size_t i = 0; i < words->size(); ++i)
      if (i == 0 && is(files_workload))
        add_program(list->items[i], plain_path((*words)[i]));
      else
        add_file(list->items[i], plain_path((*words)[i]));
  }

  /// Makes a file part of the workload that is to be run.
  void add_program(const document& where, const std::string& path) {
    add_file(where, path);
    if (const auto file = code_->files.find(path);
        file != code_->files.end() && !file->second.executable)
      values_.notes().error(where, "the file cannot be run: chmod +x " + path);
  }

  /// Makes a file part of the workload.
  void add_file(const document& where, const std::string& path) {
    if (!is_code_path(path)) {
      values_.notes().error(where, "must be a path within the study's folder, "
                                   "found "
                                     + where.found());
      return;
    }
    request_.files.push_back(path);
    const auto file = code_->files.find(path);
    if (file != code_->files.end())
      result_.options[file_option(path)] = digest_of(file->second);
    else
      values_.notes().error(where, "there is no file " + path
                                     + " beside the study file");
  }

  /// All that is unpacked is in the key.
  void find_unnamed_files() {
    for (const auto& [path, file] : code_->files)
      if (!result_.options.contains(file_option(path)))
        values_.notes().error(*x_, "the study brings a file '" + path
                                     + "' that it does not name: name it under "
                                       "'files', or leave it out");
  }

  void read_packages() {
    std::set<std::string> sought;
    if (is(python_workload)) {
      request_.runs_python = true;
      sought = {"hippo-hpo", "python"};
    }
    if (const auto* x = x_->find("packages")) {
      if (x->type == kind::map)
        read_versions(*x);
      else if (!is(python_workload))
        values_.notes().error(*x, "must be a map of versions by name, found "
                                    + x->found());
      else if (x->type != kind::list || !x->items.empty())
        read_names(*x, sought);
    }
    for (const auto& name : sought)
      if (!result_.options.contains("version." + name)) {
        request_.packages.push_back(name);
        if (const auto i = code_->versions.find(name);
            i != code_->versions.end())
          result_.options["version." + name] = i->second;
      }
    if (installed_ != nullptr && x_->find("packages") == nullptr)
      values_.notes().error(
        *installed_, "what is installed already does not travel with the "
                     "study: name what decides its results under 'packages'");
  }

  void read_names(const document& x, std::set<std::string>& sought) {
    if (const auto words = values_.words(x))
      for (std::size_t i = 0; i < words->size(); ++i) {
        sought.insert((*words)[i]);
        check_package(x.items[i], (*words)[i]);
      }
  }

  void read_versions(const document& x) {
    for (const auto& entry : x.entries)
      if (const auto version = values_.word(entry.value))
        result_.options["version." + entry.key] = *version;
  }

  /// Whether whoever sent the study has such a package.
  void check_package(const document& where, const std::string& name) {
    const auto found = code_->versions.find(name);
    if (!code_->versions.empty()
        && (found == code_->versions.end() || found->second.empty()))
      values_.notes().error(where, "the interpreter has no package '" + name
                                     + "'; install it, or, if only trainers have "
                                       "it, give its version as 'name: "
                                       "version'");
  }

  void read_rest() {
    result_.options["seed"] = 1.0;
    if (const auto* x = x_->find("seed"))
      if (const auto seed = values_.whole(*x, 0, seed_max))
        result_.options["seed"] = static_cast<double>(*seed);
    if (const auto* x = x_->find("args"))
      if (values_.is_map(*x, "arguments"))
        read_args(*x, std::string{args_prefix});
    if (const auto* x = x_->find("python_executable"))
      request_.python = values_.word(*x).value_or("");
    const auto& python
      = code_->python.empty() ? request_.python : code_->python;
    if (!python.empty())
      result_.settings["python_executable"] = python;
    if (const auto* x = x_->find("silence_seconds"))
      if (const auto seconds = values_.positive(*x))
        result_.settings["silence_seconds"] = *seconds;
    if (const auto* x = x_->find("check"))
      if (!values_.truth(*x).value_or(true))
        result_.settings["check"] = 0.0;
    if (const auto* x = x_->find("ranks"); x != nullptr && is(python_workload))
      // One process is a workload as ever, and has the key of one.
      if (const auto ranks = values_.whole(*x, 1, ranks_max);
          ranks && *ranks > 1)
        result_.options["ranks"] = static_cast<double>(*ranks);
    read_exactness();
  }

  /// Makes the state that training starts from part of the workload.
  void read_initial() {
    const auto* x = x_->find(from_key);
    if (x == nullptr) {
      if (code_->initial)
        values_.notes().error(*x_, "the study brings an initial state that it "
                                   "does not name: name it under 'from', or "
                                   "leave it out");
      return;
    }
    request_.initial_where = x->where;
    request_.initial =
      x->type == kind::map ? read_trained_state(*x) : read_initial_path(*x);
    if (!request_.initial)
      return;
    if (code_->initial)
      result_.options[initial_option] = digest_of(*code_->initial);
    else
      values_.notes().error(*x,
                            "the initial state has not come with the study: "
                            "hippo submit, hippo run and the Python client "
                            "send it");
  }

  std::optional<initial_source> read_initial_path(const document& x) {
    const auto path = values_.word(x);
    if (!path)
      return {};
    return initial_source{*path, {}};
  }

  /// Reads `{study: NAME, trial: 3, step: 90}`.
  std::optional<initial_source> read_trained_state(const document& x) {
    values_.known_keys(x, "key", {"study", "trial", "step"});
    const auto* study = values_.required(x, "study");
    const auto* trial = values_.required(x, "trial");
    const auto* step = values_.required(x, "step");
    if (study == nullptr || trial == nullptr || step == nullptr)
      return {};
    const auto name = values_.word(*study);
    const auto no = values_.whole(*trial, 0, step_limit);
    const auto at = values_.whole(*step, 1, step_limit);
    if (!name || !no || !at)
      return {};
    return initial_source{{}, *name, *no, *at};
  }

  void read_args(const document& x, const std::string& prefix) {
    for (const auto& entry : x.entries) {
      const auto name = prefix + entry.key;
      const auto& value = entry.value;
      if (value.type == kind::map) {
        read_args(value, name + '.');
        continue;
      }
      const auto [first, is_new] = args_.emplace(name, &entry);
      if (!is_new)
        refuse_clash(entry, *first->second, name.substr(args_prefix.size()));
      else if (value.type == kind::leaf && !typed_)
        result_.options[name] = to_scalar(value);
      else if (value.type == kind::leaf)
        read_arg(value, name);
      else if (typed_)
        read_structure(value, name);
      else
        values_.notes().error(value,
                              "must be a number, a word or a map of such, found "
                                + value.found());
    }
  }

  /// Two arguments that code could not tell apart by their names.
  void refuse_clash(const document::entry& x, const document::entry& first,
                    const std::string& name) {
    values_.notes().error(
      x.where, x.value.path,
      "there are two arguments '" + name + "', since names of nested ones are "
        "joined by dots: this one and that of line "
        + std::to_string(first.where.line) + ", column "
        + std::to_string(first.where.column));
  }

  /// Reads an argument whose type is a part of it.
  void read_arg(const document& x, const std::string& name) {
    const auto errors = values_.notes().errors();
    const auto value = data_of(x);
    if (values_.notes().errors() != errors)
      return;
    auto& option = result_.options[name];
    option = to_scalar(x);
    const auto* word = std::get_if<std::string>(&option);
    const auto* number = std::get_if<double>(&option);
    const bool is_told
      = word != nullptr ? !reads_as_number(*word)
        : value.is_number_float()
          ? std::trunc(*number) != *number
          : value.is_number() && std::abs(*number) < whole_limit;
    if (!is_told)
      result_.exact[name] = value.dump();
  }

  /// Reads a list, or nothing, as an argument.
  void read_structure(const document& x, const std::string& name) {
    auto text = data_of(x).dump();
    result_.options[name] = x.type == kind::nothing ? std::string{} : text;
    result_.exact[name] = std::move(text);
  }

  /// Returns what code is given. Maps are sorted, so that equal ones are equal
  /// texts.
  nlohmann::json data_of(const document& x) {
    nlohmann::json result;
    switch (x.type) {
      case kind::nothing:
        break;
      case kind::leaf:
        result = x.meaning();
        if (!refuse_too_large(x, values_.notes()) && result.is_number_float()
            && !std::isfinite(result.get<double>()))
          values_.notes().error(x, "must be a finite number, found "
                                     + x.found());
        break;
      case kind::list:
        result = nlohmann::json::array();
        for (const auto& item : x.items)
          result.push_back(data_of(item));
        break;
      case kind::map:
        result = nlohmann::json::object();
        for (const auto& entry : x.entries)
          result[entry.key] = data_of(entry.value);
        break;
    }
    return result;
  }

  void read_exactness() {
    const auto* exact = x_->find("exact");
    const auto* share = x_->find("share");
    const bool is_claimed
      = exact == nullptr || values_.truth(*exact).value_or(true);
    if (!is_claimed)
      result_.options["exact"] = 0.0;
    if (share == nullptr)
      return;
    if (values_.word(*share) != "always")
      values_.notes().error(*share, "must be 'always', found "
                                      + share->found());
    else if (is_claimed)
      values_.notes().error(*share, "an exact workload is always shared: this "
                                    "goes with 'exact: false'");
    else
      result_.options["share"] = std::string{"always"};
  }

  const document* x_;
  const study_code* code_;
  bool typed_;
  value_reader values_;
  workload_spec result_;
  code_request request_;
  std::map<std::string, const document::entry*> args_; ///< read so far
  const document* installed_ = nullptr; ///< names what is not in its files
};

} // namespace

bool is_own_workload(const document& document) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& name) {
    return document.find(name) != nullptr;
  });
}

bool is_own_workload(const std::string& name) {
  return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
}

workload_spec read_own_workload(const document& document,
                                const study_code& code, bool typed,
                                diagnostics& notes) {
  return own_workload_reader{document, code, typed, notes}.read();
}

std::string to_text(const initial_source& source) {
  if (!source.path.empty())
    return source.path;
  return "trial " + std::to_string(source.trial) + " of study " + source.study
         + " at step " + std::to_string(source.step);
}

code_request requested_code(const std::string& text) {
  study_file ignored;
  diagnostics notes{"", ignored};
  const auto root = read_document(text, notes);
  const auto* workload = root ? root->find("workload") : nullptr;
  if (workload == nullptr || !is_own_workload(*workload))
    return {};
  const study_code none;
  own_workload_reader reader{*workload, none, true, notes};
  reader.read();
  return reader.request();
}

bool is_exact(const workload_spec& spec) {
  return !spec.options.contains("exact");
}

bool may_share(const workload_spec& spec) {
  return is_exact(spec) || spec.options.contains("share");
}

} // namespace hippo
