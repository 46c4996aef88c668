#include "hippo/model/front_text.hpp"

#include <cmath>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/base/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

json values_to_json(const metrics& x) {
  json result = json::object();
  for (const auto& [name, value] : x)
    result[name] = std::isfinite(value) ? json(value) : json(nullptr);
  return result;
}

metrics values_from_json(const json& x) {
  metrics result;
  for (const auto& [name, value] : x.items())
    result[name] = value.is_null() ? std::nan("") : value.get<double>();
  return result;
}

/// `ms <= 5`, as `to_text` renders it: a metric's name may hold anything.
metric_constraint constraint_of(const std::string& text) {
  const auto at = text.rfind("= ") - 1;
  return {text.substr(0, at - 1), text.at(at) == '<',
          std::stod(text.substr(at + 3))};
}

told_front read(const json& x) {
  told_front result;
  for (const auto& goal : x.at("goals"))
    result.wanted.metrics.push_back({goal.at("metric").get<std::string>(),
                                     goal.at("direction") == "minimize"
                                       ? direction::minimize
                                       : direction::maximize});
  for (const auto& text : x.at("constraints"))
    result.wanted.constraints.push_back(
      constraint_of(text.get<std::string>()));
  for (const auto& point : x.at("points"))
    result.front.points.push_back({point.at("trial").get<std::uint64_t>(),
                                   point.at("step").get<step_t>(),
                                   values_from_json(point.at("values")),
                                   point.value("params", json())});
  if (!x.at("hypervolume").is_null())
    result.front.hypervolume = x.at("hypervolume").get<double>();
  if (!x.at("reference").is_null())
    result.front.reference = values_from_json(x.at("reference"));
  return result;
}

} // namespace

json to_json(const goals& wanted, const front_record& record) {
  auto goals = json::array(), constraints = json::array(),
       points = json::array();
  for (const auto& goal : wanted.metrics)
    goals.push_back({{"metric", goal.metric},
                     {"direction", goal.direction == direction::minimize
                                     ? "minimize"
                                     : "maximize"}});
  for (const auto& constraint : wanted.constraints)
    constraints.push_back(to_text(constraint));
  for (const auto& point : record.points) {
    json shown = {{"trial", point.trial},
                  {"step", point.step},
                  {"values", values_to_json(point.values)}};
    if (!point.params.is_null())
      shown["params"] = point.params;
    points.push_back(std::move(shown));
  }
  return {
    {"goals", std::move(goals)},
    {"constraints", std::move(constraints)},
    {"points", std::move(points)},
    {"hypervolume", record.hypervolume ? json(*record.hypervolume) : json()},
    {"reference",
     record.reference.empty() ? json() : values_to_json(record.reference)}};
}

expected<told_front> front_from_json(const std::string& text) {
  try {
    return read(json::parse(text));
  } catch (const std::exception& x) { // of the library, and `stod`
    return {errc::malformed_message,
            std::string{"is no front as it is told: "} + x.what()};
  }
}

std::string brief_text(const front_so_far& front) {
  return "front of " + std::to_string(front.points)
         + (front.hypervolume
              ? ", hypervolume " + significant(*front.hypervolume, 6)
              : std::string{});
}

} // namespace hippo
