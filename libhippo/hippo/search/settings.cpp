#include "hippo/search/settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
#include "hippo/search/algorithm/dehb.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/automatic.hpp"

namespace hippo {

namespace {

const std::vector<std::pair<std::string, algorithm_kind>> algorithms{
  {"grid", algorithm_kind::grid},
  {"random", algorithm_kind::random},
  {"tpe", algorithm_kind::tpe},
  {"gp", algorithm_kind::gp},
  {"nsga2", algorithm_kind::nsga2},
  {"sha", algorithm_kind::sha},
  {"asha", algorithm_kind::asha},
  {"hyperband", algorithm_kind::hyperband},
  {"bohb", algorithm_kind::hyperband},
  {"boss", algorithm_kind::hyperband},
  {"dehb", algorithm_kind::dehb},
  {"median", algorithm_kind::median},
  {"pbt", algorithm_kind::pbt},
  {"client", algorithm_kind::client}};

/// So many trials there are at most where a space has no end of them and only
/// time is limited.
constexpr std::uint64_t trials_of_a_time_budget = 10'000;

/// The options of the samplers that learn; `candidates` is of `tpe` alone.
const std::vector<std::string> learning_options{"startup", "candidates"};

std::string name_of(sampling_kind x) {
  switch (x) {
    case sampling_kind::random:
      return "random";
    case sampling_kind::grid:
      return "grid";
    case sampling_kind::tpe:
      return "tpe";
    case sampling_kind::gp:
      return "gp";
    case sampling_kind::nsga2:
      return "nsga2";
  }
  return {};
}

/// Returns the options of an algorithm but for those of its sampler.
std::vector<std::string> own_options(const std::string& name,
                                     algorithm_kind kind) {
  switch (kind) {
    case algorithm_kind::grid:
    case algorithm_kind::random:
      return {};
    case algorithm_kind::tpe:
    case algorithm_kind::gp:
    case algorithm_kind::nsga2:
      return {"concurrent", "prefer_shared"};
    case algorithm_kind::sha:
      return {"eta", "min", "max", "sampler", "prefer_shared"};
    case algorithm_kind::asha:
      return {"eta",  "min",        "max",          "sampler",
              "mode", "concurrent", "prefer_shared"};
    case algorithm_kind::hyperband:
      if (name == "bohb" || name == "boss")
        return {"eta",        "min",   "max",          "brackets",
                "iterations", "order", "prefer_shared"};
      return {"eta",     "min",   "max",  "brackets",     "iterations",
              "sampler", "order", "rule", "prefer_shared"};
    case algorithm_kind::dehb:
      return {"eta", "min", "max", "promote", "concurrent"};
    case algorithm_kind::median:
      return {"grace",   "min_others", "max",
              "sampler", "concurrent", "prefer_shared"};
    case algorithm_kind::pbt:
      return {"population", "interval", "max",
              "quantile",   "resample", "sampler"};
    case algorithm_kind::client:
      return {"interval", "max", "sampler", "concurrent", "prefer_shared"};
  }
  return {};
}

bool has_rungs(algorithm_kind kind) {
  return kind == algorithm_kind::sha || kind == algorithm_kind::asha
         || kind == algorithm_kind::hyperband || kind == algorithm_kind::dehb;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Renders `a, b or c`.
std::string listed(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i)
    result += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return result;
}

class settings_reader {
public:
  settings_reader(const study_spec& study, algorithm_check& found)
    : study_(study), found_(found) {}

  tune_settings read() {
    if (!read_kind())
      return out_;
    out_.better = study_.objective.direction;
    read_sampling();
    refuse_unknown_options();
    check_goals();
    read_steps();
    read_lengths();
    out_.may_resume
      = word("mode", {"promotion", "stopping"}, "promotion") == "promotion";
    read_concurrent();
    read_prefer_shared();
    out_.startup = whole("startup", 1, max_trials, out_.startup);
    out_.candidates = whole("candidates", 1, candidates_max, out_.candidates);
    if (out_.sampling == sampling_kind::nsga2)
      out_.parents = whole("population", 2, parents_max, out_.parents);
    read_hyperband();
    read_dehb();
    read_median();
    count_trials();
    read_population();
    warn_of_rungs_out_of_reach();
    warn_of_odd_sampling();
    return out_;
  }

private:
  /// The greatest whole number that every double up to it can tell apart.
  static constexpr std::uint64_t most = std::uint64_t{1} << 53;

