#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// The description of a device.
struct device_info {
  /// Decides the bits of a result, e.g. `cpu amd x86-64-v4 avx512 1-thread
  /// torch-2.11.0`.
  std::string kind;
  std::uint64_t memory_bytes = 0; ///< the machine's for a CPU; 0: unknown
  std::string driver; ///< the newest CUDA that it can run, e.g. `13.0`
  std::string compute_capability; ///< e.g. `9.0`; both empty for a CPU
  /// How much of the memory may hold states to branch off from.
  std::uint64_t kept_bytes_max = recent_state_bytes_max;
};

/// With which of a CPU's instructions a process computes: the workloads' option
/// of that name.
enum class numerics : std::uint8_t {
  portable, ///< AVX2 and FMA, whatever else the CPU has
  native    ///< all that it has
};

/// The numerics of a study that does not choose, as in `built_in_workloads()`.
inline constexpr auto default_numerics = numerics::native;

/// Returns the option's word for it, and back; nothing if there is none.
const char* to_text(numerics mode);
std::optional<numerics> numerics_from(const std::string& word);

/// The devices of a machine.
struct device_list {
  /// Every GPU that the driver knows, as `cuda:N`, usable or not; `cpu` if it
  /// knows none.
  std::vector<std::string> names;
  std::string trouble; ///< why GPUs may be missing; empty: none are
};

device_list all_devices();

/// A GPU as the driver has it, `cuda:N`.
/// @returns `errc::invalid_argument` if there is none of that number, or the
///          driver does not start
expected<device_info> find_gpu(const std::string& device, int index);

/// Returns the memory of this machine in bytes; 0: unknown.
std::uint64_t machine_memory_bytes();

/// Returns a CPU's maker and the newest generation of x86-64 that it has, by
/// which libraries choose what to compute with: `amd x86-64-v4`.
/// @param how `numerics::portable`: the maker alone
std::string cpu_generation(numerics how);

/// Whether the CPU has what `numerics::portable` computes with.
bool has_portable_instructions();

/// Makes ATen, oneDNN and MKL use AVX2 in this process, unless they have chosen
/// already, and in those that it starts.
void use_portable_instructions();

// -- what trains --------------------------------------------------------------
//
// There are two of what follows, and a program links one of them: `torch/`
// (hippo_training), with LibTorch, and `plain/` (hippo_plain_training), which
// trains nothing but what studies bring.

/// Makes this process ready to train on `device`: `cpu` or `cuda:N`. CUDA's
/// libraries are loaded here, and only when asked for; a GPU counts as ready
/// once it has computed something. Training uses so many CPU threads and
/// deterministic kernels from then on, in every thread.
/// Call it before anything trains; again for each further device.
/// Nothing of LibTorch may have computed before the first call, nor another
/// thread be there: LibTorch and its libraries read from the environment, once,
/// which instructions to use, and it is set here. Children inherit it.
/// @param threads those of the first call count; they decide the bits of what a
///                CPU computes
/// @param how likewise
/// @returns what it is, or `errc::invalid_argument` if there is no such device
///          or it cannot be used, and why
expected<device_info> prepare_device(const std::string& device,
                                     unsigned threads = 1,
                                     numerics how = default_numerics);

/// The reaction to a GPU that does not answer any more, with the device and its
/// error. CUDA gives nothing but that error in this process from then on, so it
/// should end the process. If it returns, what was asked of the GPU fails.
using device_lost_handler = void (*)(const std::string& device,
                                     const std::string& why);

/// Has `handler` called when a GPU is lost, on any thread; null: nothing.
void on_device_lost(device_lost_handler handler);

/// How data come to training, and what shares it. No result depends on it.
struct data_options {
  /// Threads that prepare batches for each lease, where a workload has such
  /// (`batch_pipeline`); 0: the one that trains does.
  unsigned prepare_threads = 1;
  /// Bytes that the training images of a folder may take in memory; larger sets
  /// are decoded in each epoch. Nothing: half of the machine's memory.
  std::optional<std::uint64_t> memory_bytes{};
  /// The devices that compute the parts of a workload which has such, a power
  /// of two of them and all of one kind; the first one trains all others. On a
  /// CPU each is a thread of its own. Empty: the one device.
  std::vector<std::string> members{};
};

/// Adds those of `built_in_workloads()` that this program can train.
/// REQUIRES: `prepare_device(device)` was successful before one is made.
void add_built_in_workloads(workload_registry& registry,
                            const std::string& device,
                            const data_options& data = {});

} // namespace hippo
