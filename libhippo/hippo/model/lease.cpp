#include "hippo/model/lease.hpp"

#include <algorithm>

namespace hippo {

const stage* stage_reaching(const lease& x, step_t at) {
  const auto i
    = std::find_if(x.stages.begin(), x.stages.end(), [at](const stage& s) {
        return (s.begin < at && at <= s.end) || (s.begin == at && s.end == at);
      });
  return i == x.stages.end() ? nullptr : &*i;
}

std::string kind_made(const lease& x, const std::string& own) {
  const auto& before = x.start.device;
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
