#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// The measurements that are awaited at and below some state.
struct demand {
  double seconds = 0;      ///< the longest of `stage_tree::seconds_to`
  std::uint64_t order = 0; ///< the earliest request
  friend bool operator==(const demand&, const demand&) = default;
};

/// A state of a node that something waits for: a measurement, or a state that
/// children start from, or both.
struct tree_item {
  step_t at = 0;
  bool wanted = false;           ///< its measurement is waited for
  std::optional<demand> below{}; ///< what the children that start here need
  std::uint64_t order = 0;       ///< the earliest request, of either kind
};

/// Something that can be trained now: a node, a state of it that a checkpoint
/// holds, and what is to be reached from there.
struct runnable {
  node_id node{};
  step_t from = 0;
  demand needs;
};

/// The stage tree: the stages that pending requests need now, derived from the
/// search plan. That of one study has what its own requests need.
///
/// Nobody builds it anew for a decision; it follows the plan. An update costs
/// O(i log n) for each changed node and for each of its ancestors whose demand
/// changes with it, where i is the number of states that are waited for on that
/// node: what changed, not the size of the plan.
class stage_tree {
public:
  /// Estimated seconds of training one step on a node.
  using step_seconds = std::function<double(node_id)>;

  /// @param study the one whose requests count; nothing: all do
  /// REQUIRES: `plan` outlives the tree.
  stage_tree(const search_plan& plan, step_seconds seconds,
             std::optional<study_no> study = std::nullopt);

  /// Follows the plan after `changed` (of `search_plan::take_changed`).
  void update(const std::set<node_id>& changed);

  /// How many nodes wait for something.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// How many pages of nodes are in memory: O(nodes that wait).
  [[nodiscard]] std::size_t pages() const noexcept { return nodes_.pages(); }

  /// About how much memory that takes, in bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return nodes_.pages() * node_states::page_bytes;
  }

  /// Computes all times anew, after estimates have changed. O(waiting nodes).
  void reestimate();

  /// Everything that can be trained now, in no particular order of importance.
  [[nodiscard]] const std::map<std::pair<node_id, step_t>, demand>&
  runnables() const noexcept {
    return runnables_;
  }

  /// Called for each entry of `runnables` that appears or goes.
  using observer = std::function<void(const runnable&, bool appears)>;
  void observe(observer callback) { observer_ = std::move(callback); }

  /// Returns what is reached from the checkpoint of node `id` at state `from`,
  /// by ascending state.
  [[nodiscard]] std::vector<tree_item> items_from(node_id id,
                                                  step_t from) const;

  /// Returns what is reached from the state that node `id` begins with.
  [[nodiscard]] std::vector<tree_item> items_from_begin(node_id id) const;

  /// Returns the child that starts at state `at` of node `id` and has the
  /// longest way down, of equal ones that with the earliest request; or the
  /// one with the earliest request.
  [[nodiscard]] node_id longest_child(node_id id, step_t at) const;
  [[nodiscard]] node_id earliest_child(node_id id, step_t at) const;

  /// Returns all children that start at state `at` of node `id`, in the order
  /// of `longest_child`; none if nothing waits for any. At most `most` of them.
  [[nodiscard]] std::vector<node_id> children(node_id id, step_t at,
                                              std::size_t most) const;

  /// Returns whether something waits for a state of node `id` after `from`: a
  /// measurement, or children that start there.
  /// @complexity O(log states), in the tree of one study O(states waited for)
  [[nodiscard]] bool is_waited_for(node_id id, step_t from) const;

  /// Returns whether the measurement of state `at` of node `id` is waited for.
  /// O(log states).
  [[nodiscard]] bool is_wanted(node_id id, step_t at) const;

  /// Estimates the time from state `from` of node `id` through one of its items
  /// to the end of what is or may be asked for there: a trial that waits for a
  /// rung holds up its study, which may then go on to its last rung. O(1).
  [[nodiscard]] double seconds_to(node_id id, step_t from,
                                  const tree_item& item) const;

  /// Estimates the time from state `from` of node `id` to the end of what waits
  /// for later states of it, whether or not a trainer is on its way there.
  /// O(states that children wait for).
  [[nodiscard]] double seconds_after(node_id id, step_t from) const;

  [[nodiscard]] double seconds_per_step(node_id id) const {
    return seconds_(id);
  }

private:
  /// The children that need one state of their parent.
  struct cut {
    /// The longest way down first; of equal ones that asked for first.
    std::set<std::tuple<double, std::uint64_t, node_id>> by_length;
    std::set<std::pair<std::uint64_t, node_id>> by_order;

    [[nodiscard]] double longest_seconds() const {
      return -std::get<0>(*by_length.begin());
    }
  };

  struct node_state {
    by_step<cut> cuts;
    std::vector<step_t> runnable_from; ///< its keys in `runnables_`
    std::optional<demand> from_begin;  ///< what it needs of its parent

    bool is_counted = false; ///< in its page

    [[nodiscard]] bool is_waiting() const {
      return from_begin || !runnable_from.empty();
    }
    /// Whether there is nothing to be known of it.
    [[nodiscard]] bool is_empty() const {
      return !is_waiting() && cuts.empty();
    }
  };

  /// The states of nodes, in pages: takes memory for the parts of the plan that
  /// something waits for. The nodes of a study mostly lie together.
  class node_states {
  public:
    /// Returns that of a node, an empty one if it has none.
    [[nodiscard]] const node_state& operator[](node_id id) const;
    /// The same, to be written to.
    [[nodiscard]] node_state& make(node_id id);
    /// To be called once what `make` returned is not written to any more: a
    /// page whose states are all empty goes.
    void settle(node_id id);
    /// Number of pages in use.
    [[nodiscard]] std::size_t pages() const noexcept { return used_; }
    static constexpr std::size_t page_nodes = 128;
    static constexpr std::size_t page_bytes = page_nodes * sizeof(node_state);
    /// Calls `function` for all in pages that there are.
    template <class F>
    void for_each(F&& function) const;

  private:
    /// The number of unused pages that are kept, to be used next.
    static constexpr std::size_t spare_pages_max = 4;
    struct page {
      std::array<node_state, page_nodes> nodes;
      std::size_t counted = 0; ///< of these, not empty
    };
    std::vector<std::unique_ptr<page>> pages_;
    std::vector<std::unique_ptr<page>> spare_; ///< all empty
    std::size_t used_ = 0;
  };

  /// Items that one source serves; no source: the state the node begins with.
  struct group {
    std::optional<step_t> source;
    std::vector<tree_item> items;
  };

  [[nodiscard]] bool counts(const want& want) const {
    return !study_ || want.is_of(*study_);
  }
  [[nodiscard]] std::vector<group> groups(node_id id) const;
  [[nodiscard]] demand needs(node_id id, step_t from,
                             const std::vector<tree_item>& items) const;
  /// Takes in what has changed at a node. If what it needs of its parent has,
  /// the parent gets to know, and the result is true.
  bool follow(node_id id);
  void follow_all(std::set<std::pair<std::uint32_t, node_id>> queue);
  /// Changes what a parent knows of the needs of one of its children.
  void set_cut(node_id child, const std::optional<demand>& before,
               const std::optional<demand>& now);

  const search_plan& plan_;
  step_seconds seconds_;
  std::optional<study_no> study_;
  node_states nodes_;
  std::size_t size_ = 0; ///< nodes of which `is_waiting()` is true
  std::map<std::pair<node_id, step_t>, demand> runnables_;
  observer observer_;
};

} // namespace hippo
