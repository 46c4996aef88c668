#pragma once

#include <algorithm>
#include <string>

namespace hippo {

/// Returns the name of a workload, as `small_spec` takes it, as part of a
/// test's name.
inline std::string test_name_of(std::string workload) {
  for (const char mark : {'-', '/'})
    std::ranges::replace(workload, mark, '_');
  return workload;
}

} // namespace hippo
