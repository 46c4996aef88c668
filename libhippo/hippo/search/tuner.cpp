#include "hippo/search/tuner.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <variant>

#include "hippo/plan/search_plan.hpp"
#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/client_algorithm.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/option.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/sampler/client_sampler.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/search/think/work_meter.hpp"
#include "hippo/search/trial_outcomes.hpp"
#include "hippo/search/trial_states.hpp"
#include "hippo/space/lengthened.hpp"
#include "hippo/space/own_workload.hpp"

namespace hippo {

namespace {

/// Combinations that are looked at to guess where trials will part.
constexpr std::uint64_t guesses = 256;

/// States that are kept because trials will likely part there.
constexpr std::size_t branches_max = 32;

/// About how much the values of a trial take, in bytes.
std::uint64_t bytes_of(const trial_parameters& x) {
  // As a map's node and a list's, each with a name that is long.
  constexpr std::uint64_t shown_bytes = 128, sequence_bytes = 128;
  std::uint64_t result = sizeof(x) + x.shown.size() * shown_bytes;
  for (const auto& kvp : x.sequences)
    result += sequence_bytes + kvp.second.pieces().size() * sizeof(piece);
  return result;
}

/// Trials of which it is kept which states they are.
constexpr std::size_t kept_states_max = 4096;

} // namespace

// -- what the study has asked for ---------------------------------------------

/// Merges the study's own trials, to see what a further one would cost, or what
/// they have cost.
class tuner::own_work final : public untrained_work {
public:
  /// @param shares whether trials share what they have in common
  own_work(const tuner& owner, bool shares) : owner_(owner), shares_(shares) {}

  void open(measuring when) { study_ = plan_.add_study(std::move(when)); }

  void add(trial_no trial, const std::vector<segment>& segments) {
    if (trial >= ids_.size())
      ids_.resize(trial + 1, none);
    ids_[trial] = plan_.add_trial(study_, segments, shares_ ? 0 : trial + 1,
                                  owner_.is_responsive(trial));
  }

  void reroute(trial_no trial, const std::vector<segment>& segments) {
    plan_.reroute(ids_[trial], segments);
  }

  /// All trials are rerouted next.
  void lengthen(measuring when) { plan_.lengthen(study_, std::move(when)); }

  void cover(trial_no trial, step_t to) { plan_.cover(ids_[trial], to); }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return plan_.memory_bytes() + plan_.cold_bytes()
           + ids_.size() * sizeof(trial_id);
  }

  [[nodiscard]] step_t of(trial_no trial, step_t to) const override {
    return trial < ids_.size() && ids_[trial] != none
             ? plan_.uncovered_steps(ids_[trial], to)
             : to;
  }

  [[nodiscard]] step_t of(const trial_parameters& values,
                          step_t to) const override {
    return plan_.uncovered_steps(
      owner_.defaults_.complete(values.sequences, owner_.max_steps_),
      std::min(to, values.length));
  }

private:
  static constexpr trial_id none{UINT64_MAX};

  const tuner& owner_;
  bool shares_;
  search_plan plan_;
  study_no study_{};
  std::vector<trial_id> ids_; ///< by trial number
};

// -- which trials are one up to a rung ----------------------------------------

class tuner::own_states final : public trial_states {
public:
  explicit own_states(const tuner& owner) : owner_(owner) {}

  [[nodiscard]] std::uint64_t of(trial_no trial, step_t rung) const override {
    const auto& rungs = owner_.when_.rungs;
    const auto at = std::lower_bound(rungs.begin(), rungs.end(), rung);
    assert(at != rungs.end() && *at == rung);
    const auto i = static_cast<std::size_t>(at - rungs.begin());
    if (owner_.is_responsive(trial)) // its values are yet to change
      return states_of(trial)[i];
    if (known_.size() >= kept_states_max && !known_.contains(trial))
      known_.clear();
    auto& result = known_[trial];
    if (result.empty())
      result = states_of(trial);
    return result[i];
  }

  /// There are other rungs.
  void forget() { known_.clear(); }

  [[nodiscard]] step_t end_of(trial_no trial) const override {
    return owner_.end_of(trial);
  }

  [[nodiscard]] std::optional<double> predicted(trial_no trial) const override {
    const auto choice = owner_.choice_of(trial);
    const auto result = choice ? choice->why.predicted : std::nullopt;
    return result && std::isfinite(*result) ? result : std::nullopt;
  }

