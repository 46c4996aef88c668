#include "gateway/rpc_steering.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace hippo {

namespace {

using verb = study_command::verb;
using json = nlohmann::ordered_json;

std::string plain_text_of(capnp::Text::Reader x) {
  return {x.cStr(), x.size()};
}

json texts_of(capnp::List<capnp::Text>::Reader xs) {
  auto result = json::array();
  for (const auto x : xs)
    result.push_back(plain_text_of(x));
  return result;
}

/// The text of a command that is about some trials; empty if there are none.
std::string trials_text(capnp::List<std::uint64_t>::Reader xs) {
  if (xs.size() == 0)
    return {};
  auto trials = json::array();
  for (const auto x : xs)
    trials.push_back(x);
  return json{{"trials", std::move(trials)}}.dump();
}

} // namespace

study_command steering_of(schema::Steering::Reader change) {
  study_command result;
  switch (change.which()) {
    case schema::Steering::EXTEND: {
      result.what = verb::extend;
      const auto x = change.getExtend();
      auto more = json::object();
      if (x.getTrials() > 0)
        more["trials"] = x.getTrials();
      if (x.getSeconds() != 0)
        more["seconds"] = x.getSeconds();
      if (x.getDeadlineSeconds() != 0)
        more["deadline_seconds"] = x.getDeadlineSeconds();
      if (x.getDeviceSeconds() != 0)
        more["device_seconds"] = x.getDeviceSeconds();
      if (x.getCost() != 0)
        more["cost"] = x.getCost();
      if (x.getBudgetSteps() > 0)
        more["budget_steps"] = x.getBudgetSteps();
      if (x.getSteps() > 0)
        more["steps"] = x.getSteps();
      result.text = more.dump();
      return result;
    }
    case schema::Steering::ENQUEUE:
      result.what = verb::enqueue;
      result.text = plain_text_of(change.getEnqueue());
      return result;
    case schema::Steering::TELL_PAST:
      result.what = verb::tell_past;
      result.text = plain_text_of(change.getTellPast());
      return result;
    case schema::Steering::NOTE: {
      const auto x = change.getNote();
      result.what = verb::note;
      auto words = json::object();
      if (x.getSetNote())
        words["note"] = plain_text_of(x.getNote());
      if (x.getAddTags().size() > 0)
        words["add_tags"] = texts_of(x.getAddTags());
      if (x.getRemoveTags().size() > 0)
        words["remove_tags"] = texts_of(x.getRemoveTags());
      result.text = words.dump();
      return result;
    }
    case schema::Steering::REMOVE:
      result.what = verb::remove;
      result.text = trials_text(change.getRemove().getTrials());
      return result;
    case schema::Steering::RESTORE:
      result.what = verb::restore;
      result.text = trials_text(change.getRestore().getTrials());
      return result;
    case schema::Steering::SET_SPACE:
      result.what = verb::set_space;
      result.text = plain_text_of(change.getSetSpace().getSpace());
      result.dry_run = change.getSetSpace().getDryRun();
      return result;
  }
  result.what = verb::extend; // with nothing: which is refused
  return result;
}

} // namespace hippo
