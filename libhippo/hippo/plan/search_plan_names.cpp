// The names of metrics, which results keep and training code chooses.

#include "hippo/base/limits.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo {

std::optional<std::string>
search_plan::refused_names(const metrics& values) const {
  const auto& names = nodes_.names();
  const auto more = names.bytes_more(values);
  if (more == 0 || names.bytes() + more <= max_name_lists_bytes)
    return std::nullopt;
  return "the names of what is measured differ from result to result: those of"
         " this workload take "
         + std::to_string(names.bytes()) + " bytes of memory, of which "
         + std::to_string(max_name_lists_bytes)
         + " are allowed; what changes from trial to trial is no part of a"
           " metric's name";
}

} // namespace hippo
