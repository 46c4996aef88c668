#pragma once

#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/name.hpp"
#include "hippo/model/goals.hpp"
#include "hippo/space/space_node.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// The most trials that a study may begin with.
inline constexpr std::size_t first_trials_max = 1'000;

/// Notes an error unless a document is a list that is neither empty nor too
/// long.
/// @param items its items, for messages
bool is_list_of(const document& list, std::size_t most,
                const std::string& items, diagnostics& notes);

/// Reads the `first` of a study file: a list of maps, each of which has the
/// value of every hyper-parameter with something to choose. Numbers are
/// compared by their 12 significant digits, as they are trained with.
/// @returns the decisions that make these values; errors are noted, also of a
///          trial that is there twice
std::vector<leaf_decisions>
read_first(const document& list, const space_node& space, diagnostics& notes);

/// The greatest strength of a belief.
inline constexpr double prior_strength_max = 32;

/// Reads the `prior` of a study file: a map from hyper-parameters to maps such
/// as `{mode: 0.003, strength: 2}`. The mode is one of the values of the
/// hyper-parameter, whatever it is made of; the strength is above 0 and 2 if it
/// is not given.
/// @returns a belief for each choice and range that makes a mode; errors are
///          noted
std::vector<prior_belief>
read_prior(const document& map, const space_node& space, diagnostics& notes);

/// The most past results in one text.
inline constexpr std::size_t past_results_max = 10'000;

/// Reads the `import` of a study file: a list of maps such as
/// `{params: {...}, step: 10, metrics: {loss: 0.3}}`, of which `params` is as
/// of `read_first`; without a step it is the last one.
/// @param wanted the goals of the study, whose metrics each result must have
/// @returns the results; errors are noted
std::vector<past_result>
read_past(const document& list, const space_node& space, step_t max_steps,
          const goals& wanted, diagnostics& notes);

/// Reads `{results: [...]}`, a list as of `read_past`.
/// @returns `errc::invalid_argument` with what is wrong, and where
expected<std::vector<past_result>>
read_past_results(const std::string& text, const study_spec& study,
                  name_rules rules);

} // namespace hippo
