#include "hippo/search/algorithm/no_pruning.hpp"

#include <algorithm>
#include <memory>

#include "hippo/search/algorithm/algorithm_reader.hpp"

namespace hippo {

std::vector<action> no_pruning::open(std::uint64_t trials) {
  ended_.resize(trials, false);
  return fill();
}

std::vector<action> no_pruning::on_result(trial_no trial, step_t at, double) {
  const auto last = states_ == nullptr
                      ? lengths_.back()
                      : std::min(states_->end_of(trial), lengths_.back());
  return at == last ? end(trial) : std::vector<action>{};
}

std::vector<action> no_pruning::on_failure(trial_no trial) {
  return end(trial);
}

bool no_pruning::take_back(trial_no trial) {
  ended_[trial] = false;
  --ended_count_;
  limit_.enter();
  return true;
}

std::vector<action> no_pruning::end(trial_no trial) {
  if (ended_[trial])
    return {};
  ended_[trial] = true;
  ++ended_count_;
  if (trial < next_)
    limit_.leave();
  return fill();
}

expected_work no_pruning::to_come() const {
  std::uint64_t all = 0;
  for (const auto x : lengths_)
    all += x;
  return {(trials_ - next_) * (all / lengths_.size()),
          next_ < trials_ ? lengths_.back() : 0};
}

std::vector<action> no_pruning::fill() {
  std::vector<action> actions;
  while (limit_.has_room() && next_ < ended_.size()) {
    const auto trial = next_++;
    if (ended_[trial]) // cancelled before its turn
      continue;
    limit_.enter();
    actions.emplace_back(advance{trial, lengths_.back()});
  }
  return actions;
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option full_training_options[]{auto_concurrent_option,
                                         prefer_shared_option};

class no_pruning_settings final : public algorithm_settings {
public:
  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec&, const trial_states* states,
       const trial_outcomes*) const override {
    return std::make_unique<no_pruning>(trials, lengths, concurrent, states);
  }
};

std::shared_ptr<algorithm_settings> read_no_pruning(algorithm_reader& from) {
  auto result = std::make_shared<no_pruning_settings>();
  result->max = result->first = from.read_max();
  from.read_lengths(*result);
  if (from.declares(auto_concurrent_option))
    result->concurrent = from.read_concurrent();
  from.read_sampling();
  result->trials = from.count_trials();
  from.warn_of_blind_start(result->concurrent);
  return result;
}

} // namespace

const algorithm_type grid_type{
  .name = "grid",
  .meaning = "every combination once, in order, each to `max_steps`",
  .sampler = "grid",
  .takes_lengths = true,
  .read = read_no_pruning};

const algorithm_type random_type{
  .name = "random",
  .meaning = "combinations in random order, each to `max_steps`",
  .sampler = "random",
  .takes_lengths = true,
  .read = read_no_pruning};

const algorithm_type tpe_type{
  .name = "tpe",
  .meaning = "like `random`, with values learned from results",
  .options = full_training_options,
  .sampler = "tpe",
  .takes_lengths = true,
  .read = read_no_pruning};

const algorithm_type gp_type{
  .name = "gp",
  .meaning = "like `tpe`, with a Gaussian process that understands schedules",
  .options = full_training_options,
  .sampler = "gp",
  .takes_lengths = true,
  .read = read_no_pruning};

const algorithm_type nsga2_type{
  .name = "nsga2",
  .meaning = "like `random`, with new trials made from two good ones",
  .options = full_training_options,
  .sampler = "nsga2",
  .read = read_no_pruning};

} // namespace hippo
