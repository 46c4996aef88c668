#pragma once

#include <optional>

#include "hippo/base/error.hpp"
#include "trainer.capnp.h"

namespace hippo {

/// Writes the failure of a call into its results.
void put_failure(schema::Failure::Builder out, const error& failure);

/// Reads the failure from the results of a call: of any type with an optional
/// field `failure`.
template <class Results>
std::optional<error> get_failure(const Results& results) {
  if (!results.hasFailure())
    return std::nullopt;
  const auto in = results.getFailure();
  return error{static_cast<errc>(in.getCode()), in.getMessage().cStr()};
}

} // namespace hippo
