#include "hippo/service/study/order_book.hpp"

#include <utility>

namespace hippo {

namespace {

study_orders::trial order_of(const study_books& x, trial_no trial) {
  const auto* origin = x.decisions.origin(trial);
  return {trial, x.decisions.segments(trial),
          origin != nullptr ? std::optional{origin->from} : std::nullopt,
          x.decisions.is_responsive(trial)};
}

} // namespace

void order_book::add(const study_books& books, trial_no trial) {
  next_.added.push_back(order_of(books, trial));
}

void order_book::reroute(const study_books& books, trial_no trial) {
  next_.rerouted.push_back(order_of(books, trial));
}

void order_book::ask(trial_no trial, step_t to) {
  next_.asked.push_back({trial, to, 0, false});
}

void order_book::retry(trial_no trial, step_t to) {
  study_orders::request again{trial, to, 0, false};
  again.again = true;
  next_.asked.push_back(again);
}

void order_book::resume(trial_no trial, step_t to) {
  drop(trial); // or the merger has it as one that has all it waits for
  retry(trial, to);
}

void order_book::measure(measuring when) {
  next_.when = std::move(when);
}

void order_book::drop(trial_no trial) {
  next_.dropped.push_back(trial);
}

void order_book::forget_asked() {
  std::erase_if(next_.asked, [](const auto& x) { return !x.is_over; });
}

void order_book::order_all(const study_books& books) {
  next_ = {};
  for (trial_no no = 0; no < books.trials.size(); ++no) {
    const auto& known = books.trials[no];
    if (!known.added)
      continue;
    add(books, no);
    if (known.asked_to > 0)
      next_.asked.push_back({no, known.asked_to, known.acked,
                             has_ended(known.state), known.shared});
  }
}

std::optional<study_orders> order_book::take(bool wants_capacity) {
  next_.wants_capacity = wants_capacity;
  next_.acked = acked_;
  const bool wanted = std::exchange(wanted_capacity_, wants_capacity);
  auto result = std::exchange(next_, {});
  if (result.empty() && !wants_capacity && !wanted)
    return std::nullopt;
  return result;
}

} // namespace hippo
