#pragma once

#include <string>

#include <kj/async.h>
#include <nlohmann/json.hpp>

#include "gateway/http_target.hpp"
#include "gateway/query_service.hpp"

namespace hippo {

/// Does what a page asks for: docs/http.md#changing-something. The promise
/// fails with `errc::invalid_argument` if what is asked for is not complete.
/// @param text the body of the request
/// @returns JSON; nothing if there is no such thing to do
kj::Promise<std::optional<std::string>>
act_on(query_service& queries, const http_target& target,
       const std::string& text);

} // namespace hippo
