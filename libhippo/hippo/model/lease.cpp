#include "hippo/model/lease.hpp"

#include <algorithm>

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

} // namespace hippo