  static constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

  static constexpr std::uint64_t candidates_max = 10'000;
  static constexpr std::uint64_t parents_max = 10'000;

  /// Members of a population where the study does not say.
  static constexpr std::uint64_t population_default = 10;

  /// Whether the algorithm is Hyperband by a name that says what samples.
  [[nodiscard]] bool is_learning_hyperband() const {
    return study_.algorithm.name == "bohb" || study_.algorithm.name == "boss";
  }

  [[nodiscard]] std::string path_of(const std::string& option) const {
    return "algorithm." + study_.algorithm.name + "." + option;
  }

  void error(const std::string& path, std::string message) {
    found_.errors.push_back({path, std::move(message)});
  }

  void warn(const std::string& path, std::string message) {
    found_.warnings.push_back({path, std::move(message)});
  }

  bool read_kind() {
    std::vector<std::string> names;
    for (const auto& [name, kind] : algorithms) {
      if (name == study_.algorithm.name) {
        out_.kind = kind;
        return true;
      }
      names.push_back(name);
    }
    names.emplace_back(automatic_name);
    const auto& name = study_.algorithm.name;
    if (name == automatic_name && !study_.algorithm.options.empty()) {
      error("algorithm.auto", "takes no options: name the algorithm that they "
                              "are of");
      return false;
    }
    error("algorithm", "unknown algorithm '" + name + "'"
                         + did_you_mean(name, names) + " (must be "
                         + listed(names) + ")");
    return false;
  }

  void refuse_unknown_options() {
    const auto& own = study_.algorithm.name;
    auto known = own_options(own, out_.kind);
    const bool may_learn = out_.kind == algorithm_kind::tpe
                           || out_.kind == algorithm_kind::gp
                           || is_learning_hyperband()
                           || (contains(known, "sampler")
                               && out_.kind != algorithm_kind::pbt);
    if (out_.sampling == sampling_kind::nsga2)
      known.emplace_back("population");
    else if (may_learn)
      known.insert(known.end(), learning_options.begin(),
                   learning_options.end()
                     - (out_.sampling == sampling_kind::gp));
    for (const auto& [name, value] : study_.algorithm.options)
      if (!contains(known, name))
        error(path_of(name), "unknown option '" + name + "' of " + own
                               + did_you_mean(name, known)
                               + (known.empty() ? " (it takes none)"
                                                : " (may be " + listed(known)
                                                    + ")"));
      else if (contains(learning_options, name) && !learns(out_.sampling))
        error(path_of(name), name == "candidates"
                               ? "is an option of `sampler: tpe`"
                               : "is an option of `sampler: tpe` or `gp`");
  }

  void read_sampling() {
    std::vector<std::string> known{"random", "grid"};
    if (out_.kind != algorithm_kind::pbt)
      known.insert(known.end(), {"tpe", "gp", "nsga2"});
    const std::string name
      = out_.kind == algorithm_kind::grid ? "grid"
        : out_.kind == algorithm_kind::gp ? "gp"
        : out_.kind == algorithm_kind::nsga2 ? "nsga2"
        : out_.kind == algorithm_kind::tpe || is_learning_hyperband()
          ? "tpe"
          : word("sampler", known, "random");
    out_.sampling = name == "grid"  ? sampling_kind::grid
                    : name == "tpe" ? sampling_kind::tpe
                    : name == "gp"  ? sampling_kind::gp
                    : name == "nsga2" ? sampling_kind::nsga2
                                    : sampling_kind::random;
    if (out_.sampling == sampling_kind::gp
        && study_.space.leaves() > gp_leaves_max)
      error(out_.kind == algorithm_kind::gp ? "algorithm" : path_of("sampler"),
            "gp takes at most " + std::to_string(gp_leaves_max)
              + " choices and ranges, and the space has "
              + std::to_string(study_.space.leaves()) + ": use tpe");
  }

