#include "hippo/search/option.hpp"

#include <algorithm>

#include "hippo/base/number.hpp"

namespace hippo {

std::vector<std::string> words_of(const option& option) {
  std::vector<std::string> result;
  for (const auto word : option.words)
    if (!word.empty())
      result.emplace_back(word);
  return result;
}

std::vector<std::string> names_of(option_table xs) {
  std::vector<std::string> result;
  for (const auto& x : xs)
    result.emplace_back(x.name);
  return result;
}

const option* find_option(option_table xs, std::string_view name) {
  const auto found = std::ranges::find(xs, name, &option::name);
  return found == xs.end() ? nullptr : &*found;
}

std::string either_of(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i)
    result += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return result;
}

std::string whole_text(std::uint64_t low, std::uint64_t high) {
  const auto begin =
    "a whole number "
    + std::string{high == static_cast<std::uint64_t>(whole_max) ? "of at least "
                                                                : "from "};
  return begin + std::to_string(low)
         + (high == static_cast<std::uint64_t>(whole_max)
              ? std::string{}
              : " to " + std::to_string(high));
}

std::string values_text(const option& option) {
  const auto words = words_of(option);
  if (option.type == option_type::word)
    return either_of(words);
  std::string result;
  for (const auto& word : words)
    result += "`" + word + "` or ";
  if (option.type == option_type::real)
    return result + "a number from " + to_text(option.low) + " to "
           + to_text(option.high);
  if (!option.high_text.empty())
    return result + "a whole number from " + to_text(option.low) + " to "
           + std::string{option.high_text};
  return result
         + whole_text(static_cast<std::uint64_t>(option.low),
                      static_cast<std::uint64_t>(option.high));
}

std::string fallback_text(const option& option) {
  if (!option.fallback_text.empty())
    return std::string{option.fallback_text};
  if (const auto* number = std::get_if<double>(&option.fallback))
    return to_text(*number);
  return std::string{std::get<std::string_view>(option.fallback)};
}

} // namespace hippo
