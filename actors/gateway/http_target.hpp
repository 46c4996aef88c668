#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// What an HTTP request asks for: a path, and the values behind its question
/// mark by name; all of it decoded.
struct http_target {
  std::vector<std::string> path;
  std::map<std::string, std::string> query;
};

/// Takes a target apart, and decodes its parts, each once; those that are empty
/// are left out. What is behind the question mark is a form's: a plus sign is a
/// space there.
/// @returns `errc::invalid_argument` if a part is not percent-encoded UTF-8,
///          holds a zero byte, or names what another one has named
expected<http_target> read_http_target(std::string_view url);

/// Takes a number out of a query.
/// @returns `fallback` if it is not there, `errc::invalid_argument` if it is
///          none
/// @param former the name of before, which is taken too; empty: there is none
expected<std::uint64_t> take_number(http_target& from, const std::string& name,
                                    std::uint64_t fallback,
                                    const std::string& former = {});

/// Takes a text out of the query, empty if it is not there.
std::string take_text(http_target& from, const std::string& name);

} // namespace hippo
