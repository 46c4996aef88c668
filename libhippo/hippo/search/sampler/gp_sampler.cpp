#include "hippo/search/sampler/gp_sampler.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>

#include "hippo/base/portable_math.hpp"

namespace hippo {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// Results that the posterior is made of, and those that the kernel is fitted
/// to, which takes some tens of times as long.
constexpr std::size_t findings_max = 300;
constexpr std::size_t fitted_max = 120;

/// Trials without a result that are heeded, the latest.
constexpr std::size_t pending_max = 64;

constexpr std::uint64_t random_candidates = 150;
constexpr std::uint64_t near_candidates = 150;
constexpr std::uint64_t believed_candidates = 50;
constexpr std::size_t good_trials = 8;

/// Candidates near the best of these. With more of them, or in several rounds,
/// little is looked at elsewhere (the noisy quadratic of bench/schedules.cpp).
constexpr std::uint64_t refining_candidates = 40;

/// Candidates whose limits are looked at together, the best ones first.
constexpr std::size_t limited_at_once = 32;

/// A candidate is safe if it is feasible with so much of the probability of the
/// surest trial. Without that, twice as many and more fail, and better values
/// are found later: where nothing is known there is always more to be gained
/// than where the best was found (the half-feasible functions of
/// bench/search.cpp).
constexpr double safe_share = 0.9;

/// The least noise of labels, a variance. A label of 1 or -1 says on which side
/// of 0 a number lies, not where: it is three deviations away. Fitted freely,
/// the noise vanishes where what fails is the same each time, and a process
/// that goes through the labels is sure of what it has not seen: where it
/// expected one failure of 95 trials there were thirteen (hartmann6-plane of
/// bench/search.cpp).
constexpr double label_noise = 1.0 / 9;

/// What is worse than the median by more interquartile ranges is as bad.
constexpr double worst_ranges = 3;

double log_price(step_t untrained) {
  return portable_log(static_cast<double>(untrained) + 2);
}

/// Decides a leaf otherwise: near by, where there is an order, or anywhere.
std::uint64_t moved(const space_leaf& leaf, std::uint64_t decision,
                    counter_rng& draws) {
  const auto ways = leaf.ways();
  const bool is_ordered = !leaf.is_choice() || leaf.is_ordered_choice();
  if (ways == 1 || !is_ordered || draws.below(2) == 0)
    return draws.decision(leaf.ways());
  if (ways > 0 && draws.below(2) == 0)
    return std::min(decision + 1, ways - 1);
  if (ways > 0)
    return decision > 0 ? decision - 1 : 0;
  constexpr auto end = static_cast<double>(space_leaf::high_end);
  const auto width = 0.2 * portable_exp(portable_log(0.01) * draws.unit());
  const auto share = static_cast<double>(decision) / end
                     + width * (draws.unit() - draws.unit());
  return static_cast<std::uint64_t>(
    std::llround(std::clamp(share, 0.0, 1.0) * end));
}

} // namespace

gp_sampler::gp_sampler(const search_space& space,
                       std::map<std::string, sequence> defaults,
                       gp_options options, const untrained_work* work,
                       const trial_outcomes* outcomes)
  : learning_sampler(space, options.seed, options.first, work),
    defaults_(std::move(defaults)),
    features_(space, defaults_, options.marks.back(), options.seed),
    groups_(features_.group_of()), options_(std::move(options)),
    outcomes_(outcomes), kernel_(static_cast<Index>(features_.groups())),
    success_kernel_(groups(), label_noise),
    limit_kernels_(outcomes != nullptr ? outcomes->constraints() : 0, kernel_) {
  if (options_.has_schedule_mean && options_.better == direction::minimize)
    mean_ = {space, defaults_, options_.marks.back(), options_.seed};
}

void gp_sampler::lengthen(const search_space& space,
                          const std::vector<step_t>& marks) {
  learning_sampler::lengthen(space, marks);
  auto& known = options_.marks;
  known.insert(known.end(), marks.begin(), marks.end());
  features_ = {space, defaults_, known.back(), seed()};
  groups_ = features_.group_of();
  known_features_.clear();
  mean_.lengthen(known.back());
  means_.clear();
  end_means_.clear();
  // Fitted anew to as many findings, whenever that is wanted.
  kernel_ = gp_kernel{static_cast<Index>(features_.groups())};
  success_kernel_ = gp_kernel{groups(), label_noise};
  limit_kernels_.assign(limit_kernels_.size(), kernel_);
  fitted_ = 0;
}

