#pragma once

namespace hippo {

/// Returns the version of Hippo, e.g. `0.1.0`.
const char* version() noexcept;

} // namespace hippo
