#pragma once

#include <string>

#include "hippo/model/view/views.hpp"

namespace hippo {

/// Two-space indented JSON: `preview_view` of schemas/model.capnp.
std::string preview_json(const preview_view& preview);

/// A table of the same, at most 80 columns wide.
std::string preview_text(const preview_view& preview);

} // namespace hippo
