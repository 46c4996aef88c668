#include "hippo/store/timings_json.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

json to_json(const timing& x) {
  return {{"device", x.device},
          {"what", to_string(x.what)},
          {"speed", x.speed_key},
          {"stages", x.stages},
          {"count", x.count},
          {"seconds", x.seconds},
          {"squared_log_deviations", x.squared_log_deviations},
          {"operations", x.size.operations},
          {"parameters", x.size.parameters},
          {"samples", x.size.samples}};
}

/// @returns nothing of what this release does not know
std::optional<timing> timing_of(const json& j) {
  const auto what = timed_from(j.at("what").get<std::string>());
  if (!what)
    return {};
  const auto number = [&](const char* name) {
    const auto x = j.at(name).get<double>();
    return std::isfinite(x) && x > 0 ? x : 0;
  };
  timing result{j.at("device").get<std::string>(), *what,
                j.at("speed").get<std::string>()};
  result.stages = j.at("stages").get<std::uint64_t>();
  result.count = number("count");
  result.seconds = number("seconds");
  result.squared_log_deviations = number("squared_log_deviations");
  result.size = {number("operations"), number("parameters"),
                 number("samples")};
  return result;
}

} // namespace

std::string timings_json(const std::vector<workload_timings>& xs) {
  auto result = json::array();
  for (const auto& x : xs) {
    auto timings = json::array();
    for (const auto& y : x.timings)
      timings.push_back(to_json(y));
    result.push_back(
      {{"workload", x.workload_key}, {"timings", std::move(timings)}});
  }
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

expected<std::vector<workload_timings>>
timings_from_json(const std::string& text) {
  try {
    std::vector<workload_timings> result;
    for (const auto& x : json::parse(text)) {
      workload_timings all{x.at("workload").get<std::string>(), {}};
      for (const auto& y : x.at("timings"))
        if (auto found = timing_of(y))
          all.timings.push_back(std::move(*found));
      result.push_back(std::move(all));
    }
    return result;
  } catch (const json::exception& why) {
    return {errc::malformed_message,
            std::string{"these are no measured times: "} + why.what()};
  }
}

} // namespace hippo
