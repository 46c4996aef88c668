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

bool option_reader::says(const option& x, std::string_view word) const {
  const auto* given = find(x.name);
  return given != nullptr && to_text(*given) == word;
}

std::uint64_t option_reader::whole(const option& x) {
  assert(x.high_text.empty() && x.fallback_text.empty());
  return whole(x, static_cast<std::uint64_t>(x.low),
               static_cast<std::uint64_t>(x.high),
               static_cast<std::uint64_t>(std::get<double>(x.fallback)));
}

std::uint64_t option_reader::whole(const option& x, std::uint64_t low,
                                   std::uint64_t high, std::uint64_t fallback) {
  assert(x.type == option_type::whole);
  const auto* given = find(x.name);
  if (given == nullptr)
    return fallback;
  const auto* number = std::get_if<double>(given);
  // Compared as doubles: a number that is no `uint64_t` must not become one.
  if (number != nullptr && std::trunc(*number) == *number
      && *number >= static_cast<double>(low)
      && *number <= static_cast<double>(high))
    return static_cast<std::uint64_t>(*number);
  std::string others;
  for (const auto& word : words_of(x))
    others += "`" + word + "` or ";
  error(path_of(x), "must be " + others + whole_text(low, high) + ", found "
                      + to_text(*given));
  return fallback;
}

double option_reader::real(const option& x) {
  assert(x.type == option_type::real);
  const auto fallback = std::get<double>(x.fallback);
  const auto* given = find(x.name);
  if (given == nullptr)
    return fallback;
  const auto* number = std::get_if<double>(given);
  if (number != nullptr && *number >= x.low && *number <= x.high) // NaN is not
    return *number;
  error(path_of(x), "must be " + values_text(x) + ", found " + to_text(*given));
  return fallback;
}

std::string option_reader::word(const option& x) {
  assert(x.fallback_text.empty());
  return word(x, std::get<std::string_view>(x.fallback));
}

std::string option_reader::word(const option& x, std::string_view fallback) {
  return word(x, words_of(x), fallback);
}

std::string option_reader::word(const option& x,
                                const std::vector<std::string>& words,
                                std::string_view fallback) {
  assert(x.type == option_type::word);
  const auto* given = find(x.name);
  if (given == nullptr)
    return std::string{fallback};
  auto text = to_text(*given);
  if (std::ranges::find(words, text) != words.end())
    return text;
  error(path_of(x), "must be " + either_of(words) + ", found " + text
                      + did_you_mean(text, words));
  return std::string{fallback};
}

} // namespace hippo
