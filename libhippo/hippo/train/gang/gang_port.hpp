#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/error.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/gang/gang_greeting.hpp"
#include "hippo/train/gang/gang_limits.hpp"

namespace hippo {

/// Returns the port that a socket is bound to; 0: it is not known.
std::uint16_t port_of(int socket);

/// The port at which the trainers of this process are reached by other members
/// of their gangs, on a thread of its own. It lets in the one that is expected
/// and proves it; any other connection is closed, and takes no more than its
/// greeting until then.
///
/// The thread also has gangs give signs of life, since their own threads are
/// busy.
class gang_port {
public:
  /// A port that listens nowhere until `move_to`.
  /// @param encrypted whether members speak TLS with each other
  /// @returns `errc::io_failed` if that is not possible
  static expected<std::unique_ptr<gang_port>> make(bool encrypted,
                                                   gang_limits limits = {});

  /// Listens. @param where others connect to its host; port 0: any
  /// @returns `errc::io_failed` if that is not possible
  static expected<std::unique_ptr<gang_port>>
  listen(const endpoint& where, bool encrypted, gang_limits limits = {});

  ~gang_port();
  gang_port(const gang_port&) = delete;
  gang_port& operator=(const gang_port&) = delete;

  /// Listens there from now on, unless it does already at this host. Members
  /// that have come stay.
  /// @returns `errc::io_failed` if that is not possible: it listens nowhere
  std::optional<error> move_to(const endpoint& where);

  /// Where others reach it, HOST:PORT; empty: nowhere.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] bool is_encrypted() const { return encrypted_; }
  [[nodiscard]] const gang_limits& limits() const { return limits_; }

  /// Awaits other members of a gang, as long as it lives. Each may come again
  /// as long as it was not taken: the last connection of it counts.
  class awaiting {
  public:
    /// REQUIRES: no other one is there for this place.
    awaiting(gang_port& port, const gang_place& place,
             const std::set<std::uint32_t>& ranks);
    ~awaiting();
    awaiting(const awaiting&) = delete;
    awaiting& operator=(const awaiting&) = delete;

    /// Returns the connection of a member that has come, which is not awaited
    /// from then on, or nothing.
    [[nodiscard]] std::optional<file_descriptor> take(std::uint32_t rank);

    /// Awaits a member once more: the connection was of no use.
    void await_again(std::uint32_t rank);

  private:
    gang_port& port_;
    const std::pair<lease_id, std::uint32_t> key_;
  };

  /// Something that gives a sign of life, from the port's thread.
  class beating {
  public:
    virtual ~beating() = default;
    virtual void beat() noexcept = 0;
  };

  /// Has `member` give signs of life, until `remove`.
  void add(beating& member);
  void remove(beating& member);

private:
  using clock = std::chrono::steady_clock;

  /// The members that one place of a gang awaits.
  struct expectation {
    std::string secret;
    std::set<std::uint32_t> ranks;
    std::map<std::uint32_t, file_descriptor> arrived;
  };

  /// A connection without a greeting yet.
  struct stranger {
    file_descriptor socket;
    clock::time_point until;
    std::vector<std::byte> said;
  };

  gang_port(file_descriptor wake, bool encrypted, gang_limits limits);

  void loop();
  void accept();
  /// Reads a greeting. @returns whether the connection is settled
  bool hear(stranger& from);
  /// Lets a connection in if it is awaited.
  void admit(const gang_greeting& greeting, file_descriptor socket);
  void wake() const;

  const file_descriptor wake_;
  const bool encrypted_;
  const gang_limits limits_;
  file_descriptor socket_;          ///< of the thread
  std::vector<stranger> strangers_; ///< likewise, oldest first

  mutable std::mutex mutex_; ///< guards what follows
  /// That the thread is to listen at; nothing: it does already.
  std::optional<file_descriptor> next_socket_;
  endpoint where_; ///< of the last socket; port 0: there is none
  std::map<std::pair<lease_id, std::uint32_t>, expectation> awaited_;
  std::vector<beating*> beating_;
  bool closing_ = false;

  std::thread thread_; ///< last: it uses all of the above
};

} // namespace hippo