// -- what is found ------------------------------------------------------------

void gp_sampler::on_result(trial_no trial, step_t at, double value) {
  const auto& marks = options_.marks;
  if (taken(trial) != nullptr)
    mean_.on_result(trial, at, value, findings_.size());
  if (taken(trial) == nullptr || at < marks.front()
      || (has_lengths() && at != length_of(trial)))
    return;
  const auto passed = static_cast<std::size_t>(
    std::upper_bound(marks.begin(), marks.end(), at) - marks.begin());
  auto& reached = reached_[trial];
  if (passed <= reached) // a result of that mark was told
    return;
  reached = passed;
  pending_.erase(trial);
  counter_rng address{{seed(), trial, passed}, "result"};
  findings_.push_back({trial, passed - 1,
                       std::isfinite(value) ? value : std::nan(""),
                       address.next(), at});
}

void gp_sampler::on_failure(trial_no trial) {
  if (taken(trial) == nullptr || failures_.contains(trial))
    return;
  const auto mark = std::min(reached_[trial], options_.marks.size() - 1);
  pending_.erase(trial);
  failures_.emplace(trial, findings_.size());
  counter_rng address{{seed(), trial, mark}, "failure"};
  findings_.push_back({trial, mark, std::nan(""), address.next()});
}

void gp_sampler::on_retry(trial_no trial) {
  const auto failure = failures_.extract(trial);
  if (!failure)
    return;
  findings_[failure.mapped()].void_from = findings_.size();
  if (reached_[trial] == 0)
    pending_.insert(trial);
}

void gp_sampler::on_removal(trial_no trial) {
  const auto from = findings_.size();
  if (!removed_.emplace(trial, from).second)
    return;
  for (auto& x : findings_)
    if (x.trial == trial)
      x.void_from = std::min(x.void_from, from);
  // So that the removal has a place among the findings: the kernel is a
  // function of their first ones.
  findings_.push_back({trial, 0, std::nan(""), 0, 0, from});
}

void gp_sampler::on_return(trial_no trial) {
  const auto removal = removed_.extract(trial);
  if (!removal)
    return;
  const auto count = removal.mapped();
  for (std::size_t i = 0; i < count; ++i) {
    auto x = findings_[i];
    if (x.trial != trial || x.void_from != count)
      continue;
    x.void_from = SIZE_MAX;
    if (const auto failure = failures_.find(trial);
        failure != failures_.end() && failure->second == i)
      failure->second = findings_.size();
    findings_.push_back(x);
  }
}

// -- the model ----------------------------------------------------------------

gp_sampler::response_table gp_sampler::responses(std::size_t count) const {
  const double sign = options_.better == direction::maximize ? 1 : -1;
  response_table result;
  mark_levels own{options_.marks.size()}, measured = own;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& x = findings_[i];
    if (x.void_from < count || std::isnan(x.value))
      continue;
    result.all.push_back({&x});
    if (outcomes_ != nullptr)
      result.all.back().violation = outcomes_->at(x.trial, x.at).violation;
    own.add(x.trial, x.mark, x.value - mean_at(x));
    if (mean_.has_law())
      measured.add(x.trial, x.mark, x.value);
  }
  result.levels = own.levels();
  const auto heights = measured.levels();
  std::vector<double> known;
  for (auto& x : result.all) {
    x.value = sign * (x.of->value - mean_at(*x.of) - result.levels[x.of->mark]);
    known.push_back(x.value);
  }
  double worst = 0;
  if (!known.empty()) {
    worst = *std::min_element(known.begin(), known.end());
    const auto range = quantile(known, 0.75) - quantile(known, 0.25);
    if (range > 0)
      worst = std::max(worst, -worst_ranges * range);
  }
  double squares = 0;
  for (auto& x : result.all) {
    x.value = std::max(x.value, worst);
    x.height =
      mean_.has_law() ? sign * (x.of->value - heights[x.of->mark]) : x.value;
    squares += x.value * x.value;
  }
  if (squares > 0)
    result.scale = std::sqrt(squares / static_cast<double>(result.all.size()));
  for (auto& x : result.all)
    x.value /= result.scale;
  return result;
}

