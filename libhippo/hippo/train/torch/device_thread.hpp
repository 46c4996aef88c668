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

/// The one thread of this process that launches work on a GPU, for all that use
/// it (`device_stream`).
///
/// cuBLAS and cuDNN keep handles and plans by thread: what one thread has
/// warmed up, another one could not record into a graph. And LibTorch's
/// generator of random numbers is one for a GPU, which whoever launches sets
/// before.
class device_thread {
public:
  /// Has `handler` called, on the thread of a GPU that is lost; null: nothing.
  static void on_lost(device_lost_handler handler);

  /// Returns the thread of a GPU. It is started by the first call, and stays as
  /// long as the process.
  /// REQUIRES: LibTorch's CUDA libraries are loaded.
  static device_thread& of(at::Device device);

  device_thread(const device_thread&) = delete;
  device_thread& operator=(const device_thread&) = delete;

  /// Calls `function` on the thread, and returns what it returns or throws what
  /// it throws. Callers take turns in the order of their calls. REQUIRES: the
  /// caller is another thread.
  template <class F>
  std::invoke_result_t<const F&> run(const F& function) {
    std::packaged_task<std::invoke_result_t<const F&>()> task{[&] {
      try {
        return function();
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
