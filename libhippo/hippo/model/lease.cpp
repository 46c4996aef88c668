#include "hippo/model/lease.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace hippo {

const stage* stage_reaching(const lease& lease, step_t at) {
  const auto i = std::find_if(
    lease.stages.begin(), lease.stages.end(), [at](const stage& s) {
      return (s.begin < at && at <= s.end) || (s.begin == at && s.end == at);
    });
  return i == lease.stages.end() ? nullptr : &*i;
}

std::string kind_made(const lease& lease, const std::string& own) {
  const auto& before = lease.start.device;
  return before.empty() || before == own ? own : mixed_devices;
}

std::string checkpoint_name(node_id node, step_t at, lease_id lease) {
  std::string result{"n"};
  result += to_string(node);
  result += "-s";
  result += std::to_string(at);
  result += "-l";
  result += to_string(lease);
  return result + ".ckpt";
}

std::optional<checkpoint_origin> origin_of(const std::string& name) {
  std::uint64_t node = 0, at = 0, lease = 0;
  if (std::sscanf(name.c_str(), "n%" SCNu64 "-s%" SCNu64 "-l%" SCNu64, &node,
                  &at, &lease)
      != 3)
    return std::nullopt;
  const checkpoint_origin result{node_id{node}, at, lease_id{lease}};
  return name == checkpoint_name(result.node, at, result.lease)
           ? std::optional{result}
           : std::nullopt;
}

} // namespace hippo
