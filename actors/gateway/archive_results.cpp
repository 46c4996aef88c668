#include <set>
#include <utility>

#include "gateway/archive.hpp"
#include "gateway/stored_views.hpp"
#include "hippo/model/repeats.hpp"
#include "hippo/model/view/study_front.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/store/timing_views.hpp"
#include "hippo/store/trial_output.hpp"

// Single trials and times of an archive, and studies as they were submitted.

namespace hippo {

expected<trial_view> archive::best(study_id id) {
  const auto study = describe(id);
  if (!study)
    return study.failure();
  if (has_several_metrics(study->view))
    return {errc::invalid_argument,
            "study '" + study->view.name
              + "' has several metrics, and so no best trial: look at its"
                " front"};
  if (!study->view.best)
    return {errc::invalid_argument,
            "study '" + study->view.name + "' has no result yet"};
  return *study->view.best;
}

expected<archive::spreads>
archive::spreads_of(study_id study, const facts& known,
                    const std::set<std::pair<trial_no, step_t>>& results) {
  spreads result;
  if (known.seeds == 1)
    return result;
  const auto found = store_->load_summaries(study, results);
  if (!found)
    return found.failure();
  for (const auto& [where, values] : *found)
    if (const auto i = values.find(spread_of(known.metric)); i != values.end())
      result.emplace(where, i->second);
  return result;
}

expected<trained_trial> archive::progress(study_id study, trial_no trial,
                                          step_t step) {
  auto found = find_trial(*store_, study, trial);
  if (!found)
    return found.failure();
  trained_trial result;
  result.trial = trial;
  result.state = found->state;
  result.failure = std::move(found->failure);
  for (const auto at : {step, found->steps}) {
    auto values = store_->load_metrics(study, trial, at);
    if (!values)
      return values.failure();
    result.step = at;
    result.metrics = std::move(*values);
    if (!result.metrics.empty())
      break;
  }
  return result;
}

expected<std::vector<workload_timings_view>> archive::timings() {
  const auto all = store_->load_timings();
  if (!all)
    return all.failure();
  std::vector<workload_timings_view> result;
  for (const auto& x : *all)
    result.push_back(view_of(x));
  return result;
}

expected<study_spec> archive::spec_of(study_id id) {
  const auto study = store_->load_study(id);
  if (!study)
    return study.failure();
  auto read = admit_study(study->text, study->file, workloads_,
                          as_before(study->algorithm, study->typed));
  if (!read.study)
    return {errc::invalid_argument,
            "study '" + study->name
              + "' cannot be read any more: " + to_text(read.errors.front())};
  return read.study->spec();
}

} // namespace hippo
