// Records training steps into CUDA graphs. Links nothing of CUDA: what it needs
// is in the process once LibTorch's CUDA libraries have been loaded.

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <memory>
#include <stdexcept>

#include "hippo/train/torch/kernels/step_recorder.hpp"

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// Of what other threads do meanwhile only what they launch on this stream
// counts: autograd runs the way back on a thread of its own.
constexpr auto mode = cudaStreamCaptureModeThreadLocal;

/// Where recorded steps have what they compute on their way. All recordings of
/// a thread share it: they run one after the other on its stream, and nothing
/// outlives a step.
class memory_pool {
public:
  static std::shared_ptr<const memory_pool> of_this_thread() {
    thread_local std::weak_ptr<const memory_pool> present;
    auto result = present.lock();
    if (!result) {
      // LibTorch lets go of a pool with its last recording.
      result = std::make_shared<const memory_pool>();
      present = result;
    }
    return result;
  }

  [[nodiscard]] at::cuda::MempoolId_t id() const { return id_; }

private:
  at::cuda::MempoolId_t id_ = at::cuda::graph_pool_handle();
};

class graph final : public hippo::step_recorder::recording {
public:
  explicit graph(const std::function<void()>& step) {
    const auto stream = c10::cuda::getCurrentCUDAStream();
    if (stream == c10::cuda::getDefaultCUDAStream())
      throw std::runtime_error("it runs on the stream that all threads share");
    // What is cached here cannot be used by the pool.
    allocator::emptyCache();
    std::exception_ptr failure;
    try {
      graph_.capture_begin(pool_->id(), mode);
      try {
        step();
      } catch (...) {
        failure = std::current_exception();
      }
      graph_.capture_end();
    } catch (...) {
      abandon(stream.device_index());
      if (!failure)
        failure = std::current_exception();
    }
    if (failure)
      std::rethrow_exception(failure);
  }

  void replay() override { graph_.replay(); }

private:
  /// Undoes what a recording that does not end in order leaves behind: an
  /// allocator that asks a graph which is gone where to allocate, and a
  /// generator of random numbers that takes itself to be recorded.
  void abandon(c10::DeviceIndex device) const {
    try {
      allocator::endAllocateToPool(device, pool_->id());
      allocator::releasePool(device, pool_->id());
    } catch (const c10::Error&) {
      // It had ended, or not begun.
    }
    try {
      at::cuda::CUDAGraph nothing;
      nothing.capture_begin({0, 0}, mode);
      nothing.capture_end();
    } catch (const c10::Error&) {
      // It is the first failure that counts.
    }
  }

  const std::shared_ptr<const memory_pool> pool_
    = memory_pool::of_this_thread();
  at::cuda::CUDAGraph graph_;
};

} // namespace

namespace hippo {

extern "C" std::unique_ptr<step_recorder::recording>
hippo_record_step(const std::function<void()>& step) {
  return std::make_unique<graph>(step);
}

} // namespace hippo
