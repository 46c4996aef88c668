#include "hippo/base/nearest.hpp"

#include <algorithm>

namespace hippo {

namespace {

/// Edit distance with insertion, deletion and replacement, O(|x| * |y|).
std::size_t distance(std::string_view x, std::string_view y) {
  std::vector<std::size_t> row(y.size() + 1);
  for (std::size_t j = 0; j <= y.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= x.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      const auto replaced = diagonal + (x[i - 1] != y[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[y.size()];
}

} // namespace

std::string nearest(std::string_view word,
                    const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  auto limit = std::max<std::size_t>(2, word.size() / 3);
  for (const auto& name : known)
    if (auto d = distance(word, name); d <= limit && d < name.size()) {
      if (best != nullptr && d == limit)
        continue;
      best = &name;
      limit = d;
    }
  return best == nullptr ? std::string{} : *best;
}

std::string did_you_mean(std::string_view word,
                         const std::vector<std::string>& known) {
  const auto name = nearest(word, known);
  return name.empty() ? std::string{} : ", did you mean '" + name + "'?";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

std::string unknown_text(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known) {
  const auto guess = did_you_mean(name, known);
  return "unknown " + what + " '" + name + "'" + (guess.empty() ? "." : guess)
         + " Allowed: " + list_of(known);
}

} // namespace hippo
