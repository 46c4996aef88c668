#include "hippo/store/summary_text.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include "hippo/base/limits.hpp"

namespace hippo {

using json = nlohmann::json;

std::string summary_text(const metrics& summary) {
  return json(summary).dump(-1, ' ', false, json::error_handler_t::replace);
}

expected<metrics> read_summary(const std::string& text) {
  const auto found = json::parse(text, nullptr, false);
  if (!found.is_object() || found.empty() || found.size() > max_metrics)
    return {errc::malformed_message, "it is no summary of several seeds"};
  metrics result;
  for (const auto& [name, value] : found.items()) {
    if (!value.is_number() && !value.is_null())
      return {errc::malformed_message, "the summary of a metric is no number"};
    result[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                   : value.get<double>();
  }
  return result;
}

} // namespace hippo