std::vector<gp_sampler::response>
gp_sampler::outcomes(std::size_t count) const {
  std::vector<response> result;
  std::unordered_map<trial_no, std::size_t> places;
  bool has_failures = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& x = findings_[i];
    if (x.void_from < count)
      continue;
    const auto [place, is_new] = places.try_emplace(x.trial, result.size());
    if (is_new)
      result.push_back({&x, 1, 1});
    if (std::isnan(x.value)) {
      auto& of_trial = result[place->second];
      of_trial.value = of_trial.height = -1;
      has_failures = true;
    }
  }
  return has_failures ? result : std::vector<response>{};
}

std::vector<gp_sampler::response> gp_sampler::chosen(std::vector<response> all,
                                                     std::size_t most) {
  if (all.size() <= most)
    return all;
  const auto third = static_cast<std::ptrdiff_t>(most / 3);
  std::vector<bool> is_chosen(all.size());
  std::fill(is_chosen.end() - third, is_chosen.end(), true); // the latest
  std::vector<std::size_t> left(all.size() - static_cast<std::size_t>(third));
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = i;
  const auto take_first = [&](std::ptrdiff_t count, auto before) {
    std::nth_element(left.begin(), left.begin() + count, left.end(), before);
    for (std::ptrdiff_t i = 0; i < count; ++i)
      is_chosen[left[static_cast<std::size_t>(i)]] = true;
    left.erase(left.begin(), left.begin() + count);
  };
  take_first(third, [&](std::size_t x, std::size_t y) { // the best
    if (all[x].violation != all[y].violation)
      return all[x].violation < all[y].violation;
    return all[x].height != all[y].height ? all[x].height > all[y].height
                                          : x < y;
  });
  take_first(static_cast<std::ptrdiff_t>(most) - 2 * third,
             [&](std::size_t x, std::size_t y) {
               return all[x].of->address < all[y].of->address;
             });
  std::vector<response> result;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_chosen[i])
      result.push_back(all[i]);
  return result;
}

/// Fits the kernels to the first `fitted_` findings. That number follows from
/// the number of all findings, whenever a fit is asked for.
void gp_sampler::fit() {
  const auto before = fitted_;
  auto next = before == 0 ? options_.startup : before;
  while (next <= findings_.size()) {
    fitted_ = next;
    next = std::max(next + 1, next * 11 / 10);
  }
  if (fitted_ == before)
    return;
  fit_mean();
  const auto values = chosen(responses(fitted_).all, fitted_max);
  const auto points = points_of(values);
  kernel_ = fitted(points, values_in(values));
  const auto ends = chosen(outcomes(fitted_), fitted_max);
  success_kernel_ =
    fitted(ends_of(trials_of(ends)), values_in(ends), label_noise);
  for (std::size_t i = 0; i < limit_kernels_.size(); ++i) {
    const auto slacks = slacks_in(values, i);
    limit_kernels_[i] =
      slacks ? fitted(points, slacks->values) : gp_kernel{groups()};
  }
}

gp_kernel gp_sampler::fitted(const gp_points& points, const VectorXd& values,
                             double noise_least) const {
  gp_kernel begin{groups(), noise_least};
  return values.size() == 0
           ? begin
           : fit_kernel(points, values, std::move(begin), noise_least);
}

std::vector<trial_no> gp_sampler::trials_of(const std::vector<response>& xs) {
  std::vector<trial_no> result;
  for (const auto& x : xs)
    result.push_back(x.of->trial);
  return result;
}

/// Fits the mean to the losses of the trials that count among the first
/// findings, as the kernel is.
void gp_sampler::fit_mean() {
  means_.clear();
  end_means_.clear();
  if (!mean_.has_schedule())
    return;
  std::vector<trial_no> trials;
  for (std::size_t i = 0; i < fitted_; ++i)
    if (findings_[i].void_from >= fitted_ && !std::isnan(findings_[i].value))
      trials.push_back(findings_[i].trial);
  std::sort(trials.begin(), trials.end());
  trials.erase(std::unique(trials.begin(), trials.end()), trials.end());
  mean_.fit(fitted_, trials, [this](trial_no trial) {
    return values_of(*taken(trial)).sequences;
  });
  extend_means();
}

