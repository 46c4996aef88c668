#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Binds a query and shows its rows to `use`, as `sql_statement::for_each`.
template <class Bind, class Use>
expected<std::monostate> for_each_row(expected<sql_statement> query,
                                      Bind&& bind, Use&& use) {
  if (!query)
    return query.failure();
  bind(*query);
  return query->for_each(use);
}

/// Reads all rows of a query.
template <class T, class Bind, class Read>
expected<std::vector<T>> read_all(expected<sql_statement> query, Bind&& bind,
                                  Read&& read) {
  std::vector<T> result;
  auto done = for_each_row(std::move(query), bind,
                           [&](const sql_statement& x) -> std::optional<error> {
                             expected<T> row = read(x);
                             if (!row)
                               return row.failure();
                             result.push_back(std::move(*row));
                             return std::nullopt;
                           });
  if (!done)
    return done.failure();
  return result;
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
