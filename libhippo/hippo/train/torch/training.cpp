#include "hippo/train/torch/training.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <mutex>

#include "hippo/train/torch/fashion.hpp"
#include "hippo/train/torch/span_workload.hpp"

namespace hippo {

namespace {

/// Settings of the whole process, made once.
void prepare_process(unsigned threads) {
  // glibc would give large blocks back to the kernel at every iteration, and
  // page faults would then cost a third of the time. Thread arenas are shrunk
  // whatever the thresholds say, so there is to be only the main one.
  constexpr int mebibyte = 1 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 * mebibyte);
  mallopt(M_TRIM_THRESHOLD, 512 * mebibyte);
  at::set_num_threads(static_cast<int>(threads));
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

std::string cpu_kind(unsigned threads) {
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
  return result + dispatched + ' ' + std::to_string(threads)
         + "-thread torch-" TORCH_VERSION;
}

/// Returns a function of the GPUs' driver, or null if there is none.
template <class F>
F driver_function(const char* name) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr)
    return nullptr;
  const auto init =
    reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  if (init == nullptr || init(0) != 0)
    return nullptr;
  return reinterpret_cast<F>(::dlsym(driver, name));
}

// Devices are numbered from 0, so the index is the driver's handle.

/// Returns the name of a GPU, which only the driver knows.
std::string gpu_name(int index) {
  std::array<char, 256> name{"unknown"};
  if (const auto name_of
      = driver_function<int (*)(char*, int, int)>("cuDeviceGetName"))
    name_of(name.data(), static_cast<int>(name.size()), index);
  return name.data();
}

std::uint64_t gpu_memory(int index) {
  std::size_t bytes = 0;
  if (const auto total
      = driver_function<int (*)(std::size_t*, int)>("cuDeviceTotalMem_v2");
      total == nullptr || total(&bytes, index) != 0)
    return 0;
  return bytes;
}

std::uint64_t machine_memory() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages)
                                   * static_cast<std::uint64_t>(size)
                               : 0;
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

expected<std::string> prepare_device(const std::string& device,
                                     unsigned threads) {
  static std::once_flag once;
  std::call_once(once, [threads] { prepare_process(threads); });
  try {
    const at::Device x{device};
    if (x.is_cpu())
      return cpu_kind(static_cast<unsigned>(at::get_num_threads()));
    if (x.is_cuda() && x.has_index())
      return prepare_cuda(x);
  } catch (const c10::Error& e) {
    return {errc::invalid_argument,
            "no device '" + device + "': " + e.what_without_backtrace()};
  }
  return {errc::invalid_argument,
          "no device '" + device + "': give cpu or cuda:N"};
}

std::vector<std::string> all_devices() {
  int count = 0;
  if (const auto count_of = driver_function<int (*)(int*)>("cuDeviceGetCount");
      count_of == nullptr || count_of(&count) != 0 || count == 0)
    return {"cpu"};
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i)
    result.push_back("cuda:" + std::to_string(i));
  return result;
}

std::uint64_t memory_of(const std::string& device) {
  const at::Device x{device};
  return x.is_cuda() ? gpu_memory(x.index()) : machine_memory();
}

void add_built_in_workloads(workload_registry& registry,
                            const std::string& device) {
  for (const auto& x : built_in_workloads())
    if (!x.open)
      registry.add(x, [device](const workload_spec& spec) {
        return spec.name.starts_with("bert-")
                 ? make_span_workload(spec, device)
                 : make_fashion_workload(spec, device);
      });
}

} // namespace hippo
