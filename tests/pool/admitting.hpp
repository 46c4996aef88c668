#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/service/pool/pool_core.hpp"

namespace hippo::test {

/// Has a pool admit a trainer. @returns its answer; the other effects are
/// added to `out`
inline welcome admitted(pool_core& pool, const hello& hello,
                        std::optional<trainer_id> known, moment now,
                        pool_core::effects& out) {
  welcome result;
  for (auto& y : pool.apply(pool_event::registered{hello, known}, now))
    if (auto* answer = std::get_if<pool_effect::answer_hello>(&y))
      result = std::move(answer->what);
    else
      out.push_back(std::move(y));
  return result;
}

/// Returns the effects of one kind, in order.
template <class T>
std::vector<T> effects_of(const pool_core::effects& all) {
  std::vector<T> result;
  for (const auto& x : all)
    if (const auto* y = std::get_if<T>(&x))
      result.push_back(*y);
  return result;
}

} // namespace hippo::test
