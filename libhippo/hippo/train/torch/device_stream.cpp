#include "hippo/train/torch/device_stream.hpp"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>

#include "hippo/train/torch/kernels/step_recorder.hpp"

namespace hippo {

namespace {

/// Returns `hippo_new_stream_mark` of libhippo_cuda_graph.so, or null if it is
/// not there.
device_stream::mark_maker gpu_mark_maker() {
  static const auto result = reinterpret_cast<device_stream::mark_maker>(
    cuda_graph_function("hippo_new_stream_mark"));
  return result;
}

} // namespace

device_stream::scope::scope(const device_stream& stream)
  : stream_(stream),
    before_(
      c10::impl::VirtualGuardImpl{stream.stream_->device_type()}.exchangeStream(
        *stream.stream_)) {
  if (stream.generator_) {
    auto shared =
      at::globalContext().defaultGenerator(stream.stream_->device());
    shared.graphsafe_set_state(*stream.generator_);
  }
}

device_stream::scope::~scope() {
  c10::impl::VirtualGuardImpl{stream_.stream_->device_type()}.exchangeStream(
    before_);
}

device_stream::device_stream(at::Device device) {
  if (device.is_cpu())
    return;
  thread_ = &device_thread::of(device);
  make_mark_ = gpu_mark_maker();
  thread_->run([&] {
    stream_ = c10::impl::VirtualGuardImpl{device.type()}.getNewStream(device);
    generator_ = at::globalContext().defaultGenerator(device).clone();
  });
}

device_stream::device_stream(device_thread* thread, mark_maker make_mark)
  : thread_(thread), make_mark_(make_mark) {
  if (thread_ != nullptr)
    thread_->run([&] {
      stream_ = c10::impl::VirtualGuardImpl{at::kCPU}.getStream(at::kCPU);
    });
}

device_stream::~device_stream() {
  if (thread_ == nullptr)
    return;
  try {
    run([&] {
      if (make_mark_ != nullptr)
        thread_->synchronize();
    });
  } catch (const std::exception& e) {
    TORCH_WARN("letting go of a stream: ", e.what());
  }
}

void device_stream::mark() {
  if (thread_ == nullptr)
    return;
  if (make_mark_ == nullptr) {
    thread_->synchronize();
    return;
  }
  if (spare_.empty())
    spare_.push_back(make_mark_());
  spare_.front()->record();
  marks_.push_back(std::move(spare_.front()));
  spare_.pop_front();
}

void device_stream::wait_for_all_but(std::size_t marks) {
  while (marks_.size() > marks) {
    marks_.front()->wait();
    spare_.push_back(std::move(marks_.front()));
    marks_.pop_front();
  }
}

std::string
device_stream::release_cached_memory(const c10::OutOfMemoryError& failure) {
  try {
    at::getDeviceAllocator(at::kCUDA)->emptyCache();
  } catch (const std::exception&) {
    // The error that is told is that there was no room.
  }
  return first_line(failure);
}

std::string first_line(const c10::Error& failure) {
  const std::string all = failure.what_without_backtrace();
  return all.substr(0, all.find('\n'));
}

} // namespace hippo
