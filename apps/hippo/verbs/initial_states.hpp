#pragma once

#include <optional>
#include <string>

#include "hippo/net/client/client.hpp"
#include "packing.hpp"
#include "private_folder.hpp"
#include "stored_weights.hpp"
#include "verbs/client_options.hpp"

namespace hippo {

/// The initial states of studies that lie elsewhere: each is brought to a file
/// or a folder that is there as long as this.
class fetched_states {
public:
  /// @param where the studies of trials are; connected to when the first one is
  ///        wanted
  /// @param how states of trials are written
  fetched_states(service_address where, weights_options how)
    : where_(std::move(where)), how_(std::move(how)) {}

  /// Writes the state of a trial as `export_weights` does, or copies an object
  /// or all objects below a prefix. Memory holds 16 MiB of an object.
  /// @returns the path, or why the state cannot be had: no service, no such
  ///          study, trial or object, or the trial was not measured there
  expected<std::string> fetch(const initial_source& what);

  /// Returns `fetch` for `pack_study`. REQUIRES: `*this` outlives it.
  state_fetcher fetcher() {
    return [this](const initial_source& what) { return fetch(what); };
  }

  /// Ends the connection; the files stay.
  void disconnect() { connection_.reset(); }

private:
  expected<std::string> write_trained(const initial_source& what);
  expected<std::string> copy_objects(const std::string& url);

  const service_address where_;
  const weights_options how_;
  const private_folder folder_;
  std::optional<service_connection> connection_;
  unsigned states_ = 0; ///< that were fetched
};

/// Sends the files of a packed study's initial state that a service lacks.
/// @returns why the service does not have them now
std::optional<error> send_initial_state(client& service,
                                        const std::string& text);

} // namespace hippo
