#include "hippo/space/study.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "hippo/base/limits.hpp"
#include "hippo/base/name.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/model/averaging.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/deadline_reader.hpp"
#include "hippo/space/first_trials.hpp"
#include "hippo/space/notify_reader.hpp"
#include "hippo/space/old_spellings.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/space/repeats_reader.hpp"
#include "hippo/space/space_reader.hpp"
#include "hippo/space/tags.hpp"
#include "hippo/space/together.hpp"
#include "hippo/space/value_reader.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

using kind = document::kind;

/// An option that workloads had once: it is read and dropped, so that it is
/// part of no workload key.
constexpr auto lanes_option = "lanes";

class study_reader : value_reader {
public:
  /// @param code that has come with the study
  study_reader(const document& root, const study_code& code, diagnostics& notes,
               const std::vector<workload_descriptor>& workloads,
               name_rules rules, bool typed)
    : value_reader(notes), root_(&root), code_(&code), notes_(&notes),
      workloads_(&workloads), rules_(rules), typed_(typed) {}

  study_spec read() {
    study_.file = notes_->file();
    collect_marks(*root_);
    known_keys(*root_, "key",
               {"study",       "tags",      "workload",   "objective",
                "constraints", "max_steps", "eval_every", "space",
                "prior",       "first",     "import",     "algorithm",
                "budget",      "stop_when", "seed",       "weight",
                "on_error",    "devices",   "repeats",    "notify"});
    read_name();
    if (const auto* x = root_->find("tags"))
      study_.tags = read_tags(*x, *notes_);
    read_workload();
    read_objective();
    if (const auto* x = root_->find("eval_every"))
      study_.objective.every = whole(*x, 1, step_limit).value_or(1);
    read_constraints();
    // Where the last step is not known, what can be checked without it is.
    study_.max_steps = read_steps().value_or(piece_limit);
    if (const auto* x = required(*root_, "space")) {
      const auto space = read_space(*x, reading(), limits(), *notes_);
      if (const auto* prior = root_->find("prior"); prior && space)
        study_.prior = read_prior(*prior, *space, *notes_);
      if (const auto* first = root_->find("first"); first && space)
        study_.first = read_first(*first, *space, *notes_);
      if (const auto* past = root_->find("import"); past && space)
        study_.past = read_past(*past, *space, study_.max_steps,
                                study_.objective.all(), *notes_);
      study_.space = search_space{space};
      if (const auto* known = limits())
        check_together(study_.space, study_.max_steps, *known, *notes_);
    }
    read_algorithm();
    read_budget();
    read_stop_rule();
    if (const auto* x = root_->find("seed"))
      study_.seed = whole(*x, 0, 999'999'999'999).value_or(0);
    if (const auto* x = root_->find("on_error"))
      read_on_error(*x);
    if (const auto* x = root_->find("repeats"))
      study_.repeats = read_repeats(*x, study_, *notes_);
    if (const auto* x = root_->find("notify"))
      study_.notify = read_notify(*x, study_, *notes_);
    if (const auto* x = root_->find("weight"))
      study_.weight = positive(*x).value_or(1);
    return std::move(study_);
  }

private:
  /// Notes where things stand that others check: of the space only itself, as
  /// all that is in it is told here.
  void collect_marks(const document& x) {
    study_.marks[x.path] = x.where;
    for (const auto& item : x.items)
      collect_marks(item);
    for (const auto& entry : x.entries)
      if (entry.value.path == "space")
        study_.marks["space"] = entry.value.where;
      else
        collect_marks(entry.value);
  }

  void read_name() {
    const auto* x = required(*root_, "study");
    if (x == nullptr)
      return;
    const auto name = word(*x);
    if (!name)
      return;
    if (const auto why = refused_study_name(*name, rules_))
      notes_->error(*x, *why + ", found " + x->found());
    study_.name = *name;
  }

  // -- workload --------------------------------------------------------------

  /// Whether any device may go on with what another has trained.
  bool read_devices() {
    const auto* x = root_->find("devices");
    if (x == nullptr)
      return false;
    const auto said = word(*x);
    if (said && *said != "one-kind" && *said != "any")
      notes_->error(*x, "must be one-kind or any, found '" + *said + "'");
    return said == "any";
  }

  void read_workload() {
    const auto* x = root_->find("workload");
    workload_ = x == nullptr ? find_descriptor("") : nullptr;
    study_.typed = x == nullptr && typed_;
    if (workload_ != nullptr || (x = required(*root_, "workload")) == nullptr)
      return;
    if (is_own_workload(*x)) {
      study_.typed = typed_;
      study_.workload = read_own_workload(*x, *code_, typed_, *notes_);
      study_.workload.any_device = read_devices();
      workload_ = find_descriptor(study_.workload.name);
      if (workload_ == nullptr)
        notes_->error(*x, "this service runs no code of its studies");
      check_workload(*x);
      return;
    }
    const auto* name = x;
    if (x->type != kind::leaf) {
      if (!is_map(*x, "'name' and the workload's options, or of 'python', "
                      "'command' or 'files' and what goes with it"))
        return;
      name = required(*x, "name");
    }
    if (name != nullptr)
      find_workload(*name);
    if (workload_ == nullptr)
      return;
    study_.workload.any_device = read_devices();
    for (const auto& option : workload_->options)
      study_.workload.options[option.name] = option.fallback;
    read_options(*x, "");
    check_options_together(*x, study_.workload, *workload_, *notes_);
    for (const auto& option : workload_->options)
      if (const auto i = study_.workload.options.find(option.name);
          option.left_out && i->second == option.fallback)
        study_.workload.options.erase(i);
    check_workload(*x);
  }

  /// Checks that the workload can travel to a trainer, wherever its parts are
  /// from: names are put together of keys, versions come from the client.
  void check_workload(const document& x) {
    const auto& spec = study_.workload;
    for (const auto* list : {&spec.options, &spec.settings}) {
      if (list->size() > max_workload_options)
        notes_->error(x, "has " + std::to_string(list->size())
                           + " options and files, of which "
                           + std::to_string(max_workload_options)
                           + " are allowed");
      for (const auto& [name, value] : *list)
        check_option(x, name, value);
    }
    if (const auto bytes = key_of(spec).size(); bytes > max_text_bytes)
      notes_->error(x, "its options come to " + std::to_string(bytes)
                         + " bytes, names and values together, of which "
                         + std::to_string(max_text_bytes)
                         + " are allowed; leave what is longer in a file of "
                           "the study");
  }

  void check_option(const document& x, const std::string& name,
                    const scalar& value) {
    const auto* word = std::get_if<std::string>(&value);
    const auto* number = std::get_if<double>(&value);
    if (const auto why = refused_name(name, rules_))
      notes_->error(x, "the name of its option '" + excerpt(name) + "' "
                         + *why);
    else if (const auto bad = word != nullptr
                                ? refused_text(*word, max_text_bytes)
                                : std::nullopt)
      notes_->error(x, "its option '" + excerpt(name) + "' " + *bad);
    else if (number != nullptr && !std::isfinite(*number))
      notes_->error(x, "its option '" + excerpt(name)
                         + "' must be a finite number or a word");
  }

  void find_workload(const document& x) {
    const auto name = word(x);
    if (!name)
      return;
    study_.workload.name = *name;
    std::vector<std::string> known;
    for (const auto& candidate : *workloads_)
      if (!candidate.open)
        known.push_back(candidate.name);
    if (std::find(known.begin(), known.end(), *name) != known.end())
      workload_ = find_descriptor(*name);
    else
      notes_->error(x, unknown_text("workload", *name, known));
  }

  const workload_descriptor* find_descriptor(const std::string& name) const {
    const auto i
      = std::find_if(workloads_->begin(), workloads_->end(),
                     [&](const auto& candidate) {
                       return candidate.name == name;
                     });
    return i == workloads_->end() ? nullptr : &*i;
  }

  /// Reads the options in a map of which all names begin with `prefix`.
  void read_options(const document& x, const std::string& prefix) {
    for (const auto& entry : x.entries) {
      if (prefix.empty() && entry.key == "name")
        continue;
      const auto name = prefix + entry.key;
      if (const auto* option = find_option(name))
        read_option(entry.value, *option);
      else if (name == lanes_option)
        notes_->warn(entry.where, entry.value.path,
                     "lanes means nothing any more: a trainer's --at-once "
                     "says how many leases it trains at once");
      else if (is_group(name + '.') && is_map(entry.value, "options"))
        read_options(entry.value, name + '.');
      else if (!is_group(name + '.'))
        unknown_option(entry, name);
    }
  }

  void read_option(const document& x, const parameter_descriptor& option) {
    if (x.type != kind::leaf) {
      notes_->error(x, "must be a number or a word, found " + x.found());
      return;
    }
    if (!options_seen_.insert(option.name).second) {
      notes_->error(x, "the option '" + option.name + "' is there twice");
      return;
    }
    auto value = option_value(x, option);
    if (auto reason = option.refuses(value)) {
      notes_->error(x, *reason + ", found " + x.found()
                         + (option.words.empty()
                              ? std::string{}
                              : did_you_mean(x.text, option.words)));
      return;
    }
    study_.workload.options[option.name] = std::move(value);
  }

  /// Reads a scalar as what the option is: a word may look like a number.
  static scalar option_value(const document& x,
                             const parameter_descriptor& option) {
    if (std::holds_alternative<std::string>(option.fallback))
      return x.text;
    auto value = to_scalar(x);
    if (auto* number = std::get_if<double>(&value); number && !option.integer)
      *number = canonical(*number);
    return value;
  }

  const parameter_descriptor* find_option(const std::string& name) const {
    for (const auto& x : workload_->options)
      if (x.name == name)
        return &x;
    return nullptr;
  }

  bool is_group(const std::string& prefix) const {
    return std::any_of(workload_->options.begin(), workload_->options.end(),
                       [&](const parameter_descriptor& x) {
                         return x.name.starts_with(prefix);
                       });
  }

  void unknown_option(const document::entry& entry, const std::string& name) {
    // A misspelt group is nearer to the group than to any option in it.
    std::vector<std::string> known;
    for (const auto& x : workload_->options)
      known.push_back(x.name);
    auto near = known;
    for (const auto& x : workload_->options)
      if (auto dot = x.name.find('.'); dot != std::string::npos)
        near.push_back(x.name.substr(0, dot));
    const auto guess = did_you_mean(name, near);
    notes_->error(entry.where, entry.value.path,
                  "unknown option '" + name + "' of " + workload_->name
                    + (guess.empty() ? "." : guess)
                    + " Allowed: " + list_of(known));
  }

  // -- the rest --------------------------------------------------------------

  void read_objective() {
    const auto* x = required(*root_, "objective");
    if (x == nullptr)
      return;
    std::vector<metric_goal> found;
    if (x->type != kind::list) {
      if (is_map(*x, "metric, direction"))
        read_goal(*x, found, {"metric", "direction", "average"});
      if (const auto* average = x->find("average"))
        read_average(*average);
    } else if (x->items.empty() || x->items.size() > goals_max) {
      notes_->error(*x, "must hold 1 to " + std::to_string(goals_max)
                          + " metrics, found "
                          + std::to_string(x->items.size()));
    } else {
      for (const auto& item : x->items)
        if (is_map(item, "metric, direction"))
          read_goal(item, found, {"metric", "direction"});
    }
    if (found.empty())
      return;
    study_.objective.metric = found.front().metric;
    study_.objective.direction = found.front().direction;
    study_.objective.further.assign(found.begin() + 1, found.end());
  }

  /// Reads the mean of weights that is measured: an option of the workload.
  void read_average(const document& x) {
    if (!is_map(x, "'of' and 'every'"))
      return;
    known_keys(x, "key", {"of", "every"});
    if (workload_ != nullptr && !workload_->averages) {
      notes_->error(x, "workload " + workload_->name
                         + " cannot measure the mean of weights: built-in "
                           "workloads and Python code with PyTorch can");
      return;
    }
    auto& options = study_.workload.options;
    if (const auto* of = required(x, "of"))
      if (const auto n = whole(*of, 2, averaged_max))
        options[averaged_option] = static_cast<double>(*n);
    if (const auto* every = required(x, "every"))
      if (const auto n = whole(*every, 1, step_limit))
        options[averaged_every_option] = static_cast<double>(*n);
  }

  /// @param known the keys that it may have
  void read_goal(const document& x, std::vector<metric_goal>& found,
                 const std::vector<std::string>& known) {
    known_keys(x, "key", known);
    auto& goal = found.emplace_back();
    if (const auto* metric = required(x, "metric"))
      read_metric(*metric, goal);
    const auto is_same = [&](const metric_goal& other) {
      return !goal.metric.empty() && other.metric == goal.metric;
    };
    if (std::any_of(found.begin(), found.end() - 1, is_same))
      notes_->error(x, "'" + goal.metric + "' is named twice");
    if (workload_ != nullptr && workload_->open)
      required(x, "direction"); // nobody else knows
    if (const auto* way = x.find("direction")) {
      const auto name = word(*way);
      if (name == "maximize")
        goal.direction = direction::maximize;
      else if (name == "minimize")
        goal.direction = direction::minimize;
      else if (name)
        notes_->error(
          *way, unknown_text("direction", *name, {"maximize", "minimize"}));
    }
  }

  void read_metric(const document& x, metric_goal& goal) {
    const auto name = word(x);
    if (!name)
      return;
    goal.metric = *name;
    if (const auto why = refused_name(*name, rules_))
      notes_->error(x, *why);
    if (const auto* metric = find_metric(x, *name))
      goal.direction = metric->better;
  }

  /// Returns the workload's metric of a name; null if it is not known, which is
  /// an error unless nobody knows.
  const metric_descriptor* find_metric(const document& x,
                                       const std::string& name) {
    if (workload_ == nullptr || workload_->open)
      return nullptr;
    std::vector<std::string> known;
    for (const auto& metric : workload_->metrics) {
      if (metric.name == name)
        return &metric;
      known.push_back(metric.name);
    }
    notes_->error(x, unknown_text("metric", name, known));
    return nullptr;
  }

  void read_constraints() {
    const auto* x = root_->find("constraints");
    if (x == nullptr)
      return;
    if (x->type != kind::list || x->items.empty()
        || x->items.size() > constraints_max) {
      notes_->error(*x, "must be a list of 1 to "
                          + std::to_string(constraints_max)
                          + " constraints such as 'ms <= 5', found "
                          + (x->type == kind::list
                               ? std::to_string(x->items.size())
                               : x->found()));
      return;
    }
    for (const auto& item : x->items)
      if (const auto text = word(item))
        read_constraint(item, *text);
  }

  void read_constraint(const document& x, const std::string& text) {
    // The last one: a metric may hold such a sign, a number does not.
    const auto below = text.rfind("<="), above = text.rfind(">=");
    const auto at = below == text.npos   ? above
                    : above == text.npos ? below
                                         : std::max(below, above);
    const auto trimmed = [](const std::string& part) {
      const auto begin = part.find_first_not_of(' ');
      const auto end = part.find_last_not_of(' ');
      return begin == std::string::npos ? std::string{}
                                        : part.substr(begin, end + 1 - begin);
    };
    metric_constraint result;
    result.metric = trimmed(text.substr(0, at));
    if (at == std::string::npos || result.metric.empty()) {
      notes_->error(x, "must be a metric, <= or >=, and a number, such as"
                       " 'ms <= 5', found "
                         + x.found());
      return;
    }
    result.is_at_most = text[at] == '<';
    if (const auto why = refused_name(result.metric, rules_))
      notes_->error(x, *why);
    find_metric(x, result.metric);
    auto number = x;
    number.text = trimmed(text.substr(at + 2));
    number.quoted = false;
    if (const auto limit = finite(number)) {
      result.limit = *limit;
      study_.objective.constraints.push_back(std::move(result));
    }
  }

  /// @returns how far a trial may be trained
  std::optional<step_t> read_steps() {
    const auto* x = required(*root_, "max_steps");
    has_length_ = x != nullptr;
    if (x == nullptr)
      return {};
    if (x->type != kind::map)
      return whole(*x, 1, step_limit);
    std::set<step_t> all;
    lengths_ = read_lengths(*x, all, *notes_);
    if (lengths_ == nullptr)
      return {};
    study_.several_lengths = {all.begin(), all.end()};
    return *all.rbegin();
  }

  [[nodiscard]] space_reading reading() const {
    return {study_.max_steps, study_.typed, false, has_length_, lengths_};
  }

  void read_algorithm() {
    const auto* x = root_->find("algorithm");
    if (x == nullptr)
      return;
    if (x->type == kind::leaf) {
      study_.algorithm.name = word(*x).value_or("");
      return;
    }
    if (x->type != kind::map || x->entries.size() != 1) {
      notes_->error(*x, "must be a word or a map with one key, found "
                          + (x->type == kind::map
                               ? std::to_string(x->entries.size()) + " keys"
                               : x->found()));
      return;
    }
    const auto& [name, where, body] = x->entries.front();
    study_.algorithm.name = name;
    if (body.type == kind::nothing || !is_map(body, "options"))
      return;
    for (const auto& option : body.entries)
      if (option.key == "resample" && option.value.type == kind::map)
        read_resample(option.value);
      else if (option.value.type == kind::leaf)
        study_.algorithm.options[option.key] =
          to_scalar(option.value);
      else
        notes_->error(option.value, "must be a number or a word, found "
                                      + option.value.found());
  }

  /// Reads what PBT draws anew, and how often.
  void read_resample(const document& x) {
    known_keys(x, "key", {"probability", "space"});
    auto& options = study_.algorithm.options;
    options["resample"] = resample_default;
    if (const auto* probability = x.find("probability"))
      if (const auto value = from_zero(*probability, 1))
        options["resample"] = *value;
    const auto* space = x.find("space");
    if (space == nullptr || !is_map(*space, "hyper-parameters"))
      return;
    if (space->entries.empty())
      notes_->error(*space, "must name the hyper-parameters that change, found "
                            "none");
    std::vector<std::string> known;
    for (const auto& name : study_.space.names())
      known.push_back(name);
    for (const auto& entry : space->entries) {
      auto& own = study_.algorithm.resample[entry.key];
      if (!known.empty()
          && std::find(known.begin(), known.end(), entry.key) == known.end()) {
        notes_->unknown_key(entry, "hyper-parameter", known);
        continue;
      }
      auto alone = *space; // one by one: each changes by itself
      alone.entries = {entry};
      own = search_space{
        read_space(alone, reading(), limits(), *notes_)};
      if (const auto why = study_.space.refuses(entry.key, own))
        notes_->error(entry.value, *why);
      if (own.names().size() > 1)
        notes_->error(entry.value, "must not bring further hyper-parameters: "
                                   "those of a trial stay the same");
    }
  }

  void read_on_error(const document& x) {
    const auto said = word(x);
    if (said && *said != "pause" && *said != "end" && *said != "continue")
      notes_->error(x, "must be pause, end or continue, found '" + *said + "'");
    study_.on_error = said == "end"        ? failure_policy::end
                      : said == "continue" ? failure_policy::go_on
                                           : failure_policy::pause;
  }

  void read_budget() {
    const auto* x = root_->find("budget");
    if (x == nullptr
        || !is_map(*x, "trials, steps, failed, seconds, device_hours, cost,"
                       " deadline"))
      return;
    known_keys(*x, "key",
               {"trials", "steps", "failed", "seconds", "device_hours", "cost",
                "deadline"});
    if (const auto* trials = x->find("trials"))
      study_.budget.trials = whole(*trials, 1, step_limit);
    if (const auto* steps = x->find("steps"))
      study_.budget.steps = whole(*steps, 1, budget_steps_max);
    if (const auto* failed = x->find("failed"))
      study_.budget.failed = whole(*failed, 1, step_limit);
    if (const auto* seconds = x->find("seconds"))
      study_.budget.seconds = positive(*seconds);
    if (const auto* hours = x->find("device_hours"))
      if (const auto value = positive(*hours))
        study_.budget.device_seconds = *value * 3600;
    if (const auto* cost = x->find("cost"))
      study_.budget.cost = positive(*cost);
    if (const auto* deadline = x->find("deadline"))
      study_.budget.deadline = read_deadline(*deadline, *notes_);
  }

  void read_stop_rule() {
    const auto* x = root_->find("stop_when");
    if (x == nullptr || !is_map(*x, "value, no_gain"))
      return;
    known_keys(*x, "key", {"value", "no_gain"});
    if (x->entries.empty())
      notes_->error(*x, "must hold value or no_gain, found nothing");
    if (const auto* value = x->find("value"))
      study_.stop_when.value = finite(*value);
    if (const auto* trials = x->find("no_gain"))
      study_.stop_when.no_gain = whole(*trials, 1, step_limit);
  }

  /// The workload with the limits that its options set, or null: they are not
  /// known.
  const workload_descriptor* limits() {
    if (workload_ == nullptr || workload_->open)
      return nullptr;
    limited_ = limited_by(*workload_, study_.workload);
    return &limited_;
  }

  const document* root_;
  const study_code* code_;
  diagnostics* notes_;
  const std::vector<workload_descriptor>* workloads_;
  name_rules rules_;
  bool typed_; ///< if it brings code
  bool has_length_ = false; ///< whether it says how long trials are
  std::shared_ptr<const space_node> lengths_; ///< if there are several
  const workload_descriptor* workload_ = nullptr;
  workload_descriptor limited_;
  std::set<std::string> options_seen_;
  study_spec study_;
};

} // namespace

