#pragma once

#include <functional>
#include <memory>
#include <string>

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

  /// Reads a checkpoint and checks its size and digest.
  /// @returns the bytes, `errc::bad_checkpoint` if it is missing or is not what
  ///          `checkpoint` says, or `errc::io_failed`
  virtual expected<std::string> read(const checkpoint& checkpoint) = 0;

  /// Writes `bytes` under `name`, replacing what was there; a failure leaves
  /// nothing. It survives what `how` says, or more.
  /// @returns its size and digest, `errc::invalid_argument` if `name` is not
  ///          that of a checkpoint, or `errc::io_failed`
  virtual expected<checkpoint> write(const std::string& name,
                                     const std::string& bytes,
                                     durability how = durability::synced)
    = 0;

  /// Finds the place of a file of an initial state; one that lies elsewhere is
  /// fetched first. The caller has to check its content.
  /// @returns a path, or `errc::bad_checkpoint` or `errc::io_failed`
  virtual expected<std::string> find_initial(const initial_file& file) = 0;
};

/// A folder that can be seen from here.
class folder_store final : public checkpoint_store {
public:
  explicit folder_store(std::string folder);

  expected<std::string> read(const checkpoint& checkpoint) override;
  expected<checkpoint> write(const std::string& name, const std::string& bytes,
                             durability how = durability::synced) override;
  expected<std::string> find_initial(const initial_file& file) override;

private:
  const std::string folder_;
};

/// Chooses the store of a lease.
using checkpoint_store_factory
  = std::function<std::unique_ptr<checkpoint_store>(const lease&)>;

/// Returns the folder that the lease names.
std::unique_ptr<checkpoint_store> folder_of(const lease& lease);

} // namespace hippo
