#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hippo/core/types.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/train/lease.hpp"

namespace hippo {

/// A node of a search plan, as it is stored. The root, 0, never is.
struct stored_node {
  std::uint64_t id = 0;     ///< from 1
  std::uint64_t parent = 0; ///< below `id`; 0: the root
  step_t begin = 0;
  std::uint64_t root_tag = 0; ///< tells apart what must not share; normally 0
  configuration config;
  friend bool operator==(const stored_node&, const stored_node&) = default;
};

/// What was measured at one state of a node.
struct stored_result {
  std::uint64_t node = 0; ///< 0: the root
  step_t step = 0;
  metrics values;     ///< kept bit for bit, NaN too
  std::string device; ///< kind of device that measured it
};

/// A checkpoint of one state of a node.
struct stored_checkpoint {
  std::uint64_t node = 0; ///< 0: the root
  step_t step = 0;
  checkpoint file;
  friend bool operator==(const stored_checkpoint&,
                         const stored_checkpoint&) = default;
};

/// A study as it was submitted, and where it stands.
struct stored_study {
  std::string name;
  std::string text;      ///< the study file's
  std::uint64_t seq = 0; ///< studies are listed in this order
  std::string record;    ///< JSON that only whoever wrote it understands
  friend bool operator==(const stored_study&, const stored_study&) = default;
};

// What may happen to a state folder. Adding what is there already changes
// nothing, whatever it holds: the first one counts.

struct node_added {
  std::string workload_key;
  stored_node node;
};

/// REQUIRES (also for checkpoints): the node was added before, or along with
/// it, or is the root.
struct result_added {
  std::string workload_key;
  stored_result result;
};

struct checkpoint_added {
  std::string workload_key;
  stored_checkpoint checkpoint;
};

/// Nothing happens if there is none.
struct checkpoint_removed {
  std::string workload_key;
  std::uint64_t node = 0;
  step_t step = 0;
};

/// Replaces what was saved under the same name.
struct study_saved {
  stored_study study;
};

using journal_record = std::variant<node_added, result_added, checkpoint_added,
                                    checkpoint_removed, study_saved>;

/// All that is stored of one workload key.
struct stored_plan {
  std::vector<stored_node> nodes; ///< by id, hence parents first
  std::vector<stored_result> results;         ///< by node and step
  std::vector<stored_checkpoint> checkpoints; ///< by node and step
};

} // namespace hippo
