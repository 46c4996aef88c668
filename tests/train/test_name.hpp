#pragma once

#include <algorithm>
#include <string>

namespace hippo {

/// Returns the name of a workload as part of a test's name.
inline std::string test_name_of(std::string workload) {
  std::ranges::replace(workload, '-', '_');
  return workload;
}

} // namespace hippo
