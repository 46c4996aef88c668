#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hippo/search/option.hpp"
#include "hippo/search/option_reader.hpp"
#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/trial_outcomes.hpp"
#include "hippo/search/untrained_work.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The weight of untrained steps to a sampler that learns.
enum class sharing_preference {
  off,
  ties,  ///< of equally good candidates the one with the fewest is taken
  price, ///< they are weighed against the expected gain (`gp` only)
};

/// The part of an algorithm's decisions that a sampler follows.
struct trial_course {
  std::uint64_t trials = 1; ///< of the study, without forks
  step_t first = 1;         ///< the step that a trial is asked for first
  /// The steps whose results a model learns from, sorted; the last is how far
  /// any trial goes.
  std::vector<step_t> marks{1};
  bool stops_early = false; ///< whether trials may end before the last step
};

/// The objects that a sampler may look at; those behind pointers outlive it.
struct sampler_context {
  const untrained_work* work = nullptr; ///< null: nothing is counted
  /// Hyper-parameters that a combination leaves out.
  std::map<std::string, sequence> defaults{};
  /// Null where one value tells the worth of a trial.
  const trial_outcomes* outcomes = nullptr;
};

/// The options of a study's sampler, read and checked.
class sampler_settings {
public:
  virtual ~sampler_settings() = default;

  /// Whether trials without a model get random combinations; else the grid's.
  [[nodiscard]] virtual bool is_shuffled() const { return true; }

  /// Combinations that are drawn for each trial, of which one is taken.
  [[nodiscard]] virtual std::uint64_t candidates() const { return 1; }

  [[nodiscard]] virtual std::unique_ptr<sampler>
  make(const study_spec& study, const trial_course& course,
       const sampler_context& context) const = 0;

  sharing_preference prefer_shared = sharing_preference::ties;
};

/// A sampler, as its file declares it.
struct sampler_type {
  std::string_view name;    ///< in a study file
  std::string_view meaning; ///< a sentence without its full stop
  bool learns = false;      ///< from results
  option_table options{};   ///< its own
  bool has_price = false;   ///< whether it takes `prefer_shared: price`
  /// Whether a suggestion takes longer than its draws, to fit a model or to
  /// rank trials.
  bool is_slow = false;
  bool needs_finite_space = false;
  bool takes_prior = false; ///< whether it uses the study's `prior`
  /// The refusal of trials of several lengths; empty: it takes them.
  std::string_view lengths_refusal{};
  /// Says why it does not fit a study's space, or its objective; an empty text:
  /// it does. Null: it fits any.
  std::string (*space_refusal)(const study_spec& study) = nullptr;
  std::string (*goals_refusal)(const study_spec& study) = nullptr;
  /// Reads its own options.
  std::shared_ptr<sampler_settings> (*read)(option_reader& from) = nullptr;
};

/// The option that names the sampler of an algorithm. Its words are the
/// registered samplers, or those of them that do not learn.
inline constexpr option sampler_option{
  .name = "sampler",
  .type = option_type::word,
  .fallback = "random",
  .meaning = "the sampler that draws the values of trials"};

inline constexpr option prefer_shared_option{
  .name = "prefer_shared",
  .type = option_type::word,
  .words = {"off", "ties", "price", "on"},
  .fallback_text = "`price` with `gp`, else `ties`",
  .meaning = "the weight of untrained steps to a sampler that learns; `on` is"
             " `ties`"};

} // namespace hippo