  /// Refuses what takes one number for a trial's worth, where there are more.
  void check_goals() {
    const bool has_one = study_.objective.all().is_one();
    const bool names_sampler = find("sampler") != nullptr;
    const auto sampler_path
      = names_sampler ? path_of("sampler") : std::string{"algorithm"};
    if (has_one && out_.sampling == sampling_kind::nsga2)
      error(sampler_path, "nsga2 is for several metrics, or constraints: use"
                          " tpe or gp for one metric");
    if (has_one)
      return;
    const std::string one_only = " takes one metric, without constraints: use ";
    if (out_.sampling == sampling_kind::gp)
      error(sampler_path, "gp" + one_only + "tpe or nsga2");
    if (out_.kind == algorithm_kind::dehb || out_.kind == algorithm_kind::median
        || out_.kind == algorithm_kind::pbt)
      error("algorithm", study_.algorithm.name + one_only
                           + "asha, hyperband or sha, or tpe or nsga2, which"
                             " train each trial in full");
    const auto* rule = find("rule");
    if (study_.algorithm.name == "boss")
      error("algorithm", "boss" + one_only + "bohb, asha or hyperband");
    else if (rule != nullptr && to_text(*rule) == "sub-sampling")
      error(path_of("rule"), "sub-sampling" + one_only + "halving");
    if (!study_.objective.further.empty() && study_.stop_when.value)
      error("stop_when.value", "is for one metric: end a study of several by"
                               " stop_when.no_gain or budget");
  }

  void read_prefer_shared() {
    const bool has_price = out_.sampling == sampling_kind::gp;
    const auto name = word("prefer_shared", {"off", "ties", "price", "on"},
                           has_price ? "price" : "ties");
    if (name == "price" && !has_price)
      error(path_of("prefer_shared"),
            "price is for the sampler gp, which says what a trial is worth: use"
            " ties, or `sampler: gp`");
    out_.prefer_shared = name == "off"     ? sharing_preference::off
                         : name == "price" ? sharing_preference::price
                                           : sharing_preference::ties;
  }

  void read_steps() {
    out_.eta = whole("eta", 2, most, out_.eta);
    out_.max = whole("max", 1, study_.max_steps, study_.max_steps);
    out_.min = has_rungs(out_.kind) ? whole("min", 1, out_.max, 1) : out_.max;
    if (out_.kind != algorithm_kind::pbt && out_.kind != algorithm_kind::client)
      return;
    const auto least = (out_.max - 1) / max_interval_rungs + 1;
    out_.interval
      = whole("interval", least, out_.max,
              out_.kind == algorithm_kind::client ? out_.max
                                                  : (out_.max - 1) / 10 + 1);
    out_.min = std::min(out_.interval, out_.max);
  }

  /// Trials of several lengths are compared with those of their own, where
  /// they end: that is no matter of algorithms that compare them on the way.
  void read_lengths() {
    out_.lengths = {out_.max};
    if (study_.several_lengths.empty())
      return;
    switch (out_.kind) {
      case algorithm_kind::grid:
      case algorithm_kind::random:
      case algorithm_kind::tpe:
      case algorithm_kind::gp:
      case algorithm_kind::client:
        break;
      default:
        error("algorithm", study_.algorithm.name
                             + " takes trials of one length: use grid, random,"
                               " tpe, gp or client, or give steps.max one"
                               " number");
        return;
    }
    if (out_.sampling == sampling_kind::nsga2)
      error(path_of("sampler"), "nsga2 takes trials of one length: use tpe, gp"
                                " or random, or give steps.max one number");
    if (find("max") != nullptr)
      error(path_of("max"), "says how long trials are, as steps.max does: give"
                            " one of them");
    out_.lengths = study_.several_lengths;
  }

