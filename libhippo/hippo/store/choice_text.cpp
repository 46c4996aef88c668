#include "hippo/store/choice_text.hpp"

#include <nlohmann/json.hpp>

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

} // namespace

std::string choice_text(const trial_choice& choice) {
  json result{{"how", choice.why.how}};
  if (choice.why.predicted)
    result["predicted"] = *choice.why.predicted;
  if (choice.why.untrained)
    result["untrained"] = *choice.why.untrained;
  result["decisions"] = choice.decisions;
  return result.dump();
}

expected<trial_choice> read_choice(const std::string& text) {
  const auto found = json::parse(text, nullptr, false);
  trial_choice result;
  try {
    result.why.how = found.at("how");
    if (found.contains("predicted"))
      result.why.predicted = found["predicted"].get<double>();
    if (found.contains("untrained"))
      result.why.untrained = found["untrained"].get<step_t>();
    for (const auto& x : found.at("decisions")) {
      if (!x.is_number_unsigned())
        return {errc::malformed_message, "a decision is no whole number"};
      result.decisions.push_back(x.get<std::uint64_t>());
    }
  } catch (const json::exception& e) {
    return {errc::malformed_message, e.what()};
  }
  return result;
}

} // namespace hippo