  [[nodiscard]] std::optional<trial_no>
  next(const std::vector<placed_trial>& resting,
       const std::vector<placed_trial>& going,
       std::optional<trial_no> fresh) const override {
    return owner_.sampler_->next(resting, going, fresh);
  }

private:
  /// The states of a trial at all rungs: hashes of its values before them.
  [[nodiscard]] std::vector<std::uint64_t> states_of(trial_no trial) const {
    return states_at(owner_.segments(trial), owner_.when_.rungs);
  }

  const tuner& owner_;
  mutable std::unordered_map<trial_no, std::vector<std::uint64_t>> known_;
};

// -- the tuner ----------------------------------------------------------------

tuner::tuner(const study_spec& study, const search_settings& search,
             trial_defaults defaults, std::optional<std::uint64_t> ahead)
  : algorithm_name_(study.algorithm.name), space_(study.space),
    seed_(study.seed), max_steps_(study.max_steps), typed_(study.typed),
    better_(study.objective.direction), defaults_(std::move(defaults)),
    metric_(study.objective.metric), past_results_(study.past) {
  assert(search.options && search.sampling);
  // Takes as much memory again as the trials do in the plan.
  if (looks_at_work(search))
    work_ = std::make_unique<own_work>(*this, true);
  if (study.budget.steps) {
    steps_max_ = *study.budget.steps;
    seeds_ = study.repeats.seeds;
    trained_ = std::make_unique<own_work>(*this, may_share(study.workload));
  }
  states_ = std::make_unique<own_states>(*this);
  if (auto wanted = study.objective.all(); !wanted.is_one())
    outcomes_ = std::make_unique<trial_outcomes>(std::move(wanted));
  algorithm_ = make_algorithm(study, search, states_.get(), outcomes_.get());
  sampler_ = make_sampler(study, search,
                          {work_.get(), defaults_.values(), outcomes_.get()});
  const auto width = ahead.value_or(study.trials_ahead);
  window_ = {algorithm_->trials(), width};
  when_.every = study.objective.every;
  when_.rungs = algorithm_->rungs();
  if (!sampler_->is_static() || algorithm_->trials() > width)
    when_.branches = likely_branches(); // of trials that are yet to come
  for (auto* x : plans())
    x->open(when_);
}

tuner::~tuner() = default;

std::vector<tuner::own_work*> tuner::plans() const {
  std::vector<own_work*> result{work_.get(), trained_.get()};
  std::erase(result, nullptr);
  return result;
}

void tuner::raise_steps(std::uint64_t more) {
  assert(trained_);
  steps_max_ += more;
}

std::optional<std::uint64_t> tuner::overspent_steps() const {
  if (!trained_ || trained_steps_ < steps_max_)
    return std::nullopt;
  return trained_steps_ - steps_max_;
}

std::optional<std::string> tuner::spent() const {
  if (!overspent_steps())
    return std::nullopt;
  return "its budget.steps, " + std::to_string(steps_max_) + ", is spent";
}

std::vector<step_t> tuner::likely_branches() const {
  std::map<step_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < guesses; ++i)
    for (const auto& x : join(space_.sample(seed_, i).sequences, max_steps_))
      if (x.begin > 0)
        ++counts[x.begin];
  std::vector<std::pair<std::uint64_t, step_t>> frequent;
  for (const auto& [at, count] : counts)
    frequent.emplace_back(guesses - count, at);
  std::sort(frequent.begin(), frequent.end());
  if (frequent.size() > branches_max)
    frequent.resize(branches_max);
  std::vector<step_t> result;
  for (const auto& x : frequent)
    result.push_back(x.second);
  std::sort(result.begin(), result.end());
  return result;
}

turn tuner::start() {
  learn(past_results_);
  past_results_ = {};
  turn out;
  open(out);
  return out;
}

void tuner::open(turn& out) {
  while (window_.has_room()) {
    const auto before = window_.opened();
    const auto now = window_.open();
    if (sampler_->is_static())
      for (auto trial = before; trial < now; ++trial)
        add(trial, nullptr, out);
    carry_out(algorithm_->open(now), out);
  }
}

