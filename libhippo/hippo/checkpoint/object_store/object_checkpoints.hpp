#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/object_store/object_client.hpp"

namespace hippo {

/// The checkpoints of a workload in an object store. What the service left
/// itself (all that is not named by `checkpoint_name`), and checkpoints of
/// before there was one, are behind it.
class object_checkpoints final : public checkpoint_store {
public:
  /// @param reads of the service's place in the store
  /// @param writes of the same place
  /// @param folder name of the workload's folder there
  /// REQUIRES: `reads` and `writes` outlive `*this`.
  object_checkpoints(object_client& reads, object_client& writes,
                     std::string folder,
                     std::unique_ptr<checkpoint_store> behind);

  /// @returns as of `checkpoint_store`; a store that cannot be reached, refuses
  ///          or has trouble is `errc::io_failed`
  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override;
  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override;
  /// It is as durable as the store is.
  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how = durability::synced) override;
  expected<std::string> find_initial(const initial_file& file) override;

private:
  [[nodiscard]] std::string name_of(const object_client& where,
                                    const checkpoint& checkpoint) const;

  object_client& reads_;
  object_client& writes_;
  const std::string folder_;
  const std::unique_ptr<checkpoint_store> behind_;
};

} // namespace hippo
