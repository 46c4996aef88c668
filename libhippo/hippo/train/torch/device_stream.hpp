#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "hippo/train/torch/device_thread.hpp"

namespace hippo {

/// Returns the first line of what LibTorch says; the others are advice on
/// debugging.
std::string first_line(const c10::Error& failure);

/// A device has no room for more.
class device_memory_error : public std::bad_alloc {
public:
  explicit device_memory_error(std::string what) : what_(std::move(what)) {}
  [[nodiscard]] const char* what() const noexcept override {
    return what_.c_str();
  }

private:
  std::string what_;
};

/// A point in the order of a stream's operations.
class stream_mark {
public:
  virtual ~stream_mark() = default;

  /// Sets it behind all that was launched so far on the present stream.
  virtual void record() = 0;

  /// Waits until the device has come to it, without using a CPU meanwhile. Any
  /// thread may call it.
  virtual void wait() = 0;
};

/// Where one workload's operations on a device are launched, in the order of
/// the calls of `run`.
///
/// On a GPU that is a stream of the workload's own: the operations of several
/// workloads run at the same time there, each as it runs alone. All of them are
/// launched by the GPU's one `device_thread`, in turns. Beside the stream a
/// workload has its own generator of random numbers, since LibTorch's is one
/// for the whole device, and what is recorded reads its seed when it runs;
/// memory, handles and workspaces of libraries LibTorch keeps by stream.
///
/// On a CPU operations run where they are called.
///
/// One thread uses it at a time.
class device_stream {
public:
  /// Makes a mark; null: there are none, and waiting is for the stream.
  using mark_maker = std::unique_ptr<stream_mark> (*)();

  explicit device_stream(at::Device device);

  /// As above, but with another device's thread and marks, for tests.
  device_stream(device_thread* thread, mark_maker make_mark);

  device_stream(const device_stream&) = delete;
  device_stream& operator=(const device_stream&) = delete;

  /// Waits for the device.
  ~device_stream();

  /// Calls `function`, which launches operations, and returns what it returns
  /// or throws what it throws: `device_memory_error` if there is no room.
  /// `function` waits for nothing on the device if others are to go on
  /// meanwhile.
  template <class F>
  std::invoke_result_t<const F&> run(const F& function) {
    if (thread_ == nullptr)
      return function();
    return thread_->run([&] {
      const scope use{*this};
      try {
        return function();
      } catch (const c10::OutOfMemoryError& e) {
        throw device_memory_error(release_cached_memory(e));
      }
    });
  }

  /// Launches pieces of work, the next one by each call of `next`, which
  /// returns whether there are more. Between every few of them others have
  /// their turn, and no more than so many are launched ahead of the device.
  template <class F>
  void run_each(F&& next) {
    for (bool more = true; more;) {
      run([&] {
        for (std::size_t i = 0; i < pieces_a_turn && more; ++i)
          more = next();
        mark();
      });
      wait_for_all_but(turns_ahead);
    }
  }

  /// Calls `function` as `run` does, and waits until the device has done all of
  /// it.
  template <class F>
  void finish(const F& function) {
    run([&] {
      function();
      mark();
    });
    wait_for_all_but(0);
  }

private:
  static constexpr std::size_t pieces_a_turn = 4;
  static constexpr std::size_t turns_ahead = 2;

  /// Has LibTorch use the stream and the generator, on the device's thread.
  class scope {
  public:
    explicit scope(const device_stream& stream);
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();

  private:
    const device_stream& stream_;
    c10::Stream before_;
  };

  void mark();
  void wait_for_all_but(std::size_t marks);
  static std::string
  release_cached_memory(const c10::OutOfMemoryError& failure);

  device_thread* thread_ = nullptr; ///< null: on a CPU
  mark_maker make_mark_ = nullptr;
  std::optional<c10::Stream> stream_;
  std::optional<at::Generator> generator_;
  std::deque<std::unique_ptr<stream_mark>> marks_; ///< not waited for yet
  std::deque<std::unique_ptr<stream_mark>> spare_; ///< to be used again
};

} // namespace hippo