void gp_sampler::extend_means() {
  if (!mean_.has_law())
    return;
  for (auto i = means_.size(); i < findings_.size(); ++i) {
    const auto& x = findings_[i];
    means_.push_back(std::isnan(x.value)
                       ? 0
                       : mean_.at(values_of(*taken(x.trial)).sequences,
                                  options_.marks[x.mark]));
  }
}

double gp_sampler::mean_at(const finding& result) const {
  if (!mean_.has_law())
    return 0;
  return means_[static_cast<std::size_t>(&result - findings_.data())];
}

double gp_sampler::mean_at_end(const trial_parameters& values) const {
  return mean_.at(values.sequences, end_of(values.length));
}

double gp_sampler::mean_at_end(trial_no trial) {
  if (!mean_.has_law())
    return 0;
  const auto [found, is_new] = end_means_.try_emplace(trial);
  if (is_new)
    found->second = mean_at_end(values_of(*taken(trial)));
  return found->second;
}

VectorXd gp_sampler::values_in(const std::vector<response>& xs) {
  VectorXd result(static_cast<Index>(xs.size()));
  for (std::size_t i = 0; i < xs.size(); ++i)
    result[static_cast<Index>(i)] = xs[i].value;
  return result;
}

std::optional<slack_values>
gp_sampler::slacks_in(const std::vector<response>& xs,
                      std::size_t constraint) const {
  std::vector<double> result;
  for (const auto& x : xs)
    result.push_back(outcomes_->slacks(x.of->trial, x.of->at)[constraint]);
  return standardized(std::move(result));
}

const std::vector<double>& gp_sampler::features_of(trial_no trial) {
  constexpr std::size_t kept_max = 2000;
  if (known_features_.size() >= kept_max && !known_features_.contains(trial))
    known_features_.clear();
  auto& result = known_features_[trial];
  if (result.empty())
    result = features_.of(values_of(*taken(trial)).sequences);
  return result;
}

void gp_sampler::set_point(gp_points& points, std::size_t column,
                           std::vector<double> features, step_t at) const {
  const auto x = features_.cut(std::move(features), at);
  points.at.col(static_cast<Index>(column)) =
    Eigen::Map<const VectorXd>(x.data(), static_cast<Index>(x.size()));
}

gp_points gp_sampler::points_of(const std::vector<response>& xs) {
  auto result = empty_points(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i)
    set_point(result, i, features_of(xs[i].of->trial),
              options_.marks[xs[i].of->mark]);
  return result;
}

gp_points gp_sampler::empty_points(std::size_t count) const {
  return {Eigen::MatrixXd{static_cast<Index>(features_.size()),
                          static_cast<Index>(count)},
          groups_};
}

template <class Trials>
gp_points gp_sampler::ends_of(const Trials& trials) {
  auto result = empty_points(trials.size());
  std::size_t column = 0;
  for (auto x : trials)
    set_point(result, column++, features_of(x), end_of(length_of(x)));
  return result;
}

gp_points gp_sampler::pending_points() {
  const auto count = std::min(pending_.size(), pending_max);
  auto result = empty_points(count);
  auto trial = pending_.rbegin();
  for (std::size_t i = 0; i < count; ++i, ++trial)
    set_point(result, i, features_of(*trial),
              has_lengths() ? length_of(*trial) : options_.marks.front());
  return result;
}

// -- what is proposed ---------------------------------------------------------

learning_sampler::combination
gp_sampler::random_candidate(trial_no trial, std::uint64_t number) {
  return record(with_length(trial, [&](const space_leaf& leaf) {
    counter_rng draws{{seed(), trial, number}, leaf.path()};
    return draws.decision(leaf.ways());
  }));
}

learning_sampler::combination
gp_sampler::near_candidate(const combination& from, trial_no trial,
                           std::uint64_t number) {
  counter_rng which{{seed(), trial, number}, "leaves"};
  std::set<leaf_no> changed;
  for (auto i = 1 + which.below(2); i > 0 && !from.empty(); --i)
    changed.insert(from[which.below(from.size())].first);
  return record(with_length(trial, [&](const space_leaf& leaf) {
    const auto own = number_of(leaf);
    const auto before
      = std::find_if(from.begin(), from.end(),
                     [own](const auto& x) { return x.first == own; });
    counter_rng draws{{seed(), trial, number}, leaf.path()};
    if (before == from.end()) // comes with another alternative
      return draws.decision(leaf.ways());
    return changed.contains(own) ? moved(leaf, before->second, draws)
                                 : before->second;
  }));
}

