#include "hippo/base/file_descriptor.hpp"

#include <unistd.h>

namespace hippo {

file_descriptor::~file_descriptor() {
  if (*this)
    ::close(number_);
}

} // namespace hippo
