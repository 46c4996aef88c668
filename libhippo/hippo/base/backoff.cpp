#include "hippo/base/backoff.hpp"

#include <algorithm>

namespace hippo {

backoff::duration backoff::next(double jitter) {
  auto result = first_;
  for (auto i = doublings_; i > 0 && result < last_; --i)
    result *= 2;
  if (result < last_)
    ++doublings_;
  result = std::min(result, last_);
  const auto less = static_cast<double>(result.count()) * jitter / 2;
  return result - duration{static_cast<duration::rep>(less)};
}

} // namespace hippo
