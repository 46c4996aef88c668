#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <exception>
#include <functional>
#include <future>
#include <string>
#include <type_traits>

#include "hippo/train/torch/training.hpp"

namespace hippo {

/// The one thread of this process that launches work on a GPU, on a stream of
/// its own.
///
/// cuBLAS and cuDNN keep handles, plans and workspaces by thread: what one
/// thread has warmed up, another one could not record into a graph. Memory of
/// one stream is used again in the order of that stream, so nothing that is
/// still queued meets memory that was let go of. And LibTorch has one generator
/// of random numbers for a GPU, which is recorded with a step.
///
/// Trainers of one process on one GPU therefore take turns; those that are to
/// use it at the same time are processes of their own.
class device_thread {
public:
  /// Has `f` called, on the thread of a GPU that is lost; null: nothing.
  static void on_lost(device_lost_handler f);

  /// Returns the thread of a GPU. It is started by the first call, and stays as
  /// long as the process.
  /// REQUIRES: LibTorch's CUDA libraries are loaded.
  static device_thread& of(at::Device device);

  device_thread(const device_thread&) = delete;
  device_thread& operator=(const device_thread&) = delete;

  /// Calls `f` on the thread, and returns what it returns or throws what it
  /// throws. Callers take turns in the order of their calls.
  /// REQUIRES: the caller is another thread.
  template <class F>
  std::invoke_result_t<const F&> run(const F& f) {
    std::packaged_task<std::invoke_result_t<const F&>()> task{[&] {
      try {
        return f();
      } catch (const std::exception&) {
        check_device();
        throw;
      }
    }};
    auto result = task.get_future();
    boost::asio::post(thread_, [&task] { task(); });
    return result.get();
  }

  /// Waits until the GPU has done what was launched. On the thread only.
  void synchronize() const;

private:
  explicit device_thread(at::Device device);

  /// Calls the handler if the GPU does not answer.
  void check_device() const;

  at::Device device_;
  boost::asio::thread_pool thread_{1};
};

} // namespace hippo
