#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/sequence/sequence.hpp"
#include "hippo/space/study.hpp"
#include "hippo/train/process/made_workload.hpp"

namespace hippo {

/// Stands for whatever is measured, in a study that is made up for a class.
inline constexpr auto any_metric = "*";

/// The number of those that train together, which decides no result.
struct trained_by {
  unsigned threads = 1;
  unsigned members = 1; ///< that compute the parts of batches (`parts_option`)
};

/// How thoroughly a workload is looked at.
struct proof_options {
  step_t steps = 4; ///< that are trained each time, at least 2
  unsigned threads = 1;
  /// Results are to be the same with so many threads as well.
  std::vector<unsigned> other_threads;
  /// Likewise with so many members.
  std::vector<unsigned> other_members;
};

/// Something that was tried, and what came of it.
struct proof_finding {
  enum class result : std::uint8_t { holds, broken, skipped, doubtful };

  std::string what; ///< "goes on from step 2 in another process"
  result outcome = result::holds;
  /// If it is broken, what differs, by how much and from which step on; if it
  /// was skipped or is doubtful, why.
  std::vector<std::string> details;
  std::string cause; ///< of what is broken, usually
};

/// Makes a workload in a process of its own if that is where it trains.
using workload_maker =
  std::function<expected<made_workload>(const trained_by& number)>;

/// Tries whether the states of a study's workload are a function of its key and
/// of hyper-parameter values alone: with values of the study's space it trains
/// the same steps in one go and in parts, in one process and in several, after
/// other training, with evaluations in between, and compares all states bit for
/// bit; and whether every hyper-parameter makes a difference.
///
/// A property that holds here may still break elsewhere: on another kind of
/// device, or after more steps.
/// @param defaults values of hyper-parameters that the study does not mention
/// @param tell is called with each finding as soon as it is there
/// @returns all findings, or why the workload cannot be trained at all
/// @complexity O((9 + hyper-parameters) * steps) of training
expected<std::vector<proof_finding>>
prove(const study_spec& study, const std::map<std::string, sequence>& defaults,
      const proof_options& options, const workload_maker& make,
      const std::function<void(const proof_finding&)>& tell);

/// Whether nothing is broken.
bool holds(const std::vector<proof_finding>& xs);

/// Renders a finding for people, in a few lines.
std::string proof_text(const proof_finding& finding);

/// Says in a sentence or two what follows from all findings.
std::string proof_summary(const std::vector<proof_finding>& xs);

} // namespace hippo
