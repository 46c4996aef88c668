#include "hippo/model/parts.hpp"

#include <algorithm>
#include <variant>

#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

unsigned members_max(const workload_spec& spec) {
  const auto option = spec.options.find(parts_option);
  if (option == spec.options.end())
    return 1;
  // Other workloads have an option of that name whose parts are no shares of a
  // batch.
  const auto& all = built_in_workloads();
  const auto has_batches_of_parts = [&](const workload_descriptor& x) {
    return x.name == spec.name
           && std::any_of(x.hyper_parameters.begin(), x.hyper_parameters.end(),
                          [](const parameter_descriptor& y) {
                            return y.min_option == parts_option;
                          });
  };
  return std::any_of(all.begin(), all.end(), has_batches_of_parts)
           ? static_cast<unsigned>(std::get<double>(option->second))
           : 1;
}

std::string check_members(const std::string& text) {
  for (unsigned count = 1; count <= parts_max; count *= 2)
    if (text == std::to_string(count))
      return {};
  return "must be a power of two from 1 to " + std::to_string(parts_max)
         + ", found '" + text + "'";
}

} // namespace hippo