  /// What learns from results must not have to decide everything before it
  /// could.
  void read_concurrent() {
    if (out_.kind == algorithm_kind::client) {
      out_.concurrent = whole("concurrent", 0, most, 0);
      return;
    }
    const auto* x = find("concurrent");
    const bool is_auto = learns(out_.sampling)
                         || out_.kind == algorithm_kind::asha
                         || out_.kind == algorithm_kind::dehb;
    if (x == nullptr ? is_auto : to_text(*x) == "auto")
      out_.concurrent = std::nullopt;
    else
      out_.concurrent = whole("concurrent", 0, most, 0, "`auto` or ");
  }

  void read_hyperband() {
    if (out_.kind != algorithm_kind::hyperband)
      return;
    const auto round = hyperband_brackets(out_.min, out_.max, out_.eta);
    out_.brackets = whole("brackets", 1, round.size(), round.size());
    const auto own_rule
      = study_.algorithm.name == "boss" ? "sub-sampling" : "halving";
    out_.rule = word("rule", {"halving", "sub-sampling"}, own_rule) == "halving"
                  ? bracket_rule::halving
                  : bracket_rule::sub_sampling;
    out_.in_turn
      = word("order", {"together", "in-turn"},
             learns(out_.sampling) ? "in-turn" : "together")
        == "in-turn";
    round_trials_ = 0;
    for (std::size_t i = 0; i < out_.brackets; ++i)
      round_trials_ += round[i].trials;
    // A budget alone says how often the brackets are repeated.
    const auto iterations
      = whole("iterations", 1, max_trials, study_.budget.trials ? 0 : 1);
    if (iterations > 0)
      own_trials_ = round_trials_ * iterations;
  }

  void read_dehb() {
    if (out_.kind != algorithm_kind::dehb)
      return;
    out_.promotes_always
      = word("promote", {"always", "first-round"}, "always") == "always";
    if (out_.min == out_.max)
      error(find("min") != nullptr ? path_of("min") : "algorithm",
            "dehb needs two rungs: `min`, " + std::to_string(out_.min)
              + ", must be below "
              + (find("max") != nullptr ? "`max`, " : "`steps.max`, ")
              + std::to_string(out_.max)
              + "; to train each trial in full use tpe");
    const auto rungs = rung_steps(out_.min, out_.max, out_.eta).size();
    const auto round = dehb_brackets(rungs, out_.eta);
    bracket_trials_ = round[0].sizes[0];
    if (study_.budget.trials)
      return;
    own_trials_ = 0;
    for (const auto& x : round)
      *own_trials_ += x.sizes[0];
  }

  void read_median() {
    if (out_.kind != algorithm_kind::median)
      return;
    out_.grace = whole("grace", 1, out_.max, (out_.max - 1) / 10 + 1);
    out_.min_others = whole("min_others", 1, max_trials, out_.min_others);
  }

  void read_population() {
    if (out_.kind != algorithm_kind::pbt)
      return;
    const auto quantile = real("quantile", 0, 0.5, 0.2);
    out_.resample = real("resample", 0, 1, out_.resample);
    // Up, as Ray Tune; 0.2 * 15 must not become 4 because 0.2 is inexact.
    const auto exact = quantile * static_cast<double>(out_.trials);
    out_.replaced = std::min(static_cast<std::uint64_t>(std::ceil(exact - 1e-6)),
                             out_.trials / 2);
    const auto generations = (out_.max - 1) / out_.interval + 1;
    if (out_.trials > max_trials / generations)
      error(path_of("interval"),
            "a population of " + std::to_string(out_.trials) + " over "
              + std::to_string(generations)
              + " generations could need more than "
              + std::to_string(max_trials) + " trials");
    else if (out_.replaced == 0 && generations > 1 && quantile > 0)
      warn("algorithm", "a population of " + std::to_string(out_.trials)
                          + " is too small to replace anybody");
  }

  /// Returns the option, or nothing if the study leaves it to its default.
  [[nodiscard]] const scalar* find(const std::string& name) const {
    const auto at = study_.algorithm.options.find(name);
    return at == study_.algorithm.options.end() ? nullptr : &at->second;
  }

