#pragma once

#include <cstdint>

namespace hippo {

/// The parts of each iteration that one member computes: the consecutive ones
/// of its rank among members of equal shares.
struct own_parts {
  std::int64_t all = 1;   ///< parts of an iteration, a power of two
  std::int64_t first = 0; ///< of those that this member computes
  std::int64_t count = 1; ///< of these, a power of two
};

/// A share of a batch, which is computed by itself.
struct batch_part {
  std::int64_t iteration = 0; ///< of the epoch
  std::int64_t batch = 0;     ///< examples of the whole batch
  std::int64_t number = 0;    ///< of the part, from 0 on
  std::int64_t first = 0;     ///< place of its first example in the order
  std::int64_t size = 0;      ///< its examples; 0: the batch has too few
  /// A number that no other part of the epoch has; that of the iteration if
  /// batches are whole.
  std::uint64_t address = 0;
};

/// The parts that a member computes in an epoch, in their order. Parts of a
/// batch are ranges whose sizes differ by 1 at most.
class epoch_parts {
public:
  epoch_parts(std::int64_t examples, std::int64_t batch_size,
              const own_parts& own)
    : examples_(examples), batch_size_(batch_size), own_(own) {}

  [[nodiscard]] std::int64_t iterations() const {
    return (examples_ + batch_size_ - 1) / batch_size_;
  }

  [[nodiscard]] std::int64_t size() const { return iterations() * own_.count; }

  /// Returns the part at a place of `[0, size())`.
  [[nodiscard]] batch_part at(std::int64_t place) const {
    batch_part x;
    x.iteration = place / own_.count;
    x.number = own_.first + place % own_.count;
    x.address = static_cast<std::uint64_t>(x.iteration * own_.all + x.number);
    const auto begin = x.iteration * batch_size_;
    x.batch = batch_size_ < examples_ - begin ? batch_size_ : examples_ - begin;
    const auto offset = x.number * x.batch / own_.all;
    x.first = begin + offset;
    x.size = (x.number + 1) * x.batch / own_.all - offset;
    return x;
  }

private:
  std::int64_t examples_;
  std::int64_t batch_size_;
  own_parts own_;
};

} // namespace hippo
