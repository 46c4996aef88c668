#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "hippo/checkpoint/checkpoint_store.hpp"

namespace hippo {

/// How much memory a trainer keeps checkpoints in, by default: 1 GiB.
inline constexpr std::uint64_t recent_checkpoint_bytes_max = 1ull << 30;

/// The checkpoints that a trainer has read or written last, in memory: a path
/// that goes on from one of them needs neither disk nor network. Thread-safe.
/// @invariant they have at most `bytes_max` bytes together
class recent_checkpoints {
public:
  explicit recent_checkpoints(std::uint64_t bytes_max
                              = recent_checkpoint_bytes_max);

  /// Returns a store that keeps here what goes through `store`, and does not
  /// ask it for what is kept. Only the digest that `checkpoint` names tells
  /// whether it is the same; the bytes are not checked again.
  /// @param folder the folder that `store` stands for: names are unique in it
  /// REQUIRES: `*this` outlives the result.
  std::unique_ptr<checkpoint_store>
  over(std::string folder, std::unique_ptr<checkpoint_store> store);

private:
  class store;

  struct entry {
    std::string folder;
    checkpoint name;
    std::shared_ptr<const std::string> bytes;
  };

  /// @returns null: it is not kept
  std::shared_ptr<const std::string> find(const std::string& folder,
                                          const checkpoint& checkpoint);
  [[nodiscard]] bool may_keep(std::uint64_t bytes) const;
  /// REQUIRES: `may_keep(bytes->size())`
  void keep(const std::string& folder, const checkpoint& checkpoint,
            std::shared_ptr<const std::string> bytes);
  void drop(std::list<entry>::iterator position);

  const std::uint64_t bytes_max_;
  std::mutex mutex_; ///< guards what follows
  std::uint64_t bytes_ = 0;
  std::list<entry> entries_; ///< the last used one first
};

} // namespace hippo
