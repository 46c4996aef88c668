#include "hippo/plan/stage_label.hpp"

namespace hippo {

namespace {

constexpr std::size_t label_bytes_max = 100;

} // namespace

std::string stage_label(configuration params, const configuration* before,
                        const std::set<std::string>& varied) {
  std::erase_if(params, [&](const auto& y) {
    if (!varied.contains(y.first))
      return true;
    if (before == nullptr)
      return false;
    const auto i = before->find(y.first);
    return i != before->end() && i->second == y.second;
  });
  auto result = shown_text(params);
  if (result.size() <= label_bytes_max)
    return result;
  const auto end = result.rfind(';', label_bytes_max);
  return result.substr(0, end == std::string::npos ? label_bytes_max : end + 1)
         + "…";
}

} // namespace hippo
