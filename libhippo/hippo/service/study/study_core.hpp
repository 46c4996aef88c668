#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/search/tuner.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/study/answers.hpp"
#include "hippo/service/study/commands.hpp"
#include "hippo/service/study/events.hpp"
#include "hippo/service/study/history.hpp"
#include "hippo/service/study/options.hpp"
#include "hippo/service/study/order_book.hpp"
#include "hippo/service/study/requests.hpp"
#include "hippo/service/study/study_books.hpp"
#include "hippo/service/study/study_clock.hpp"
#include "hippo/service/study/study_outbox.hpp"
#include "hippo/service/study/trials.hpp"
#include "hippo/service/study/watches.hpp"

namespace hippo {

/// All decisions of a study in one state machine: events in, effects out.
///
///     running <--pause, resume--> paused
///        |                          |
///        +--stop--> stopping <------+
///        |              |           |
///        +---complete---+--cancel---+--> ended --retry--> running
///        +---finish-----+---finish--+
///
/// A study that has ended because nothing was left to do, or because a budget
/// was spent, runs again when it is extended.
///
/// Its actions follow from its text and from what it has received, in that
/// order: after a restart it receives all of that again, and is where it was.
/// Holds no clock, no thread and no I/O.
///
/// A study whose first trials have all failed with one error pauses by itself,
/// or ends, unless it is told not to (`study_spec::on_error`): what is wrong
/// with its code is wrong with all of them. It ends likewise if its first
/// measurement lacks a metric that it wants.
///
/// @invariant those of its parts
/// @invariant fewer trials have failed than may (`budget.failed`), or the study
///            has ended
/// @invariant a study that has ended has no trial that has not, and none that
/// was
///            not begun, unless clients decide its trials
/// @invariant whoever waits for a trial waits for a state that it was asked for
///            and has not reached
class study_core {
public:
  using effects = std::vector<any_study_effect>;

  /// REQUIRES: `catch_up` is called until it has.
  study_core(study_options options, moment begun);
  ~study_core();

  study_core(const study_core&) = delete;
  study_core& operator=(const study_core&) = delete;

  /// Does again what it did in earlier runs, or begins; event by event, as that
  /// may take long.
  /// @param is_over asked after each event: whether to pause there
  /// @returns whether it has caught up. Before it has, only `damage` and
  ///          `caught_up` may be looked at
  bool catch_up(const std::function<bool()>& is_over = [] { return false; });
  /// The part of what it did in earlier runs that it has done again, 0 to 1.
  [[nodiscard]] double caught_up() const;

  /// How the merger gets to know the study.
  [[nodiscard]] study_registration registration() const;

  /// Takes in what happens. @returns what is to be done about it, in this order
  /// @param now not before that of the last event
  /// REQUIRES: it has caught up.
  effects apply(any_study_event event, moment now);

  // -- looking ----------------------------------------------------------------

  /// Why what it received in earlier runs cannot be repeated, if it cannot:
  /// what is stored of it is damaged, and it must not go on.
  [[nodiscard]] const std::optional<error>& damage() const { return damage_; }

  [[nodiscard]] study_status status(moment now) const;
  /// About how much memory its books take, in bytes. O(1).
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// All that is known of it and its trials.
  [[nodiscard]] study_record record() const;
  [[nodiscard]] const stored_study& stored() const { return options_.stored; }
  [[nodiscard]] const study_spec& spec() const { return options_.spec; }
  [[nodiscard]] const search_settings& search() const {
    return options_.search;
  }
  [[nodiscard]] const study_trials& trials() const { return trials_; }

  /// Asserts what is said above. Does nothing in release builds.
  void check_invariants() const;

private:
  // -- earlier runs -----------------------------------------------------------

  void begin_replay();
  void replay(const stored_event& event);
  void end_replay();
  [[nodiscard]] bool is_replaying() const { return history_ != nullptr; }

  // -- events -----------------------------------------------------------------

  void on(study_core_event::registered& event);
  void on(study_core_event::capacity_offered& event);
  void on(study_core_event::quiesced& event);
  void on(study_core_event::spent& event);
  void on(study_core_event::received& event);
  void on(study_core_event::commanded& event);
  void on(study_core_event::train_wanted& event);
  void on(study_core_event::filled& event);
  void on(study_core_event::time_passed& event);

  // -- what it receives -------------------------------------------------------

