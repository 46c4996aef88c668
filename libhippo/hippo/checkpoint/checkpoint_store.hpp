#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// Where a lease reads and writes checkpoints: the folder that it names, or
/// whatever stands for it. Calls block until they are done. One thread may read
/// while another one writes: a slow upload is in nobody's way.
class checkpoint_store {
public:
  virtual ~checkpoint_store() = default;

  /// Gives the bytes of a checkpoint's file, in their order. What was given
  /// counts only once size and digest were found to be right.
  /// @returns nothing, `errc::bad_checkpoint` if it is missing or is not what
  ///          `checkpoint` says, `errc::io_failed`, or the first failure of
  ///          `take`
  virtual std::optional<error> read(const checkpoint& checkpoint,
                                    const byte_taker& take) = 0;

  /// Gives `size` bytes of a checkpoint's file from `offset` on. The caller
  /// checks them. @returns as `read`
  /// REQUIRES: they lie within the size that `checkpoint` says
  virtual std::optional<error> read_range(const checkpoint& checkpoint,
                                          std::uint64_t offset,
                                          std::uint64_t size,
                                          const byte_taker& take) = 0;

  /// Writes `bytes` under `name`, replacing what was there; a failure leaves
  /// nothing. It survives what `how` says, or more.
  /// @returns its size and digest, `errc::invalid_argument` if `name` is not
  ///          that of a checkpoint, or `errc::io_failed`
  virtual expected<checkpoint> write(const std::string& name,
                                     const content_source& bytes,
                                     durability how = durability::synced) = 0;

  /// Finds the place of a file of an initial state; one that lies elsewhere is
  /// fetched first. The caller has to check its content.
  /// @returns a path, or `errc::bad_checkpoint` or `errc::io_failed`
  virtual expected<std::string> find_initial(const initial_file& file) = 0;
};

/// A folder that can be seen from here.
class folder_store final : public checkpoint_store {
public:
  explicit folder_store(std::string folder);

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override;
  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override;
  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how = durability::synced) override;
  expected<std::string> find_initial(const initial_file& file) override;

private:
  const std::string folder_;
};

/// Reads a checkpoint into memory.
/// @returns its bytes, or as `checkpoint_store::read`
expected<std::string> read_whole(checkpoint_store& store,
                                 const checkpoint& checkpoint);

/// Chooses the store of a lease.
using checkpoint_store_factory
  = std::function<std::unique_ptr<checkpoint_store>(const lease&)>;

/// Returns the folder that the lease names.
std::unique_ptr<checkpoint_store> folder_of(const lease& lease);

} // namespace hippo