  std::uint64_t whole(const std::string& name, std::uint64_t low,
                      std::uint64_t high, std::uint64_t fallback,
                      const std::string& others = {}) {
    const auto* x = find(name);
    if (x == nullptr)
      return fallback;
    const auto* number = std::get_if<double>(x);
    // Compared as doubles: a number that is no `uint64_t` must not become one.
    if (number == nullptr || std::trunc(*number) != *number
        || *number < static_cast<double>(low)
        || *number > static_cast<double>(high)) {
      error(path_of(name),
            "must be " + others + "a whole number "
              + (high == most ? "of at least " + std::to_string(low)
                              : "from " + std::to_string(low) + " to "
                                  + std::to_string(high))
              + ", found " + to_text(*x));
      return fallback;
    }
    return static_cast<std::uint64_t>(*number);
  }

  double real(const std::string& name, double low, double high,
              double fallback) {
    const auto* x = find(name);
    if (x == nullptr)
      return fallback;
    const auto* number = std::get_if<double>(x);
    if (number != nullptr && *number >= low && *number <= high) // NaN is not
      return *number;
    error(path_of(name), "must be a number from " + to_text(low) + " to "
                           + to_text(high) + ", found " + to_text(*x));
    return fallback;
  }

  std::string word(const std::string& name,
                   const std::vector<std::string>& known,
                   const std::string& fallback) {
    const auto* x = find(name);
    if (x == nullptr)
      return fallback;
    const auto text = to_text(*x);
    if (std::find(known.begin(), known.end(), text) != known.end())
      return text;
    error(path_of(name), "must be " + listed(known) + ", found " + text
                           + did_you_mean(text, known));
    return fallback;
  }

  void count_trials() {
    const auto size = study_.space.size();
    auto budget = study_.budget.trials;
    const auto& name = study_.algorithm.name;
    if (!size && out_.sampling == sampling_kind::grid) {
      error(find("sampler") != nullptr ? path_of("sampler") : "algorithm",
            "a grid needs a finite space: give each continuous range `points`,"
            " or use random");
      return;
    }
    if (out_.kind == algorithm_kind::pbt)
      own_trials_ = population_size();
    if (out_.kind == algorithm_kind::client) {
      // A client may give values of its own, so the space is no limit.
      out_.trials = std::min(budget.value_or(max_trials), max_trials);
      return;
    }
    if (!size && !budget && !own_trials_ && may_end_early()) {
      budget = trials_of_a_time_budget;
      warn("budget", "there are at most " + std::to_string(*budget)
                       + " trials: give another number as `trials`");
    }
    if (!size && !budget && !own_trials_) {
      error("algorithm", name
                           + " needs `budget.trials`: the space holds any"
                             " number of combinations");
      return;
    }
    const auto wanted = std::min(own_trials_.value_or(unlimited),
                                 budget.value_or(unlimited));
    out_.trials = std::min(size.value_or(unlimited), wanted);
    if (out_.trials > max_trials)
      error(budget ? "budget.trials" : "algorithm",
            std::to_string(out_.trials)
              + " trials are too many: `budget.trials` may be up to "
              + std::to_string(max_trials));
    else if (out_.trials == 0)
      error("budget.trials", "must be at least 1, found 0");
    else if (out_.trials < round_trials_) // of Hyperband
      warn(budget && *budget == out_.trials ? "budget.trials" : "algorithm",
           "a round of the brackets takes " + std::to_string(round_trials_)
             + " trials: with " + std::to_string(out_.trials)
             + " the last ones stay empty");
    else if (out_.trials < bracket_trials_) // of DEHB
      warn(budget && *budget == out_.trials ? "budget.trials" : "algorithm",
           "the first bracket takes " + std::to_string(bracket_trials_)
             + " trials: with " + std::to_string(out_.trials)
             + " fewer go on from each of its rungs, and no other begins");
    else if (size && wanted != unlimited && *size < wanted)
      warn(budget ? "budget.trials" : "algorithm",
           "the space has only " + std::to_string(*size)
             + " combinations, so there will be that many trials, not "
             + std::to_string(wanted));
    else if (size && budget && *size > *budget
             && out_.sampling == sampling_kind::grid)
      warn("budget.trials", "the grid has " + std::to_string(*size)
                              + " combinations, of which only the first "
                              + std::to_string(*budget) + " will be tried");
  }

