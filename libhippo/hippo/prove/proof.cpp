#include "hippo/prove/proof.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "hippo/core/number.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

namespace {

using trial = std::map<std::string, sequence>;
using result = proof_finding::result;

/// How many trials are drawn to find some that differ.
constexpr std::uint64_t draws_max = 256;

/// How many trials are tried for a hyper-parameter to make a difference.
constexpr std::size_t bases_max = 3;

/// How many differences are told of a broken finding.
constexpr std::size_t details_max = 5;

// What usually lies behind it.
constexpr auto unseeded
  = "random numbers that do not come from the seed and the step (a global "
    "generator, the time), an order that differs from process to process, or "
    "kernels that are not deterministic (cuDNN's autotuning, atomic additions)";
constexpr auto parts_differ
  = "something happens once in each call of train() or save() instead of once a "
    "step: data are shuffled anew, a generator is seeded, a scheduler is stepped";
constexpr auto incomplete
  = "something that a later step reads is not in the saved state: the "
    "optimiser's moments, normalisation statistics, a generator, a counter";
constexpr auto leftovers
  = "something survives in the process: a generator that goes on, a variable of "
    "the module, an optimiser or a model that is not made anew";
constexpr auto evaluation
  = "the evaluation changes something: the model stays in evaluation mode, "
    "normalisation statistics are updated, random numbers are drawn";
constexpr auto threads_matter
  = "sums are formed in another order with more threads: do not claim that "
    "their number does not matter";
constexpr auto unread
  = "the code never reads it: its name is misspelt, or its value is read once "
    "instead of at each step";

/// Whether two sequences have one value at every step below `end`.
bool equal_below(const sequence& x, const sequence& y, step_t end) {
  for (step_t at = 0; at < end; ++at)
    if (x.at(at) != y.at(at))
      return false;
  return true;
}

/// Says how two measurements of one state differ.
std::vector<std::string> differences(const metrics& x, const metrics& y) {
  std::vector<std::string> found;
  for (const auto& [name, value] : x) {
    const auto i = y.find(name);
    if (i == y.end())
      found.push_back("the metric " + name + " is missing");
    else if (std::bit_cast<std::uint64_t>(value)
               != std::bit_cast<std::uint64_t>(i->second)
             && !(std::isnan(value) && std::isnan(i->second)))
      found.push_back("the metric " + name + " is " + to_text(i->second)
                      + " instead of " + to_text(value));
  }
  return found;
}

class prover {
public:
  prover(const study_spec& study, const trial& defaults,
         const proof_options& options, const workload_maker& make,
         const std::function<void(const proof_finding&)>& tell)
    : options_(options), make_(make), tell_(tell), defaults_(defaults),
      steps_(std::min(options.steps, study.max_steps)) {
    draw_trials(study.space);
  }

  std::vector<proof_finding> run() {
    begin();
    try_in_one_go();
    try_another_process();
    try_resuming();
    try_after_others();
    try_evaluating();
    for (const auto threads : options_.other_threads)
      try_threads(threads);
    for (const auto& [name, values] : main_)
      try_hyper_parameter(name);
    return std::move(findings_);
  }

private:
  // -- trials ------------------------------------------------------------------

  /// Finds trials that differ from each other in as much as may be.
  void draw_trials(const search_space& space) {
    for (std::uint64_t i = 0; i < draws_max; ++i) {
      auto values = space.sample(0, i).sequences;
      values.insert(defaults_.begin(), defaults_.end());
      drawn_.push_back(std::move(values));
    }
    main_ = drawn_.front();
    std::size_t most = 0;
    for (const auto& x : drawn_)
      if (const auto n = differing(main_, x); n > most) {
        most = n;
        other_ = x;
      }
  }

  [[nodiscard]] std::size_t differing(const trial& x, const trial& y) const {
    std::size_t n = 0;
    for (const auto& [name, values] : x)
      if (const auto i = y.find(name);
          i == y.end() || !equal_below(values, i->second, steps_))
        ++n;
    return n;
  }

  // -- training ----------------------------------------------------------------

  std::unique_ptr<made_workload> make(unsigned threads) {
    auto made = make_(threads);
    if (!made)
      throw std::runtime_error(made.failure().message);
    made->work->prepare();
    return std::make_unique<made_workload>(std::move(*made));
  }

  std::unique_ptr<made_workload> make() { return make(options_.threads); }

