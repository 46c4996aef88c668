#include "hippo/net/client/decode.hpp"

#include <array>
#include <string_view>

#include "hippo/net/client/connection.hpp"

namespace hippo {

namespace {

constexpr std::array trial_states{
  trial_state::pending, trial_state::running,   trial_state::paused,
  trial_state::complete, trial_state::pruned, trial_state::failed,
  trial_state::cancelled};

trial_state state_of(std::string_view name) {
  for (const auto x : trial_states)
    if (name == to_string(x))
      return x;
  kj::throwFatalException(exception_of(
    errc::malformed_message, "the service speaks of a trial that is '"
                               + std::string{name}
                               + "', which this client does not know"));
}

metrics decode_metrics(capnp::List<schema::Metric>::Reader list) {
  metrics result;
  for (auto x : list)
    result[x.getName()] = x.getValue();
  return result;
}

} // namespace

study_summary decode(schema::StudyInfo::Reader x) {
  study_summary result;
  result.id = x.getId();
  result.name = x.getName();
  result.state = x.getState();
  result.reason = x.getReason();
  result.metric = x.getMetric();
  result.direction = x.getMaximize() ? direction::maximize
                                     : direction::minimize;
  result.weight = x.getWeight();
  result.algorithm = x.getAlgorithm();
  result.workload = x.getWorkload();
  result.trials = x.getTrials();
  result.finished = x.getFinished();
  result.asked_steps = x.getAskedSteps();
  result.delivered_steps = x.getDeliveredSteps();
  result.shared_steps = x.getSharedSteps();
  if (x.getBest().isTrial())
    result.best = decode(x.getBest().getTrial());
  result.active_seconds = x.getActiveSeconds();
  result.saved_seconds = x.getSavedSeconds();
  result.waiting = x.getWaiting();
  result.cost_seconds = x.getCostSeconds();
  result.stopped_seconds = x.getStoppedSeconds();
  if (x.getLeft().isSeconds())
    result.seconds_left = x.getLeft().getSeconds();
  result.cost = x.getCost();
  if (x.getCostMax() > 0)
    result.cost_max = x.getCostMax();
  if (x.getDeadline().isSeconds())
    result.deadline_left = x.getDeadline().getSeconds();
  result.needed = x.getNeeded();
  result.uid = x.getUid();
  result.front = x.getFront();
  return result;
}

trial_summary decode(schema::TrialInfo::Reader x) {
  trial_summary result;
  result.trial = x.getTrial();
  result.state = state_of(x.getState().cStr());
  result.params = x.getParams();
  result.asked_steps = x.getAskedSteps();
  result.steps = x.getSteps();
  result.shared_steps = x.getSharedSteps();
  if (x.getBest().isValue()) {
    const auto best = x.getBest().getValue();
    result.best = best_measurement{best.getStep(), best.getValue()};
  }
  result.failure = x.getFailure();
  result.chosen = x.getChosen();
  if (x.getPredicted().isValue())
    result.predicted = x.getPredicted().getValue();
  if (x.getUntrained().isSteps())
    result.untrained = x.getUntrained().getSteps();
  return result;
}

trainer_summary decode(schema::TrainerInfo::Reader x) {
  trainer_summary result;
  result.number = x.getNumber();
  result.name = x.getName();
  result.device = x.getDevice();
  result.lost = x.getLost();
  result.memory_bytes = x.getMemoryBytes();
  result.driver = x.getDriver();
  result.compute_capability = x.getComputeCapability();
  result.sick = x.getSick();
  result.machine = x.getMachine();
  result.unpriced = x.getUnpriced();
  result.price = x.getPrice();
  result.work_cost = x.getWorkCost();
  result.idle_cost = x.getIdleCost();
  result.notice_seconds = x.getNotice();
  result.failures = x.getFailures();
  result.failed = x.getFailed();
  result.held_up = x.getHeldUp();
  if (x.getLease().isRunning()) {
    const auto lease = x.getLease().getRunning();
    result.lease = lease_summary{lease.getWhat(), lease.getAt(), lease.getTo(),
                                 lease.getStepsPerSecond(),
                                 lease.getLanes()};
    for (const auto study : lease.getStudies())
      result.lease->studies.emplace_back(study);
  }
  return result;
}

study_event decode(schema::Event::Reader x) {
  using what_happened = study_event::what_happened;
  study_event result;
  result.id = x.getId();
  result.time = x.getTime();
  result.trial = x.getTrial();
  result.step = x.getStep();
  switch (x.which()) {
    case schema::Event::MEASURED:
      result.what = what_happened::measured;
      result.metrics = decode_metrics(x.getMeasured());
      return result;
    case schema::Event::FAILED:
      result.what = what_happened::failed;
      result.text = x.getFailed();
      return result;
    case schema::Event::COMMAND:
      result.what = what_happened::command;
      result.verb = x.getCommand().getVerb();
      result.text = x.getCommand().getText();
      return result;
    case schema::Event::CHOSEN:
      result.what = what_happened::chosen;
      result.text = x.getChosen();
      return result;
  }
  kj::throwFatalException(
    exception_of(errc::malformed_message,
                 "the service tells of an event of a kind that this client "
                 "does not know"));
}

trained_trial decode(std::uint64_t trial, schema::Progress::Reader x) {
  trained_trial result;
  result.trial = trial;
  result.state = state_of(x.getState().cStr());
  result.step = x.getStep();
  result.metrics = decode_metrics(x.getMetrics());
  result.failure = x.getFailure();
  return result;
}

void encode(const trial_outcome& x, schema::Outcome::Builder out) {
  out.setState(to_string(x.state));
  if (x.value)
    out.getValue().setMeasured(*x.value);
  out.setStep(x.step);
}

} // namespace hippo
