#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/sequence/sequence.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// A study and the text that it was read from.
struct loaded_study {
  study_spec spec;
  std::string text;
};

/// What came of loading a study: it is there unless there is an error.
struct study_loading {
  std::optional<loaded_study> study;
  std::vector<diagnostic> errors;
  std::vector<diagnostic> warnings; ///< odd but harmless
};

/// Reads and checks the text of a study file, its algorithm included.
/// @param name stands for the file in messages
/// @param has_clients whether clients can decide for the study
study_loading load_study(const std::string& text, const std::string& name,
                         const std::vector<workload_descriptor>& workloads,
                         bool has_clients = false);

/// Says where in its file a finding about `path` stands: there, or at the
/// nearest place above that the file mentions.
diagnostic locate(const study_spec& spec, const std::string& path,
                  const std::string& message);

/// Returns constants for all hyper-parameters of a workload.
std::map<std::string, sequence> defaults_of(const workload_descriptor& x);

} // namespace hippo