  static void train(workload& work, const trial& x, step_t from, step_t to) {
    const auto segments = join(x, to);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto begin = std::max(segments[i].begin, from);
      const auto end
        = i + 1 < segments.size() ? std::min(segments[i + 1].begin, to) : to;
      if (begin < end)
        work.train(segments[i].config, begin, end);
    }
  }

  /// Trains the main trial from state `from` on, one step at a time, and
  /// compares each state that it comes through.
  std::vector<std::string> follow(workload& work, step_t from) {
    for (auto at = from; at < steps_; ++at) {
      train(work, main_, at, at + 1);
      if (auto found = compare(states_[at + 1], work.save()); !found.empty())
        return since(at + 1, std::move(found));
    }
    return differences(measured_, work.evaluate());
  }

  /// Compares two saved states by a workload that is kept for that.
  std::vector<std::string> compare(const std::string& x, const std::string& y) {
    return x == y ? std::vector<std::string>{}
                  : reference_->work->differences(x, y);
  }

  static std::vector<std::string> since(step_t at,
                                        std::vector<std::string> found) {
    for (auto& x : found)
      x = "from step " + std::to_string(at) + " on: " + x;
    return found;
  }

  // -- what is tried -----------------------------------------------------------

  /// Runs something that returns differences, and notes what comes of it.
  template <class F>
  void note(std::string what, const char* cause, F&& f) {
    proof_finding x;
    x.what = std::move(what);
    try {
      x.details = f();
    } catch (const std::exception& why) {
      x.details = {why.what()};
    }
    if (!x.details.empty()) {
      x.outcome = result::broken;
      x.cause = cause;
    }
    add(std::move(x));
  }

  void skip(std::string what, std::string why) {
    add({std::move(what), result::skipped, {std::move(why)}, {}});
  }

  void add(proof_finding x) {
    tell_(x);
    findings_.push_back(std::move(x));
  }

  /// Trains what all else is compared with: one step at a time, each state
  /// saved.
  void begin() {
    reference_ = make();
    auto& work = *reference_->work;
    work.init();
    states_.push_back(work.save());
    for (step_t at = 0; at < steps_; ++at) {
      train(work, main_, at, at + 1);
      states_.push_back(work.save());
    }
    measured_ = work.evaluate();
    for (step_t at = 0; at < steps_; ++at)
      if (!compare(states_[at], states_[at + 1]).empty())
        return;
    throw std::runtime_error("training changes nothing that is saved: every "
                             "state is like the initial one");
  }

  void try_in_one_go() {
    note("the same steps in one call of train()", parts_differ, [&] {
      const auto x = make();
      x->work->init();
      train(*x->work, main_, 0, steps_);
      return since(steps_, compare(states_[steps_], x->work->save()));
    });
  }

  void try_another_process() {
    note("the same steps in another process", unseeded, [&] {
      const auto x = make();
      x->work->init();
      if (auto found = compare(states_[0], x->work->save()); !found.empty())
        return since(0, std::move(found));
      return follow(*x->work, 0);
    });
  }

  void try_resuming() {
    for (const auto at : std::set<step_t>{1, steps_ / 2, steps_ - 1}) {
      if (at == 0 || at >= steps_)
        continue;
      const auto step = "step " + std::to_string(at);
      const auto x = make();
      note("what is loaded at " + step + " is what was saved", incomplete, [&] {
        x->work->load(states_[at]);
        return compare(states_[at], x->work->save());
      });
      note("training goes on from " + step + " in another process", incomplete,
           [&] { return follow(*x->work, at); });
    }
  }

  void try_after_others() {
    const auto fresh = "a fresh start after another trial in that process";
    const auto resumed = "a resumed trial after another one in that process";
    if (!other_) {
      skip(fresh, "the study's trials are all alike over these steps");
      return;
    }
    const auto x = make();
    const auto train_other = [&] {
      x->work->init();
      train(*x->work, *other_, 0, steps_);
      static_cast<void>(x->work->evaluate());
    };
    note(fresh, leftovers, [&] {
      train_other();
      x->work->init();
      return follow(*x->work, 0);
    });
    note(resumed, leftovers, [&] {
      train_other();
      x->work->load(states_[1]);
      return follow(*x->work, 1);
    });
  }

  void try_evaluating() {
    note("evaluations in between", evaluation, [&] {
      const auto x = make();
      x->work->init();
      for (step_t at = 0; at < steps_; ++at) {
        const auto once = x->work->evaluate();
        auto found = differences(once, x->work->evaluate());
        if (!found.empty()) {
          for (auto& text : found)
            text += ", measured twice";
          return since(at, std::move(found));
        }
        train(*x->work, main_, at, at + 1);
        found = compare(states_[at + 1], x->work->save());
        if (!found.empty())
          return since(at + 1, std::move(found));
      }
      return differences(measured_, x->work->evaluate());
    });
  }

