// How a study tries again what has failed.

#include <utility>

#include "hippo/service/study/study_core.hpp"

namespace hippo {

std::optional<error> study_core::refusal_of_retry(trial_no no,
                                                  bool all) const {
  const auto name
    = "trial " + std::to_string(no) + " of study " + options_.stored.name;
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  if (no >= trials_.size())
    return refused("study " + options_.stored.name + " has no trial "
                   + std::to_string(no));
  const auto& x = trials_[no];
  if (x.state != trial_state::failed)
    return refused(name + " has not failed: it is " + to_string(x.state));
  if (!x.cause)
    return refused(name + " has failed, but not in training: " + x.failure);
  if (!all && !may_pass(*x.cause))
    return refused(name + " has failed for a reason that does not pass (--all "
                          "tries it all the same): "
                   + x.failure.substr(0, x.failure.find('\n')));
  return std::nullopt;
}

expected<std::vector<trial_no>>
study_core::retried_by(const command::retry& x) const {
  const auto& stored = options_.stored;
  if (has_ended() && !tuner_->done())
    return {errc::invalid_argument,
            "study " + stored.name + " was ended before it was done ("
              + to_string(stored.state)
              + (stored.reason.empty() ? "" : ": " + stored.reason)
              + "): submit it again to go on; what is known is not trained "
                "again"};
  std::vector<trial_no> result;
  if (!x.trials.empty()) {
    for (const auto no : x.trials)
      if (auto why = refusal_of_retry(no, x.all))
        return *why;
    result.assign(x.trials.begin(), x.trials.end());
    return result;
  }
  std::uint64_t failed = 0;
  for (trial_no no = 0; no < trials_.size(); ++no) {
    failed += trials_[no].state == trial_state::failed;
    if (!refusal_of_retry(no, x.all))
      result.push_back(no);
  }
  if (!result.empty() || was_given_up_)
    return result;
  if (failed == 0)
    return {errc::invalid_argument,
            "no trial of study " + stored.name + " has failed"};
  return {errc::invalid_argument,
          "the " + std::to_string(failed) + " trials of study " + stored.name
            + " that have failed did so for reasons that do not pass: they "
              "diverged, or three trainers said the same, or a client did"
            + (x.all ? "" : " (--all tries again what trainers said)")};
}

expected<command_answer> study_core::apply(const command::retry& x) {
  const auto trials = retried_by(x);
  if (!trials)
    return trials.failure();
  if (has_ended()) {
    enter(study_phase::running);
    end_is_announced_ = false;
  }
  was_given_up_ = false;
  only_failed_ = false; // whoever says so knows of it
  for (const auto no : *trials) {
    trials_.retry(no);
    const auto to = trials_[no].asked_to;
    tuner_->retry(no, to);
    unsaved_.insert(no);
    study_orders::request again{no, to, 0, false};
    again.again = true;
    orders_.asked.push_back(again);
  }
  command_answer result;
  result.retried = trials->size();
  return result;
}

} // namespace hippo
