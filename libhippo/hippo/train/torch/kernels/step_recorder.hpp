#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace hippo {

/// Returns a function of libhippo_cuda_graph.so, or null if it is not there.
void* cuda_graph_function(const char* name);

/// Runs steps of one shape again and again. On a GPU a step is recorded into a
/// CUDA graph the second time and then launched as a whole, which spares the
/// time that launching its kernels one by one takes. Bits are the same: the
/// same kernels run.
///
/// Values that change between two runs must lie in device memory that was
/// there before, such as `step_values`; tensors made in a step must not be
/// kept.
class step_recorder {
public:
  /// The key of steps that launch the same kernels and use the same memory.
  using shape = std::vector<std::int64_t>;

  /// A step that was recorded.
  class recording {
  public:
    virtual ~recording() = default;
    virtual void replay() = 0;
  };

  /// Records a step without running it. Throws if it cannot be recorded.
  using record_function
    = std::unique_ptr<recording> (*)(const std::function<void()>& step);

  /// The number of kept recordings, the last used ones: each has memory.
  static constexpr std::size_t recordings_max = 8;

  /// @param record null: steps are always run as they are
  explicit step_recorder(record_function record) : record_(record) {}

  /// Records by libhippo_cuda_graph.so if the device is a GPU.
  explicit step_recorder(at::Device device);

  /// Runs `step`, or what was recorded of one of that shape.
  void run(const shape& size, const std::function<void()>& step);

private:
  struct entry {
    std::uint64_t last_run = 0; ///< in the order of calls
    bool fails = false;         ///< to be recorded
    std::unique_ptr<recording> recorded;
  };

  record_function record_;
  std::map<shape, entry> steps_; ///< that were run at least once
  std::uint64_t calls_ = 0;
};

} // namespace hippo
