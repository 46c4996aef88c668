#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateway/gateway.hpp"
#include "graceful_shutdown.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/forecast/machines/machines.hpp"
#include "hippo/store/state_writer.hpp"
#include "interrupts.hpp"
#include "local_trainers.hpp"
#include "log_format.hpp"
#include "network/trainer_port.hpp"
#include "notifier.hpp"
#include "object_place.hpp"
#include "port_keys.hpp"
#include "returning_studies.hpp"
#include "service.hpp"
#include "service_file.hpp"
#include "studies.hpp"
#include "study_waits.hpp"
#include "system_config.hpp"

namespace hippo {

/// The options of a service in this process. By default its ports are open to
/// this machine alone, and are any that are free.
struct node_options {
  workload_catalogue catalogue;
  std::string state = "hippo-state"; ///< folder for everything that must last
  endpoint trainers{"127.0.0.1", 0}; ///< where trainers connect
  endpoint clients{"127.0.0.1", 0};  ///< where clients do, over RPC
  endpoint people{"127.0.0.1", 0};   ///< and over HTTP
  std::optional<endpoint> visitors;  ///< people with tokens; nothing: nowhere
  std::string keys;                  ///< folder of `hippo keys`; empty: no TLS
  local_trainer_options local;       ///< started on this machine
  /// After this time without a heartbeat a trainer is treated as dead.
  std::chrono::milliseconds trainer_timeout{15'000};
  /// A lease ends if a step takes this much longer than expected.
  std::chrono::milliseconds stall_timeout{600'000};
  /// The same where nobody has measured what is to be expected.
  std::chrono::milliseconds first_step_timeout{21'600'000};
  hippo::policy policy = hippo::policy::critical_path;
  placement_rule placement = placement_rule::advantage;
  bool merge = true;
  bool gangs = true; ///< whether idle trainers help others with their paths
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  std::optional<std::uint64_t> memory_bytes_max;    ///< of all that it holds
  object_options objects;                           ///< where checkpoints are
  std::optional<fleet> machines; ///< that trainers are on; nothing: not known
  std::string no_prices;         ///< as of `admission`
  /// Whether events of studies may be posted to addresses of this machine and
  /// of private networks.
  bool notifies_private = false;
  /// Whether it stays when studies have ended: it goes on with all of the
  /// folder that have not, lets go of those that have, and waits for a disk
  /// that is full. Else it has the studies that are submitted, keeps them for a
  /// report, and gives up if nothing can be stored.
  bool stays = false;
  /// As of `query_sources`.
  std::optional<std::vector<workload_spec>> code_allowed{};
  /// How its log is shown on stderr; nothing: it is in the folder alone.
  std::optional<log_options> shown_log;
};

/// A service in this process, with all that people and trainers reach it by:
/// state folder, actors, gateway, port of trainers, and trainers of its own.
/// The verbs that have one differ in its options, and in how long they follow
/// it.
class service_node {
public:
  /// @param where its studies decide, and clients' questions are worked out
  service_node(node_options options, std::shared_ptr<thinking_pool> where);
  ~service_node() { close(); }
  service_node(const service_node&) = delete;
  service_node& operator=(const service_node&) = delete;

  /// Starts everything; interrupts are received from now on. Says on stderr
  /// why it cannot.
  /// @returns the exit code: `exit_done` if all is there
  [[nodiscard]] int open();

  /// Leaves the addresses in the state folder, where other programs look.
  /// @returns `errc::io_failed` if it cannot. REQUIRES: it is open
  std::optional<error> announce();

  /// The calls by which a verb hears of the studies.
  struct listener {
    std::function<void(trial_event&)> trial = [](trial_event&) {};
    std::function<void(const study_end&)> end = [](const study_end&) {};
  };

  /// Hears for a moment what happens, until a study ends at most, and lets
  /// studies of before come.
  /// @returns why the service cannot go on, if it cannot
  std::optional<error> hear(const listener& to);

  /// Hears all that has happened by now: once all studies have ended, that they
  /// have.
  /// @returns as `hear`
  std::optional<error> hear_rest(const listener& to);

  /// How a service has come to rest.
  struct rest {
    bool was_cut_off = false;    ///< before all that ran was saved
    std::optional<error> broken; ///< why it could not go on
  };

  /// Leases nothing more, and lets trainers end their present steps, which are
  /// saved.
  /// @param meanwhile called again and again until they have
  rest wind_down(double grace_seconds, const listener& to,
                 const std::function<void()>& meanwhile);

  /// Ends clients, actors and trainers, in this order.
  void close();

  /// The state folder, as other programs on this machine find it.
  [[nodiscard]] const std::string& state() const { return options_.state; }
  [[nodiscard]] state_writer& store() { return *store_; }
  [[nodiscard]] service& actors() { return *actors_; }
  [[nodiscard]] const gateway& entry() const { return *entry_; }
  [[nodiscard]] local_trainers& trainers() { return trainers_; }
  [[nodiscard]] study_waits& waits() { return *waits_; }
  /// Where in an object store checkpoints are; empty: in the state folder.
  [[nodiscard]] std::string objects() const { return text_of(objects_); }

  // -- where it listens; REQUIRES: it is open
  [[nodiscard]] std::string trainer_address() const {
    return to_text(options_.trainers);
  }
  [[nodiscard]] std::string client_address() const {
    return to_text(options_.clients);
  }
  /// Of the page for those who need no token.
  [[nodiscard]] std::string page() const {
    return scheme() + to_text(options_.people) + "/";
  }
  /// Of the page for those with tokens; empty: there is none.
  [[nodiscard]] std::string visitors_page() const {
    return options_.visitors ? scheme() + to_text(*options_.visitors) + "/"
                             : std::string{};
  }

private:
  /// The outcome of hearing once.
  struct heard {
    bool nothing = false; ///< in the time for it
    bool an_end = false;  ///< of a study
    std::optional<error> broken{};
  };
  heard hear_one(const listener& to,
                 std::chrono::steady_clock::duration patience);

  [[nodiscard]] const char* scheme() const {
    return keys_ ? "https://" : "http://";
  }
  [[nodiscard]] std::uint64_t room_of_peers() const;
  [[nodiscard]] int open_folder();
  void start_log() const;
  [[nodiscard]] service_options setup();
  [[nodiscard]] gateway_options entrances();
  [[nodiscard]] trainer_port_options port() const;
  std::optional<error> open_ports();

  node_options options_;
  std::shared_ptr<thinking_pool> where_;
  std::optional<port_keys> keys_;
  std::shared_ptr<state_writer> store_;
  std::optional<interrupt_guard> guard_;
  std::optional<object_location> objects_;
  std::string folder_token_;
  std::shared_ptr<trace_log> trace_; ///< of the actors' events; null: none
  std::optional<study_waits> waits_;
  std::shared_ptr<byte_ledger> held_; ///< for those who are connected
  system_config config_;
  caf::actor_system system_{config_};
  std::optional<service> actors_;
  std::optional<gateway> entry_;
  std::optional<trainer_port> trainer_port_;
  std::optional<returning_studies> returning_; ///< if it stays
  std::unique_ptr<notifier> notifier_;
  local_trainers trainers_;
  std::optional<service_file> known_;
  bool is_closed_ = false;
};

/// Says something on stderr, as a service does.
void say(const std::string& text);

/// Opens a service for `act`, which returns the exit code, and ends it in good
/// order. @returns that code, or why it could not be opened
int with_node(node_options options,
              const std::function<int(service_node&)>& act);

} // namespace hippo