turn tuner::on_result(trial_no trial, step_t at, double value) {
  assert(!outcomes_);
  return on_measured(trial, at, value);
}

turn tuner::on_result(trial_no trial, step_t at, const metrics& values) {
  if (outcomes_)
    outcomes_->add(trial, at, values);
  return on_measured(trial, at, values.at(metric_));
}

turn tuner::on_measured(trial_no trial, step_t at, double value) {
  turn out;
  if (trained_) {
    trained_steps_ += seeds_ * trained_->of(trial, at);
    trained_->cover(trial, at);
  }
  sampler_->on_result(trial, at, value);
  const auto goal = respond(trial, at, value, out);
  carry_out(algorithm_->on_result(trial, at, value), out);
  const bool pruned = std::find(out.pruned.begin(), out.pruned.end(), trial)
                      != out.pruned.end();
  if (at < goal && !pruned)
    ask(trial, goal, out);
  if (const auto i = late_.find(trial); i != late_.end() && at >= i->second) {
    late_.erase(i);
    out.pruned.push_back(trial);
  }
  if (at >= when_.rungs.front())
    window_.settle(trial);
  open(out);
  return out;
}

turn tuner::on_failure(trial_no trial) {
  turn out;
  sampler_->on_failure(trial);
  late_.erase(trial);
  carry_out(algorithm_->on_failure(trial), out);
  window_.settle(trial);
  open(out);
  return out;
}

void tuner::retry(trial_no trial, step_t to) {
  sampler_->on_retry(trial);
  if (algorithm_->take_back(trial))
    return;
  const auto i = responsive_.find(trial);
  late_[trial] = i == responsive_.end() ? to : i->second.goal;
}

turn tuner::widen(std::uint64_t trials) {
  turn out;
  carry_out(algorithm_->widen(trials), out);
  return out;
}

std::optional<error> tuner::refusal_of_growth(std::uint64_t trials,
                                              bool are_given) const {
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  if (client())
    return refused("the study's clients decide about its trials (algorithm: "
                   "client): ask for one with these values");
  if (!algorithm_->can_grow())
    return refused("the number of trials of algorithm " + algorithm_name_
                   + " follows from its options: give a new study with "
                     "`first` or another budget; known results are not "
                     "trained again");
  if (trials > max_trials - std::min(this->trials(), max_trials))
    return refused("a study has at most " + std::to_string(max_trials)
                   + " trials; this one has "
                   + std::to_string(this->trials()));
  const auto size = space_.size();
  const auto own = own_trials();
  if (!are_given && size && trials > *size - std::min(own, *size))
    return refused("the space has only " + std::to_string(*size)
                   + " combinations, of which " + std::to_string(own)
                   + " are trials of the study: at most "
                   + std::to_string(*size - std::min(own, *size))
                   + " can be added");
  return std::nullopt;
}

turn tuner::extend(std::uint64_t trials) {
  assert(algorithm_->can_grow());
  algorithm_->grow(trials);
  window_.grow(trials);
  turn out;
  open(out);
  return out;
}

namespace {

/// Makes the values of a hyper-parameter from the document that shows them.
sequence made_of(nlohmann::ordered_json shown, step_t length,
                 const observations& seen, bool typed) {
  if (shown.is_object() && shown.contains("fork")) {
    const auto& parts = shown["fork"];
    return spliced(made_of(parts[0][1], length, seen, typed),
                   made_of(parts[1][1], length, seen, typed),
                   parts[1][0].get<step_t>());
  }
  resolve_percentages(shown, length);
  return make_sequence(shown, length, seen, typed).value;
}

/// Returns the pieces of a sequence that begin before a step.
std::vector<piece> pieces_before(const sequence& x, step_t end) {
  std::vector<piece> result;
  for (const auto& part : x.pieces())
    if (part.begin < end)
      result.push_back(part);
  return result;
}

} // namespace

trial_parameters tuner::lengthened(trial_no trial, trial_parameters values,
                                   step_t length) const {
  const auto i = responsive_.find(trial);
  const auto seen =
    i == responsive_.end() ? observations{} : i->second.observed;
  values.length = length;
  for (auto& [name, x] : values.sequences)
    x = made_of(values.shown.at(name), length, seen, typed_);
  return values;
}

