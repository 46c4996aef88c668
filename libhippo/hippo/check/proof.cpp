#include "hippo/check/proof.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/train/rank_contact.hpp"

namespace hippo {

namespace {

using trial = std::map<std::string, sequence>;
using result = proof_finding::result;

/// How many trials are drawn to find out what values there are, and how many
/// values of each hyper-parameter are looked at.
constexpr std::uint64_t draws_max = 256;
constexpr std::size_t values_max = 8;

/// How many differences are told of a broken finding.
constexpr std::size_t details_max = 3;

// What usually lies behind it.
constexpr auto unseeded
  = "random numbers that do not come from the seed and the step (a global "
    "generator, the time), an order that differs from process to process, or "
    "kernels that are not deterministic (cuDNN's autotuning, atomic additions)";
constexpr auto unmeasured
  = "another name in evaluate() than in the study's objective: every trial would "
    "fail at its first measurement";
constexpr auto parts_differ
  = "something happens once in each call of train() or save() instead of once a "
    "step: a hyper-parameter is read, data are shuffled anew, a generator is "
    "seeded, a scheduler is stepped";
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
constexpr auto members_matter =
  "the members do not add up what they compute in one order";
constexpr auto ranks_alone =
  "they have joined no process group: each trains by itself, and the result "
  "is that of rank 0. Call torch.distributed.init_process_group(), which "
  "finds the others by itself";
constexpr auto unread
  = "the code never reads it, or nothing comes of what it reads";

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
      steps_(options.steps), metric_(study.objective.metric) {
    draw_trials(study);
  }

  std::vector<proof_finding> run() {
    begin();
    try_another_process();
    if (!holds(findings_))
      return std::move(findings_); // all else would differ as well
    try_in_one_go();
    try_resuming();
    try_after_others();
    try_evaluating();
    for (const auto threads : options_.other_threads)
      try_number({.threads = threads}, std::to_string(threads) + " threads",
                 threads_matter);
    for (const auto members : options_.other_members)
      try_number({options_.threads, members},
                 std::to_string(members) + " members", members_matter);
    for (const auto& [name, values] : main_)
      try_hyper_parameter(name);
    try_metric();
    return std::move(findings_);
  }

private:
  // -- trials -----------------------------------------------------------------

  /// What a hyper-parameter may be in the study's space.
  struct domain {
    std::vector<form> values; ///< the first few that there are, as plateaus
    bool varies = false;      ///< within a trial
  };

  /// Makes up two trials of few steps that differ in all they can: values are
  /// those of the study's trials, but change as early as may be.
  void draw_trials(const study_spec& study) {
    std::map<std::string, domain> domains;
    for (std::uint64_t i = 0; i < draws_max; ++i)
      for (const auto& [name, x] : study.space.sample(0, i).sequences)
        look_at(x, study.max_steps, domains[name]);
    main_ = other_ = defaults_;
    for (const auto& [name, x] : domains) {
      main_[name] = short_sequence(x, 0);
      other_[name] = short_sequence(x, 1);
    }
  }

  /// Adds what values a sequence has.
  static void look_at(const sequence& x, step_t end, domain& to) {
    std::vector<step_t> steps;
    for (const auto& piece : x.pieces())
      if (piece.begin < end)
        steps.push_back(piece.begin);
    for (const auto part : {1, 2, 3}) // a curve's between its pieces
      steps.push_back((end - 1) * part / 3);
    std::set<std::string> own;
    for (const auto at : steps) {
      const auto value = x.form_at(at).plateau_at(at);
      own.insert(to_text(value));
      if (to.values.size() < values_max
          && std::find(to.values.begin(), to.values.end(), value)
               == to.values.end())
        to.values.push_back(value);
    }
    to.varies = to.varies || own.size() > 1;
  }

  /// Returns a sequence whose values differ from those of another `shift`, if
  /// there are several. Fractions change at each step, within one closed form;
  /// whole numbers and words change once, and only where the study changes
  /// them.
  [[nodiscard]] sequence short_sequence(const domain& x,
                                        std::size_t shift) const {
    const auto& first = x.values[shift % x.values.size()];
    const auto& second = x.values[(shift + 1) % x.values.size()];
    if (first == second || !x.varies)
      return sequence{first};
    const bool are_numbers = first.kind == form_kind::constant
                             && second.kind == form_kind::constant;
    if (!are_numbers || (!is_fraction(first) && !is_fraction(second)))
      return sequence{std::vector<piece>{{0, first},
                                         {(steps_ + 1) / 2, second}}};
    form line;
    line.kind = form_kind::polynomial;
    line.a = {first.a[0], second.a[0], static_cast<double>(steps_), 1};
    return sequence{line};
  }

  static bool is_fraction(const form& x) {
    return std::floor(x.a[0]) != x.a[0];
  }

  // -- training ---------------------------------------------------------------

  std::unique_ptr<made_workload> make(const trained_by& number) {
    auto made = make_(number);
    if (!made)
      throw std::runtime_error(made.failure().message);
    made->work->prepare();
    return std::make_unique<made_workload>(std::move(*made));
  }