goals objective::all() const {
  goals result{{{metric, direction}}, constraints};
  result.metrics.insert(result.metrics.end(), further.begin(), further.end());
  return result;
}

expected<std::string> read_study_text(const std::string& path) {
  const auto unreadable = [&]() -> error {
    return {errc::io_failed, path + ": cannot be read: "
                               + std::system_category().message(errno)};
  };
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return unreadable();
  // One byte more than allowed tells that a file is too large.
  std::string text(document_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || errno == EISDIR)
    return unreadable();
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

study_file read_study(const std::string& text, const std::string& name,
                      const std::vector<workload_descriptor>& workloads,
                      name_rules rules, bool typed) {
  study_file result;
  diagnostics notes{name, result};
  const auto parts = split(text);
  study_code code;
  if (!parts.code.empty() && text.size() > document_bytes_max) {
    notes.error({}, "", "is larger than 1 MiB with the files that it brings");
  } else if (!parts.code.empty()) {
    auto read = study_code_from_json(parts.code);
    if (!read)
      notes.error({}, "", read.failure().message);
    else
      code = std::move(*read);
  }
  if (auto root = read_document(parts.study, notes, "study", rules)) {
    rename_old_keys(*root, notes);
    auto study
      = study_reader{*root, code, notes, workloads, rules, typed}.read();
    if (code.initial)
      study.initial_path = code.initial->path;
    if (is_own_workload(study.workload.name))
      study.code = files_to_json(code);
    else if (!parts.code.empty())
      notes.error({}, "workload", "brings code, which a workload that does not "
                                  "name it cannot run");
    (notes.errors() == 0 ? result.study : result.draft) = std::move(study);
  }
  return result;
}

namespace {

/// Takes the length of a trial out of its values.
/// @returns it, or null after noting what is wrong
std::shared_ptr<const space_node>
take_length(document& values, const trial_lengths& lengths,
            diagnostics& notes) {
  std::string known;
  for (std::size_t i = 0; i < lengths.several.size(); ++i)
    if (i < 10 || i + 1 == lengths.several.size())
      known += (i == 0 ? "" : i > 10 ? ", ..., " : ", ")
               + std::to_string(lengths.several[i]);
  const auto entry
    = std::find_if(values.entries.begin(), values.entries.end(),
                   [](const auto& x) { return x.key == length_name; });
  if (entry == values.entries.end()) {
    notes.error(values, std::string{"'"} + length_name
                          + "' is missing: the study's trials have several "
                            "lengths, "
                          + known);
    return nullptr;
  }
  std::set<step_t> all;
  auto result = read_lengths(entry->value, all, notes);
  if (result != nullptr
      && (all.size() != 1
          || !std::binary_search(lengths.several.begin(),
                                 lengths.several.end(), *all.begin()))) {
    notes.error(entry->value, "must be one of the study's lengths, " + known
                                + ", found " + entry->value.found());
    result = nullptr;
  }
  values.entries.erase(entry);
  return result;
}

} // namespace

expected<trial_parameters>
read_parameters(const std::string& text, const trial_lengths& lengths,
                const workload_descriptor& workload, name_rules rules,
                bool typed) {
  study_file found;
  diagnostics notes{"", found};
  std::optional<search_space> space;
  if (auto root = read_document(text, notes, "trial", rules)) {
    space_reading how{lengths.max, typed, true};
    if (!lengths.several.empty())
      how.lengths = take_length(*root, lengths, notes);
    if (how.lengths != nullptr)
      how.max_steps = how.lengths->literal.get<step_t>();
    space = search_space{
      read_space(*root, how, workload.open ? nullptr : &workload, notes)};
  }
  auto why = joined_text(found.errors);
  if (why.empty() && space->size() != 1u)
    why = "the parameters of a trial leave nothing to choose: give one value"
          " for each";
  if (!why.empty())
    return {errc::invalid_argument, why};
  return space->at(0);
}

} // namespace hippo
