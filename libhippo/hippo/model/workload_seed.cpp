#include "hippo/model/workload_seed.hpp"

namespace hippo {

workload_spec without_seed(workload_spec spec) {
  spec.options.erase(seed_option);
  return spec;
}

} // namespace hippo
