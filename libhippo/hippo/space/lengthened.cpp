#include "hippo/space/lengthened.hpp"

#include <memory>
#include <utility>

#include "hippo/space/space_check.hpp"
#include "hippo/space/space_node.hpp"

namespace hippo {

search_space lengthened(const search_space& space, step_t max_steps) {
  if (space.root() == nullptr)
    return space;
  auto root = std::make_shared<space_node>(*space.root());
  root->max_steps = max_steps;
  return search_space{std::move(root)};
}

bool has_shares_of_length(const search_space& space) {
  return space.root() != nullptr && space.root()->has_percentages;
}

std::optional<error> refusal_of_values(const search_space& space,
                                       const workload_descriptor& workload) {
  if (space.root() == nullptr)
    return std::nullopt;
  findings found;
  diagnostics notes{"", found};
  check_space(*space.root(), workload.open ? nullptr : &workload, notes);
  if (found.errors.empty())
    return std::nullopt;
  const auto& first = found.errors.front();
  return error{errc::invalid_argument,
               (first.path.empty() ? "" : first.path + ": ") + first.message};
}

} // namespace hippo
