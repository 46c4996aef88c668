#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/view/views.hpp"

namespace hippo {

/// Where a service is looked for by default.
inline constexpr auto default_service_address = "127.0.0.1:4849";

/// How a client meets its service.
struct client_options {
  /// File with the key that lets the client in, which `hippo keys add` has
  /// made; empty: connect without TLS.
  std::string credentials;

  /// For how long a lost connection is made again before calls fail.
  std::chrono::milliseconds reconnect_for{60'000};

  /// The name of this client in the service's log, at most 1024 bytes.
  std::string name = "C++ client";
};

/// The service at the other end.
struct service_summary {
  std::string version; ///< of the release
  std::string state;   ///< path of its state folder, on its machine
};

/// Whether a study will never do anything again.
bool has_ended(const study_view& view) noexcept;

/// A study file that a service has taken.
struct submitted_study {
  std::uint64_t id = 0;
  std::vector<std::string> warnings; ///< about the file
  std::vector<std::string> notes;    ///< what was decided for it, and why
};

/// A study, and the file that it came from.
struct study_description {
  study_view view;
  std::string text;
};

/// A trial that a client may decide about.
struct asked_trial {
  std::uint64_t trial = 0;
  std::string params; ///< a JSON object
};

/// A part of a service's log.
struct log_part {
  std::string text;       ///< at most 64 KiB; empty: nothing new
  std::uint64_t next = 0; ///< where the next part begins
};

/// A part of what a workload has printed while a trial was trained.
struct output_part {
  std::string text; ///< empty: nothing new
  step_t next = 0;  ///< the step from which to ask on
  bool ended = false; ///< whether the trial has ended
};

/// The recipe for the state that a trial had at a step.
struct weights_summary {
  std::string recipe; ///< an encoded lease, for `hippo-trainer --export`
  std::string code;   ///< what the study brings to be run; empty: nothing
  std::string kind;   ///< of the device that trained it
};

/// Amounts by which a study is extended; 0: not at all.
struct study_extension {
  std::uint64_t trials = 0;
  double seconds = 0;          ///< of `budget.seconds`
  double deadline_seconds = 0; ///< by which its deadline comes later
  double device_seconds = 0;   ///< of `budget.device_hours`, in seconds
  double cost = 0;             ///< of `budget.cost`
  std::uint64_t budget_steps = 0; ///< of `budget.steps`
  std::uint64_t steps = 0;     ///< the new length of trials, no amount
};

/// A change of the words of people about a study.
struct study_note {
  std::optional<std::string> text; ///< in place of its note; nothing: it stays
  std::vector<std::string> added_tags{};
  std::vector<std::string> removed_tags{};
};

/// Gives the next bytes of a file that is sent: fills the buffer, and returns
/// how many it has put there; 0: the file has ended.
using byte_source =
  std::function<expected<std::size_t>(char* buffer, std::size_t size)>;

class study_handle;

/// A connection to a service, which serves any number of studies and threads.
///
/// Every call blocks until the service has answered. An error is the service's
/// own, with its code and its sentence, or `errc::io_failed` if there is no
/// connection. A lost connection is made again: calls that may be repeated wait
/// for it for `client_options::reconnect_for`. Those that may not (`submit`,
/// `ask`, `tell`) fail when the connection is lost on their way; they may or
/// may not have been carried out then.
///
/// Copies stand for the same connection. It ends with the last copy and the
/// last handle. The process ignores SIGPIPE from the first connection on.
class client {
public:
  /// Connects, without trying again.
  /// @param address `HOST:PORT`, or `unix:PATH` of a socket on this machine
  /// @returns `errc::invalid_argument` if the address is none,
  ///          `errc::io_failed` if nobody answers there,
  ///          `errc::incompatible_version`, or why the service lets nobody in
  static expected<client> connect(const std::string& address,
                                  client_options options = {});

  [[nodiscard]] service_summary service() const;

  /// Runs a study.
  /// @param text of a study file, at most 1 MiB
  /// @param name stands for the file in messages
  /// @returns it once it is durable, or `errc::invalid_study` with every
  ///          finding, one a line
  expected<submitted_study> submit(const std::string& text,
                                   const std::string& name);

