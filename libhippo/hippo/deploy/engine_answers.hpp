#pragma once

#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/deploy/scale.hpp"

// The answers of engines that run trainers: pure functions of their texts.

namespace hippo {

/// Trainers of a list that comes in parts.
struct trainer_list_part {
  std::vector<listed_trainer> trainers;
  std::string next; ///< asks for the next part; empty: this was the last one
};

/// Reads what `squeue --json` prints: the jobs of a fleet, as the comments of
/// `slurm_script` say it. Versions 22.05 and later are known.
/// @returns `errc::malformed_message` if it is another text
expected<std::vector<listed_trainer>> read_squeue(const std::string& text,
                                                  const std::string& fleet);

/// Reads a list of Jobs of Kubernetes, those of a fleet.
/// @returns `errc::malformed_message` if it is another text
expected<trainer_list_part> read_job_list(const std::string& text,
                                          const std::string& fleet);

/// Reads the sentence of an answer of Kubernetes that refuses a request; the
/// first bytes of what is none.
std::string read_refusal(const std::string& text);

/// Reads the trainers that the engine of Ray lists.
/// @returns `errc::malformed_message` if it is another text
expected<std::vector<listed_trainer>> read_ray_list(const std::string& text);

/// The bytes of a quantity with a binary unit: `16Gi`; 0 for an empty text.
/// REQUIRES: `read_machines` takes it
std::uint64_t bytes_of_quantity(const std::string& text);

} // namespace hippo
