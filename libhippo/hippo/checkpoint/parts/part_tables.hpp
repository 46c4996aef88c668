#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/parts/part_table.hpp"

namespace hippo {

/// The tables of parts that a trainer has read or written last, in memory.
/// Thread-safe.
/// @invariant they have at most `parts_max` parts together, or are one
class part_tables {
public:
  /// Parts of tables that are kept: 40 MiB of memory.
  static constexpr std::size_t parts_max = 1 << 20;

  /// Returns the table of a checkpoint, which is read where it is not here.
  /// @param folder that `store` stands for: names are unique in it
  /// @returns it, never null, or as `checkpoint_store::read`
  /// REQUIRES: the checkpoint has a table.
  expected<std::shared_ptr<const part_table>> find(const std::string& folder,
                                                   const checkpoint& checkpoint,
                                                   checkpoint_store& store);

  /// Keeps the table of a checkpoint that was written.
  void keep(const std::string& folder, const checkpoint& checkpoint,
            std::shared_ptr<const part_table> table);

private:
  struct entry {
    std::string folder;
    std::string file;
    std::uint64_t digest = 0;
    std::shared_ptr<const part_table> table;
  };

  std::mutex mutex_; ///< guards what follows
  std::size_t parts_ = 0;
  std::list<entry> entries_; ///< the last used one first
};

} // namespace hippo
