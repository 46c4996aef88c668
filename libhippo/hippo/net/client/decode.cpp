#include "hippo/net/client/decode.hpp"

#include "hippo/model/view/trial_states.hpp"
#include "hippo/net/client/connection.hpp"

namespace hippo {

namespace {

metrics decode_metrics(capnp::List<schema::Metric>::Reader list) {
  metrics result;
  for (auto x : list)
    result[x.getName()] = x.getValue();
  return result;
}

} // namespace

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
  result.state = trial_state_of(x.getState().cStr());
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
