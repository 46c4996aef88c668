#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common_options.hpp"
#include "folder_service.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/net/client/client.hpp"
#include "hippo/report/listing.hpp"
#include "outcome.hpp"

namespace hippo {

/// Tells on stderr why the service did not do something. @returns the exit code
int refuse(const error& why);

/// @returns the exit code: `exit_done` if nothing went wrong
int refuse(const std::optional<error>& why);

/// Which service is asked, or which state folder is looked at instead.
struct service_address {
  std::string text;  ///< as in HIPPO_SERVER, else the usual one
  std::string keys;  ///< as in HIPPO_KEYS, else none
  std::string state; ///< a state folder; empty: a service is asked
  std::vector<workload_descriptor> workloads; ///< that studies may name there

  service_address();

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb);

  /// Adds `--state`, for verbs that only look.
  /// REQUIRES: `add_to` was called
  CLI::Option* add_state_to(CLI::App& verb);

  /// Makes the workloads of libraries known, for those that look into a folder.
  /// @returns why a library cannot be used
  std::optional<error> know(const common_options& chosen);
};

/// A connection to a service, and the state folder behind it if it is none.
struct service_connection {
  std::unique_ptr<folder_service> folder;
  client service;
};

/// Connects. From here on the first Ctrl-C ends the process at once, since a
/// service goes on alone.
expected<service_connection> connect(const service_address& where);

/// Connects to a service for `act`, a function of the client that returns an
/// exit code; tells on stderr why there is no connection.
/// @returns the exit code
template <class Act>
int with_service(const service_address& where, Act&& act) {
  auto connected = connect(where);
  if (!connected)
    return where.state.empty() ? refuse(connected.failure())
                               : fail(connected.failure(), exit_bad_input);
  return act(connected->service);
}

/// What the verbs about one study have in common.
struct study_argument {
  service_address server;
  std::string study; ///< id or name

  /// REQUIRES: `*this` lives longer than `verb`. @returns `verb`
  CLI::App* add_to(CLI::App* verb);
};

/// Connects and finds a study for `act`, a function of the client and the study
/// that returns an exit code; tells on stderr why it cannot be had.
/// @returns the exit code
template <class Act>
int with_study(const study_argument& which, Act&& act) {
  return with_service(which.server, [&](client& service) {
    auto study = service.study(which.study);
    if (!study)
      return refuse(study.failure());
    return act(service, *study);
  });
}

/// What of a listing is shown.
struct listing_options {
  listing_view view;
  std::string format = "table";

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb);

  /// Returns what is to be printed on stdout.
  expected<std::string> render(const listing& listing);

  /// Prints it. @returns the exit code
  int print(const listing& listing);
};

} // namespace hippo