  std::unique_ptr<made_workload> make() {
    return make({.threads = options_.threads});
  }

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
        return put("from step " + std::to_string(at + 1) + " on: ",
                   std::move(found));
    }
    return differences(measured_, work.evaluate());
  }

  /// Compares two saved states by a workload that is kept for that.
  std::vector<std::string> compare(const std::string& x, const std::string& y) {
    return x == y ? std::vector<std::string>{}
                  : reference_->work->differences(x, y);
  }

  /// Puts a few words in front of each.
  static std::vector<std::string> put(const std::string& words,
                                      std::vector<std::string> found) {
    for (auto& x : found)
      x.insert(0, words);
    return found;
  }

  // -- what is tried ----------------------------------------------------------

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
    if (const auto* ranks = dynamic_cast<const rank_contact*>(&work);
        ranks != nullptr && ranks->ranks_apart())
      add({"the ranks train together", result::doubtful, {ranks_alone}, {}});
    measured_ = work.evaluate();
    for (step_t at = 0; at < steps_; ++at)
      if (!compare(states_[at], states_[at + 1]).empty())
        return;
    throw std::runtime_error("training changes nothing that is saved: every "
                             "state is like the initial one");
  }

  void try_metric() {
    if (metric_ == any_metric)
      return;
    note("it measures '" + metric_ + "', the study's metric", unmeasured, [&] {
      std::string names;
      for (const auto& [name, value] : measured_)
        names += (names.empty() ? "" : ", ") + name;
      return measured_.contains(metric_)
               ? std::vector<std::string>{}
               : std::vector{"it measures " + (names.empty() ? "nothing" : names)};
    });
  }

  void try_in_one_go() {
    note("the same steps in one call of train()", parts_differ, [&] {
      const auto x = make();
      x->work->init();
      train(*x->work, main_, 0, steps_);
      return put("at step " + std::to_string(steps_) + ": ",
                 compare(states_[steps_], x->work->save()));
    });
  }

  void try_another_process() {
    note("the same steps in another process", unseeded, [&] {
      const auto x = make();
      x->work->init();
      if (auto found = compare(states_[0], x->work->save()); !found.empty())
        return put("the initial state: ", std::move(found));
      return follow(*x->work, 0);
    });
  }

  void try_resuming() {
    for (const auto at : std::set<step_t>{1, steps_ / 2, steps_ - 1}) {
      if (!holds(findings_))
        return; // one of a kind is enough
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
    const auto x = make();
    const auto train_other = [&] {
      x->work->init();
      train(*x->work, other_, 0, steps_);
      static_cast<void>(x->work->evaluate());
    };
    note("a fresh start after another trial in that process", leftovers, [&] {
      train_other();
      x->work->init();
      return follow(*x->work, 0);
    });
    note("a resumed trial after another one in that process", leftovers, [&] {
      train_other();
      x->work->load(states_[1]);
      return follow(*x->work, 1);
    });
  }

  void try_evaluating() {
    note("evaluations in between", evaluation, [&] {
      const auto x = make();
      x->work->init();
      metrics once;
      for (step_t at = 1; at <= steps_; ++at) { // the first state is of no use
        train(*x->work, main_, at - 1, at);
        auto found = compare(states_[at], x->work->save());
        if (!found.empty())
          return put("from step " + std::to_string(at) + " on: ",
                     std::move(found));
        once = x->work->evaluate();
        found = differences(once, x->work->evaluate());
        if (!found.empty())
          return put("measured twice at step " + std::to_string(at) + ": ",
                     std::move(found));
      }
      return differences(measured_, once);
    });
  }

  void try_number(const trained_by& number, const std::string& text,
                  const char* cause) {
    note("the same steps with " + text, cause, [&] {
      const auto x = make(number);
      x->work->init();
      return follow(*x->work, 0);
    });
  }

  void try_hyper_parameter(const std::string& name) {
    const auto what = "another value of " + name + " makes a difference";
    if (main_.at(name) == other_.at(name)) {
      skip(what, "the study has one value for it");
      return;
    }
    // With what goes along with it one way or the other.
    std::string trouble;
    for (const auto* base : {&main_, &other_})
      try {
        if (makes_difference(*base, name)) {
          add({what, result::holds, {}, {}});
          return;
        }
      } catch (const std::exception& why) {
        trouble = why.what(); // these values do not go together, perhaps
      }
    if (trouble.empty())
      add({what, result::broken,
           {"states are the same with other values of " + name}, unread});
    else
      skip(what, "it could not be trained alone with another value: "
                   + trouble);
  }

  bool makes_difference(const trial& base, const std::string& name) {
    auto changed = base;
    changed[name] = &base == &main_ ? other_.at(name) : main_.at(name);
    return !compare(end_of(base), end_of(changed)).empty();
  }

  std::string end_of(const trial& x) {
    if (&x == &main_)
      return states_[steps_];
    auto& work = *reference_->work;
    work.prepare();
    work.init();
    train(work, x, 0, steps_);
    return work.save();
  }

  const proof_options& options_;
  const workload_maker& make_;
  const std::function<void(const proof_finding&)>& tell_;
  const trial& defaults_;
  const step_t steps_;
  const std::string metric_;
  trial main_;  ///< of which all states are compared
  trial other_; ///< trained before it
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

std::string proof_text(const proof_finding& finding) {
  static const std::map<result, std::string> words{
    {result::holds, "ok      "},
    {result::broken, "BROKEN  "},
    {result::skipped, "skipped "},
    {result::doubtful, "warning "}};
  auto text = words.at(finding.outcome) + finding.what + '\n';
  const auto shown = std::min(finding.details.size(), details_max);
  for (std::size_t i = 0; i < shown; ++i)
    text += "        " + finding.details[i] + '\n';
  if (shown < finding.details.size())
    text += "        and " + std::to_string(finding.details.size() - shown)
            + " more\n";
  if (!finding.cause.empty())
    text += "        usually: " + finding.cause + '\n';
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
