#include "hippo/service/notify/notification_text.hpp"

#include <array>
#include <ctime>

#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

std::string iso_time(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string sentence(notify_event event, const stored_study& study,
                     const std::optional<stored_trial>& best) {
  auto result = "Study " + study.name + " (" + to_string(study.id) + ")";
  if (event == notify_event::best)
    result += " has a new best trial.";
  else
    result += std::string{" has ended: "} + to_string(study.state)
              + (study.reason.empty() ? "." : ", " + study.reason + ".");
  if (best && best->best)
    result += " Best: trial " + std::to_string(best->trial) + ", "
              + study.metric + ' ' + to_text(best->best->value) + " at step "
              + std::to_string(best->best->step) + '.';
  return result;
}

} // namespace

std::string notification_text(notify_event event, const stored_study& study,
                              const std::optional<stored_trial>& best,
                              std::int64_t seconds) {
  json data;
  data["study"] = number_of(study.id);
  data["name"] = study.name;
  data["state"] = to_string(study.state);
  data["reason"] = study.reason;
  data["metric"] = study.metric;
  data["direction"] =
    study.direction == direction::maximize ? "maximize" : "minimize";
  data["tags"] = study.tags;
  data["active_seconds"] = study.active_seconds;
  data["device_seconds"] = study.device_seconds;
  data["best"] = nullptr;
  if (best && best->best) {
    auto params = json::parse(best->params, nullptr, false);
    data["best"] = {{"trial", best->trial},
                    {"step", best->best->step},
                    {"value", best->best->value},
                    {"params", params.is_discarded() ? json{} : params}};
  }
  json result;
  result["type"] = std::string{"study."} + to_string(event);
  result["timestamp"] = iso_time(seconds);
  result["text"] = sentence(event, study, best);
  result["data"] = std::move(data);
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace hippo
