#include "hippo/base/devices.hpp"

#include <algorithm>
#include <string_view>

namespace hippo {

std::string check_device_name(const std::string& text) {
  constexpr std::string_view gpu = "cuda:";
  const bool numbered =
    text.starts_with(gpu) && text.size() > gpu.size()
    && std::all_of(text.begin() + gpu.size(), text.end(),
                   [](char c) { return c >= '0' && c <= '9'; });
  if (text == "cpu" || text == "all" || numbered)
    return {};
  return "no device '" + text + "': give cpu, cuda:N or all";
}

std::uint32_t default_at_once(const std::string& device) {
  return device == "cpu" ? 1 : 16;
}

expected<std::vector<std::string>>
devices_of_trainers(const std::vector<std::string>& names,
                    std::optional<unsigned> trainers, unsigned cores) {
  const auto refuse = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  std::vector<std::string> result;
  for (const auto& x : names)
    if (x.starts_with("cuda:")
        || std::ranges::find(result, x) == result.end())
      result.push_back(x);
  const auto has = [&](const char* name) {
    return std::ranges::find(result, name) != result.end();
  };
  if (result.size() > 1 && has("all"))
    return refuse("--device all is every GPU: name no other device with it");
  if (result.size() > 1 && has("cpu"))
    return refuse("--device: the CPU does not train beside GPUs, since it "
                  "gives other bits");
  if (has("cpu"))
    return std::vector<std::string>(trainers.value_or(cores), "cpu");
  if (trainers)
    return refuse("--trainers is for the CPU: a GPU has as many trainers as "
                  "--device names it times");
  return result;
}

} // namespace hippo
