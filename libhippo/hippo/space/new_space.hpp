#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/name.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// A space that takes the place of a study's, and its author's beliefs about
/// it.
struct new_space {
  search_space space;
  std::vector<prior_belief> prior;
};

/// Reads the `space` of a text, and its `prior` if it has one. Its other keys
/// are left alone.
/// @param study whose trials stay as long as they are
/// @returns `errc::invalid_argument` with what is wrong, and where
expected<new_space> read_new_space(const std::string& text,
                                   const study_spec& study,
                                   const workload_descriptor& workload,
                                   name_rules rules);

/// Says which of the other keys of a text is not as it is in the file of a
/// study, if there is one.
/// @param file the text of the study, perhaps with code
std::optional<error> refusal_of_other_keys(const std::string& text,
                                           const std::string& file);

/// Returns the values that trials of a workload have of hyper-parameters which
/// their spaces do not mention; none where it may have any.
std::map<std::string, nlohmann::ordered_json>
default_values(const workload_descriptor& workload);

/// Returns the decisions of a space that make a trial.
/// @param shown its values, as `trial_parameters` show them
/// @param defaults values of hyper-parameters, by name, that a trial has if
///                 they are not among these
/// @returns nothing: the trial is none of the space; so it is where a value is
///          made of others
std::optional<leaf_decisions>
decisions_for(const search_space& space, const nlohmann::ordered_json& shown,
              const std::map<std::string, nlohmann::ordered_json>& defaults);

} // namespace hippo
