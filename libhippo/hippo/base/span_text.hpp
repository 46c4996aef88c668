#pragma once

#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// Reads a span of time: `6h`, `90m`, `45s`, `1.5d`, several of them one after
/// another (`1h30m`), or a number of seconds.
/// @returns seconds, above 0; or `errc::invalid_argument` and what is wrong
expected<double> span_from(const std::string& text);

/// Reads a time as ISO 8601 writes it, with its zone: `2030-01-31T18:00Z`,
/// `2030-01-31T18:00:30+01:00`.
/// @returns seconds since 1970; or `errc::invalid_argument` and what is wrong
expected<double> time_from(const std::string& text);

} // namespace hippo