/// Candidates for one trial, each another one. They are numbered in the order
/// in which they are drawn, which is what they are drawn by.
class gp_sampler::candidates {
public:
  candidates(gp_sampler& from, trial_no trial) : from_(from), trial_(trial) {}

  void add_random(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      add(from_.random_candidate(trial_, drawn_));
  }

  void add_believed(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      add(from_.draw_believed(trial_, drawn_));
  }

  void add_near(const combination& x, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      add(from_.near_candidate(x, trial_, drawn_));
  }

  /// Returns those that were added since the last call.
  std::vector<candidate> take() { return std::exchange(added_, {}); }

private:
  void add(combination x) {
    ++drawn_;
    if (from_.was_tried(x) || !seen_.insert(x).second)
      return;
    auto values = from_.values_of(x);
    added_.push_back({std::move(x), std::move(values)});
  }

  gp_sampler& from_;
  trial_no trial_;
  std::uint64_t drawn_ = 0;
  std::set<combination> seen_;
  std::vector<candidate> added_;
};

double gp_sampler::price_factor() const {
  switch (options_.price) {
    case step_price::none:
      return 0;
    case step_price::full:
      return 1;
    case step_price::falling:
      return 1
             - static_cast<double>(std::min(drawn_count(), options_.trials))
                 / static_cast<double>(options_.trials);
  }
  return 0;
}

std::optional<gp_sampler::knowledge> gp_sampler::know() {
  if (reached_.size() < options_.startup)
    return std::nullopt;
  fit();
  extend_means();
  auto table = responses(findings_.size());
  const auto seen = chosen(table.all, findings_max);
  const auto ended = outcomes(findings_.size());
  std::set<trial_no> failed;
  for (const auto& x : ended)
    if (x.value < 0)
      failed.insert(x.of->trial);
  if (std::ranges::all_of(
        seen, [&](const response& x) { return failed.contains(x.of->trial); }))
    return std::nullopt; // none has succeeded, or all are tried again
  const auto points = points_of(seen);
  gp_posterior values{kernel_, points, values_in(seen), pending_points()};
  auto ranking = rank_trials(values, table, seen, failed);
  knowledge result{std::move(table), std::move(values), std::move(ranking)};
  if (!failed.empty()) {
    const auto xs = chosen(ended, findings_max);
    result.success.add(success_kernel_, ends_of(trials_of(xs)), values_in(xs),
                       0, success_kernel_.noise);
    std::vector<trial_no> sound;
    for (const auto& x : result.ranking)
      sound.push_back(x.trial);
    result.surest = result.success.log_of(ends_of(sound)).maxCoeff();
  }
  for (std::size_t i = 0; i < limit_kernels_.size(); ++i)
    if (const auto slacks = slacks_in(seen, i))
      result.limits.add(limit_kernels_[i], points, slacks->values,
                        slacks->threshold);
  return result;
}

std::optional<learning_sampler::proposal> gp_sampler::propose(trial_no trial) {
  const auto made = know();
  return made ? propose(trial, *made) : std::nullopt;
}

std::optional<learning_sampler::proposal>
gp_sampler::propose(trial_no trial, const knowledge& from) {
  const auto good = std::min(from.ranking.size(), good_trials);
  candidates drawn{*this, trial};
  drawn.add_random(random_candidates);
  if (has_prior())
    drawn.add_believed(believed_candidates);
  for (std::uint64_t i = 0; i < near_candidates; ++i)
    drawn.add_near(*taken(from.ranking[i % good].trial), 1);
  auto best = best_of(drawn.take(), from);
  if (!best)
    return std::nullopt;
  drawn.add_near(best->taken, refining_candidates);
  auto other = best_of(drawn.take(), from);
  if (other && other->goes_before(*best))
    best = std::move(other);
  const double sign = options_.better == direction::maximize ? 1 : -1;
  const auto& marks = options_.marks;
  const auto mark
    = has_lengths()
        ? std::lower_bound(marks.begin(), marks.end(), length_for(trial))
        : marks.end() - 1;
  const auto level =
    from.table.levels[static_cast<std::size_t>(mark - marks.begin())];
  return proposal{std::move(best->taken),
                  level + sign * from.table.scale * best->mean};
}

