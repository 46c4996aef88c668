#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/option_reader.hpp"
#include "hippo/search/sampler/sampler_type.hpp"

namespace hippo {

/// The warning about a study with fewer trials than an algorithm begins with.
struct few_trials {
  std::uint64_t below = 0;    ///< a study with fewer of them gets it
  std::string_view taker{};   ///< such as `the first bracket`
  std::string_view outcome{}; ///< such as `the last ones stay empty`
};

/// Reads the options of an algorithm: those of each by itself, and those that
/// several have in common.
class algorithm_reader : public option_reader {
public:
  /// REQUIRES: all outlive this.
  algorithm_reader(const study_spec& study, const algorithm_type& type,
                   const sampler_type& sampler, algorithm_check& found)
    : option_reader(study, found), type_(type), sampler_(sampler) {}

  [[nodiscard]] const algorithm_type& type() const { return type_; }
  [[nodiscard]] const sampler_type& sampler() const { return sampler_; }

  /// Whether the algorithm has an option.
  [[nodiscard]] bool declares(const option& option) const {
    return hippo::declares(type_.options, option.name);
  }

  /// Returns where a finding about the sampler stands: at the option, or at the
  /// algorithm, which implies it.
  [[nodiscard]] std::string sampler_path() const {
    return has(sampler_option) ? path_of(sampler_option)
                               : std::string{"algorithm"};
  }

  /// Reads `max`, if the algorithm has that option.
  step_t read_max();

  /// Reads `eta`, `max`, `min`, and the lengths of trials.
  void read_rungs(rung_settings& to);

  /// Finds how long trials are, once `to.max` has been read.
  void read_lengths(algorithm_settings& to);

  /// Reads `max_concurrent`. @returns nothing for `auto`
  std::optional<std::uint64_t> read_concurrent();

  /// Reads the options of the sampler.
  void read_sampling();
  /// REQUIRES: `read_sampling` was called.
  [[nodiscard]] std::shared_ptr<const sampler_settings> sampling() const {
    return sampling_;
  }

  /// Returns how many trials there are: as many as the space, the budget and
  /// the algorithm allow.
  /// @param own those of the algorithm whatever the budget; nothing: any number
  std::uint64_t count_trials(std::optional<std::uint64_t> own = std::nullopt,
                             const few_trials& few = {});

  /// Reports a space without an end to a sampler that counts through it.
  /// @returns whether it fits
  bool check_space_is_finite();

  /// Warns of a sampler that learns where all trials start before any result.
  void warn_of_blind_start(std::optional<std::uint64_t> concurrent);

private:
  const algorithm_type& type_;
  const sampler_type& sampler_;
  std::shared_ptr<sampler_settings> sampling_;
};

} // namespace hippo