  /// Sends a file of an initial state (`from` of a workload), before a study
  /// that names it is submitted; nothing if the service has it.
  /// @param sha256 of its content, 64 hexadecimal digits
  /// @param source gives its bytes, once
  /// @returns nothing once it is there, `errc::invalid_argument` if its content
  ///          is another one, or why the service does not take it
  std::optional<error> send_initial(const std::string& sha256,
                                    std::uint64_t bytes,
                                    const byte_source& source);

  /// Finds a study; of several of a name the last one.
  /// @returns `errc::unknown_study` if there is none
  expected<study_handle> study(const std::string& id_or_name);

  /// Returns all studies in the order of submission, those that have ended
  /// included.
  /// @param removed whether hidden ones are wanted as well
  expected<std::vector<study_view>> studies(bool removed = false);

  /// Returns all trainers by number, those that have left included.
  expected<std::vector<trainer_view>> trainers();

  /// Returns how many trainers could be used now, and those that are connected.
  expected<demand_view> demand();

  /// Says what a study would train, given all that is trained already.
  /// @returns it with `known_steps` and `new_steps`, or errors as of `submit`
  expected<preview_view> preview(const std::string& text,
                                 const std::string& name);

  /// Returns how long things were measured to take, of all workloads.
  expected<std::vector<workload_timings_view>> timings();

  /// Returns what the service has logged from byte `after` on.
  expected<log_part> logs(std::uint64_t after);

private:
  friend class study_handle;
  class impl;

  explicit client(std::shared_ptr<impl> body) : impl_(std::move(body)) {}

  std::shared_ptr<impl> impl_;
};

/// One study of a service. Copies stand for the same study. Errors as said at
/// `client`. It may be used by several threads at once.
class study_handle {
public:
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  expected<study_description> describe();

  /// Returns the trials from number `first` on, all of them.
  expected<std::vector<trial_view>> trials(std::uint64_t first = 0);

  /// @returns `errc::invalid_argument` if there is no result yet
  expected<trial_view> best();

  /// Tells what the study hears, in its order, until it has ended or `hear`
  /// returns false. A lost connection loses and repeats nothing.
  /// @param after id of the last event that is known; 0: begin with the first
  std::optional<error> follow(std::uint64_t after,
                              const std::function<bool(const event_view&)>&
                                hear);

  /// Waits until the study has ended.
  /// @param look is shown where the study stands, at least every `interval`;
  ///             false: wait no longer
  /// @param interval at most a minute
  /// @returns where the study stands
  expected<study_view>
  wait(const std::function<bool(const study_view&)>& look = {},
       std::chrono::milliseconds interval = std::chrono::seconds{1});

  std::optional<error> pause();  ///< nothing new starts; what runs goes on
  std::optional<error> resume();
  std::optional<error> stop();   ///< finish what runs, then end
  std::optional<error> cancel(const std::string& reason = {}); ///< end now
  std::optional<error> set_weight(double weight);

  /// Tries trials again that have failed, of a study that has ended too: it
  /// goes on then.
  /// @param trials none: all that have failed
  /// @param all also those whose failures do not pass: see docs/commands.md
  /// @returns how many are tried again, or `errc::invalid_argument` if none is
  expected<std::uint64_t> retry(const std::vector<std::uint64_t>& trials = {},
                                bool all = false);

  /// Raises the budget of the study. One that has ended because nothing was
  /// left to do, or a budget was spent, continues.
  /// @returns the number of its trials by then, or `errc::invalid_argument`
  ///          with the reason why it cannot be extended
  expected<std::uint64_t> extend(const study_extension& more);

  /// Adds trials with given values, which come next.
  /// @param trials `{trials: [{lr: 0.1}, ...]}` in JSON or YAML, at most 1000,
  ///               or a list of `outside` or `forks`: see docs/commands.md
  /// @returns as `extend`
  expected<std::uint64_t> enqueue(const std::string& trials);