std::string tuner::bound_to_length(trial_no trial, step_t max) const {
  const auto now = parameters(trial);
  const auto later = lengthened(trial, now, max);
  const auto end = when_.rungs.back();
  for (const auto& [name, x] : now.sequences)
    if (pieces_before(x, end) != pieces_before(later.sequences.at(name), end))
      return name;
  return {};
}

std::optional<error> tuner::refusal_of_length(step_t max) const {
  const auto last = when_.rungs.back();
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  const auto anew =
    ": submit a new study with max_steps: " + std::to_string(max)
    + "; steps that are known are not trained again";
  if (space_.has_lengths())
    return refused("the trials of the study have several lengths, which are "
                   "values of them"
                   + anew);
  const auto most = algorithm_->length_max();
  if (most == 0)
    return refused("algorithm " + algorithm_name_ + " plans its trials for "
                   + std::to_string(last) + " steps, and not for longer ones"
                   + anew);
  if (max <= last)
    return refused("trials have " + std::to_string(last)
                   + " steps already: `steps` is their new length, and must be "
                     "greater, found "
                   + std::to_string(max));
  if (max > most)
    return refused("trials of the study can have at most "
                   + std::to_string(most) + " steps, not "
                   + std::to_string(max));
  if (max <= max_steps_)
    return std::nullopt;
  if (std::ranges::any_of(spaces(), has_shares_of_length))
    return refused("the space has shares of a trial's length (%), which would "
                   "be other steps"
                   + anew);
  for (trial_no trial = 0; trial < added_.size(); ++trial)
    if (is_added(trial))
      if (const auto name = bound_to_length(trial, max); !name.empty())
        return refused("the values of '" + name + "' of trial "
                       + std::to_string(trial)
                       + " depend on how long trials are" + anew);
  return std::nullopt;
}

turn tuner::lengthen(step_t max) {
  assert(!refusal_of_length(max));
  turn out;
  const auto marks = rung_steps(when_.rungs.back(), max, mark_eta);
  out.resumed = algorithm_->lengthen(max);
  when_.rungs = algorithm_->rungs();
  if (max > max_steps_) {
    max_steps_ = max;
    space_ = hippo::lengthened(space_, max);
    for (auto& x : eras_)
      x.space = hippo::lengthened(x.space, max);
    for (auto& [trial, x] : decided_)
      x = lengthened(trial, std::move(x), max);
    for (auto& [trial, x] : own_)
      if (!is_added(trial))
        x.values = lengthened(trial, std::move(x.values), max);
    if (!sampler_->is_static() || window_.opened() < algorithm_->trials())
      when_.branches = likely_branches();
  }
  lengthenings_.emplace_back(marks.begin() + 1, marks.end());
  for (auto& x : eras_)
    x.drawer->lengthen(x.space, lengthenings_.back());
  sampler_->lengthen(space_, lengthenings_.back());
  states_->forget();
  reroute_all(out);
  carry_out(algorithm_->go_on(), out);
  return out;
}

void tuner::reroute_all(turn& out) {
  for (auto* x : plans())
    x->lengthen(when_);
  for (trial_no trial = 0; trial < added_.size(); ++trial)
    if (is_added(trial)) {
      out.rerouted.push_back(trial);
      for (auto* x : plans())
        x->reroute(trial, segments(trial));
    }
}

turn tuner::enqueue(const std::vector<leaf_decisions>& values) {
  next_given_ = std::max<trial_no>(next_given_, added_.size());
  for (const auto& x : values)
    sampler_->give(next_given_++, x);
  given_ += values.size();
  return extend(values.size());
}

turn tuner::enqueue(std::vector<own_trial> trials) {
  auto next = std::max<trial_no>(next_given_, added_.size());
  for (auto& x : trials) {
    assert(!x.values.responsive);
    own_.emplace(next++, std::move(x));
  }
  return enqueue(std::vector<leaf_decisions>(trials.size()));
}

choice_reason tuner::why(trial_no trial) const {
  if (const auto i = own_.find(trial); i != own_.end())
    return {.how = i->second.how, .predicted = {}, .untrained = {}};
  auto choice = choice_of(trial);
  return choice ? std::move(choice->why) : choice_reason{};
}

std::optional<error> tuner::refusal_of_past() const {
  if (sampler_->learns())
    return std::nullopt;
  return error{errc::invalid_argument,
               "the study's sampler does not learn from results: tpe, gp and "
               "nsga2 do (`sampler` of the algorithm)"};
}

