#pragma once

#include "hippo/service/merge/orders.hpp"
#include "hippo/service/study/study_books.hpp"

namespace hippo {

/// The orders of a study for its merger, until they are sent.
class order_book {
public:
  /// A trial has come into being, is to be trained up to a state, and so on; as
  /// of `study_orders`.
  void add(const study_books& books, trial_no trial);
  void reroute(const study_books& books, trial_no trial);
  void ask(trial_no trial, step_t to);
  void retry(trial_no trial, step_t to);
  void drop(trial_no trial);
  /// A trial that had ended as far as trials went goes on; it had come to `to`.
  void resume(trial_no trial, step_t to);
  void measure(measuring when);
  /// Nothing is asked for any more: what is dropped comes first.
  void forget_asked();
  /// Orders all that a study has come to by now, in place of what was ordered.
  void order_all(const study_books& books);
  /// Forgets what was ordered.
  void clear() { next_ = {}; }

  /// The merger has sent something, and the study has taken it in.
  void acknowledge() { ++acked_; }

  /// @param wants_capacity whether the study would start more if it might
  /// @returns what is to be sent; nothing: there is nothing new
  std::optional<study_orders> take(bool wants_capacity);

private:
  study_orders next_;
  std::uint64_t acked_ = 0;      ///< of what the merger has sent
  bool wanted_capacity_ = false; ///< by the last orders
};

} // namespace hippo
