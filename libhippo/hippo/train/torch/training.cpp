#include "hippo/train/torch/training.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "hippo/base/lower_case.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/train/data_wait.hpp"
#include "hippo/train/shareable.hpp"
#include "hippo/train/torch/clicks/click_workload.hpp"
#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/graph/graph_workload.hpp"
#include "hippo/train/torch/image_workload.hpp"
#include "hippo/train/torch/kernels/cuda_kernels.hpp"
#include "hippo/train/torch/linear/linear_workload.hpp"
#include "hippo/train/torch/member_workload.hpp"
#include "hippo/train/torch/span_workload.hpp"

namespace hippo {

namespace {

/// Counts changes of how networks are computed on GPUs that change bits:
/// layouts, ways to convolve, kernels of our own.
constexpr auto gpu_ways = " hippo-3";

/// Which share of a GPU's memory may hold states to branch off from: one in so
/// many.
constexpr std::uint64_t kept_share = 8;

/// How this process computes, once it is prepared.
numerics& process_numerics() {
  static numerics result = default_numerics;
  return result;
}

/// Settings of the whole process, made once.
void prepare_process(unsigned threads, numerics how) {
  process_numerics() = how;
  if (how == numerics::portable && has_portable_instructions())
    use_portable_instructions();
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

/// The instructions of LibTorch's kernels: `avx2`, `avx512`, `default`.
std::string dispatched_instructions() {
  return in_lower_case(at::get_cpu_capability());
}

/// @returns the kind of CPU, or why it cannot compute as it is to
expected<std::string> cpu_kind(unsigned threads) {
  std::string result = "cpu " + cpu_generation(process_numerics());
  const auto dispatched = dispatched_instructions();
  if (process_numerics() == numerics::portable) {
    if (!has_portable_instructions())
      return {errc::invalid_argument,
              "this CPU has no AVX2, which numerics: portable computes with: "
              "only numerics: native can be trained here"};
    if (dispatched != "avx2")
      return {errc::training_failed,
              "LibTorch computes with " + dispatched
                + " instead of avx2: it was used too early"};
    result += " portable-";
  } else {
    result += ' ';
  }
  return result + dispatched + ' ' + std::to_string(threads)
         + "-thread torch-" TORCH_VERSION;
}

/// Computes something small: a GPU that the driver knows may be of a kind that
/// LibTorch has no kernels for, out of memory, or in use by another process
/// alone.
/// @returns why it cannot be used
std::optional<std::string> try_out(const at::Device& device) {
  constexpr std::int64_t side = 16;
  try {
    const auto x = at::full({side, side}, 0.5F, device);
    if (x.mm(x).sum().item<float>() != side * side * side / 4)
      return "it computes wrongly";
    return std::nullopt;
  } catch (const c10::Error& e) {
    return first_line(e);
  }
}

/// The version of the cuBLAS that is loaded, as `13.1.0`.
std::string cublas_version() {
  using get_property = int (*)(int, int*);
  const auto get =
    reinterpret_cast<get_property>(::dlsym(RTLD_DEFAULT, "cublasGetProperty"));
  std::string result;
  // Major, minor and patch level, as library_types.h numbers them.
  for (const int part : {0, 1, 2}) {
    int value = 0;
    if (get == nullptr || get(part, &value) != 0)
      return "unknown";
    result += (result.empty() ? "" : ".") + std::to_string(value);
  }
  return result;
}

expected<device_info> prepare_cuda(const at::Device& device) {
  // cuBLAS is deterministic only with a workspace of fixed size, whose size
  // decides the bits.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
  // Ways to convolve by how long cuDNN expects them to take, instead of by
  // rules of thumb: up to a tenth faster, and as deterministic.
  ::setenv("TORCH_CUDNN_USE_HEURISTIC_MODE_B", "1", 1);
  // As many streams as CUDA can feed at a time: beyond the 8 of its default,
  // leases would wait for each other.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  auto result = find_gpu(device.str(), device.index());
  if (!result)
    return result;
  const auto named = [&](const std::string& why) {
    return error{errc::invalid_argument,
                 "device " + device.str() + " cannot be used: "
                   + result->kind.substr(std::string_view{"cuda "}.size())
                   + ": " + why};
  };
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return named(std::string{"cannot load CUDA: "} + ::dlerror());
  const auto& hooks = at::detail::getCUDAHooks();
  const auto count = hooks.hasCUDA() ? hooks.deviceCount() : 0;
  if (device.index() >= count)
    return named("the driver is for CUDA " + result->driver
                 + ", with which LibTorch uses "
                 + std::to_string(count) + " GPUs");
  if (auto why =
        device_thread::of(device).run([&] { return try_out(device); }))
    return named(*why);
  if (const auto& kernels = own_cuda_kernels(); !kernels)
    return named(kernels.failure().message);
  result->kind += " cudnn-" + std::to_string(hooks.versionRuntimeCuDNN())
                  + " cublas-" + cublas_version() + " torch-" TORCH_VERSION
                  + gpu_ways;
  result->kept_bytes_max = result->memory_bytes / kept_share;
  return result;
}

/// Has this thread compute with as many threads as the process. LibTorch sees
/// to that when it divides work among threads, which products of matrices do
/// not wait for: until then MKL would take all cores, which changes bits.
void prepare_thread() {
  at::get_num_threads();
}

/// A built-in workload with the stream that it launches on: on a GPU it is made
/// and let go of by that.
class streaming_workload final : public workload,
                                 public data_wait,
                                 public shareable {
public:
  /// @param make takes the stream, and returns the workload
  template <class Make>
  streaming_workload(at::Device device, const Make& make)
    : stream_(device), work_(make(stream_)) {}

  ~streaming_workload() override {
    try {
      stream_.finish([] {});
      stream_.run([this] { work_.reset(); });
    } catch (const std::exception& e) {
      TORCH_WARN("letting go of a workload: ", e.what());
    }
  }

  streaming_workload(const streaming_workload&) = delete;
  streaming_workload& operator=(const streaming_workload&) = delete;

  void init() override { work_->init(); }

  void train(const configuration& config, step_t from, step_t to) override {
    prepare_thread();
    work_->train(config, from, to);
  }

  metrics evaluate() override {
    prepare_thread();
    return work_->evaluate();
  }

  std::string save() override { return work_->save(); }

  void load(const std::string& bytes) override { work_->load(bytes); }

  std::shared_ptr<const workload_state> snapshot() override {
    return work_->snapshot();
  }

  void restore(const workload_state& workload_state) override {
    work_->restore(workload_state);
  }

  [[nodiscard]] workload_size size() const override { return work_->size(); }

  void share(gang* members) override {
    if (auto* parts = dynamic_cast<shareable*>(work_.get()))
      parts->share(members);
    else if (members != nullptr)
      throw std::invalid_argument("it has no parts to share");
  }

  [[nodiscard]] std::uint64_t waited_ns() const noexcept override {
    const auto* waits = dynamic_cast<const data_wait*>(work_.get());
    return waits == nullptr ? 0 : waits->waited_ns();
  }

  void export_weights(const std::string& path) override {
    work_->export_weights(path);
  }

private:
  device_stream stream_;
  std::unique_ptr<workload> work_;
};

} // namespace

expected<device_info> prepare_device(const std::string& device,
                                     unsigned threads, numerics how) {
  static std::once_flag once;
  std::call_once(once, [=] { prepare_process(threads, how); });
  try {
    const at::Device x{device};
    if (x.is_cpu()) {
      const auto kind
        = cpu_kind(static_cast<unsigned>(at::get_num_threads()));
      if (!kind)
        return kind.failure();
      return device_info{*kind, machine_memory_bytes(), {}, {},
                         recent_state_bytes_max};
    }
    if (x.is_cuda() && x.has_index())
      return prepare_cuda(x);
  } catch (const c10::Error& e) {
    return {errc::invalid_argument,
            "no device '" + device + "': " + first_line(e)};
  }
  return {errc::invalid_argument,
          "no device '" + device + "': give cpu or cuda:N"};
}

void on_device_lost(device_lost_handler handler) {
  device_thread::on_lost(handler);
}

std::unique_ptr<workload> make_built_in_workload(const workload_spec& spec,
                                                 const std::string& device,
                                                 const data_options& data) {
  if (is_linear_workload(spec))
    return make_linear_workload(spec);
  if (is_graph_workload(spec))
    return std::make_unique<streaming_workload>(
      at::kCPU, [&](device_stream& stream) {
        return make_graph_workload(spec, stream, data.prepare_threads);
      });
  const at::Device x{device};
  const auto wanted = numerics_of(spec), offered
    = std::string{to_text(process_numerics())};
  if (x.is_cpu() && !wanted.empty() && wanted != offered)
    throw std::invalid_argument("numerics: this trainer computes with "
                                + offered + " ones, not with " + wanted
                                + " ones");
  const auto on = [&](at::Device where) {
    return std::make_unique<streaming_workload>(
      where, [&](device_stream& stream) {
        if (spec.name.starts_with("squad-"))
          return make_span_workload(spec, where, stream);
        if (is_click_workload(spec))
          return make_click_workload(spec, where, stream, data.prepare_threads);
        return make_image_workload(spec, where, stream, data);
      });
  };
  auto members = data.members;
  members.resize(std::min(members.size(), std::size_t{parts_of_batch(spec)}));
  if (members.size() < 2)
    return on(x);
  return make_member_workload(
    members, [&](const std::string& where) { return on(at::Device{where}); });
}

void add_built_in_workloads(workload_registry& registry,
                            const std::string& device,
                            const data_options& data) {
  for (const auto& x : built_in_workloads())
    if (!x.open)
      registry.add(x, [device, data](const workload_spec& spec) {
        return make_built_in_workload(spec, device, data);
      });
}

} // namespace hippo
