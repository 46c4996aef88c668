// Records training steps into CUDA graphs. Links nothing of CUDA: what it needs
// is in the process once LibTorch's CUDA libraries have been loaded.

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <map>
#include <memory>
#include <stdexcept>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/kernels/step_recorder.hpp"

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// Of what other threads do meanwhile only what they launch on this stream
// counts: autograd runs the way back on a thread of its own.
constexpr auto mode = cudaStreamCaptureModeThreadLocal;

/// Where recorded steps have what they compute on their way. All recordings of
/// a stream share it: they run one after the other there, and nothing outlives
/// a step.
class memory_pool {
public:
  static std::shared_ptr<const memory_pool>
  of(const c10::cuda::CUDAStream& stream) {
    // Streams of one GPU are used by its one thread.
    thread_local std::map<c10::StreamId, std::weak_ptr<const memory_pool>> all;
    std::erase_if(all, [](const auto& x) { return x.second.expired(); });
    auto& present = all[stream.id()];
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
    = memory_pool::of(c10::cuda::getCurrentCUDAStream());
  at::cuda::CUDAGraph graph_;
};

/// A mark for which a thread waits asleep: there is one for each lease, and the
/// thread that launches for all of them needs a CPU.
class mark final : public hippo::stream_mark {
public:
  void record() override { event_.record(); }
  void wait() override { event_.synchronize(); }

private:
  at::cuda::CUDAEvent event_{cudaEventBlockingSync | cudaEventDisableTiming};
};

} // namespace

namespace hippo {

extern "C" std::unique_ptr<stream_mark> hippo_new_stream_mark() {
  return std::make_unique<mark>();
}

extern "C" std::unique_ptr<step_recorder::recording>
hippo_record_step(const std::function<void()>& step) {
  try {
    return std::make_unique<graph>(step);
  } catch (const c10::OutOfMemoryError&) {
    // Recordings cannot use memory that is cached for steps without one.
    allocator::emptyCache();
    return std::make_unique<graph>(step);
  }
}

} // namespace hippo
