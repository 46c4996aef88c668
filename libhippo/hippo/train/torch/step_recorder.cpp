#include "hippo/train/torch/step_recorder.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <exception>

namespace hippo {

namespace {

/// `hippo_record_step` of libhippo_cuda_graph.so.
using record_function = std::unique_ptr<step_recorder::recording> (*)(
  const std::function<void()>&);

/// Returns how steps are recorded on a GPU, or null if that cannot be done here.
record_function recorder() {
  static const auto result = []() -> record_function {
    void* library =
      ::dlopen("libhippo_cuda_graph.so", RTLD_NOW | RTLD_LOCAL);
    void* found =
      library == nullptr ? nullptr : ::dlsym(library, "hippo_record_step");
    if (found == nullptr)
      TORCH_WARN("training without CUDA graphs: ", ::dlerror());
    return reinterpret_cast<record_function>(found);
  }();
  return result;
}

} // namespace

void step_recorder::run(const shape& x, const std::function<void()>& step) {
  if (device_.is_cpu()) {
    step();
    return;
  }
  if (steps_.size() >= recordings_max && !steps_.contains(x))
    steps_.erase(std::ranges::min_element(
      steps_, {}, [](const auto& kvp) { return kvp.second.last_run; }));
  auto& known = steps_[x];
  known.last_run = ++calls_;
  // The first time, libraries make what they keep: not to be recorded.
  if (known.was_run && !known.recorded && !known.fails) {
    const auto record = recorder();
    try {
      if (record != nullptr)
        known.recorded = record(step);
    } catch (const std::exception& e) {
      TORCH_WARN("a training step cannot be recorded: ", e.what());
    }
    known.fails = !known.recorded;
  }
  known.was_run = true;
  if (known.recorded)
    known.recorded->replay();
  else
    step();
}

} // namespace hippo
