#include "hippo/train/failures.hpp"

#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

/// How much of what a workload has printed last is told along with its failure.
constexpr std::size_t last_words_bytes_max = 4096;

} // namespace

std::string shortened(const std::string& text) {
  if (text.size() <= failure_bytes_max)
    return text;
  const auto half = failure_bytes_max / 2;
  return to_utf8(text.substr(0, half)) + "\n[...]\n"
         + to_utf8(text.substr(text.size() - half));
}

void add_last_words(error& to, std::string printed) {
  if (printed.empty())
    return;
  if (printed.size() > last_words_bytes_max) {
    const auto line = printed.find('\n', printed.size() - last_words_bytes_max);
    printed.erase(0, line == printed.npos ? 0 : line + 1);
  }
  to.message += "\nprinted before that:\n" + printed;
}

} // namespace hippo
