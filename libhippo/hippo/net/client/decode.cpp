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

study_event decode(schema::Event::Reader reader) {
  using what_happened = study_event::what_happened;
  study_event result;
  result.id = reader.getId();
  result.time = reader.getTime();
  result.trial = reader.getTrial();
  result.step = reader.getStep();
  switch (reader.which()) {
    case schema::Event::MEASURED:
      result.what = what_happened::measured;
      result.metrics = decode_metrics(reader.getMeasured());
      return result;
    case schema::Event::FAILED:
      result.what = what_happened::failed;
      result.text = reader.getFailed();
      return result;
    case schema::Event::COMMAND:
      result.what = what_happened::command;
      result.verb = reader.getCommand().getVerb();
      result.text = reader.getCommand().getText();
      return result;
    case schema::Event::CHOSEN:
      result.what = what_happened::chosen;
      result.text = reader.getChosen();
      return result;
  }
  kj::throwFatalException(
    exception_of(errc::malformed_message,
                 "the service tells of an event of a kind that this client "
                 "does not know"));
}

trained_trial decode(std::uint64_t trial, schema::Progress::Reader reader) {
  trained_trial result;
  result.trial = trial;
  result.state = trial_state_of(reader.getState().cStr());
  result.step = reader.getStep();
  result.metrics = decode_metrics(reader.getMetrics());
  result.failure = reader.getFailure();
  return result;
}

void encode(const trial_outcome& ending, schema::Outcome::Builder out) {
  out.setState(to_string(ending.state));
  if (ending.value)
    out.getValue().setMeasured(*ending.value);
  out.setStep(ending.step);
}

} // namespace hippo
