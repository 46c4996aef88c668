#include "hippo/process/answer.hpp"

namespace hippo {

namespace {

/// All of a text: there may be zero bytes in it.
std::string text_of(capnp::Text::Reader x) { return {x.begin(), x.size()}; }

} // namespace

workload_process::description
description_of(schema::ProcessAnswer::Reader answer) {
  const auto said = answer.getDescription();
  workload_process::description result;
  result.name = text_of(said.getName());
  for (auto name : said.getMetrics())
    result.metrics.push_back(text_of(name));
  for (auto x : said.getVersions())
    result.versions.emplace(text_of(x.getName()), text_of(x.getVersion()));
  return result;
}

metrics metrics_of(schema::ProcessAnswer::Reader answer) {
  metrics result;
  for (auto x : answer.getMetrics())
    result[text_of(x.getName())] = x.getValue();
  return result;
}

std::optional<std::vector<std::string>>
differences_of(schema::ProcessAnswer::Reader answer) {
  const auto said = answer.getDifferences();
  if (said.isUnknown())
    return std::nullopt;
  std::vector<std::string> result;
  for (auto line : said.getFound())
    result.push_back(text_of(line));
  return result;
}

std::string problem_of(schema::ProcessAnswer::Reader answer) {
  const auto said = answer.getFailed();
  auto result = text_of(said.getMessage());
  if (said.getDetails().size() > 0)
    result += '\n' + text_of(said.getDetails());
  return result;
}

} // namespace hippo