void tuner::learn(const std::vector<past_result>& results) {
  for (const auto& x : results) {
    auto [found, is_new] = past_.try_emplace(x.values);
    auto& [number, last] = found->second;
    if (is_new || x.step <= last)
      number = past_trials_begin + past_trials_++;
    last = x.step;
    if (outcomes_)
      outcomes_->add(number, x.step, x.measured);
    sampler_->learn(number, x.values, x.step, x.measured.at(metric_));
    held_bytes_ += 3 * x.values.size() * sizeof(x.values.front());
    told_.push_back(x);
  }
}

expected<client_algorithm*> tuner::client() const {
  if (auto* x = dynamic_cast<client_algorithm*>(algorithm_.get()))
    return x;
  return {errc::invalid_argument,
          "the study's algorithm, " + algorithm_name_
            + ", decides by itself: only a study with `algorithm: client` can"
              " be driven from outside"};
}

/// @param why says of the client's algorithm why not
template <class Why>
std::optional<error> tuner::refusal(Why&& why) const {
  const auto x = client();
  if (!x)
    return x.failure();
  if (auto text = why(**x); !text.empty())
    return error{errc::invalid_argument, std::move(text)};
  return std::nullopt;
}

std::optional<error> tuner::refusal_of_ask() const {
  return refusal([](const client_algorithm& x) { return x.refusal_of_ask(); });
}

std::optional<error> tuner::refusal_of_train(trial_no trial, step_t to) const {
  return refusal([=](const client_algorithm& x) {
    return x.refusal_of_train(trial, to);
  });
}

std::optional<error> tuner::refusal_of_end(trial_no trial,
                                           bool has_measured) const {
  return refusal([=, this](const client_algorithm& x) -> std::string {
    if (has_measured && outcomes_)
      return "one value does not tell what a trial is worth where there are"
             " several metrics or constraints: end it without a value";
    return x.refusal_of_stop(trial);
  });
}

std::optional<error> tuner::refusal_of_close() const {
  return refusal([](const client_algorithm&) { return std::string{}; });
}

expected<turn> tuner::client_ask(std::optional<trial_parameters> values) {
  auto x = client();
  if (!x)
    return x.failure();
  if (auto asked = (*x)->ask(); !asked)
    return asked.failure();
  const auto trial = (*x)->trials() - 1;
  if (values)
    dynamic_cast<client_sampler&>(*sampler_).give(trial, std::move(*values));
  turn out;
  add(trial, nullptr, out);
  return out;
}

expected<turn> tuner::client_train(trial_no trial, step_t to) {
  auto x = client();
  if (!x)
    return x.failure();
  auto wanted = (*x)->train(trial, to);
  if (!wanted)
    return wanted.failure();
  turn out;
  carry_out(*wanted, out);
  return out;
}

expected<turn> tuner::client_end(trial_no trial,
                                 std::optional<observation> measured) {
  if (auto why = refusal_of_end(trial, measured.has_value()))
    return *why;
  auto wanted = (*client())->stop(trial);
  if (!wanted)
    return wanted.failure();
  if (measured)
    sampler_->on_result(trial, measured->at, measured->value);
  turn out;
  carry_out(*wanted, out);
  return out;
}

expected<turn> tuner::client_close() {
  auto x = client();
  if (!x)
    return x.failure();
  turn out;
  carry_out((*x)->close(), out);
  return out;
}

void tuner::carry_out(const std::vector<action>& actions, turn& out) {
  for (const auto& x : actions) {
    if (const auto* go = std::get_if<advance>(&x)) {
      if (!sampler_->is_static() && !is_added(go->trial))
        add(go->trial, nullptr, out);
      ask(go->trial, go->to, out);
    } else if (const auto* branch = std::get_if<fork>(&x)) {
      add(branch->trial, branch, out);
    } else if (const auto* mixed = std::get_if<cross>(&x)) {
      remind(mixed->trial);
      add(mixed->trial, sampler_->cross(*mixed), out);
    } else {
      out.pruned.push_back(std::get<prune>(x).trial);
      window_.settle(out.pruned.back());
    }
  }
}

