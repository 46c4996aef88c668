#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// On which kind of device each tree of a plan is trained: a child of the root
/// and all below it. The kind decides the bits, so that a tree has one, and the
/// only place where it is decided whether a trainer may take a path is here.
///
/// A tree takes the kind of the first trainer that leases something of it. It
/// keeps it from the first result or checkpoint on; until then, it is free
/// again once none of its leases is left. A tree that has results of several
/// kinds, by older versions, is *mixed*: any trainer may go on with it.
///
/// If any device may go on with everything (`workload_spec::any_device`), no
/// tree has a kind.
///
/// Kinds are the words of `hello::device`. An empty word is an unknown kind: of
/// checkpoints that older versions left. It says nothing.
///
/// @invariant a tree that has leases or kept something has a kind, or is mixed
/// @invariant what is kept of a tree that is not mixed is of one kind
class device_kinds {
public:
  /// REQUIRES: `plan` and `cold` outlive this.
  /// @param any_device whether any device may go on with everything
  /// @param cold where the trees are
  explicit device_kinds(const search_plan& plan, bool any_device = false,
                        std::pmr::memory_resource* cold
                        = std::pmr::get_default_resource())
    : plan_(plan),
      any_device_(any_device),
      trees_(cold),
      tree_of_(std::pmr::vector<node_id>(cold)) {}

  // -- trainers ---------------------------------------------------------------

  /// A trainer is the merger's.
  void add_trainer(trainer_id trainer, std::string kind);
  void remove_trainer(trainer_id trainer) { held_.erase(trainer); }
  /// Those that could train for the merger, whoever has them, by their kinds.
  void set_able(std::map<trainer_id, std::string> trainers);

  // -- trees ------------------------------------------------------------------

  /// Puts back that a result or checkpoint of an earlier run is of a kind.
  void restore(node_id node, const std::string& kind);

  /// A lease of a node begins on a trainer.
  /// REQUIRES: `may_train(trainer, node)`
  void begin(lease_id lease, node_id node, trainer_id trainer);
  /// Ends a lease, if it has begun.
  void end(lease_id lease);

  /// Something of a node is kept.
  /// REQUIRES: `may_keep(node, kind)`
  void keep(node_id node, const std::string& kind);

  // -- looking ----------------------------------------------------------------

  /// Whether a trainer may go on with a node. O(depth), then O(1).
  [[nodiscard]] bool may_train(trainer_id trainer, node_id node) const;
  /// The same for a path.
  [[nodiscard]] bool may_train(trainer_id trainer, const path& what) const;
  /// Whether what a device of that kind has made belongs to the node's tree.
  [[nodiscard]] bool may_keep(node_id node, const std::string& kind) const;

  /// The only kind that may go on with a node; nothing: any may.
  [[nodiscard]] std::optional<std::string> kind_of(node_id node) const;
  /// The same without a copy; null: any may.
  [[nodiscard]] const std::string* kind_of_tree(node_id node) const;
  /// The kind of a trainer; null: it is not known. Those that are the merger's
  /// are.
  [[nodiscard]] const std::string* kind_of_trainer(trainer_id trainer) const;

  /// Whether trees or trainers are known to be of several kinds: if not, every
  /// trainer may take every path.
  [[nodiscard]] bool are_several() const {
    return !any_device_ && words_.size() > 1;
  }

  /// About how much of the cold memory it takes, in bytes. O(1).
  [[nodiscard]] std::uint64_t cold_bytes() const {
    return tree_of_.size() * sizeof(node_id)
           + trees_.size() * (sizeof(tree) + 4 * sizeof(void*));
  }

  void check_invariants() const;

private:
  struct tree {
    const std::string* kind = nullptr; ///< of `words_`; null: any may begin
    std::uint32_t leases = 0;
    bool kept = false; ///< whether something of that kind is kept
    bool mixed = false;
  };

  /// The child of the root that a node is below of; the root: itself.
  [[nodiscard]] node_id tree_of(node_id node) const;
  [[nodiscard]] const tree* find(node_id node) const;

  const search_plan& plan_;
  const bool any_device_;
  std::map<trainer_id, std::string> held_;
  std::map<trainer_id, std::string> able_;
  std::pmr::unordered_map<node_id, tree> trees_; ///< by their first nodes
  std::map<lease_id, node_id> trees_of_leases_;
  std::set<std::string> words_; ///< of all trees and trainers that ever were
  /// By node, as far as was asked.
  mutable by_id<node_id, node_id, std::pmr::vector<node_id>> tree_of_;
};

} // namespace hippo
