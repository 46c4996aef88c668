#include "hippo/service/study/space_change.hpp"

#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/search/accepted_study.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/space/space_node.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

trial_history history_of(const study_books& books, trial_no no) {
  const auto& x = books.trials[no];
  trial_history result{.trial = no,
                       .results = {},
                       .has_failed = x.state == trial_state::failed,
                       .is_removed = x.removed};
  for (const auto& [step, values] : books.trials.results_of(no))
    result.results.push_back({step, books.trials.value_of(values)});
  return result;
}

/// Returns the study with another space: nothing else that goes by the first
/// one is left.
study_spec with_space(study_spec spec, const new_space& what) {
  spec.space = what.space;
  spec.prior = what.prior;
  spec.first.clear();
  spec.past.clear();
  return spec;
}

/// Returns the hyper-parameters of which two spaces have other values, by name.
std::vector<parameter_change_view> changes_between(const search_space& before,
                                                   const search_space& after) {
  const auto values_in = [](const search_space& x) {
    return x.empty() ? json::object() : x.root()->source;
  };
  const auto old = values_in(before), now = values_in(after);
  std::set<std::string> names;
  for (const auto* part : {&old, &now})
    for (const auto& entry : part->items())
      names.insert(entry.key());
  const auto text_in = [](const json& x, const std::string& name) {
    const auto i = x.find(name);
    return i == x.end()
             ? std::string{}
             : i->dump(-1, ' ', false, json::error_handler_t::replace);
  };
  std::vector<parameter_change_view> result;
  for (const auto& name : names)
    if (auto was = text_in(old, name), is = text_in(now, name); was != is)
      result.push_back({name, std::move(was), std::move(is)});
  return result;
}

} // namespace

expected<space_change> plan_change(const study_books& books,
                                   const command::set_space& command,
                                   const std::set<trial_no>& ended_fresh) {
  if (auto why = books.decisions.refusal_of_space())
    return *why;
  auto changed = with_space(books.spec(), command.what);
  search_settings search;
  if (const auto found = check_algorithm(changed, true, &search);
      !found.errors.empty()) {
    const auto& first = found.errors.front();
    return error{errc::invalid_argument, first.path + ": " + first.message};
  }
  if (auto why = refusal_of_draws(changed, search))
    return *why;
  std::vector<trial_no> fresh;
  for (trial_no no = 0; no < books.trials.size(); ++no)
    if (books.trials[no].withdrawn ? ended_fresh.contains(no)
                                   : !books.trials.is_begun(no))
      fresh.push_back(no);
  std::optional<std::uint64_t> whole;
  if (!changed.budget.trials)
    whole = search.options->trials;
  space_change result;
  result.plan = books.decisions.plan_space(
    std::move(changed), whole, fresh, default_values(books.options.workload));
  const auto& plan = result.plan;
  for (const auto& x : plan.tried)
    result.histories.push_back(history_of(books, x.trial));
  auto& view = result.view;
  view.changes = changes_between(books.spec().space, plan.changed.space);
  std::uint64_t begun = 0, withdrawn = 0, learned = 0;
  for (trial_no no = 0; no < books.trials.size(); ++no) {
    begun += books.trials.is_begun(no);
    withdrawn += books.trials[no].withdrawn;
  }
  for (const auto no : plan.withdrawn) {
    const bool was_added = no < books.trials.size() && books.trials[no].added;
    view.replaced += was_added;
    withdrawn += no >= books.trials.size() || !books.trials[no].withdrawn;
  }
  for (const auto& x : plan.tried)
    learned += books.trials.is_begun(x.trial);
  view.learned = learned;
  view.outside = begun - learned;
  view.imported = plan.past.size();
  view.trials = plan.trials - withdrawn - books.trials.removed();
  result.goes_on = books.has_ended() && plan.trials > books.decisions.added();
  return result;
}

} // namespace hippo
