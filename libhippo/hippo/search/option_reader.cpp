#include "hippo/search/option_reader.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"

namespace hippo {

const scalar* option_reader::find(std::string_view name) const {
  const auto& given = study_.algorithm.options;
  const auto at = given.find(std::string{name});
  return at == given.end() ? nullptr : &at->second;
}

bool option_reader::says(const option& option, std::string_view word) const {
  const auto* given = find(option.name);
  return given != nullptr && to_text(*given) == word;
}

std::uint64_t option_reader::whole(const option& option) {
  assert(option.high_text.empty() && option.fallback_text.empty());
  return whole(option, static_cast<std::uint64_t>(option.low),
               static_cast<std::uint64_t>(option.high),
               static_cast<std::uint64_t>(std::get<double>(option.fallback)));
}

std::uint64_t option_reader::whole(const option& option, std::uint64_t low,
                                   std::uint64_t high, std::uint64_t fallback) {
  assert(option.type == option_type::whole);
  const auto* given = find(option.name);
  if (given == nullptr)
    return fallback;
  const auto* number = std::get_if<double>(given);
  // Compared as doubles: a number that is no `uint64_t` must not become one.
  if (number != nullptr && std::trunc(*number) == *number
      && *number >= static_cast<double>(low)
      && *number <= static_cast<double>(high))
    return static_cast<std::uint64_t>(*number);
  std::string others;
  for (const auto& word : words_of(option))
    others += "`" + word + "` or ";
  error(path_of(option), "must be " + others + whole_text(low, high)
                           + ", found " + to_text(*given));
  return fallback;
}

double option_reader::real(const option& option) {
  assert(option.type == option_type::real);
  const auto fallback = std::get<double>(option.fallback);
  const auto* given = find(option.name);
  if (given == nullptr)
    return fallback;
  const auto* number = std::get_if<double>(given);
  if (number != nullptr && *number >= option.low
      && *number <= option.high) // NaN is not
    return *number;
  error(path_of(option),
        "must be " + values_text(option) + ", found " + to_text(*given));
  return fallback;
}

std::string option_reader::word(const option& option) {
  assert(option.fallback_text.empty());
  return word(option, std::get<std::string_view>(option.fallback));
}

std::string option_reader::word(const option& option,
                                std::string_view fallback) {
  return word(option, words_of(option), fallback);
}

std::string option_reader::word(const option& option,
                                const std::vector<std::string>& words,
                                std::string_view fallback) {
  assert(option.type == option_type::word);
  const auto* given = find(option.name);
  if (given == nullptr)
    return std::string{fallback};
  auto text = to_text(*given);
  if (std::ranges::find(words, text) != words.end())
    return text;
  error(path_of(option), "must be " + either_of(words) + ", found " + text
                           + did_you_mean(text, words));
  return std::string{fallback};
}

} // namespace hippo
