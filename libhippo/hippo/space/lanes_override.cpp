#include "hippo/space/lanes_override.hpp"

#include <yaml-cpp/yaml.h>

namespace hippo {

namespace {

/// Where a node begins in its text.
std::size_t begin_of(const YAML::Node& x) {
  return static_cast<std::size_t>(x.Mark().pos);
}

std::string replaced(std::string text, const YAML::Node& scalar,
                     const std::string& by) {
  return text.replace(begin_of(scalar), scalar.Scalar().size(), by);
}

} // namespace

std::string with_lanes(const std::string& study, std::uint32_t lanes) {
  const auto option = "lanes: " + std::to_string(lanes);
  YAML::Node root;
  try {
    root = YAML::Load(study);
  } catch (const YAML::Exception&) {
    return study;
  }
  if (!root.IsMap())
    return study;
  const auto workload = root["workload"];
  if (!workload)
    return study;
  const bool has_options = workload.IsMap() && workload.size() > 0;
  if (has_options)
    if (const auto known = workload["lanes"]; known && known.IsScalar())
      return replaced(study, known, std::to_string(lanes));
  if (lanes == 1)
    return study; // as it is without the option, which not all workloads have
  if (workload.IsScalar())
    return replaced(study, workload,
                    "{name: " + workload.Scalar() + ", " + option + '}');
  if (!has_options)
    return study;
  // Before the first of the other options.
  const auto first = workload.begin()->first;
  const auto gap
    = workload.Style() == YAML::EmitterStyle::Flow
        ? ", "
        : '\n' + std::string(static_cast<std::size_t>(first.Mark().column),
                             ' ');
  return std::string{study}.insert(begin_of(first), option + gap);
}

} // namespace hippo
