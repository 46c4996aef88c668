#pragma once

#include <string>
#include <vector>

namespace hippo {

/// Returns a line of RFC 4180: fields quoted where they must be, CRLF at the
/// end.
std::string csv_row(const std::vector<std::string>& fields);

} // namespace hippo
