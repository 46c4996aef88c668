// Devices for training code that studies bring, which computes in processes of
// its own: nothing is loaded here but the GPUs' driver.

#include <charconv>
#include <mutex>
#include <string>
#include <string_view>

#include "hippo/train/device.hpp"

namespace hippo {

namespace {

/// How this process computes, once it is prepared.
struct process_settings {
  unsigned threads = 1;
  numerics how = default_numerics;
};

/// Returns the N of `cuda:N`, or nothing.
std::optional<int> gpu_index(std::string_view device) {
  constexpr std::string_view prefix = "cuda:";
  if (!device.starts_with(prefix))
    return std::nullopt;
  device.remove_prefix(prefix.size());
  int result = 0;
  const auto [end, status]
    = std::from_chars(device.data(), device.data() + device.size(), result);
  if (status != std::errc{} || end != device.data() + device.size()
      || result < 0)
    return std::nullopt;
  return result;
}

} // namespace

expected<device_info> prepare_device(const std::string& device,
                                     unsigned threads, numerics how) {
  static std::once_flag once;
  static process_settings settings;
  std::call_once(once, [=] {
    settings = {threads, how};
    if (how == numerics::portable && has_portable_instructions())
      use_portable_instructions();
  });
  if (device == "cpu") {
    if (settings.how == numerics::portable && !has_portable_instructions())
      return {errc::invalid_argument,
              "this CPU has no AVX2, which numerics: portable computes with: "
              "only numerics: native can be trained here"};
    device_info result;
    // What studies bring loads libraries of its own, whose versions are part of
    // its key.
    result.kind = "cpu " + cpu_generation(settings.how)
                  + (settings.how == numerics::portable ? " portable-avx2 "
                                                        : " ")
                  + std::to_string(settings.threads) + "-thread";
    result.memory_bytes = machine_memory_bytes();
    return result;
  }
  if (const auto index = gpu_index(device))
    return find_gpu(device, *index);
  return {errc::invalid_argument,
          "no device '" + device + "': give cpu or cuda:N"};
}

void on_device_lost(device_lost_handler) {
  // What computes on a GPU is another process, whose end is no secret.
}

void add_built_in_workloads(workload_registry&, const std::string&,
                            const data_options&) {
  // They need LibTorch.
}

} // namespace hippo
