#include "packing.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "child_process.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// The interpreter of studies that name none.
constexpr auto usual_python = "python3";

/// Where a file of a folder really is, if symbolic links lead out of the folder
/// to it: it is not the folder's to give away.
std::optional<fs::path> place_outside(const fs::path& folder,
                                      const std::string& name) {
  std::error_code failed;
  const auto inside = fs::canonical(folder.empty() ? "." : folder, failed);
  const auto real = failed ? fs::path{} : fs::canonical(inside / name, failed);
  if (failed)
    return {}; // it is missing
  const auto parts = std::ranges::mismatch(inside, real);
  return parts.in1 == inside.end() ? std::nullopt : std::optional{real};
}

std::optional<code_file> read_code(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed))
    return {};
  std::ifstream in{path, std::ios::binary};
  code_file result;
  // One byte more than may travel tells that it is too much.
  result.bytes.resize(document_bytes_max + 1);
  in.read(result.bytes.data(),
          static_cast<std::streamsize>(result.bytes.size()));
  result.bytes.resize(static_cast<std::size_t>(in.gcount()));
  const auto mode = fs::status(path, failed).permissions();
  result.executable = (mode & fs::perms::owner_exec) != fs::perms::none;
  return in.bad() ? std::nullopt : std::optional{std::move(result)};
}

/// Asks an interpreter what it has.
expected<std::map<std::string, std::string>>
versions_of(const std::string& python,
            const std::vector<std::string>& packages) {
  std::vector<std::string> command{python, "-m", "hippo_hpo.workload_process",
                                   "--versions"};
  command.insert(command.end(), packages.begin(), packages.end());
  const auto said = run_program(command);
  if (said && said->exit_code == 0) {
    const auto read = nlohmann::json::parse(said->out, nullptr, false);
    if (read.is_object())
      return read.get<std::map<std::string, std::string>>();
  }
  auto why = said ? said->err : said.failure().message;
  while (!why.empty() && why.back() == '\n')
    why.pop_back();
  return {errc::invalid_study,
          python + " cannot run workloads: " + why.substr(why.rfind('\n') + 1)
            + ". Install Hippo's Python package for it (pip install ./python), "
              "or name another one under python_executable"};
}

/// Reads the initial state that a study names.
/// @param folder of the study file
expected<initial_state> read_initial(const initial_source& from,
                                     const fs::path& folder,
                                     const state_fetcher& fetch) {
  if (!from.path.empty() && !from.path.starts_with("s3://"))
    return read_initial_state((folder / from.path).string());
  if (!fetch)
    return {
      errc::invalid_argument,
      "this command fetches nothing from services and object stores, as "
      "hippo submit and hippo run do: give the path of a file or a "
      "folder; hippo export STUDY TRIAL --step STEP --weights FILE writes "
      "the state of a trial"};
  const auto path = fetch(from);
  return path ? read_initial_state(*path) : path.failure();
}

/// What of a study a proof is about beside its workload: whether it changes
/// within trials, of each hyper-parameter.
std::map<std::string, bool> claim_of(const study_spec& x) {
  constexpr std::uint64_t draws = 256;
  std::map<std::string, bool> varies;
  for (std::uint64_t i = 0; i < draws; ++i)
    for (const auto& [name, values] : x.space.sample(0, i).sequences) {
      const auto& pieces = values.pieces();
      auto& known = varies[name];
      known = known || pieces.size() > 1 || !pieces[0].shape.is_plateau();
    }
  return varies;
}

/// Whether what was proven of one study holds of another one of its workload:
/// what stays within a trial does no more than what changes.
bool covers(const nlohmann::json& proven,
            const std::map<std::string, bool>& claim) {
  return proven.is_object() && std::ranges::all_of(claim, [&](const auto& x) {
           const auto i = proven.find(x.first);
           return i != proven.end() && i->is_boolean()
                  && (i->template get<bool>() || !x.second);
         });
}

/// Returns where it is noted what was proven of a workload: a line of JSON for
/// each study.
fs::path marks_of(const workload_spec& x) {
  const auto variable = [](const char* name) {
    const char* const set = std::getenv(name);
    return fs::path{set != nullptr ? set : ""};
  };
  auto folder = variable("XDG_STATE_HOME");
  if (folder.empty())
    folder = variable("HOME") / ".local" / "state";
  return folder / "hippo" / "exact" / hash_text(key_of(x));
}

} // namespace

expected<std::string> pack_study(std::string text, const std::string& file,
                                 const state_fetcher& fetch) {
  const auto request = requested_code(text);
  if (!request.own || !split(text).code.empty())
    return text;
  const auto refused = [&](const std::string& why) {
    return error{errc::invalid_study,
                 to_text(diagnostic{file, request.where.line,
                                    request.where.column, request.path, why})};
  };
  const auto folder = fs::path{file}.parent_path();
  study_code code;
  for (const auto& name : request.files) {
    if (const auto place = place_outside(folder, name))
      return refused("the file '" + name + "' is a symbolic link that leads to "
                     + place->string() + ", out of the study file's folder, "
                       "and files from there do not travel: copy it into the "
                       "folder, or leave it where trainers find it and give "
                       "its path in 'args'");
    if (auto read = read_code(folder / name))
      code.files.emplace(name, std::move(*read));
  }
  if (auto why = check_files(code))
    return refused(why->message);
  if (request.initial) {
    auto state = read_initial(*request.initial, folder, fetch);
    if (!state)
      return error{
        errc::invalid_study,
        to_text(diagnostic{file, request.initial_where.line,
                           request.initial_where.column, "workload.from",
                           state.failure().message})};
    code.initial = std::move(*state);
  }
  if (request.runs_python) {
    code.python = request.python;
    if (code.python.find('/') != std::string::npos)
      code.python = fs::absolute(folder / code.python).lexically_normal();
    auto versions = versions_of(
      code.python.empty() ? usual_python : code.python, request.packages);
    if (!versions)
      return refused(versions.failure().message);
    code.versions = std::move(*versions);
  }
  auto packed = join({text, to_json(code)});
  if (packed.size() > document_bytes_max)
    return refused("the study and its files have more than "
                   + std::to_string(document_bytes_max)
                   + " bytes together: leave data where trainers find them, "
                     "and give their path in 'args'");
  return packed;
}

std::optional<initial_state> initial_state_in(const std::string& text) {
  const auto parts = split(text);
  if (parts.code.empty())
    return {};
  auto code = study_code_from_json(parts.code);
  return code ? std::move(code->initial) : std::nullopt;
}

void mark_exact(const study_spec& spec) {
  const auto path = marks_of(spec.workload);
  std::error_code ignored; // it is only a warning that comes back
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream{path, std::ios::app} << nlohmann::json(claim_of(spec)).dump()
                                     << '\n';
}

bool is_known_exact(const study_spec& spec) {
  if (!is_own_workload(spec.workload.name))
    return true;
  const auto claim = claim_of(spec);
  std::ifstream in{marks_of(spec.workload)};
  for (std::string line; std::getline(in, line);)
    if (covers(nlohmann::json::parse(line, nullptr, false), claim))
      return true;
  return false;
}

} // namespace hippo
