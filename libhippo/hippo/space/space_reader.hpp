#pragma once

#include <memory>
#include <set>

#include "hippo/space/space_node.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {

/// How a space is read.
struct space_reading {
  step_t max_steps = 1;  ///< of a trial
  bool typed = false;    ///< see `study_spec`
  bool is_trial = false; ///< it has the values of one trial, with nothing to
                         ///< choose: lists and null are values there
  bool has_length = true; ///< whether `max_steps` is known
  /// Decides how long a trial is; null: `max_steps`.
  std::shared_ptr<const space_node> lengths{};
};

/// The most lengths that the trials of a study may have.
inline constexpr std::size_t lengths_max = 1'000;

/// Reads what decides how long a trial is: a choice or a range of whole numbers
/// of steps, whose values are added to `all`.
/// @returns null after noting an error
std::shared_ptr<const space_node> read_lengths(const document& document,
                                               std::set<step_t>& all,
                                               diagnostics& notes);

/// Reads the `space` of a study file and checks every value that a trial may
/// get.
/// @param workload says which hyper-parameters there are and what they may be;
///                 null: unknown, only the sequences themselves are checked
/// @returns the space, or null after noting an error
std::shared_ptr<const space_node>
read_space(const document& document, const space_reading& how,
           const workload_descriptor* workload, diagnostics& notes);

} // namespace hippo