  void try_threads(unsigned threads) {
    note("the same steps with " + std::to_string(threads) + " threads",
         threads_matter, [&] {
           const auto x = make(threads);
           x->work->init();
           return follow(*x->work, 0);
         });
  }

  void try_hyper_parameter(const std::string& name) {
    const auto what = "another value of " + name + " makes a difference";
    std::size_t tried = 0;
    std::string trouble;
    for (const auto& base : drawn_) {
      if (tried == bases_max)
        break;
      const auto changed = with_other_value(base, name);
      if (!changed)
        continue;
      ++tried;
      try {
        if (makes_difference(base, *changed)) {
          add({what, result::holds, {}, {}});
          return;
        }
      } catch (const std::exception& why) {
        trouble = why.what(); // these two do not go together, perhaps
      }
    }
    if (tried == 0)
      skip(what, "the study has one value for it over these steps");
    else if (!trouble.empty())
      skip(what, "it could not be trained alone with another value: "
                   + trouble);
    else
      add({what, result::broken,
           {"states are the same with other values of " + name}, unread});
  }

  /// Returns a trial that differs from another one in one hyper-parameter.
  [[nodiscard]] std::optional<trial>
  with_other_value(const trial& base, const std::string& name) const {
    const auto present = base.find(name);
    if (present == base.end())
      return {};
    for (const auto& x : drawn_)
      if (const auto i = x.find(name);
          i != x.end() && !equal_below(present->second, i->second, steps_)) {
        auto changed = base;
        changed[name] = i->second;
        return changed;
      }
    return {};
  }

  bool makes_difference(const trial& x, const trial& y) {
    auto& work = *reference_->work;
    work.prepare();
    const auto end_of = [&](const trial& values) {
      if (values == main_)
        return states_[steps_];
      work.init();
      train(work, values, 0, steps_);
      return work.save();
    };
    return !compare(end_of(x), end_of(y)).empty();
  }

  const proof_options& options_;
  const workload_maker& make_;
  const std::function<void(const proof_finding&)>& tell_;
  const trial& defaults_;
  const step_t steps_;
  std::vector<trial> drawn_;
  trial main_;                 ///< of which all states are compared
  std::optional<trial> other_; ///< trained before it; nothing: all are alike
  std::unique_ptr<made_workload> reference_;
  std::vector<std::string> states_; ///< of the main trial, by step
  metrics measured_;                ///< at its end
  std::vector<proof_finding> findings_;
};

} // namespace

expected<std::vector<proof_finding>>
prove(const study_spec& study, const std::map<std::string, sequence>& defaults,
      const proof_options& options, const workload_maker& make,
      const std::function<void(const proof_finding&)>& tell) {
  try {
    return prover{study, defaults, options, make, tell}.run();
  } catch (const std::exception& why) {
    return {errc::training_failed, why.what()};
  }
}

bool holds(const std::vector<proof_finding>& xs) {
  return std::none_of(xs.begin(), xs.end(), [](const auto& x) {
    return x.outcome == result::broken;
  });
}

std::string proof_text(const proof_finding& x) {
  static const std::map<result, std::string> words{
    {result::holds, "ok      "},
    {result::broken, "BROKEN  "},
    {result::skipped, "skipped "}};
  auto text = words.at(x.outcome) + x.what + '\n';
  const auto shown = std::min(x.details.size(), details_max);
  for (std::size_t i = 0; i < shown; ++i)
    text += "        " + x.details[i] + '\n';
  if (shown < x.details.size())
    text += "        and " + std::to_string(x.details.size() - shown)
            + " more\n";
  if (!x.cause.empty())
    text += "        usually: " + x.cause + '\n';
  return text;
}

std::string proof_summary(const std::vector<proof_finding>& xs) {
  const auto count = [&](result wanted) {
    return std::count_if(xs.begin(), xs.end(), [&](const auto& x) {
      return x.outcome == wanted;
    });
  };
  const auto broken = count(result::broken);
  if (broken == 0)
    return "exact: " + std::to_string(count(result::holds))
           + " checks passed, no bit differed. Trials may share training.\n";
  return "not exact: " + std::to_string(broken) + " of "
         + std::to_string(xs.size())
         + " checks failed. Mend the workload, or say 'exact: false' in the "
           "study: then no two trials share training.\n";
}

} // namespace hippo
