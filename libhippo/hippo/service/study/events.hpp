#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/trial_event.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/study/answers.hpp"

// The events of a study, and the effects that it answers them with.

namespace hippo {

/// By which a caller knows who waits for an answer; from 1.
enum class study_token : std::uint64_t {};

} // namespace hippo

namespace hippo::study_core_event {

// -- from the merger ----------------------------------------------------------

/// The merger knows the study: training may begin.
struct registered {};
/// Trials more could be trained.
struct capacity_offered {
  std::uint64_t trials = 0;
};
/// Nothing of the paused study runs any more.
struct quiesced {};
/// The study has had all that it may have of something.
struct spent {
  study_limit what{};
  /// How often the merger has raised its budgets by then; see `raise_budget`.
  std::uint64_t raises = 0;
};

// -- from the journal ---------------------------------------------------------

/// News for the study is stored; it comes in this order.
struct received {
  study_news news;
};

// -- from people and clients --------------------------------------------------

/// Somebody wants something. A command that cannot be carried out, as far as
/// can be known before it is stored, is refused and leaves no trace.
struct commanded {
  study_command what;
  study_token from{};
};
/// Somebody wants a client's trial trained up to a state, unless it is on its
/// way there or has been; answered when it is there.
struct train_wanted {
  trial_no trial = 0;
  step_t to = 0;
  study_token from{};
};

// -- from the service ---------------------------------------------------------

/// No new trials are to begin, for this reason; an empty one: they may. A
/// client is refused them; a study that decides by itself pauses, by a command
/// that is stored, and goes on by another one. What is being trained goes on.
struct filled {
  std::string why;
};
struct time_passed {};

} // namespace hippo::study_core_event

namespace hippo::study_effect {

/// An answer to whoever gave a token: what came of it, or why nothing did.
struct answer {
  study_token to{};
  std::variant<command_answer, trained_trial, error> what;
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
/// The study may have so much more of its budgets; 0: as before. Each one
/// counts as a raise.
struct raise_budget {
  double device_seconds = 0;
  double cost = 0;
};

// -- to the observer and the clock --------------------------------------------

/// A trial has ended.
struct notify_trial {
  trial_event what;
};

/// `time_passed` is due after this span.
struct wake_after {
  std::chrono::milliseconds span{0};
};

} // namespace hippo::study_effect

namespace hippo {

using any_study_event =
  std::variant<study_core_event::registered, study_core_event::capacity_offered,
               study_core_event::quiesced, study_core_event::spent,
               study_core_event::received, study_core_event::commanded,
               study_core_event::train_wanted, study_core_event::filled,
               study_core_event::time_passed>;

using any_study_effect =
  std::variant<study_effect::answer, study_effect::commit,
               study_effect::send_orders, study_effect::set_paused,
               study_effect::set_weight, study_effect::raise_budget,
               study_effect::notify_trial, study_effect::wake_after>;

} // namespace hippo
