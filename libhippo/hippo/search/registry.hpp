#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/option_reader.hpp"
#include "hippo/search/sampler/sampler_type.hpp"
#include "hippo/search/search_settings.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// All algorithms and samplers, in the order of messages.
std::span<const algorithm_type* const> algorithm_types();
std::span<const sampler_type* const> sampler_types();

/// Returns the options of an algorithm with the words of `sampler` filled in:
/// the names of the samplers that it takes.
std::vector<option> options_of(const algorithm_type& described);

/// Reads the options of a study's algorithm and sampler, and finds how many
/// trials its space and its budget allow.
/// @param found if given, takes errors and warnings
/// @returns settings that mean nothing if there is an error, and are empty if
///          there is no such algorithm
search_settings read_search(const study_spec& study,
                            algorithm_check* found = nullptr);

/// Checks a study's algorithm and its options (name, types, ranges).
/// @param has_clients whether clients can decide for a study (`client`)
/// @param settings if given, takes the result of reading
algorithm_check check_algorithm(const study_spec& study,
                                bool has_clients = false,
                                search_settings* settings = nullptr);

/// Makes the algorithm of a study.
/// @param settings of the study, without an error
/// @param states, outcomes as of `algorithm_settings::make`
std::unique_ptr<algorithm>
make_algorithm(const study_spec& study, const search_settings& settings,
               const trial_states* states = nullptr,
               const trial_outcomes* outcomes = nullptr);

/// Makes the sampler of a study.
/// @param settings of the study, without an error
std::unique_ptr<sampler> make_sampler(const study_spec& study,
                                      const search_settings& settings,
                                      const sampler_context& context = {});

/// Whether decisions of a study may depend on untrained work.
bool looks_at_work(const search_settings& settings);

/// The largest number of values that are drawn and judged before a trial gets
/// its own: candidates times choices and ranges. It takes some tenths of a
/// second.
inline constexpr std::uint64_t draws_per_trial_max = 100'000;

/// Returns that number: the cost of a suggestion, in time and in memory.
std::uint64_t draws_per_trial(const search_settings& settings,
                              std::uint64_t leaves);

/// The same of an event of a study: a client asks for one trial, and a result
/// is seldom followed by more than some. Nothing: the sampler fits a model
/// first, which takes long.
std::optional<std::uint64_t> draws_per_event(const search_settings& settings,
                                             std::uint64_t leaves);

} // namespace hippo
