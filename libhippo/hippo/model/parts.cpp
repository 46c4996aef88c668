#include "hippo/model/parts.hpp"

namespace hippo {

std::string check_members(const std::string& text) {
  for (unsigned count = 1; count <= parts_max; count *= 2)
    if (text == std::to_string(count))
      return {};
  return "must be a power of two from 1 to " + std::to_string(parts_max)
         + ", found '" + text + "'";
}

} // namespace hippo
