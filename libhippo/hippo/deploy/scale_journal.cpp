#include <nlohmann/json.hpp>

#include "hippo/deploy/scale.hpp"

namespace hippo {

namespace {

using journal_json = nlohmann::ordered_json;

} // namespace

std::string to_text(const scale_journal& x) {
  auto names = journal_json::object();
  for (const auto& [name, y] : x.started_names)
    names[name] = {{"group", y.group}, {"at", y.at}};
  return journal_json{{"last", x.last}, {"started", names}}.dump() + '\n';
}

expected<scale_journal> read_journal(const std::string& text) {
  scale_journal result;
  if (text.empty())
    return result;
  try {
    const auto read = journal_json::parse(text);
    result.last = read.at("last").get<std::uint64_t>();
    for (const auto& [name, y] : read.at("started").items())
      result.started_names[name] = {y.at("group").get<std::string>(),
                                    y.at("at").get<double>()};
  } catch (const journal_json::exception&) {
    return error{errc::invalid_argument,
                 "is no journal of hippo scale: remove it, and the trainers "
                 "that run are found again by their names"};
  }
  return result;
}

} // namespace hippo
