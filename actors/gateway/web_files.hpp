#pragma once

#include <string_view>
#include <vector>

namespace hippo {

/// A file of the page, as it stands in web/.
struct web_file {
  std::string_view name; ///< `app.js`
  std::string_view bytes;
};

/// Returns all of them.
const std::vector<web_file>& web_files();

} // namespace hippo
