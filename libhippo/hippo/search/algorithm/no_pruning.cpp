#include "hippo/search/algorithm/no_pruning.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"

namespace hippo {

std::vector<step_t> no_pruning::rungs() const {
  auto result = passed_;
  result.insert(result.end(), lengths_.begin(), lengths_.end());
  return result;
}

std::vector<action> no_pruning::open(std::uint64_t trials) {
  ended_.resize(trials, false);
  finished_.resize(trials, false);
  return fill();
}

std::vector<action> no_pruning::on_result(trial_no trial, step_t at, double) {
  const auto last = states_ == nullptr
                      ? lengths_.back()
                      : std::min(states_->end_of(trial), lengths_.back());
  if (at == last) {
    finished_[trial] = finished_[trial] || !ended_[trial];
    return end(trial);
  }
  // Sent there before trials were longer, and perhaps no farther since.
  if (std::binary_search(passed_.begin(), passed_.end(), at) && !ended_[trial])
    return {advance{trial, lengths_.back()}};
  return {};
}

std::vector<trial_no> no_pruning::lengthen(step_t max) {
  passed_.push_back(std::exchange(lengths_.front(), max));
  std::vector<trial_no> result;
  for (trial_no trial = 0; trial < finished_.size(); ++trial)
    if (finished_[trial]) {
      finished_[trial] = ended_[trial] = false;
      --ended_count_;
      result.push_back(trial);
    }
  resting_.insert(resting_.end(), result.begin(), result.end());
  return result;
}

std::vector<action> no_pruning::go_on() {
  std::vector<action> actions;
  const std::set<trial_no> resting{resting_.begin(), resting_.end()};
  for (trial_no trial = 0; trial < next_; ++trial)
    if (!ended_[trial] && !resting.contains(trial))
      actions.emplace_back(advance{trial, lengths_.back()});
  const auto more = fill();
  actions.insert(actions.end(), more.begin(), more.end());
  return actions;
}

std::vector<action> no_pruning::on_failure(trial_no trial) {
  if (std::erase(resting_, trial) > 0) // which is not in flight
    limit_.enter();
  return end(trial);
}

std::vector<action> no_pruning::withdraw(const std::vector<trial_no>& withdrawn,
                                         std::uint64_t trials) {
  for (const auto trial : withdrawn) {
    if (ended_[trial])
      continue;
    ended_[trial] = true;
    ++ended_count_;
    if (trial < next_)
      limit_.leave();
    else
      withdrawn_.insert(trial);
  }
  trials_ = trials;
  return fill();
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
  const auto further = passed_.empty() ? 0 : lengths_.back() - passed_.back();
  const auto fresh = trials_ - next_ - withdrawn_.size();
  return {fresh * (all / lengths_.size()) + resting_.size() * further,
          fresh > 0           ? lengths_.back()
          : !resting_.empty() ? further
                              : 0};
}

std::vector<action> no_pruning::fill() {
  std::vector<action> actions;
  for (; limit_.has_room() && !resting_.empty(); resting_.pop_front()) {
    limit_.enter();
    actions.emplace_back(advance{resting_.front(), lengths_.back()});
  }
  while (limit_.has_room() && next_ < ended_.size()) {
    const auto trial = next_++;
    withdrawn_.erase(trial);
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
