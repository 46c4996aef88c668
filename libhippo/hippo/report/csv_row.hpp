#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// Returns a line of RFC 4180: fields quoted where they must be, CRLF at the
/// end.
std::string csv_row(const std::vector<std::string>& fields);

/// Writes a file of such lines. @param rows puts them into a stream
/// @returns `errc::io_failed` if that is not possible
expected<std::monostate>
write_csv(const std::string& file,
          const std::function<void(std::ostream&)>& rows);

} // namespace hippo
