#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hippo/model/trial_event.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/study/answers.hpp"
#include "hippo/service/study/commands.hpp"
#include "hippo/service/study/trials.hpp"

namespace hippo {

/// What a study runs with.
struct study_options {
  study_spec spec;
  search_settings search; ///< read of it
  workload_descriptor workload;
  /// Where it stands in the store; running from its begin if it is new.
  stored_study stored;
  /// What it has received in earlier runs, in its order.
  std::vector<stored_event> history;
  /// Until its deadline, less than 0 if it is over; nothing: it has none.
  std::optional<double> deadline_left{};
};

/// By which a caller knows who waits for an answer; from 1.
enum class study_token : std::uint64_t {};

/// Returns the seconds that are left until a deadline, less than 0 if it is
/// over.
/// @param age of the study, in seconds since it was submitted
/// @param now in seconds since 1970
double seconds_until(const study_deadline& x, double age, double now);

namespace study_effect {

/// An answer to whoever gave a token: what came of it, or why nothing did.
struct answer {
  study_token to{};
  std::variant<command_answer, trained_answer, error> what;
};

/// The records are to be stored, and then the study receives the news. Once
/// that is done, the answers and the end go out: clients must find what they
/// are answered.
struct commit {
  std::vector<journal_record> records;
  study_news news{};
  std::vector<answer> answers{};
  std::optional<study_end> end{};
};

// -- to the merger ------------------------------------------------------------

struct send_orders {
  study_orders orders;
};
struct set_paused {
  bool paused = false;
};
struct set_weight {
  double weight = 1;
};

/// A trial has ended.
struct notify_trial {
  trial_event what;
};

/// `time_passed` is due after this span.
struct wake_after {
  std::chrono::milliseconds span{0};
};

} // namespace study_effect

using any_study_effect
  = std::variant<study_effect::answer, study_effect::commit,
                 study_effect::send_orders, study_effect::set_paused,
                 study_effect::set_weight, study_effect::notify_trial,
                 study_effect::wake_after>;

/// All decisions of a study in one state machine: what it receives in, effects
/// out.
///
///     running <--pause, resume--> paused
///        |                          |
///        +--stop--> stopping <------+
///        |              |           |
///        +---complete---+--cancel---+--> ended --retry--> running
///        +---finish-----+---finish--+
///
/// What it does follows from its text and from what it has received, in that
/// order: after a restart it receives all of that again, and is where it was.
/// Reads no clock; `now` never decreases from one event to the next.
///
/// A study whose first trials have all failed with one error pauses by itself,
/// or ends, unless it is told not to (`study_spec::on_error`): what is wrong
/// with its code is wrong with all of them. It ends likewise if its first
/// measurement lacks a metric that it wants.
///
/// @invariant those of its trials
/// @invariant fewer trials have failed than may (`budget.failed`), or the study
///            has ended
/// @invariant a study that has ended has no trial that has not
/// @invariant whoever waits for a trial waits for a state that it was asked for
///            and has not reached
class study_core {
public:
  using effects = std::vector<any_study_effect>;

  /// REQUIRES: `catch_up` is called until it has.
  study_core(study_options options, moment now);
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

  // -- events -----------------------------------------------------------------

  /// How the merger gets to know the study.
  [[nodiscard]] study_registration registration() const;

  /// The merger knows it: training may begin.
  effects registered(moment now);

  /// What was stored for it, in this order.
  effects receive(study_news news, moment now);

  /// So many trials more could be trained.
  effects offered_capacity(std::uint64_t trials, moment now);

  /// Nothing of the paused study runs any more.
  effects quiesced(moment now);

  /// It has had all that it may have of something.
  effects spent(study_limit what, moment now);

  /// Somebody wants something. What cannot be done, as far as can be known
  /// before it is stored, is refused and leaves no trace.
  effects command(study_command x, study_token from, moment now);

  /// Somebody wants a client's trial trained up to a state, unless it is on its
  /// way there or has been; answered when it is there.
  effects train(trial_no trial, step_t to, study_token from, moment now);

  effects time_passed(moment now);

