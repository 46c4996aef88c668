#include "gateway/rpc_answers.hpp"

#include <variant>

namespace hippo {

void fill(schema::TrialInfo::Builder to, const stored_trial& trial) {
  to.setTrial(trial.trial);
  to.setState(to_string(trial.state));
  to.setParams(to_text(trial.params));
  to.setAskedSteps(trial.asked_to);
  to.setSteps(trial.steps);
  to.setSharedSteps(trial.shared);
  if (trial.best) {
    auto best = to.initBest().initValue();
    best.setStep(trial.best->step);
    best.setValue(trial.best->value);
  }
  to.setFailure(to_text(trial.failure));
  to.setChosen(to_text(trial.why.how));
  if (trial.why.predicted)
    to.getPredicted().setValue(*trial.why.predicted);
  if (trial.why.untrained)
    to.getUntrained().setSteps(*trial.why.untrained);
}

void fill(schema::StudyInfo::Builder to, const live_study_view& x) {
  const auto& study = x.stored.study;
  to.setId(number_of(study.id));
  to.setUid(to_text(x.stored.uid));
  to.setName(to_text(study.name));
  to.setState(to_string(study.state));
  to.setReason(to_text(study.reason));
  to.setMetric(to_text(study.metric));
  to.setMaximize(study.direction == direction::maximize);
  to.setWeight(study.weight);
  to.setAlgorithm(to_text(x.stored.algorithm));
  to.setWorkload(to_text(x.stored.workload_key));
  to.setTrials(x.stored.counts.trials);
  to.setFinished(x.stored.counts.finished);
  if (const auto& found = x.stored.counts.by_state;
      found.contains(to_string(trial_state::failed)))
    to.setFailed(found.at(to_string(trial_state::failed)));
  to.setAskedSteps(x.stored.counts.asked_steps);
  to.setDeliveredSteps(x.stored.counts.delivered_steps);
  to.setSharedSteps(x.stored.counts.shared_steps);
  if (x.stored.best)
    fill(to.initBest().initTrial(), *x.stored.best);
  to.setActiveSeconds(x.active_seconds);
  to.setSavedSeconds(x.stored.saved_seconds);
  to.setWaiting(to_text(x.waiting));
  to.setCostSeconds(x.stored.cost_seconds);
  to.setStoppedSeconds(x.stored.stopped_seconds);
  if (x.seconds_left)
    to.getLeft().setSeconds(*x.seconds_left);
  to.setCost(study.cost);
  to.setCostMax(x.stored.cost_max.value_or(0));
  if (x.deadline_left)
    to.getDeadline().setSeconds(*x.deadline_left);
  to.setNeeded(to_text(x.needed));
  to.setFront(to_text(x.stored.front));
}

void fill(capnp::List<schema::Metric>::Builder to, const metrics& xs) {
  capnp::uint i = 0;
  for (const auto& [name, value] : xs) {
    auto y = to[i++];
    y.setName(to_text(name));
    y.setValue(value);
  }
}

void fill(capnp::List<capnp::Text>::Builder to,
          const std::vector<std::string>& xs) {
  for (capnp::uint i = 0; i < xs.size(); ++i)
    to.set(i, to_text(xs[i]));
}

void fill(schema::Event::Builder to, const stored_event& x) {
  to.setId(x.id);
  to.setTime(x.time);
  if (const auto* measured = std::get_if<trial_measured>(&x.what)) {
    to.setTrial(measured->trial);
    to.setStep(measured->at);
    fill(to.initMeasured(count(measured->values.size())), measured->values);
  } else if (const auto* failed = std::get_if<trial_failed>(&x.what)) {
    to.setTrial(failed->trial);
    to.setStep(failed->at);
    to.setFailed(to_text(failed->reason.message));
  } else if (const auto* chosen = std::get_if<trial_chosen>(&x.what)) {
    to.setTrial(chosen->trial);
    to.setChosen(to_text(chosen->what.why.how));
  } else {
    const auto& command = std::get<study_command>(x.what);
    to.setTrial(command.trial);
    to.setStep(command.at);
    auto said = to.initCommand();
    said.setVerb(to_string(command.what));
    said.setText(to_text(command.text));
  }
}

void fill(schema::TrainerInfo::Builder to, const trainer_view& x) {
  to.setNumber(x.trainer.number);
  to.setName(to_text(x.trainer.name));
  to.setDevice(to_text(x.trainer.device));
  to.setLost(to_text(x.gone()));
  to.setMemoryBytes(x.trainer.memory_bytes);
  to.setDriver(to_text(x.trainer.driver));
  to.setComputeCapability(to_text(x.trainer.compute_capability));
  to.setSick(to_text(x.trainer.sick));
  to.setMachine(to_text(x.trainer.machine));
  to.setUnpriced(to_text(x.trainer.unpriced));
  to.setPrice(x.trainer.price);
  to.setWorkCost(cost_of(x.trainer.price, x.trainer.work_seconds));
  to.setIdleCost(cost_of(x.trainer.price, x.trainer.idle_seconds));
  to.setNotice(x.trainer.notice_seconds);
  to.setFailures(x.trainer.failures);
  to.setFailed(to_text(x.trainer.failed));
  to.setHeldUp(to_text(x.trainer.held_up));
  if (!x.lease)
    return;
  auto lease = to.initLease().initRunning();
  lease.setWhat(to_text(x.what));
  lease.setAt(x.lease->at);
  lease.setTo(x.lease->to);
  lease.setStepsPerSecond(x.lease->steps_per_second);
  lease.setLanes(x.lanes);
  auto studies = lease.initStudies(count(x.studies.size()));
  for (std::size_t i = 0; i < x.studies.size(); ++i)
    studies.set(count(i), to_text(x.studies[i]));
}

} // namespace hippo
