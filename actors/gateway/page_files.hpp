#pragma once

#include <functional>
#include <map>
#include <string>

#include "gateway/http_reply.hpp"

namespace hippo {

/// Returns the files of the page by their names, as they are sent.
const std::map<std::string, reply, std::less<>>& packed_files();

} // namespace hippo