  [[nodiscard]] bool may_end_early() const {
    return study_.budget.seconds || study_.budget.device_seconds
           || study_.budget.cost || study_.budget.deadline
           || study_.stop_when.value || study_.stop_when.no_gain;
  }

  std::uint64_t population_size() {
    const auto budget = study_.budget.trials;
    const auto result
      = whole("population", 1, max_trials, budget.value_or(population_default));
    if (find("population") != nullptr && budget && *budget != result)
      error(path_of("population"),
            "is " + std::to_string(result) + ", but `budget.trials` is "
              + std::to_string(*budget)
              + ": both say how many trials begin, so give one of them");
    return result;
  }

  /// ASHA promotes floor(n / eta) of a rung: of a few trials none gets to the
  /// last one but the best of those that got farthest, in the end.
  void warn_of_rungs_out_of_reach() {
    if (!found_.errors.empty() || out_.kind != algorithm_kind::asha
        || !out_.may_resume)
      return;
    auto left = out_.trials;
    const auto rungs = rung_steps(out_.min, out_.max, out_.eta);
    for (std::size_t i = 1; i < rungs.size(); ++i) {
      left /= out_.eta;
      if (left == 0) {
        warn("algorithm",
             "with " + std::to_string(out_.trials) + " trials only one will go"
               + " beyond step " + std::to_string(rungs[i - 1])
               + ", after all others have ended: more trials, a greater `min`"
                 " or a smaller `eta` would give more of them a chance");
        return;
      }
    }
  }

  void warn_of_odd_sampling() {
    if (found_.errors.empty() && out_.kind == algorithm_kind::dehb
        && out_.concurrent == 0)
      warn(path_of("concurrent"),
           "with 0 all trials start at once, before any could be made of"
           " others: all will be random");
    if (!learns(out_.sampling) || !found_.errors.empty())
      return;
    const auto name = name_of(out_.sampling);
    if (out_.kind == algorithm_kind::sha)
      warn(path_of("sampler"),
           "sha starts all trials at once, before " + name
             + " could learn: all will be random; use asha, hyperband or median"
               " with it");
    else if (out_.concurrent == 0 && out_.kind != algorithm_kind::hyperband
             && out_.kind != algorithm_kind::client)
      warn(path_of("concurrent"),
           "with 0 all trials start at once, before " + name
             + " could learn: all will be random");
  }

  const study_spec& study_;
  algorithm_check& found_;
  tune_settings out_;
  /// How many trials the algorithm has whatever the budget; nothing: any.
  std::optional<std::uint64_t> own_trials_;
  std::uint64_t round_trials_ = 0; ///< of Hyperband's brackets together
  std::uint64_t bracket_trials_ = 0; ///< of DEHB's first bracket
};

} // namespace

tune_settings read_settings(const study_spec& study, algorithm_check* found) {
  algorithm_check unheeded;
  return settings_reader{study, found != nullptr ? *found : unheeded}.read();
}

std::uint64_t draws_per_trial(const tune_settings& x, std::uint64_t leaves) {
  return x.sampling == sampling_kind::tpe ? x.candidates * leaves : leaves;
}

std::optional<std::uint64_t> draws_per_event(const study_spec& study) {
  constexpr std::uint64_t trials_begun = 16;
  const auto x = read_settings(study);
  const auto draws = draws_per_trial(x, study.space.leaves());
  if (x.kind == algorithm_kind::client && x.sampling == sampling_kind::tpe)
    return draws;
  if (learns(x.sampling))
    return std::nullopt;
  return x.kind == algorithm_kind::client ? draws : trials_begun * draws;
}

} // namespace hippo
