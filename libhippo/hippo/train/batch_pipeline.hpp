#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace hippo {

/// Batches that threads prepare while the ones before train (SALIENT: Kaler et
/// al., "Accelerating Training and Inference of Graph Neural Networks with Fast
/// Sampling and Pipelining", MLSys 2022). One thread prepares a whole batch, so
/// threads share nothing but a counter. Batches come in their order, whatever
/// the number of threads; if a batch depends on its number alone, so does
/// everything that is made of it.
///
/// At most two batches for each thread are prepared ahead. Destruction at any
/// time waits for the batches in preparation and drops them.
///
/// `next` and `waited` are for one thread.
template <class Batch>
class batch_pipeline {
public:
  /// Makes the batch of a number.
  using preparer = std::function<Batch(std::uint64_t number)>;

  /// Begins to prepare the batches from 0 to below `batches`.
  /// @param threads 0: `next` prepares each batch
  /// @param make_preparer called once for each thread, by this one, and once
  ///        without threads; a preparer may have memory of its own
  batch_pipeline(std::uint64_t batches, unsigned threads,
                 const std::function<preparer()>& make_preparer)
    : batches_(batches), places_(std::size_t{2} * threads) {
    if (threads == 0)
      inline_ = make_preparer();
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back(
        [this, prepare = make_preparer()](const std::stop_token& stop) {
          work(stop, prepare);
        });
  }

  batch_pipeline(const batch_pipeline&) = delete;
  batch_pipeline& operator=(const batch_pipeline&) = delete;

  ~batch_pipeline() {
    for (auto& thread : threads_) // all of them before one is waited for
      thread.request_stop();
  }

  /// Returns the next batch, or nothing after the last one. Throws the
  /// exception of its preparation, and is not to be called after that.
  std::optional<Batch> next() {
    if (taken_ == batches_)
      return std::nullopt;
    const auto begin = std::chrono::steady_clock::now();
    if (threads_.empty()) {
      auto result = inline_(taken_++);
      waited_ += std::chrono::steady_clock::now() - begin;
      return result;
    }
    std::unique_lock lock{mutex_};
    auto& here = places_[taken_ % places_.size()];
    changed_.wait(lock, [&] { return here.batch || here.failure; });
    waited_ += std::chrono::steady_clock::now() - begin;
    if (here.failure)
      std::rethrow_exception(here.failure);
    auto result = std::exchange(here.batch, std::nullopt);
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    return result;
  }

  /// The time that `next` has waited for threads, or has prepared batches
  /// without them.
  [[nodiscard]] std::chrono::nanoseconds waited() const { return waited_; }

private:
  /// The place of a batch, or of its failure, until it is taken.
  struct place {
    std::optional<Batch> batch;
    std::exception_ptr failure;
  };

  void work(const std::stop_token& stop, const preparer& prepare) {
    while (const auto number = claim(stop)) {
      place made;
      try {
        made.batch = prepare(*number);
      } catch (...) {
        made.failure = std::current_exception();
      }
      const bool failed = made.failure != nullptr;
      {
        const std::lock_guard lock{mutex_};
        places_[*number % places_.size()] = std::move(made);
      }
      changed_.notify_all();
      if (failed)
        return;
    }
  }

  /// Takes the next number once its place is free; nothing: there is no more
  /// to do.
  std::optional<std::uint64_t> claim(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    const bool ready = changed_.wait(lock, stop, [this] {
      return claimed_ == batches_ || claimed_ < taken_ + places_.size();
    });
    if (!ready || stop.stop_requested() || claimed_ == batches_)
      return std::nullopt;
    return claimed_++;
  }

  const std::uint64_t batches_;
  std::uint64_t taken_ = 0;   ///< by `next`
  std::uint64_t claimed_ = 0; ///< by threads
  std::vector<place> places_; ///< number n is at n modulo their count
  std::chrono::nanoseconds waited_{};
  preparer inline_; ///< without threads
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::jthread> threads_; ///< last: ended first
};

} // namespace hippo
