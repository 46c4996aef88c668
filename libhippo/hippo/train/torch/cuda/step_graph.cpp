// Records training steps into CUDA graphs. Links nothing of CUDA: what it needs
// is in the process once LibTorch's CUDA libraries have been loaded.

#include <ATen/cuda/CUDAGraph.h>

#include "hippo/train/torch/kernels/step_recorder.hpp"

namespace {

class graph final : public hippo::step_recorder::recording {
public:
  explicit graph(const std::function<void()>& step) {
    // Of what other threads do meanwhile only what they launch on this stream
    // counts: autograd runs the way back on a thread of its own.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      step();
    } catch (...) {
      try {
        graph_.capture_end();
      } catch (const c10::Error&) {
        // It is what `step` says that counts.
      }
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

private:
  at::cuda::CUDAGraph graph_;
};

} // namespace

namespace hippo {

extern "C" std::unique_ptr<step_recorder::recording>
hippo_record_step(const std::function<void()>& step) {
  return std::make_unique<graph>(step);
}

} // namespace hippo
