#include "hippo/train/torch/training.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <mutex>

#include "hippo/train/torch/fashion.hpp"

namespace hippo {

namespace {

/// Settings of the whole process, made once.
void prepare_process() {
  // glibc would give large blocks back to the kernel at every iteration, and
  // page faults would then cost a third of the time. Thread arenas are shrunk
  // whatever the thresholds say, so there is to be only the main one.
  constexpr int mebibyte = 1 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 * mebibyte);
  mallopt(M_TRIM_THRESHOLD, 512 * mebibyte);
  at::set_num_threads(1);
  at::set_num_interop_threads(1);
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(true, false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setDeterministicMkldnn(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowTF32CuBLAS(false);
}

std::string cpu_kind() {
  __builtin_cpu_init();
  // MKL and oneDNN choose kernels by maker as well.
  std::string result = "cpu ";
  result += __builtin_cpu_is("intel") ? "intel"
            : __builtin_cpu_is("amd") ? "amd"
                                      : "other";
  result += __builtin_cpu_supports("x86-64-v4")   ? " x86-64-v4 "
            : __builtin_cpu_supports("x86-64-v3") ? " x86-64-v3 "
                                                  : " x86-64-v2 ";
  auto dispatched = at::get_cpu_capability();
  std::ranges::transform(dispatched, dispatched.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return result + dispatched + " 1-thread torch-" TORCH_VERSION;
}

/// Returns the name of a GPU, which only the driver knows.
std::string gpu_name(int index) {
  std::array<char, 256> name{"unknown"};
  if (void* driver = ::dlopen("libcuda.so.1", RTLD_NOW)) {
    const auto init =
      reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
    const auto name_of = reinterpret_cast<int (*)(char*, int, int)>(
      ::dlsym(driver, "cuDeviceGetName"));
    // Devices are numbered from 0, so the index is the driver's handle.
    if (init != nullptr && name_of != nullptr && init(0) == 0)
      name_of(name.data(), static_cast<int>(name.size()), index);
  }
  return name.data();
}

expected<std::string> prepare_cuda(const at::Device& device) {
  // cuBLAS is deterministic only with a workspace of fixed size.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return {errc::invalid_argument,
            std::string{"cannot load CUDA: "} + ::dlerror()};
  const auto& hooks = at::detail::getCUDAHooks();
  const auto count = hooks.hasCUDA() ? hooks.deviceCount() : 0;
  if (device.index() >= count)
    return {errc::invalid_argument, "no device " + device.str() + ": there are "
                                      + std::to_string(count)};
  return "cuda " + gpu_name(device.index()) + " cudnn-"
         + std::to_string(hooks.versionCuDNN()) + " torch-" TORCH_VERSION;
}

} // namespace

expected<std::string> prepare_device(const std::string& device) {
  static std::once_flag once;
  std::call_once(once, prepare_process);
  try {
    const at::Device x{device};
    if (x.is_cpu())
      return cpu_kind();
    if (x.is_cuda() && x.has_index())
      return prepare_cuda(x);
  } catch (const c10::Error& e) {
    return {errc::invalid_argument,
            "no device '" + device + "': " + e.what_without_backtrace()};
  }
  return {errc::invalid_argument,
          "no device '" + device + "': give cpu or cuda:N"};
}

void add_built_in_workloads(workload_registry& registry,
                            const std::string& device) {
  for (const auto& x : built_in_workloads())
    registry.add(x, [device](const workload_spec& spec) {
      return make_fashion_workload(spec, device);
    });
}

} // namespace hippo
