#include "gateway/rpc_answers.hpp"

#include <variant>

namespace hippo {

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

void fill(schema::Event::Builder to, const stored_event& event) {
  to.setId(event.id);
  to.setTime(event.time);
  if (const auto* measured = std::get_if<trial_measured>(&event.what)) {
    to.setTrial(measured->trial);
    to.setStep(measured->at);
    fill(to.initMeasured(count(measured->values.size())), measured->values);
  } else if (const auto* failed = std::get_if<trial_failed>(&event.what)) {
    to.setTrial(failed->trial);
    to.setStep(failed->at);
    to.setFailed(to_text(failed->reason.message));
  } else if (const auto* chosen = std::get_if<trial_chosen>(&event.what)) {
    to.setTrial(chosen->trial);
    to.setChosen(to_text(chosen->what.why.how));
  } else {
    const auto& command = std::get<study_command>(event.what);
    to.setTrial(command.trial);
    to.setStep(command.at);
    auto said = to.initCommand();
    said.setVerb(to_string(command.what));
    said.setText(to_text(command.text));
  }
}

} // namespace hippo
