#include "simulation/slow_thinking.hpp"

#include <utility>

#include "hippo/search/think/work_meter.hpp"

namespace hippo::simulation {

class slow_thinking::paused_at_random final : public job_turn {
public:
  paused_at_random(std::mt19937_64& random, bool is_cancelled)
    : random_(random), is_cancelled_(is_cancelled) {}
  [[nodiscard]] bool is_over() const override {
    return is_cancelled_ || random_() % 4 == 0;
  }
  [[nodiscard]] bool is_cancelled() const override { return is_cancelled_; }

private:
  std::mt19937_64& random_;
  bool is_cancelled_;
};

void slow_thinking::leave(party_no party) {
  const auto gone = turns_.leave(party);
  for (const auto no : gone.dropped)
    jobs_.erase(no);
  if (gone.running)
    cancelled_[*gone.running] = true;
}

void slow_thinking::post(party_no party, job work) {
  if (turns_.waiting(party) > 0)
    around_.fail("a study has two jobs that wait");
  const auto no = turns_.add(party);
  jobs_[no] = {std::move(work), around_.now(), turns_.parties()};
  begin();
}

void slow_thinking::begin() {
  while (const auto next = turns_.take()) {
    const auto& x = jobs_.at(next->job);
    // Each of the others has had one turn at most, on half of the threads.
    if (around_.now() - x.since
        > slow_max_ * static_cast<std::int64_t>(x.parties + 1))
      around_.fail("a study waits for its turn longer than all others take");
    cancelled_[next->job] = false;
    if (slow_max_.count() == 0 && random_() % 2 == 0) {
      run(*next);
      continue;
    }
    const auto delay = is_slow(next->party)
                         ? duration{static_cast<std::int64_t>(
                           random_()
                           % static_cast<std::uint64_t>(slow_max_.count()))}
                         : duration{0};
    around_.after(delay, [weak = weak_from_this(), x = *next] {
      if (const auto self = weak.lock()) {
        self->run(x);
        self->begin();
      }
    });
  }
}

void slow_thinking::run(fair_turns::turn turn) {
  const auto what = std::move(jobs_.extract(turn.job).mapped().what);
  const work_meter::pause elsewhere;
  what(paused_at_random{random_, std::exchange(cancelled_[turn.job], false)});
  cancelled_.erase(turn.job);
  turns_.end(turn.job);
}

} // namespace hippo::simulation
