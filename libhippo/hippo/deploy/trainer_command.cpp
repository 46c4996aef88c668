#include "hippo/deploy/deploy.hpp"

namespace hippo {

std::vector<std::string> trainer_command(const trainer_group& x,
                                         const std::string& service,
                                         const std::string& key) {
  std::vector<std::string> result{x.program, "--connect", service};
  const auto add = [&](const std::string& option, const std::string& value) {
    result.push_back(option);
    result.push_back(value);
  };
  if (!key.empty())
    add("--keys", key);
  for (unsigned i = 0; i < x.gpus; ++i)
    add("--device", "cuda:" + std::to_string(i));
  if (x.gpus == 0)
    add("--threads", std::to_string(x.cpus));
  if (!x.python.empty())
    add("--python", x.python);
  add("--notice", std::to_string(x.notice_seconds));
  return result;
}

} // namespace hippo