  /// No new trials are to begin, for this reason; an empty one: they may. A
  /// client is refused them; a study that decides by itself pauses, by a
  /// command that is stored, and goes on by another one. What is being trained
  /// goes on.
  effects set_full(std::string why, moment now);

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
  using verb = study_command::verb;

  /// How far it is with doing again what it did.
  struct repetition {
    stored_study last; ///< where it stood then
    measuring when;
    std::size_t next = 0; ///< event of its history
    bool has_begun = false;
  };
  void begin_replay();
  void replay(stored_event x);
  void end_replay();
  /// Says why an event cannot be the next one of the study; empty: it can.
  [[nodiscard]] std::string damage_of(const study_input& x,
                                      const measuring& when) const;
  [[nodiscard]] std::string damage_of(const trial_measured& x,
                                      const measuring& when) const;
  effects finish();

  /// A command that is being stored.
  struct stored_request {
    study_token from{};
    std::optional<step_t> trained_to{}; ///< whoever asked waits for this state
    verb what{};
  };

  // -- what it receives -------------------------------------------------------

  void take(const trial_measured& x);
  void follow(const trial_measured& x);
  void take(const trial_failed& x);
  void take(study_command x);
  void take(const trial_chosen&) {} // see `replay`
  expected<command_answer> carry_out(const study_command& x);
  expected<command_answer> apply(command::ask x);
  expected<command_answer> apply(const command::train& x);
  expected<command_answer> apply(const command::tell& x);
  expected<command_answer> apply(const command::close& x);
  expected<command_answer> apply(const command::pause& x);
  expected<command_answer> apply(const command::resume& x);
  expected<command_answer> apply(const command::stop& x);
  expected<command_answer> apply(const command::cancel& x);
  expected<command_answer> apply(const command::weight& x);
  expected<command_answer> apply(const command::widen& x);
  expected<command_answer> apply(const command::retry& x);
  expected<command_answer> apply(const command::finish& x);
  expected<command_answer> take(expected<turn> next);
  expected<command_answer> steer(study_phase to, std::string why = {});
  void enter(study_phase to, std::string why = {});
  void note_failure(const error& why);
  /// Fails a trial, or the study, for a metric that a measurement lacks.
  void refuse_measurement(const trial_measured& x, const std::string& missing,
                          bool is_first);

  /// Says why a command cannot be carried out now, if it cannot.
  [[nodiscard]] std::optional<error> refusal(const study_command& x) const;
  [[nodiscard]] std::optional<error> refusal_of_state(study_phase to) const;
  /// Whether one of these commands is being stored.
  [[nodiscard]] bool is_storing(std::initializer_list<verb> xs) const;
  [[nodiscard]] std::optional<error> refusal_of_end(verb what) const;
  [[nodiscard]] std::optional<error> refusal_of_retry(trial_no no,
                                                      bool all) const;
  /// The trials that a command tries again, or why it does nothing.
  [[nodiscard]] expected<std::vector<trial_no>>
  retried_by(const command::retry& x) const;

  [[nodiscard]] std::string with_constants(const std::string& values) const;

  // -- what it decides --------------------------------------------------------

  void take_turn(const turn& x);
  void end_trial(trial_no no, trial_state how, std::string failure = {},
                 std::optional<errc> cause = {});
  void drop_trial(trial_no no, trial_state how, const std::string& why = {});
  void end_study(study_phase how, trial_state rest,
                 const std::string& why = {});
  void change_state(study_phase to, std::string why = {});
  void watch_time();
  effects finish_for(std::string why);
  /// Ends the study if nothing is to come. After each event, live as in a
  /// replay.
  void end_if_done();
  /// Ends the study if as many trials have failed as may.
  void end_if_failed();
  /// Says why the study's rule ends it, if it does.
  [[nodiscard]] std::optional<std::string> reason_to_stop() const;
  /// The same of several metrics.
  [[nodiscard]] std::optional<std::string> reason_of_front() const;

  // -- what follows -----------------------------------------------------------