void tuner::add(trial_no trial, const fork* origin, turn& out) {
  if (const auto own = own_.find(trial); own != own_.end()) {
    add(trial, std::move(own->second.values), out);
    return;
  }
  remind(trial);
  auto values = origin != nullptr ? sampler_->branch(*origin)
                                  : sampler_->draw(trial);
  if (origin != nullptr) {
    forks_.emplace(trial, *origin);
    // The sampler does not know what measurements have made of the values.
    const auto before = parameters(origin->from).sequences;
    for (auto& [name, x] : values.sequences)
      x = spliced(before.at(name), x, origin->at);
  }
  add(trial, std::move(values), out);
}

void tuner::add(trial_no trial, trial_parameters values, turn& out) {
  work_meter::charge(values.sequences.size());
  if (space_.has_lengths()) {
    lengths_.resize(std::max<std::size_t>(lengths_.size(), trial + 1));
    lengths_[trial] = values.length;
  }
  if (values.responsive)
    responsive_[trial].observed.better = better_;
  if (forks_.contains(trial) || values.responsive || own_.contains(trial)
      || (!sampler_->is_static() && !sampler_->recall(trial))) {
    held_bytes_ += bytes_of(values);
    decided_.emplace(trial, std::move(values));
  }
  if (added_.size() <= trial)
    added_.resize(trial + 1);
  added_[trial] = true;
  for (auto* x : plans())
    x->add(trial, segments(trial));
  out.added.push_back(trial);
}

void tuner::ask(trial_no trial, step_t to, turn& out) {
  to = std::min(to, end_of(trial));
  if (const auto i = responsive_.find(trial); i != responsive_.end()) {
    // What it does next depends on the next measurement: no further than that.
    // What a fork shares with another trial is decided, but not reported.
    i->second.goal = to;
    const auto& seen = i->second.observed.values;
    const auto reported = seen.empty() ? 0 : seen.back().at;
    const auto* split = origin(trial);
    to = std::min(to, split != nullptr && reported < split->at
                        ? split->at
                        : when_.next(reported));
  }
  if (work_)
    work_->cover(trial, to);
  out.asked.push_back({trial, to});
}

step_t tuner::respond(trial_no trial, step_t at, double value, turn& out) {
  const auto i = responsive_.find(trial);
  if (i == responsive_.end())
    return 0;
  auto& [observed, goal] = i->second;
  if (!observed.values.empty() && observed.values.back().at >= at)
    return 0; // reported already
  observed.values.push_back({at, value});
  held_bytes_ += sizeof(observed.values.back());
  const auto* split = origin(trial);
  if (split != nullptr && at < split->at)
    return 0; // more is known
  auto& values = decided_.at(trial);
  bool changed = false;
  for (auto& [name, x] : values.sequences) {
    auto now
      = make_sequence(values.shown.at(name), values.length, observed, typed_)
          .value;
    if (split != nullptr)
      now = spliced(x, now, split->at);
    changed = changed || now != x;
    x = std::move(now);
  }
  if (changed) {
    out.rerouted.push_back(trial);
    for (auto* x : plans())
      x->reroute(trial, segments(trial));
  }
  return goal;
}

trial_parameters tuner::parameters(trial_no trial) const {
  const auto i = decided_.find(trial);
  if (i != decided_.end())
    return i->second;
  auto result = sampler_of(trial).recall(trial);
  assert(result);
  return std::move(*result);
}

std::uint64_t tuner::memory_bytes() const {
  // An algorithm has a trial's place on each board that it has come to, a
  // learning sampler its combination.
  constexpr std::uint64_t trial_bytes = 128;
  return held_bytes_ + past_trials_ * 2 * trial_bytes
         + added_.size() * (sampler_->is_static() ? 1 : 3) * trial_bytes
         + lengths_.size() * sizeof(step_t)
         + (work_ ? work_->memory_bytes() : 0)
         + (trained_ ? trained_->memory_bytes() : 0)
         + (outcomes_ ? outcomes_->memory_bytes() : 0);
}

std::vector<segment> tuner::segments(trial_no trial) const {
  return defaults_.complete(parameters(trial).sequences,
                            lengths_.empty() ? max_steps_ : lengths_[trial]);
}

const fork* tuner::origin(trial_no trial) const {
  const auto i = forks_.find(trial);
  return i == forks_.end() ? nullptr : &i->second;
}

} // namespace hippo