  void take(const study_input& input);
  void take_news(const trial_measured& report);
  void follow(const trial_measured& report);
  void measure(const trial_measured& report);
  void take_news(const trial_failed& news);
  void take_news(const study_command& command);
  void take_news(const trial_chosen&) {} // see `begin_replay`
  expected<command_answer> carry_out(const study_command& command);
  expected<command_answer> on(command::ask command);
  expected<command_answer> on(const command::train& command);
  expected<command_answer> on(const command::tell& command);
  expected<command_answer> on(const command::close& command);
  expected<command_answer> on(const command::pause& command);
  expected<command_answer> on(const command::resume& command);
  expected<command_answer> on(const command::stop& command);
  expected<command_answer> on(const command::cancel& command);
  expected<command_answer> on(const command::weight& command);
  expected<command_answer> on(const command::widen& command);
  expected<command_answer> on(const command::retry& command);
  expected<command_answer> on(const command::finish& command);
  expected<command_answer> on(const command::extend& command);
  expected<command_answer> on(const command::enqueue& command);
  expected<command_answer> on(const command::tell_past& command);
  expected<command_answer> on(command::note command);
  expected<command_answer> on(const command::remove& command);
  expected<command_answer> on(const command::restore& command);
  expected<command_answer> on(const command::set_space& command);
  expected<command_answer> take_turn(expected<turn> next);
  [[nodiscard]] command_answer growth_answer() const;
  /// How many trials it has, as clients count them.
  [[nodiscard]] std::uint64_t shown_trials() const;
  void raise_budget(double device_seconds, double cost);
  void lengthen(step_t to);
  /// The trials that the study's end has ended, and that had not begun.
  [[nodiscard]] std::set<trial_no> ended_fresh() const;
  expected<command_answer> steer(study_phase to, std::string why = {});
  /// Fails a trial, or the study, for a metric that a measurement lacks.
  void refuse_measurement(const trial_measured& report,
                          const std::string& missing, bool is_first);

  // -- what it decides --------------------------------------------------------

  void take_turn(const turn& turn);
  void end_trial(trial_no no, trial_state how, std::string failure = {},
                 std::optional<errc> cause = {});
  void drop_trial(trial_no no, trial_state how, const std::string& why = {});
  /// Ends a trial that was never begun: it is no trial of the study.
  void withdraw_trial(trial_no no);
  void admit_trial(trial_no no);
  /// Shows a trial again that was removed.
  void show_trial(trial_no no);
  void end_study(study_phase how, trial_state rest,
                 const std::string& why = {});
  void enter(study_phase to, std::string why = {});
  void change_state(study_phase to, std::string why = {});
  /// Lets a study that has ended run again, with the trials that its end has
  /// ended.
  void reopen();
  void take_late();
  /// Ends the study if nothing is to come. After each event, live as in a
  /// replay.
  void end_if_done();
  void end_if_spent();
  /// Ends the study if as many trials have failed as may.
  void end_if_failed();
  /// Pauses or ends the study if its first trials have failed alike.
  void note_failure(const error& why);
  void watch_time();

  // -- what follows -----------------------------------------------------------

  /// Sends what is to be done, and ends the study if nothing is to come.
  void finish();
  /// Stores what somebody wants, unless it is refused at once.
  void request(study_command command, study_requests::stored_command from);
  void store(study_command command);
  /// Ends the study by an event, so that it has ended there as well when it is
  /// restored.
  void finish_for(std::string why);
  /// The same if the merger has said that a budget is spent.
  void finish_if_spent();
  void answer(study_token to,
              std::variant<command_answer, trained_trial, error> what);
  void answer_waiters(trial_no no);

  /// Says why a command is refused at once, if it is.
  [[nodiscard]] std::optional<error>
  refusal_now(const study_command& command) const;
  /// Answers with the effects that a command would have.
  void answer_only(const study_core_event::commanded& event);

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] study_books books() const {
    return {options_, *tuner_, trials_};
  }
  [[nodiscard]] bool has_ended() const {
    return hippo::has_ended(options_.stored.state);
  }
  [[nodiscard]] bool may_go_on() const { return may_go_on_ || was_given_up_; }
  [[nodiscard]] bool is_client_driven() const {
    return options_.spec.algorithm.name == "client";
  }
  [[nodiscard]] bool wants_capacity() const;

  study_options options_;
  std::unique_ptr<tuner> tuner_;
  study_trials trials_;
  gain_watch gains_;
  failure_watch failures_;
  study_clock clock_;
  study_requests requests_;
  order_book orders_;
  study_outbox outbox_;
  std::unique_ptr<study_history> history_; ///< null once it has caught up
  std::optional<error> damage_;

  bool has_measured_ = false; ///< whether anything was
  std::string full_; ///< why no new trials may begin; empty: they may
  bool is_steered_ = false;   ///< a command of `filled` is being stored
  bool is_finishing_ = false; ///< an event that ends it is being stored
  std::set<study_limit> spent_; ///< of its budgets, as the merger says
  /// How often the merger was told of a larger budget.
  std::uint64_t raises_ = 0;
  /// Whether it was ended by no decision of its own: by a fault of the service.
  bool was_given_up_ = false;
  std::string given_up_for_; ///< the reason
  /// Whether it has ended as there was nothing left to do, or a budget was
  /// spent: it goes on if it is extended.
  bool may_go_on_ = false;
  /// The trials that its end has ended, with their states before.
  std::vector<std::pair<trial_no, trial_state>> ended_with_it_;
  /// Measurements that it heard of once it had ended, in their order. The
  /// merger does not send them again.
  std::vector<trial_measured> late_;

  moment now_;
  effects effects_; ///< of the present event
};

} // namespace hippo
