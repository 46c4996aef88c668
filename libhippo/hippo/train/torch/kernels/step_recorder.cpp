#include "hippo/train/torch/kernels/step_recorder.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <exception>

namespace hippo {

namespace {

/// Returns `hippo_record_step` of libhippo_cuda_graph.so, or null if it is not
/// there.
step_recorder::record_function graph_recorder() {
  static const auto result = []() -> step_recorder::record_function {
    void* found = cuda_graph_function("hippo_record_step");
    if (found == nullptr)
      TORCH_WARN("training without CUDA graphs: ", ::dlerror());
    return reinterpret_cast<step_recorder::record_function>(found);
  }();
  return result;
}

} // namespace

void* cuda_graph_function(const char* name) {
  void* library = ::dlopen("libhippo_cuda_graph.so", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : ::dlsym(library, name);
}

step_recorder::step_recorder(at::Device device)
  : step_recorder(device.is_cpu() ? nullptr : graph_recorder()) {}

void step_recorder::run(const shape& size, const std::function<void()>& step) {
  if (record_ == nullptr) {
    step();
    return;
  }
  auto known = steps_.find(size);
  if (known == steps_.end()) {
    if (steps_.size() >= recordings_max)
      steps_.erase(std::ranges::min_element(
        steps_, {}, [](const auto& kvp) { return kvp.second.last_run; }));
    // The first time, libraries make what they keep: not to be recorded.
    step();
    steps_[size].last_run = ++calls_;
    return;
  }
  auto& [last_run, fails, recorded] = known->second;
  last_run = ++calls_;
  if (!recorded && !fails)
    try {
      recorded = record_(step);
    } catch (const c10::OutOfMemoryError&) {
      throw; // with more room it can be
    } catch (const std::exception& e) {
      TORCH_WARN("a training step cannot be recorded: ", e.what());
      fails = true;
    }
  if (recorded)
    recorded->replay();
  else
    step();
}

} // namespace hippo
