#include "hippo/deploy/deploy.hpp"

#include <algorithm>

namespace hippo {

std::vector<std::string> trainer_command(const trainer_group& group,
                                         const std::string& service,
                                         const std::string& key,
                                         const std::string& name) {
  std::vector<std::string> result{group.program, "--connect", service};
  const auto add = [&](const std::string& option, const std::string& value) {
    result.push_back(option);
    result.push_back(value);
  };
  if (!key.empty())
    add("--keys", key);
  for (unsigned i = 0; i < group.gpus; ++i)
    add("--device", "cuda:" + std::to_string(i));
  if (group.gpus == 0)
    add("--threads", std::to_string(std::max(group.cpus / group.ranks, 1u)));
  if (group.ranks > 1)
    add("--ranks", std::to_string(group.ranks));
  // Where it reaches the service from, others that do the same reach it.
  if (group.gangs)
    add("--gang-listen", "auto");
  if (!group.python.empty())
    add("--python", group.python);
  add("--notice", std::to_string(group.notice_seconds));
  if (!name.empty())
    add("--name", name);
  return result;
}

} // namespace hippo
