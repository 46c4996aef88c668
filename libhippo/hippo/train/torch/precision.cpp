#include "hippo/train/torch/precision.hpp"

#include <ATen/autocast_mode.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

namespace hippo {

namespace {

/// Who uses LibTorch's setting of TF32, which all threads share.
struct tf32_setting {
  std::mutex mutex; ///< guards what follows
  std::condition_variable changed;
  std::size_t users = 0;
  bool is_on = false;                   ///< for the users
  std::array<std::size_t, 2> waiting{}; ///< for off, for on

  /// While both are wanted they take turns, so that nobody waits for ever.
  [[nodiscard]] bool admits(bool wanted) const {
    const bool is_contended = waiting[wanted ? 0 : 1] > 0;
    if (users > 0)
      return is_on == wanted && !is_contended;
    return is_on != wanted || !is_contended;
  }
};

tf32_setting& setting() {
  static tf32_setting result;
  return result;
}

} // namespace

precision precision_of(const workload_spec& spec, at::Device device) {
  const auto i = spec.options.find("precision");
  if (i == spec.options.end())
    return precision::float32;
  const auto& name = std::get<std::string>(i->second);
  if (name == "tf32")
    return precision::tf32;
  if (name == "bfloat16")
    return precision::bfloat16;
  if (name == "float16") {
    if (device.is_cpu())
      throw std::invalid_argument(
        "precision: float16 needs a GPU: give bfloat16 or float32");
    return precision::float16;
  }
  return precision::float32;
}

at::MemoryFormat layout_for(precision numerics, at::Device device) {
  return numerics == precision::float32 && !device.is_cpu()
           ? at::MemoryFormat::Contiguous
           : at::MemoryFormat::ChannelsLast;
}

double loss_scale(precision numerics) {
  return numerics == precision::float16 ? 1024 : 1;
}

autocast_scope::autocast_scope(precision numerics, at::Device device)
  : is_on_(numerics == precision::bfloat16 || numerics == precision::float16),
    device_(device.type()) {
  if (!is_on_)
    return;
  at::autocast::increment_nesting();
  at::autocast::set_autocast_dtype(
    device_, numerics == precision::float16 ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
}

autocast_scope::~autocast_scope() {
  if (!is_on_)
    return;
  at::autocast::set_autocast_enabled(device_, false);
  if (at::autocast::decrement_nesting() == 0)
    at::autocast::clear_cache();
}

tf32_scope::tf32_scope(precision numerics) {
  const bool wanted = numerics == precision::tf32;
  auto& all = setting();
  std::unique_lock guard{all.mutex};
  auto& waiting = all.waiting[wanted ? 1 : 0];
  ++waiting;
  all.changed.wait(guard, [&] { return all.admits(wanted); });
  --waiting;
  if (all.users++ == 0) {
    all.is_on = wanted;
    at::globalContext().setAllowTF32CuBLAS(wanted);
    at::globalContext().setAllowTF32CuDNN(wanted);
  }
}

tf32_scope::~tf32_scope() {
  auto& all = setting();
  const std::lock_guard guard{all.mutex};
  if (--all.users == 0)
    all.changed.notify_all();
}

} // namespace hippo
