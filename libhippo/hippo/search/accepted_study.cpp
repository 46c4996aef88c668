#include "hippo/search/accepted_study.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/search/automatic.hpp"
#include "hippo/search/registry.hpp"

namespace hippo {

diagnostic locate(const study_spec& spec, const std::string& path,
                  const std::string& message) {
  diagnostic result;
  result.file = spec.file;
  for (auto at = path; !at.empty();) {
    if (auto i = spec.marks.find(at); i != spec.marks.end()) {
      result.line = i->second.line;
      result.column = i->second.column;
      break;
    }
    const auto dot = at.rfind('.');
    at = dot == std::string::npos ? std::string{} : at.substr(0, dot);
  }
  result.path = path;
  result.message = message;
  return result;
}

namespace {

/// Whether a text leaves the algorithm to us.
bool is_left_open(const study_spec& x) {
  return !x.marks.contains("algorithm")
         || x.algorithm.name == automatic_name;
}

/// Refuses budgets that nobody could keep to.
void check_budget(const study_spec& x, const admission& how,
                  std::vector<diagnostic>& errors) {
  const auto& cost = x.budget.cost;
  const auto& deadline = x.budget.deadline;
  if (cost && !how.no_prices.empty())
    errors.push_back(locate(x, "budget.cost", how.no_prices));
  if (deadline && !deadline->seconds && how.now && deadline->time <= *how.now)
    errors.push_back(locate(x, "budget.deadline",
                            deadline->text + " is past: say when it is to have "
                                             "ended, or how long it may take"));
}

/// How many hyper-parameters a study does not mention.
std::uint64_t further_of(const study_spec& x,
                         const std::vector<workload_descriptor>& workloads) {
  const auto mentioned = x.space.names();
  for (const auto& y : workloads)
    if (y.name == x.workload.name)
      return static_cast<std::uint64_t>(
        std::ranges::count_if(y.hyper_parameters, [&](const auto& z) {
          return !z.left_out && !mentioned.contains(z.name);
        }));
  return 0;
}

} // namespace

admission as_before(std::string chosen, bool typed) {
  admission result{true, std::move(chosen), name_rules::of_before};
  result.typed = typed;
  return result;
}

std::uint64_t accepted_study::first_bytes() const {
  auto trials = std::min(spec_.trials_ahead,
                         spec_.budget.trials.value_or(spec_.trials_ahead));
  if (search_.algorithm->by_clients)
    trials = 1;
  else if (spec_.algorithm.name == "grid")
    trials = std::min(trials, spec_.space.size().value_or(trials));
  // The text is there as it was read, too.
  return 2 * text_.size() + trials * cost_.bytes();
}

std::optional<error> accepted_study::restore(const std::string& chosen,
                                             std::uint64_t trials_ahead) {
  assert(trials_ahead > 0);
  spec_.trials_ahead = trials_ahead;
  if (chosen == chosen_)
    return std::nullopt;
  if (auto why = restore_algorithm(chosen))
    return why;
  const auto found = check_algorithm(spec_, true, &search_);
  if (!found.errors.empty())
    return error{errc::invalid_argument, found.errors.front().message};
  return std::nullopt;
}

std::optional<error>
accepted_study::restore_algorithm(const std::string& chosen) {
  if (chosen.empty()) {
    // Before there was `auto`, no algorithm was `random`.
    if (!spec_.marks.contains("algorithm"))
      spec_.algorithm = {};
  } else {
    auto read = algorithm_from_json(chosen);
    if (!read)
      return read.failure();
    spec_.algorithm = std::move(*read);
  }
  chosen_ = chosen;
  return std::nullopt;
}

study_admission admit_study(const std::string& text, const std::string& name,
                            const std::vector<workload_descriptor>& workloads,
                            admission how) {
  auto read = read_study(text, name, workloads, how.names, how.typed);
  study_admission result{std::nullopt, std::move(read.errors),
                         std::move(read.warnings), {}};
  if (read.draft) {
    // Of the rest an algorithm's options follow; its size, say, does not.
    for (const auto& x : check_algorithm(*read.draft, how.has_clients).errors)
      if (x.path.starts_with("algorithm."))
        result.errors.push_back(locate(*read.draft, x.path, x.message));
  }
  if (!read.study)
    return result;
  const auto cost = cost_of_trial(*read.study,
                                  further_of(*read.study, workloads));
  accepted_study study{std::move(*read.study), text, cost};
  auto& spec = study.spec_;
  study.keep_to(open_trials_bytes_max);
  if (how.chosen) {
    if (const auto why = study.restore_algorithm(*how.chosen)) {
      result.errors.push_back(locate(spec, "algorithm", why->message));
      return result;
    }
  } else if (is_left_open(spec) && spec.algorithm.options.empty()) {
    auto [algorithm, why] = choose_algorithm(spec, how.trainers);
    spec.algorithm = std::move(algorithm);
    study.chosen_ = to_json_text(spec.algorithm);
    result.notes.push_back(
      locate(spec, "algorithm", study.chosen_ + ", since " + why));
  }
  check_budget(spec, how, result.errors);
  const bool is_new = !how.chosen;
  const auto found = check_algorithm(spec, how.has_clients, &study.search_);
  for (const auto& x : found.errors)
    result.errors.push_back(locate(spec, x.path, x.message));
  for (const auto& x : found.warnings)
    result.warnings.push_back(locate(spec, x.path, x.message));
  if (is_new && found.errors.empty())
    if (const auto why = refusal_of_draws(spec, study.search_))
      result.errors.push_back(
        locate(spec, "algorithm." + spec.algorithm.name + ".candidates",
               why->message));
  if (result.errors.empty())
    result.study = std::move(study);
  return result;
}

std::optional<error> refusal_of_draws(const study_spec& study,
                                      const search_settings& search) {
  const auto leaves = study.space.leaves();
  const auto draws = draws_per_trial(search, leaves);
  if (draws <= draws_per_trial_max)
    return std::nullopt;
  return error{
    errc::invalid_argument,
    std::to_string(search.sampling->candidates()) + " candidates of "
      + std::to_string(leaves) + " choices and ranges are "
      + std::to_string(draws) + " draws for each trial, and at most "
      + std::to_string(draws_per_trial_max) + " may be: say candidates: "
      + std::to_string(std::max<std::uint64_t>(draws_per_trial_max / leaves, 1))
      + ", or fewer"};
}

} // namespace hippo
