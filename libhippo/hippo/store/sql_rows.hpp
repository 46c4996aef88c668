#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Reads all rows of a query.
template <class T, class Bind, class Read>
expected<std::vector<T>> read_all(expected<sql_statement> query, Bind&& bind,
                                  Read&& read) {
  if (!query)
    return query.failure();
  bind(*query);
  std::vector<T> result;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return result;
    auto row = read(*query);
    if (!row)
      return row.failure();
    result.push_back(std::move(*row));
  }
}

/// Reads the first row of a query, if there is one.
template <class T, class Bind, class Read>
expected<std::optional<T>> read_first(expected<sql_statement> query,
                                      Bind&& bind, Read&& read) {
  if (!query)
    return query.failure();
  bind(*query);
  const auto found = query->step();
  if (!found)
    return found.failure();
  if (!*found)
    return std::optional<T>{};
  expected<T> row = read(*query);
  if (!row)
    return row.failure();
  return std::optional<T>{std::move(*row)};
}

} // namespace hippo
