#include "hippo/train/device.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "hippo/train/gpu_driver.hpp"

namespace hippo {

const char* to_text(numerics mode) {
  return mode == numerics::portable ? "portable" : "native";
}

std::optional<numerics> numerics_from(const std::string& word) {
  for (const auto x : {numerics::portable, numerics::native})
    if (word == to_text(x))
      return x;
  return std::nullopt;
}

device_list all_devices() {
  const auto& driver = gpu_driver::get();
  if (!driver)
    return {{"cpu"}, driver.failure().message};
  if (driver->count() == 0)
    return {{"cpu"}, {}};
  device_list result;
  for (int i = 0; i < driver->count(); ++i)
    result.names.push_back("cuda:" + std::to_string(i));
  return result;
}

expected<device_info> find_gpu(const std::string& device, int index) {
  const auto& driver = gpu_driver::get();
  if (!driver)
    return {errc::invalid_argument, "device " + device + " cannot be used: "
                                      + driver.failure().message};
  if (index >= driver->count())
    return {errc::invalid_argument,
            "no device " + device + ": the number of GPUs is "
              + std::to_string(driver->count())};
  const auto facts = driver->describe(index);
  device_info result;
  result.kind = "cuda " + facts.name;
  result.memory_bytes = facts.memory_bytes;
  result.driver = driver->version();
  result.compute_capability = facts.compute_capability;
  return result;
}

std::uint64_t machine_memory_bytes() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages)
                                   * static_cast<std::uint64_t>(size)
                               : 0;
}

std::string cpu_generation(numerics how) {
#ifdef __x86_64__
  __builtin_cpu_init();
  // MKL and oneDNN choose kernels by maker as well.
  const std::string maker = __builtin_cpu_is("intel") ? "intel"
                            : __builtin_cpu_is("amd") ? "amd"
                                                      : "other";
  if (how == numerics::portable)
    return maker;
  return maker
         + (__builtin_cpu_supports("x86-64-v4")   ? " x86-64-v4"
            : __builtin_cpu_supports("x86-64-v3") ? " x86-64-v3"
                                                  : " x86-64-v2");
#else
  static_cast<void>(how);
  return "other";
#endif
}

bool has_portable_instructions() {
  // What LibTorch asks for before it uses AVX2.
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

void use_portable_instructions() {
  for (const auto& [name, value] :
       {std::pair{"ATEN_CPU_CAPABILITY", "avx2"},
        std::pair{"DNNL_MAX_CPU_ISA", "AVX2"},
        std::pair{"ONEDNN_MAX_CPU_ISA", "AVX2"},
        std::pair{"MKL_ENABLE_INSTRUCTIONS", "AVX2"}})
    ::setenv(name, value, 1);
}

} // namespace hippo
