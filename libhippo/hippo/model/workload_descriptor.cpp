#include "hippo/model/workload_descriptor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

using nlohmann::json;

/// Returns the words as `"a, b or c"`.
std::string list(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      result += i + 1 == words.size() ? " or " : ", ";
    result += words[i];
  }
  return result;
}

/// A number as JSON, which has no infinities: those become `{"number": text}`.
json number_json(double x) {
  if (std::isfinite(x))
    return x;
  return {{"number", to_text(x)}};
}

double number_of(const json& x) {
  if (x.is_number())
    return x.get<double>();
  const auto text = x.at("number").get<std::string>();
  const auto limit = std::numeric_limits<double>::infinity();
  if (text == "inf")
    return limit;
  if (text == "-inf")
    return -limit;
  return std::numeric_limits<double>::quiet_NaN();
}

json to_json(const parameter_descriptor& x) {
  const auto* word = std::get_if<std::string>(&x.fallback);
  return {
    {"name", x.name},
    {"fallback",
     word ? json(*word) : number_json(std::get<double>(x.fallback))},
    {"min", number_json(x.min)},
    {"max", number_json(x.max)},
    {"min_excluded", x.min_excluded},
    {"max_excluded", x.max_excluded},
    {"max_option", x.max_option},
    {"min_option", x.min_option},
    {"max_parameter", x.max_parameter},
    {"divides", x.divides},
    {"integer", x.integer},
    {"words", x.words},
    {"affects_speed", x.affects_speed},
    {"left_out", x.left_out},
    {"only_with", x.only_with},
    {"only_option", x.only_option},
    {"meaning", x.meaning},
  };
}

parameter_descriptor parameter_of(const json& j) {
  parameter_descriptor x;
  x.name = j.at("name");
  const auto& fallback = j.at("fallback");
  if (fallback.is_string())
    x.fallback = fallback.get<std::string>();
  else
    x.fallback = number_of(fallback);
  x.min = number_of(j.at("min"));
  x.max = number_of(j.at("max"));
  x.min_excluded = j.at("min_excluded");
  x.max_excluded = j.at("max_excluded");
  x.max_option = j.at("max_option");
  x.integer = j.at("integer");
  x.words = j.at("words").get<std::vector<std::string>>();
  x.affects_speed = j.at("affects_speed");
  // A library of before had none of these.
  x.min_option = j.value("min_option", "");
  x.max_parameter = j.value("max_parameter", "");
  x.divides = j.value("divides", 0.0);
  x.left_out = j.value("left_out", false);
  x.only_with = j.value("only_with", "");
  x.only_option = j.value("only_option", "");
  x.meaning = j.at("meaning");
  return x;
}

json to_json(const std::vector<parameter_descriptor>& xs) {
  auto result = json::array();
  for (const auto& x : xs)
    result.push_back(to_json(x));
  return result;
}

std::vector<parameter_descriptor> parameters_of(const json& xs) {
  std::vector<parameter_descriptor> result;
  for (const auto& x : xs)
    result.push_back(parameter_of(x));
  return result;
}

json to_json(const workload_descriptor& x) {
  auto measured = json::array();
  for (const auto& m : x.metrics)
    measured.push_back(
      {{"name", m.name},
       {"better", m.better == direction::maximize ? "maximize" : "minimize"},
       {"meaning", m.meaning}});
  return {
    {"name", x.name},
    {"meaning", x.meaning},
    {"unit", x.unit},
    {"version", x.version},
    {"open", x.open},
    {"averages", x.averages},
    {"metrics", std::move(measured)},
    {"hyper_parameters", to_json(x.hyper_parameters)},
    {"options", to_json(x.options)},
  };
}

workload_descriptor workload_of(const json& j) {
  workload_descriptor x;
  x.name = j.at("name");
  x.meaning = j.at("meaning");
  x.unit = j.at("unit");
  x.version = j.at("version");
  x.open = j.value("open", false);
  x.averages = j.value("averages", false);
  for (const auto& m : j.at("metrics"))
    x.metrics.push_back(
      {m.at("name"),
       m.at("better") == "maximize" ? direction::maximize : direction::minimize,
       m.at("meaning")});
  x.hyper_parameters = parameters_of(j.at("hyper_parameters"));
  x.options = parameters_of(j.at("options"));
  return x;
}

} // namespace

std::optional<std::string>
parameter_descriptor::refuses(const scalar& param) const {
  if (const auto* word = std::get_if<std::string>(&param)) {
    if (!words.empty())
      return std::ranges::find(words, *word) != words.end()
               ? std::nullopt
               : std::optional{"must be " + list(words)};
    if (std::holds_alternative<double>(fallback))
      return "must be a number";
    return std::nullopt;
  }
  if (!words.empty())
    return "must be " + list(words);
  if (std::holds_alternative<std::string>(fallback))
    return "must be a word";
  const auto value = std::get<double>(param);
  if (!std::isfinite(value))
    return "must be a finite number";
  if (integer && std::nearbyint(value) != value)
    return "must be an integer";
  if (min_excluded ? value <= min : value < min)
    return (min_excluded ? "must be above " : "must be at least ")
           + to_text(min);
  if (max_excluded ? value >= max : value > max)
    return (max_excluded ? "must be below " : "must be at most ")
           + to_text(max);
  if (divides != 0 && std::fmod(divides, value) != 0)
    return "must divide " + to_text(divides);
  return std::nullopt;
}

workload_descriptor limited_by(workload_descriptor descriptor,
                               const workload_spec& spec) {
  const auto number = [&](const std::string& option) {
    const auto i = spec.options.find(option);
    return i == spec.options.end() ? nullptr : std::get_if<double>(&i->second);
  };
  for (auto& p : descriptor.hyper_parameters) {
    if (const auto* limit = number(p.max_option))
      p.max = std::min(p.max, *limit);
    if (const auto* limit = number(p.min_option))
      p.min = std::max(p.min, *limit);
    if (spec.options.contains(p.only_option))
      p.only_option.clear();
  }
  return descriptor;
}

std::vector<std::string> speed_names_of(const workload_descriptor& descriptor) {
  std::vector<std::string> result;
  for (const auto& p : descriptor.hyper_parameters)
    if (p.affects_speed)
      result.push_back(p.name);
  return result;
}

std::string to_json(const std::vector<workload_descriptor>& xs) {
  auto result = json::array();
  for (const auto& x : xs)
    result.push_back(to_json(x));
  return result.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

expected<std::vector<workload_descriptor>>
descriptors_from_json(const std::string& text) {
  try {
    std::vector<workload_descriptor> result;
    for (const auto& x : json::parse(text))
      result.push_back(workload_of(x));
    return result;
  } catch (const json::exception& e) {
    return {errc::malformed_message,
            std::string{"not a description of workloads: "} + e.what()};
  }
}

} // namespace hippo
