#include "hippo/search/algorithm/sha.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"

namespace hippo {

sha::sha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
         direction better, const trial_states* states, trial_no first,
         const trial_outcomes* outcomes)
  : rungs_(std::move(rungs)),
    eta_(eta),
    trials_(trials, better),
    entered_(trials),
    states_(states),
    first_(first),
    outcomes_(outcomes) {}

std::vector<action> sha::open(std::uint64_t trials) {
  return trials_.open(trials, rungs_[0]);
}

std::vector<action> sha::on_result(trial_no trial, step_t at, double value) {
  if (done() || at != rungs_[rung_] || !trials_.report(trial, value))
    return {};
  return proceed();
}

std::vector<action> sha::on_failure(trial_no trial) {
  if (!trials_.remove(trial) || done())
    return {};
  failed_in_[trial] = rung_;
  return proceed();
}

bool sha::take_back(trial_no trial) {
  // Who was awaited on a rung that has ended is late for it.
  const auto in = failed_in_.extract(trial);
  if (!in || in.mapped() != rung_)
    return false;
  trials_.train(trial);
  all_failed_ = false;
  return true;
}

std::vector<action> sha::proceed() {
  std::vector<action> actions;
  if (!trials_.is_complete())
    return actions;
  all_failed_ = trials_.reported() == 0;
  if (all_failed_ || ++rung_ == rungs_.size())
    return actions;
  auto ranking = trials_.take_ranking();
  const auto kept = std::min<std::uint64_t>(
    std::max<std::uint64_t>(1, entered_ / eta_), ranking.size());
  if (outcomes_ != nullptr)
    outcomes_->rank(ranking, rungs_[rung_ - 1], first_);
  settle_ties(ranking, kept);
  std::vector<trial_no> others;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const auto trial = ranking[i].trial;
    if (i >= kept) {
      others.push_back(trial);
      continue;
    }
    trials_.train(trial); // best first: it is the likeliest to go far
    actions.emplace_back(advance{trial, rungs_[rung_]});
  }
  std::sort(others.begin(), others.end());
  for (auto trial : others) {
    trials_.remove(trial);
    actions.emplace_back(prune{trial});
  }
  entered_ = kept;
  return actions;
}

void sha::settle_ties(std::vector<standing>& ranking,
                      std::uint64_t kept) const {
  if (states_ == nullptr || kept == 0 || kept == ranking.size())
    return;
  const auto [begin, end] = std::equal_range(
    ranking.begin(), ranking.end(), ranking[kept - 1],
    [](const standing& a, const standing& b) {
      return std::pair{a.is_nan, a.loss} < std::pair{b.is_nan, b.loss};
    });
  std::vector<trial_no> equals;
  for (auto i = begin; i != end; ++i)
    equals.push_back(first_ + i->trial);
  const std::vector<step_t> rungs(
    rungs_.begin() + static_cast<std::ptrdiff_t>(rung_ - 1), rungs_.end());
  auto i = begin;
  for (auto trial : spread(std::move(equals), rungs, states_))
    (i++)->trial = trial - first_;
}

expected_work sha::to_come() const {
  expected_work result;
  if (done())
    return result;
  result.steps = (trials_.size() - trials_.opened()) * rungs_[0];
  auto trials = entered_;
  for (auto i = rung_ + 1; i < rungs_.size(); ++i) {
    trials = std::max<std::uint64_t>(1, trials / eta_);
    result.steps += trials * (rungs_[i] - rungs_[i - 1]);
    result.longest += rungs_[i] - rungs_[i - 1];
  }
  return result;
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option sha_options[]{eta_option, min_option, max_option,
                               sampler_option, prefer_shared_option};

class sha_settings final : public rung_settings {
public:
  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override {
    return std::make_unique<sha>(
      trials, rungs(), eta, study.objective.direction, states, 0, outcomes);
  }
};

std::shared_ptr<algorithm_settings> read_sha(algorithm_reader& from) {
  auto result = std::make_shared<sha_settings>();
  from.read_rungs(*result);
  from.read_sampling();
  result->trials = from.count_trials();
  if (from.sampler().learns && !from.has_errors())
    from.warn(from.path_of(sampler_option),
              "sha starts all trials at once, before "
                + std::string{from.sampler().name}
                + " could learn: all will be random; use asha, hyperband or"
                  " median with it");
  return result;
}

} // namespace

const algorithm_type sha_type{
  .name = "sha",
  .meaning = "the best 1/eta of each rung continue to the next",
  .options = sha_options,
  .read = read_sha};

} // namespace hippo
