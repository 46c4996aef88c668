#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/base/backoff.hpp"
#include "hippo/base/error.hpp"
#include "hippo/model/view/views.hpp"

namespace hippo {

/// How many starts are ordered at once, at most. An engine that refuses them
/// has then refused a few.
inline constexpr std::size_t starts_at_once_max = 20;

/// Pauses after a start that failed, and after a trainer that never had work:
/// the first, and the longest. As long as none has joined since, or had work,
/// one trainer is started at a time.
inline constexpr std::chrono::milliseconds start_pause_first{5'000};
inline constexpr std::chrono::milliseconds start_pause_max{300'000};

/// Observations that are farther apart say nothing of the time between them:
/// nothing of it counts as idle, or as late.
inline constexpr double silence_seconds_max = 60;

/// A process of trainers as its engine lists it.
struct listed_trainer {
  enum class state : std::uint8_t {
    waiting, ///< it has yet to be given a machine
    running,
    ended, ///< or is told to end; its name is taken as long as it is listed
  };
  std::string id; ///< the engine's
  std::string name;
  std::string group;
  state now = state::waiting;
  friend bool operator==(const listed_trainer&,
                         const listed_trainer&) = default;
};

/// Processes of trainers that are alike.
struct scale_group {
  std::string name;
  /// Of each process: one for each GPU, or for as many as `ranks`.
  std::uint64_t trainers = 1;
  std::uint32_t ranks = 1; ///< processes of each trial that they train
  std::optional<std::uint64_t> processes_max{}; ///< nothing: no limit
  /// Of a trainer and an hour; nothing: there is no list of machines.
  std::optional<double> price{};
  /// Words of its device kind (`is_device`); empty: they show when one joins.
  std::string device{};
  double start_seconds = 0; ///< from asking for one until it can train
};

/// The bounds of a fleet.
struct scale_settings {
  std::string fleet;               ///< its name: trainers are `FLEET-17`
  std::vector<scale_group> groups; ///< not empty, no name twice
  std::uint64_t min = 0;           ///< trainers
  std::uint64_t max = 0;           ///< at least `min`
  double idle_seconds = 120;       ///< without work, before one is ended
  double join_seconds = 600;       ///< how long one that runs may take to join
  /// How long one may wait for a machine while another group could be used.
  double queue_seconds = 600;
  /// How long the engine may take to list what it has started.
  double listing_seconds = 60;
  /// How long one that was told to end may take.
  double end_seconds = 180;
};

/// The state that survives a restart of the program, beside the engine's list.
struct scale_journal {
  std::uint64_t last = 0; ///< number of a trainer
  /// Names that the engine was asked to start, and has not listed yet: the
  /// group, and the moment of asking in seconds since 1970.
  struct started {
    std::string group;
    double at = 0;
    friend bool operator==(const started&, const started&) = default;
  };
  std::map<std::string, started> started_names;
  friend bool operator==(const scale_journal&, const scale_journal&) = default;
};

/// The text of a journal, JSON.
std::string to_text(const scale_journal& journal);
/// Reads it; an empty text is an empty journal.
/// @returns `errc::invalid_argument` if it is none
expected<scale_journal> read_journal(const std::string& text);

/// An order to the engine.
struct scale_order {
  enum class kind : std::uint8_t { start, end };
  kind what = kind::start;
  std::string name;
  std::string group; ///< may be empty with `end`
  std::string id;    ///< the engine's, with `end`
  std::string why;   ///< for people
  friend bool operator==(const scale_order&, const scale_order&) = default;
};

/// Returns the number of a trainer of a fleet; nothing: the name is of another
/// fleet, or of none.
std::optional<std::uint64_t> number_in_fleet(const std::string& fleet,
                                             const std::string& name);

/// Decides how many trainers an engine runs, by the demand of a service:
/// observations in, orders out.
///
/// A pure state machine: the same observations at the same moments give the
/// same orders. It starts what is missing at once, in the cheapest group that
/// can train it and is in time for its deadline, and ends what has been idle
/// for `idle_seconds`. Without an answer of service and engine there is no
/// order: unknown is not zero.
///
/// A name is given once, and stays that of a start until the engine lists it
/// or has refused it; then the same name is tried again. So a start whose
/// answer was lost starts nothing twice, if the engine refuses a name that it
/// has. What is listed twice all the same is ended but for the first.
///
/// @invariant each order is of a name of the fleet
/// @invariant processes that were ordered and have not ended have at most as
///            many trainers as `max`, as far as the fleet was not larger before
class fleet_scaler {
public:
  /// REQUIRES: `settings` are as they say.
  fleet_scaler(scale_settings settings, scale_journal journal);

  /// Takes in what service and engine have said just now.
  /// @param now seconds since 1970
  /// @returns orders in the order in which they are to be carried out. Those
  ///          to start are in the journal by then.
  std::vector<scale_order> observe(double now, const demand_view& demand,
                                   const std::vector<listed_trainer>& listed);

  /// The engine was asked to start a trainer, and has said no, or nothing.
  /// @param certain whether it has not started it: it has said so
  void note_failed_start(const std::string& name, bool certain, double now);

  [[nodiscard]] const scale_journal& journal() const noexcept {
    return journal_;
  }
  /// Returns the news since the last call that no order tells: trainers that
  /// ended before they joined, or were refused by the service.
  std::vector<std::string> take_notes();
  /// The end of the pause in which nothing is started in a group, in seconds
  /// since 1970; nothing: there is none.
  [[nodiscard]] std::optional<double> paused_until(const std::string& group,
                                                   double now) const;

  void check_invariants() const;

private:
  /// A process of the fleet, as far as it is known.
  struct process {
    std::string id; ///< empty: it is not listed yet
    std::size_t group = 0;
    listed_trainer::state state = listed_trainer::state::waiting;
    double awaited_since = 0; ///< when it was started, seen, or connected last
    /// When it was listed first without a machine; nothing: it has one.
    std::optional<double> queued_since{};
    bool has_joined = false;
    /// Any of its trainers; of one that another run has started, it may have.
    bool has_worked = false;
    std::optional<double> idle_since{}; ///< when it was seen first
    std::uint64_t connected = 0;  ///< of its trainers
    std::optional<double> idle{}; ///< of all of them, in seconds
    std::optional<double> unneeded_since{};
    std::optional<double> told_to_end{};
  };

  /// A span without starts, longer each time until it is cleared.
  struct pause {
    backoff spans{start_pause_first, start_pause_max};
    double until = 0; ///< seconds since 1970
    /// Begins the next span, unless one goes on.
    void begin(double now);
    void clear();
  };

  /// How starts in a group have gone.
  struct group_record {
    pause after_failures;
    bool proven = true; ///< no start has failed since the last one that joined
    /// As long as trainers join, and end without ever having had work.
    pause without_work;
    bool useful = true; ///< none has ended so since the last one that had work
    std::set<std::string> devices; ///< kinds that its trainers have had
  };

  /// Trainers that are there or on their way, while they are divided among
  /// what is demanded.
  struct supply {
    std::string name;   ///< of the process; empty: it is not of the fleet
    std::string device; ///< empty: not known
    std::uint32_t ranks = 1;
    std::optional<std::size_t> group;
    std::uint64_t trainers = 1;
    int rank = 0; ///< those at work first, then idle, then on their way
    double idle = 0;
  };

  void take_list(double now, const std::vector<listed_trainer>& listed,
                 std::vector<scale_order>& out);
  void take_connected(double now, const demand_view& demand);
  void forget_lost(double now, const std::set<std::string>& listed);
  void take_refused(double now, const demand_view& demand,
                    std::vector<scale_order>& out);
  void skip_silence(double seconds);
  void fail_start(std::size_t group, double now);
  void note_useless(std::size_t group, double now);
  [[nodiscard]] std::vector<supply> supplies(const demand_view& demand) const;
  /// Divides what there is. @returns what is missing, by part of the demand
  std::vector<std::uint64_t> divide(const demand_view& demand,
                                    std::vector<supply>& from) const;
  void mark_unneeded(double now, const std::vector<supply>& left);
  void end_overdue(double now, std::vector<scale_order>& out);
  void end_queued(double now, const demand_view& demand,
                  std::vector<scale_order>& out);
  void end_unneeded(double now, std::vector<scale_order>& out);
  void start_missing(double now, const demand_view& demand,
                     const std::vector<std::uint64_t>& missing,
                     std::vector<scale_order>& out);
  void end(const std::string& name, double now, std::string why,
           std::vector<scale_order>& out);
  /// The groups that can train a part, the best one first.
  [[nodiscard]] std::vector<std::size_t>
  groups_for(const work_demand& part) const;
  [[nodiscard]] bool can_train(std::optional<std::size_t> group,
                               const std::string& device, std::uint32_t ranks,
                               const work_demand& part) const;
  [[nodiscard]] bool may_start(std::size_t group, double now) const;
  /// Whether the group's own maximum leaves room for another process.
  [[nodiscard]] bool has_room(std::size_t group) const;
  /// Whether one more may be started for work that waits.
  [[nodiscard]] bool may_be_useful(std::size_t group, double now) const;
  [[nodiscard]] std::uint64_t trainers_alive() const;
  [[nodiscard]] std::uint64_t trainers_staying() const;
  [[nodiscard]] std::uint64_t processes_of(std::size_t group) const;
  /// Whether another group could be used for any work now.
  [[nodiscard]] bool has_alternative(std::size_t group, double now,
                                     const demand_view& demand) const;
  [[nodiscard]] std::optional<std::size_t>
  group_of(const std::string& name) const;
  std::string name_for(std::size_t group, double now);

  scale_settings settings_;
  scale_journal journal_;
  std::map<std::string, process> alive_; ///< by name
  std::vector<group_record> records_;    ///< by group
  std::set<std::string> refused_;        ///< names, that were told
  std::vector<std::string> notes_;
  double now_ = 0;
};

} // namespace hippo
