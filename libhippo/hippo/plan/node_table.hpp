#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

#include "hippo/base/packed_metrics.hpp"
#include "hippo/plan/plan_node.hpp"

namespace hippo {

/// The overhead of a block of memory.
inline constexpr std::uint64_t block_bytes = 16;

/// The nodes of a plan. Those that are idle can be *packed*: they take a
/// quarter of the memory then, in the *cold* one, and are unpacked, as they
/// were, by whoever looks at them. So a plan takes memory for what is in
/// flight, and little or none for what was trained before.
///
/// @invariant a node that is packed was idle then, and nothing has written to
///            it since
class node_table {
public:
  /// @param cold outlives the table
  explicit node_table(std::pmr::memory_resource* cold
                      = std::pmr::get_default_resource())
    : cold_(cold), slots_(std::pmr::vector<slot>(cold)) {}
  node_table(const node_table&) = delete;
  node_table& operator=(const node_table&) = delete;
  ~node_table();

  /// The names of the metrics of all results.
  [[nodiscard]] metric_names& names() noexcept { return names_; }
  [[nodiscard]] const metric_names& names() const noexcept { return names_; }

  /// References live until `pack_idle`.
  /// REQUIRES (here and below): `id < size()`.
  plan_node& operator[](node_id id) { return unpacked(id); }
  const plan_node& operator[](node_id id) const { return unpacked(id); }

  /// Returns a node, or, if it is packed, a copy of it in `room`.
  [[nodiscard]] const plan_node& peek(node_id id, plan_node& room) const;

  plan_node& emplace_back();

  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }

  /// Packs the idle nodes, once so many are unpacked that it is worth it; the
  /// first one stays as it is.
  /// @complexity O(nodes that are unpacked) when it does, O(1) for each node
  ///             that was made or unpacked
  void pack_idle();

  /// The number of nodes that may be unpacked in any case.
  void set_unpacked_max(std::size_t value);

  [[nodiscard]] std::size_t unpacked_count() const noexcept {
    return unpacked_.size();
  }

  /// About how much the unpacked nodes take, in bytes: O(unpacked nodes).
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// About how much of the cold memory the table takes, in bytes. O(1).
  [[nodiscard]] std::uint64_t cold_bytes() const;

private:
  struct slot {
    std::unique_ptr<plan_node> node; ///< null: it is packed
    unsigned char* packed = nullptr; ///< null: it is not
    std::size_t packed_size = 0;
  };

  plan_node& unpacked(node_id id) const {
    const auto& x = slots_[id].node;
    return x ? *x : unpack_in_place(id);
  }
  plan_node& unpack_in_place(node_id id) const;
  void pack(node_id id);
  void drop_packed(slot& place) const;
  [[nodiscard]] plan_node unpack(const unsigned char* bytes) const;

  metric_names names_;
  std::pmr::memory_resource* cold_;
  // To look at a node may unpack it, which nobody notices.
  mutable by_id<node_id, slot, std::pmr::vector<slot>> slots_;
  mutable std::vector<node_id> unpacked_; ///< but the first
  mutable std::uint64_t packed_bytes_ = 0;
  std::size_t unpacked_max_ = 1024;
  std::size_t pack_from_ = 1024;
};

} // namespace hippo