  /// Stores what somebody wants, unless it is refused at once.
  effects request(study_command x, stored_request from);
  void store(study_command x);
  void answer_waiters(trial_no no);
  void save();
  [[nodiscard]] std::vector<journal_record> take_unsaved();
  [[nodiscard]] stored_trial stored_of(trial_no no, bool is_new) const;
  [[nodiscard]] study_orders::trial order_of(trial_no no) const;
  [[nodiscard]] study_orders all_orders() const;

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] bool has_ended() const {
    return hippo::has_ended(options_.stored.state);
  }
  [[nodiscard]] bool wants_capacity() const;
  [[nodiscard]] bool is_there(trial_no no, step_t to) const;
  [[nodiscard]] trained_answer answer_of(trial_no no, step_t to) const;
  [[nodiscard]] nlohmann::ordered_json shown_params(trial_no no) const;
  [[nodiscard]] std::optional<best_record> shown_best() const;
  /// Of several metrics:
  [[nodiscard]] std::optional<front_record> shown_front() const;
  [[nodiscard]] std::optional<front_so_far> front_in_brief() const;
  void tell_front(trial_event& event) const;
  /// Saves the front if it has changed since, where there is more to save than
  /// trials have.
  void save_front(std::vector<journal_record>& out);
  /// Returns a metric that the study wants and that was not measured, or null.
  [[nodiscard]] const std::string* missing_in(const metrics& values) const;
  [[nodiscard]] trial_record record_of(trial_no no) const;
  [[nodiscard]] double active_seconds(moment now) const;
  /// What its budgets leave trainers to work for it, and to cost, if it has
  /// any.
  [[nodiscard]] std::optional<double> device_seconds_left() const;
  [[nodiscard]] std::optional<double> cost_left() const;

  study_options options_;
  std::unique_ptr<tuner> tuner_;
  study_trials trials_;
  step_t last_rung_ = 0;

  /// Whether nothing is known of its trials but that the first ones failed, as
  /// `first_failure_` says, and it is to pause or end for that.
  bool only_failed_;
  std::string first_failure_;
  std::uint64_t failed_alike_ = 0;
  bool has_measured_ = false; ///< whether anything was

  /// Steps that its trials have got since the best measurement got better.
  std::uint64_t steps_without_gain_ = 0;

  std::string full_; ///< why no new trials may begin; empty: they may
  bool is_steered_ = false; ///< a command of `set_full` is being stored
  std::uint64_t acked_ = 0; ///< of what the merger has sent
  bool wanted_capacity_ = false; ///< by the last orders
  bool replaying_ = true;
  std::unique_ptr<repetition> repeating_; ///< null once it has caught up
  /// The front as it was saved last: how often it had changed, and its volume.
  std::optional<std::pair<std::uint64_t, std::optional<double>>> saved_front_;
  std::set<trial_no> unsaved_;       ///< trials that have changed
  std::set<trial_no> unsaved_added_; ///< trials that are new
  std::set<trial_no> unsaved_chosen_; ///< those with values that were learned
  /// What is stored of choices that the tuner is yet to make again.
  std::map<trial_no, trial_choice> stored_choices_;
  bool has_stored_choices_ = false; ///< whether any are
  std::optional<error> damage_;
  bool study_is_saved_ = true;
  double saved_active_seconds_ = 0; ///< when the study was saved last
  bool end_is_announced_ = false;
  bool is_finishing_ = false; ///< an event that ends it is being stored
  /// Whether it was ended by no decision of its own: by a fault of the service.
  bool was_given_up_ = false;
  /// Since when it has been worked on, if it is now.
  std::optional<moment> active_since_;
  std::optional<moment> deadline_;

  std::uint64_t last_request_ = 0;
  std::map<std::uint64_t, stored_request> requests_; ///< by `token`
  struct waiter {
    step_t to = 0;
    study_token from{};
  };
  std::multimap<trial_no, waiter> waiters_;

  // Of the present event:
  moment now_;
  study_orders orders_;
  std::vector<study_effect::answer> answers_; ///< once all is stored
  effects effects_;
};

} // namespace hippo
