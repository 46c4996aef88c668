#include "hippo/train/gpu_driver.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>

namespace hippo {

namespace {

// Of cuda.h, which a machine that builds without CUDA lacks.
constexpr int success = 0;
constexpr int error_no_device = 100;
constexpr int attribute_capability_major = 75;
constexpr int attribute_capability_minor = 76;
constexpr int error_no_function = -1;

/// Calls a function of the driver. @returns its status
template <class... Parameters, class... Arguments>
int call(void* library, int (*)(Parameters...), const char* name,
         Arguments... arguments) {
  const auto function =
    reinterpret_cast<int (*)(Parameters...)>(::dlsym(library, name));
  return function == nullptr ? error_no_function : function(arguments...);
}

using of_flags = int (*)(unsigned);
using of_number = int (*)(int*);
using of_name = int (*)(char*, int, int);
using of_size = int (*)(std::size_t*, int);
using of_attribute = int (*)(int*, int, int);

std::string dotted(int major, int minor) {
  return std::to_string(major) + '.' + std::to_string(minor);
}

} // namespace

const expected<gpu_driver>& gpu_driver::get() {
  static const auto result = load();
  return result;
}

expected<gpu_driver> gpu_driver::load() {
  gpu_driver result;
  result.library_ = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (result.library_ == nullptr)
    return result;
  auto status = call(result.library_, of_flags{}, "cuInit", 0U);
  if (status == success)
    status =
      call(result.library_, of_number{}, "cuDeviceGetCount", &result.count_);
  if (status == error_no_device)
    return result;
  if (status != success)
    return {errc::io_failed, "the GPUs' driver does not start: CUDA error "
                               + std::to_string(status)};
  int version = 0;
  if (call(result.library_, of_number{}, "cuDriverGetVersion", &version)
      == success)
    result.version_ = dotted(version / 1000, version % 1000 / 10);
  return result;
}

// The index is the driver's handle of a device.

gpu_facts gpu_driver::describe(int index) const {
  gpu_facts result;
  std::array<char, 256> name{"unknown"};
  call(library_, of_name{}, "cuDeviceGetName", name.data(),
       static_cast<int>(name.size()), index);
  result.name = name.data();
  std::size_t bytes = 0;
  if (call(library_, of_size{}, "cuDeviceTotalMem_v2", &bytes, index)
      == success)
    result.memory_bytes = bytes;
  int major = 0, minor = 0;
  if (call(library_, of_attribute{}, "cuDeviceGetAttribute", &major,
           attribute_capability_major, index)
        == success
      && call(library_, of_attribute{}, "cuDeviceGetAttribute", &minor,
              attribute_capability_minor, index)
           == success)
    result.compute_capability = dotted(major, minor);
  return result;
}

} // namespace hippo
