#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <capnp/capability.h>
#include <kj/async-io.h>

#include "depot.capnp.h"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/depot/event_thread.hpp"

namespace hippo {

/// Where a depot is, and how to get to it.
struct depot_address {
  std::string host;
  std::uint16_t port = 0;

  /// Puts a layer, such as TLS, on a new connection. Called on the client's
  /// thread. Nothing: none.
  std::function<kj::Promise<kj::Own<kj::AsyncIoStream>>(
    kj::Own<kj::AsyncIoStream>)>
    wrap = nullptr;

  /// Asks what the port serves for its depot. Called on the client's thread.
  /// Nothing: the port serves a depot and nothing else.
  std::function<schema::Depot::Client(capnp::Capability::Client)> find =
    nullptr;

  /// How long the depot may be silent, and how long to try again when it has
  /// too much to do.
  std::chrono::milliseconds silence_max{30'000};

  /// How long to wait before trying again.
  std::chrono::milliseconds retry_pause{500};
};

/// A trainer's way to the checkpoints of a service that it shares no folder
/// with. Has a connection and a thread of its own. It connects when it is first
/// used, and again when it is used after the connection was lost. Calls block
/// until they are done; a peer that is silent for too long ends them.
/// Thread-safe: one talks at a time.
class depot_client {
public:
  /// Throws `kj::Exception` if the system has no resources for a thread.
  explicit depot_client(depot_address address);
  ~depot_client();
  depot_client(const depot_client&) = delete;
  depot_client& operator=(const depot_client&) = delete;

  /// Reads a checkpoint.
  /// @param folder name of the workload's folder
  /// @param take called on another thread, one at a time
  /// @returns nothing once all of it was taken, `errc::bad_checkpoint` if it is
  ///          missing or damaged in its folder, `errc::io_failed` if the
  ///          network fails or the depot cannot read it, the first failure of
  ///          `take`, or what else the depot says
  std::optional<error> fetch(const std::string& folder,
                             const checkpoint& checkpoint,
                             const byte_taker& take);

  /// Reads `size` bytes of a checkpoint from `offset` on. @returns as `fetch`
  std::optional<error> fetch_range(const std::string& folder,
                                   const checkpoint& checkpoint,
                                   std::uint64_t offset, std::uint64_t size,
                                   const byte_taker& take);

  /// Reads a file of an initial state into a folder, where it has its digest as
  /// its name. Memory holds a window of chunks of it.
  /// @returns nothing once it is there and has the content, or as of `fetch`
  std::optional<error> fetch_initial(const initial_file& file,
                                     const std::string& folder);

  /// Writes a checkpoint. When this returns it is on the depot's disk; a
  /// failure leaves nothing there.
  /// @returns its size and digest, `errc::io_failed` if the network fails or
  ///          the depot cannot write it, or what else the depot says
  expected<checkpoint> store(const std::string& folder, const std::string& name,
                             const content_source& bytes);

private:
  class arrival;
  struct connection;
  class conversation;

  /// Has `talk` with the depot, over the connection that there is or a new one.
  /// @param purpose what for, e.g. "fetch checkpoint a"
  std::optional<error>
  converse(const std::string& purpose,
           const std::function<kj::Promise<std::optional<error>>(
             std::shared_ptr<conversation>)>& talk);

  [[nodiscard]] error damaged(const std::string& purpose) const;

  kj::Promise<void> connect(kj::AsyncIoContext& io);
  void disconnect();

  const depot_address address_;
  std::mutex mutex_; ///< who has it talks
  event_thread thread_;
  std::unique_ptr<connection>
    connection_; ///< the thread's; null: there is none
};

/// Returns the folder where a trainer keeps the files of initial states that it
/// has fetched: `hippo/initial` below `XDG_CACHE_HOME`, or else below `.cache`
/// of the user's home; empty: there is neither. Trainers of a user share it.
std::string initial_cache_folder();

/// One folder of a depot. Files of initial states are kept in the cache of this
/// user; those that nobody has used for a month go when the next one comes.
class remote_store final : public checkpoint_store {
public:
  /// REQUIRES: `client` outlives `*this`.
  remote_store(depot_client& client, std::string folder);

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override;
  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override;
  /// A depot syncs whatever it is given.
  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how = durability::synced) override;
  expected<std::string> find_initial(const initial_file& file) override;

private:
  depot_client& client_;
  const std::string folder_;
};

} // namespace hippo
