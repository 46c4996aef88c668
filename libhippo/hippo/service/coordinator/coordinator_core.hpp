#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/service/coordinator/events.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/study/memory_shares.hpp"

namespace hippo {

/// Decides for the coordinator: which studies and mergers there are, which are
/// to come, and which have to go. Events in, effects out.
///
/// A pure state machine: the same events at the same moments give the same
/// effects. Holds no clock, no thread and no I/O.
///
///     submitted -> stored -> [its plan is read] -> [its merger is gone] ->
///     spawned -> started -> ended -> let go of
///
/// A study whose merger dies is submitted again, with what is stored of it. If
/// the merger dies twice within 10 minutes, the study fails whose orders it was
/// carrying out, or all of its studies if there was none.
///
/// @invariant a submission is stored, or waits for a plan that is read or a
///            merger that retires, or has a study: one of them
/// @invariant a merger that retires has no study, and only one that retires has
///            submissions that wait
/// @invariant every request is answered once
/// @invariant no command is given to a study that has been asked to leave
///            memory, until it has answered
/// @invariant an awaited study has been submitted, or is to be
class coordinator_core {
public:
  using effects = std::vector<any_coordinator_effect>;

  struct study_entry {
    std::string name;
    std::string workload_key;
    request_number request = 0; ///< by which it was submitted
    bool by_client = false;
    /// The submission, until it has been answered.
    std::optional<request_number> submitter;
    /// Its merger's number of it, once it has one.
    std::optional<study_no> number{};
    bool ended = false;
    bool is_orphan = false;  ///< its merger is gone
    bool restarting = false; ///< it ends, and is submitted again then
    /// Its end once its actor is down, if that is decided.
    std::optional<coordinator_effect::end_study> ending{};
    bool is_full = false; ///< no new trials of it begin: see `memory_shares`
    bool is_room_told = false; ///< whether it knows that they may
    /// How often it was asked to leave memory, and has not answered yet.
    std::uint32_t leaving = 0;
    std::vector<request_number> held{}; ///< commands until it has answered
  };

  coordinator_core(coordinator_begin known, moment begun);

  /// Takes in what happens. @returns what is to be done about it, in this order
  /// @param now not before that of the last event
  effects apply(any_coordinator_event event, moment now);

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] const std::map<study_id, study_entry>& studies() const {
    return studies_;
  }
  [[nodiscard]] bool has_merger(const std::string& key) const {
    return mergers_.contains(key);
  }
  /// The studies that are to come.
  [[nodiscard]] std::set<study_id> awaited() const;
  /// Studies that have failed, which cannot be stored: what is there of them
  /// cannot be read. By id, with the reason.
  [[nodiscard]] const std::map<study_id, std::string>& unreadable() const {
    return unreadable_;
  }
  /// How much a new study's first trials may take; nothing: as much as they do.
  [[nodiscard]] std::optional<std::uint64_t> first_bytes_max() const {
    return memory_.first_bytes_max();
  }

  /// Asserts the invariants. Does nothing in release builds.
  void check_invariants() const;

private:
  /// A submission of which no actor has been made.
  struct submission {
    study_id id{};
    std::string name;
    std::string workload_key;
    bool by_client = false;
    bool is_stored = false;
  };
  struct merger_entry {
    std::uint64_t live_studies = 0;
    moment idle_since;
    bool retiring = false;
    std::vector<request_number> waiting; ///< until it is gone
  };

  // -- events -----------------------------------------------------------------

  void on(coordinator_event::submitted& event);
  void on(coordinator_event::stored& event);
  void on(coordinator_event::unstored& event);
  void on(coordinator_event::plan_read& event);
  void on(coordinator_event::not_spawned& event);
  void on(coordinator_event::started& event);
  void on(coordinator_event::not_started& event);
  void on(coordinator_event::not_resubmitted& event);
  void on(coordinator_event::restore_failed& event);
  void on(coordinator_event::row_unreadable& event);
  void on(coordinator_event::study_ended& event);
  void on(coordinator_event::study_retired& event);
  void on(coordinator_event::study_stays& event);
  void on(coordinator_event::study_down& event);
  void on(coordinator_event::merger_down& event);
  void on(coordinator_event::cancel_asked& event);
  void on(coordinator_event::asked& event);
  void on(coordinator_event::commanded& event);
  void on(coordinator_event::reopened& event);
  void on(coordinator_event::not_reopened& event);
  void on(coordinator_event::command_answered& event);
  void on(coordinator_event::retirement_asked& event);
  void on(coordinator_event::begun& event);
  void on(coordinator_event::going& event);
  void on(coordinator_event::halted& event);
  void on(coordinator_event::ticked& event);
  void on(coordinator_event::memory_due& event);
  void on(coordinator_event::study_measured& event);
  void on(coordinator_event::plan_measured& event);

  // -- submissions ------------------------------------------------------------

  void go_on(request_number request);
  void spawn(request_number request, merger_entry& merger);
  void refuse(request_number request, error why);
  void refuse_cancelled(request_number request, study_id id);
  [[nodiscard]] bool is_awaited(request_number request,
                                const submission& which) const;

  // -- studies and mergers that end -------------------------------------------

  void fail(study_id id, const std::string& name, const std::string& why,
            bool exits = false);
  void end(coordinator_effect::end_study what, bool exits = false);
  std::optional<study_entry> forget(study_id id);
  void leave_merger(const study_entry& which);
  void note_end(study_id id);
  void let_go(study_id id, std::optional<study_end> end);
  void end_wait(study_id id, study_entry& which);
  void refuse_held(study_id id, study_entry& which);
  bool has_died_again(const std::string& key);
  void retire_idle(std::chrono::seconds idle_max);

  // -- questions, commands, memory --------------------------------------------

  void command(request_number request, study_id id);
  void command_again(const std::vector<request_number>& requests, study_id id);
  void refuse_command(request_number request, study_id id);
  bool end_reopening(study_id id);
  void answer_questions();
  void note_return(study_id id);
  [[nodiscard]] bool is_idle() const;
  void look_later();
  void note_let_go();
  void tell_rooms();

  void log(log_level severity, std::string text);

  coordinator_begin begun_;
  std::map<study_id, study_entry> studies_;
  std::map<std::string, merger_entry> mergers_; ///< by workload key
  std::map<request_number, submission> submissions_;
  /// Plans that are read, each with the submissions that wait for it.
  std::map<std::string, std::vector<request_number>> reading_;
  /// Studies that are to come, each with its submission; 0: it is yet to be
  /// submitted.
  std::map<study_id, request_number> awaited_;
  std::map<study_id, std::string> unreadable_;
  /// When a merger has last died of a fault of its own, by workload key.
  std::map<std::string, moment> last_deaths_;
  study_id last_study_;
  std::uint64_t last_lease_epoch_;
  bool going_ = false;
  bool retired_ = false; ///< nothing is taken in any more
  /// Questions for studies that may be still to come.
  std::vector<std::pair<request_number, study_id>> questions_;
  /// Studies that have ended, and are opened for a command that is yet to be
  /// answered: that they have ended is known. Each with the commands that have
  /// come for it since.
  std::map<study_id, std::vector<request_number>> reopening_;
  memory_shares memory_;    ///< without a limit nothing is noted
  bool is_looking_ = false; ///< at memory, in a while
  bool has_let_go_ = false; ///< of a study or plan, since it looked last

  moment now_;
  effects effects_; ///< of the present event
};

} // namespace hippo
