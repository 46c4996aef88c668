#include "hippo/plan/schedule/step_profiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hippo {

namespace {

constexpr auto batch_name = "batch_size";

/// The values of a speed key.
std::vector<std::string> split(const std::string& key) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < key.size();) {
    const auto end = std::min(key.find(';', begin), key.size());
    result.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

} // namespace

step_makeup makeup_of(const std::string& workload,
                      const std::vector<std::string>& speed_names,
                      const std::string& speed_key,
                      const workload_size& size) {
  step_makeup result{workload + '\n', std::max(size.samples, 1.0), 1};
  const auto values = split(speed_key);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto batch = std::strtod(values[i].c_str(), nullptr);
    if (values.size() == speed_names.size() && speed_names[i] == batch_name
        && batch >= 1) {
      result.batch = batch;
      result.iterations = std::max(std::ceil(size.samples / batch), 1.0);
      continue;
    }
    result.workload += values[i] + ';';
  }
  return result;
}

std::vector<step_profile>
step_profiles_of(const std::string& workload,
                 const std::vector<std::string>& speed_names,
                 const std::vector<timing>& measured) {
  std::vector<step_profile> result;
  for (const auto& x : measured) {
    if (x.what != timed::step || !(x.count > 0) || !(x.seconds > 0))
      continue;
    const auto step = makeup_of(workload, speed_names, x.speed_key, x.size);
    result.push_back({x.device, step.workload, step.batch, x.size,
                      x.mean() / step.iterations,
                      std::max(1.0, static_cast<double>(x.stages))});
  }
  return result;
}

} // namespace hippo
