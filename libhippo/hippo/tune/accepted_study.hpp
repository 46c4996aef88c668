#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/sequence/sequence.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

struct study_admission;

/// A study that can be run: `admit_study` has let it in, and nothing else makes
/// one. What it holds can be encoded for trainers, stored, and shown, whatever
/// trial comes of it.
class accepted_study {
public:
  [[nodiscard]] const study_spec& spec() const noexcept { return spec_; }

  /// The text that it was read from.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
  friend study_admission admit_study(const std::string&, const std::string&,
                                     const std::vector<workload_descriptor>&,
                                     bool);

  accepted_study(study_spec spec, std::string text)
    : spec_(std::move(spec)), text_(std::move(text)) {}

  study_spec spec_;
  std::string text_;
};

/// What came of asking for a study's admission: it is there unless there is an
/// error.
struct study_admission {
  std::optional<accepted_study> study;
  std::vector<diagnostic> errors;
  std::vector<diagnostic> warnings; ///< odd but harmless
};

/// Reads and checks the text of a study file, its algorithm included: the one
/// door through which studies come in, whoever brings them.
/// @param name stands for the file in messages
/// @param has_clients whether clients can decide for the study
study_admission admit_study(const std::string& text, const std::string& name,
                            const std::vector<workload_descriptor>& workloads,
                            bool has_clients = false);

/// Says where in its file a finding about `path` stands: there, or at the
/// nearest place above that the file mentions.
diagnostic locate(const study_spec& spec, const std::string& path,
                  const std::string& message);

/// Returns constants for all hyper-parameters of a workload.
std::map<std::string, sequence> defaults_of(const workload_descriptor& x);

} // namespace hippo
