#include "hippo/train/torch/device_thread.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace hippo {

namespace {

std::atomic<device_lost_handler> lost_handler{nullptr};

} // namespace

void device_thread::on_lost(device_lost_handler handler) {
  lost_handler = handler;
}

device_thread& device_thread::of(at::Device device) {
  static std::mutex mutex;
  // Never destroyed: CUDA may be gone when a process's objects are.
  static auto& threads
    = *new std::map<c10::DeviceIndex, std::unique_ptr<device_thread>>;
  const std::lock_guard guard{mutex};
  auto& result = threads[device.index()];
  if (!result)
    result.reset(new device_thread{device});
  return *result;
}

device_thread::device_thread(at::Device device) : device_(device) {
  // For good: every thread begins on GPU 0 and the stream that all share.
  run([this] {
    const c10::impl::VirtualGuardImpl guard{device_.type()};
    guard.setDevice(device_);
    guard.exchangeStream(guard.getNewStream(device_));
  });
}

void device_thread::synchronize() const {
  const c10::impl::VirtualGuardImpl guard{device_.type()};
  guard.synchronizeStream(guard.getStream(device_));
}

void device_thread::check_device() const {
  try {
    c10::impl::VirtualGuardImpl{device_.type()}.synchronizeDevice(
      device_.index());
  } catch (const std::exception& e) {
    if (const auto handler = lost_handler.load())
      handler(device_.str(), e.what());
  }
}

} // namespace hippo
