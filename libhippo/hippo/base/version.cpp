#include "hippo/base/version.hpp"

namespace hippo {

const char* version() noexcept { return HIPPO_VERSION; }

} // namespace hippo