  /// Lets the sampler learn from results of training elsewhere.
  /// @param results `{results: [{params: {lr: 0.1}, step: 10, metrics: {loss:
  ///                0.3}}, ...]}` in JSON or YAML, at most 1 MiB
  /// @returns as `extend`
  expected<std::uint64_t> tell_past(const std::string& results);

  /// Gives the study another space for trials that have not begun.
  /// @param space `{space: {...}}`, perhaps with `prior`, in YAML or JSON;
  /// other
  ///              keys must be as in the study's file
  /// @param dry_run whether to answer only, and change nothing
  /// @returns the effects, or `errc::invalid_argument` with what is wrong
  expected<space_change_view> set_space(const std::string& space,
                                        bool dry_run = false);

  /// Changes the note and the tags of the study, which may have ended.
  /// @returns nothing, or `errc::invalid_argument` with what is wrong
  std::optional<error> note(const study_note& change);

  /// Hides trials that have ended; without any the study, which must have
  /// ended. They are neither listed nor counted, and `tpe` and `gp` do not
  /// learn from them. Nothing is deleted before `hippo gc`.
  /// @returns nothing, or `errc::invalid_argument` with the reason
  std::optional<error> remove(const std::vector<std::uint64_t>& trials = {});
  /// Shows again what was hidden: these trials, or the study.
  std::optional<error> restore(const std::vector<std::uint64_t>& trials = {});

  /// Returns all that is known of the study, as JSON: see docs/report.md.
  expected<std::string> export_json();

  /// Returns what the best tenth of the trials have in common, by
  /// hyper-parameter: see docs/http.md.
  /// @param step those measured there; 0: at the last one at which nine tenths
  ///             of the trials were
  /// @param metric of the study's goals that is looked at; empty: the first
  expected<importance_view> importance(step_t step = 0,
                                       const std::string& metric = {});

  /// Returns what the page shows of the study, by columns, as JSON.
  /// @param kind one of `column_kinds`: see docs/http.md
  expected<std::string> columns(const std::string& kind);

  // -- for studies with `algorithm: client`

  /// Asks for one more trial.
  /// @param params its values as a map in JSON or YAML; empty: those that the
  ///               study's sampler draws
  expected<asked_trial> ask(const std::string& params = {});

  /// Trains a trial up to a step, where something must be measured, or until it
  /// has ended. What is known already is answered at once.
  expected<trained_trial> train(std::uint64_t trial, step_t until);

  /// Begins to train a trial, as `train` does; `next` gives the answer. Any
  /// number of trials may be in flight, which is what keeps all trainers busy.
  void start(std::uint64_t trial, step_t until);

  /// Waits for the next answer to a `start` through this handle or a copy of
  /// it, in the order in which they come.
  /// @returns `errc::invalid_argument` if nothing is in flight
  expected<trained_trial> next();

  /// Ends a trial.
  std::optional<error> tell(std::uint64_t trial,
                            const trial_outcome& outcome = {});

  /// Nothing more will be asked for; the study ends when its trials have.
  std::optional<error> close();

  /// Returns a part of what the workload has printed while it trained a trial,
  /// shared training included, on the way to states from `first` on; as far as
  /// the trial has been measured.
  /// @returns `errc::invalid_argument` if there is no such trial
  expected<output_part> output(std::uint64_t trial, step_t first);

  /// Says what it takes to have the weights that a trial had at a step.
  /// @param without checkpoints that are not to be used: damaged ones
  /// @returns `errc::invalid_argument` if it was not measured there
  expected<weights_summary> weights(std::uint64_t trial, step_t step,
                                    const std::vector<std::string>& without);

  /// Reads a checkpoint of the study's workload from byte `offset` on, some
  /// 1 MiB; nothing at its end.
  /// @returns `errc::bad_checkpoint` if it is gone
  expected<std::string> checkpoint_part(const std::string& file,
                                        std::uint64_t offset);

private:
  friend class client;
  struct answers;

  study_handle(std::shared_ptr<client::impl> impl, std::uint64_t id);

  std::shared_ptr<client::impl> impl_;
  std::shared_ptr<answers> answers_;
  std::uint64_t id_;
};

} // namespace hippo