/// Where a trial ends.
step_t gp_sampler::end_of(step_t length) const {
  return has_lengths() ? length : options_.marks.back();
}

std::vector<gp_sampler::ranked_trial> gp_sampler::rank_trials(
  const gp_posterior& posterior, const response_table& table,
  const std::vector<response>& seen, const std::set<trial_no>& failed) {
  std::set<trial_no> trials;
  for (const auto& x : seen)
    if (!failed.contains(x.of->trial))
      trials.insert(x.of->trial);
  std::unordered_map<trial_no, double> violations; // of last results
  if (outcomes_ != nullptr)
    for (const auto& x : table.all)
      violations[x.of->trial] = x.violation;
  const auto means = posterior.means(ends_of(trials));
  std::vector<ranked_trial> result;
  Index column = 0;
  for (auto x : trials)
    result.push_back(
      {violations[x], mean_at_end(x) / table.scale - means[column++], x});
  std::sort(result.begin(), result.end());
  return result;
}

bool gp_sampler::knowledge::is_safe(double log_success) const {
  return success.is_sure() || log_success >= surest + portable_log(safe_share);
}

double gp_sampler::knowledge::log_gain(double mean, double variance) const {
  const auto& best = ranking.front();
  return best.violation > 0
           ? 0
           : log_expected_improvement(mean, std::sqrt(variance), -best.loss);
}

std::vector<std::size_t> gp_sampler::limited(std::vector<standing>& all,
                                             const gp_points& points,
                                             const knowledge& known) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (known.limits.is_sure())
    return order;
  // Better without the limits, which can make none of them better.
  const auto is_above = [](const standing& x, const standing& y) {
    return x.is_safe != y.is_safe ? x.is_safe : x.score > y.score;
  };
  std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) {
    return is_above(all[x], all[y]);
  });
  const standing* best = nullptr;
  std::size_t end = 0;
  while (end < order.size()
         && (best == nullptr || !is_above(*best, all[order[end]]))) {
    const auto begin = end;
    end = std::min(begin + limited_at_once, order.size());
    gp_points asked{
      Eigen::MatrixXd(points.at.rows(), static_cast<Index>(end - begin)),
      points.group};
    for (auto i = begin; i < end; ++i)
      asked.at.col(static_cast<Index>(i - begin)) =
        points.at.col(static_cast<Index>(order[i]));
    const auto kept = known.limits.log_of(asked);
    for (auto i = begin; i < end; ++i) {
      auto& now = all[order[i]];
      now.score += kept[static_cast<Index>(i - begin)];
      if (best == nullptr || is_above(now, *best))
        best = &now;
    }
  }
  order.resize(end);
  std::ranges::sort(order);
  return order;
}

std::optional<gp_sampler::standing>
gp_sampler::best_of(std::vector<candidate> xs, const knowledge& known) const {
  auto points = empty_points(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i)
    set_point(points, i, features_of(xs[i].values),
              end_of(xs[i].values.length));
  const auto expected = known.values.predict(points);
  const auto success = known.success.log_of(points);
  const auto factor = price_factor();
  std::vector<standing> all(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto at = static_cast<Index>(i);
    auto& now = all[i];
    now.mean =
      expected.means[at] - mean_at_end(xs[i].values) / known.table.scale;
    now.score = known.log_gain(now.mean, expected.variances[at]) + success[at];
    now.is_safe = known.is_safe(success[at]);
    if (has_prior())
      now.score += belief_in(xs[i].taken);
    if (factor > 0) {
      now.work = untrained(xs[i].values);
      now.score -= factor * log_price(now.work);
    }
  }
  std::optional<standing> best;
  for (const auto i : limited(all, points, known)) {
    auto& now = all[i];
    // Untrained work is computed only where it may decide.
    if (factor == 0) {
      if (best && best->goes_before(now))
        continue;
      now.work = untrained(xs[i].values);
    }
    now.taken = std::move(xs[i].taken);
    if (!best || now.goes_before(*best))
      best = std::move(now);
  }
  return best;
}

} // namespace hippo
