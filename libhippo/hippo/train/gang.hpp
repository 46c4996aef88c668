#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

namespace hippo {

/// Another member of a gang has failed or is gone.
class gang_lost : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The place of one member among those that train a workload together: each of
/// them has a copy of its state, computes a share of every iteration, and adds
/// up what all have computed.
class gang {
public:
  virtual ~gang() = default;

  /// The number of members, a power of two.
  [[nodiscard]] virtual std::size_t size() const = 0;

  /// The number of this member, from 0 on.
  [[nodiscard]] virtual std::size_t rank() const = 0;

  /// Sends `out` to another member, and waits for as many bytes as `in` has
  /// from it. The peer does the same with this member meanwhile. Throws
  /// `gang_lost` if it does not. Any thread may call it, one at a time.
  virtual void exchange(std::size_t peer, std::span<const std::byte> out,
                        std::span<std::byte> in) = 0;
};

/// Replaces the values of every member by their sums over all members, as a
/// tree: ((0+1)+(2+3))+... So a sum over parts, of which each member has added
/// up as many consecutive ones as a tree, has the same bits for every number of
/// members. A ring or a library's all-reduce has not.
///
/// Halves of the values are exchanged at distance 1, halves of these at
/// distance 2, and so on; then the sums go the same way back (recursive halving
/// and doubling: Thakur, Rabenseifner and Gropp, 2005).
/// @param values of the same length at each member. All call it.
void sum_over_members(gang& members, std::span<float> values);

/// Things that members divide among themselves: consecutive ones.
struct member_range {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Returns the things that are up to the member of a rank. Ranges of members
/// follow each other, and their sizes differ by 1 at most.
member_range range_of_member(std::size_t things, std::size_t rank,
                             std::size_t size);

/// Gives every member the values of all others, as they are: each has had those
/// of its range of things (`range_of_member`).
///
/// Ranges of 1, 2, 4, ... members are exchanged at these distances (recursive
/// doubling: Thakur, Rabenseifner and Gropp, 2005).
/// @param values those of all things, of the same length at each member. All
///        call it.
/// @param width the bytes of a thing, above 0 where there are any
void gather_from_members(gang& members, std::span<std::byte> values,
                         std::size_t width);

} // namespace hippo
