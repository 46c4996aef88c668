#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "gateway/connection_clock.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

/// What one client, and all of them together, may ask of a gateway.
struct gateway_limits {
  /// Connections of clients at a time, those over loopback apart from others.
  /// A few more are told so, and let go: `connection_slots`.
  std::size_t clients = 256;
  /// Likewise of each port for HTTP; a few more may ask for /healthz.
  std::size_t http_connections = 256;
  std::size_t spare_connections = 32; ///< those few, of each
  /// Calls of one client that are being answered.
  std::size_t calls = 256;
  /// Studies that one client has got and not let go of.
  std::size_t studies = 4096;
  /// Size of a message from a client, all that is read of it counted.
  std::size_t message_bytes = std::size_t{4} << 20;
  /// What one connection may hold of answers that it has not taken, and of
  /// requests; with more, its next calls wait. One answer may have more.
  std::size_t held_bytes = std::size_t{8} << 20;
  connection_times times; ///< in beats
  std::chrono::milliseconds beat{1000};
  /// Connections that make room for others of the same party are idle for so
  /// many beats at least.
  unsigned idle_beats = 10;
};

/// Sizes of what a client gives and gets.
inline constexpr std::size_t study_text_bytes_max = std::size_t{1} << 20;
inline constexpr std::size_t client_name_bytes_max = 1024;
inline constexpr std::size_t command_text_bytes_max = 64 << 10;
/// The same of commands that hold values or results of many trials, or a study
/// file.
inline constexpr std::size_t trials_text_bytes_max = std::size_t{1} << 20;
inline constexpr std::size_t text_bytes_max(study_command::verb what) {
  return what == study_command::verb::enqueue
             || what == study_command::verb::tell_past
             || what == study_command::verb::set_space
           ? trials_text_bytes_max
           : command_text_bytes_max;
}
inline constexpr std::uint32_t trials_per_call_max = 1000;
inline constexpr std::uint32_t events_per_call_max = 1000;
inline constexpr std::size_t log_bytes_per_call_max = 64 << 10;
inline constexpr std::size_t checkpoint_bytes_per_call_max = 1 << 20;
inline constexpr std::size_t outputs_per_call_max = 16;
inline constexpr std::size_t values_per_read_max = 200'000;
inline constexpr std::size_t shown_stages_max = 10'000;
inline constexpr std::size_t shown_curves_max = 1000; ///< of a hyper-parameter
inline constexpr double shown_timeline_seconds = 3600;
/// Of answers that are kept for the next one who asks, and of studies that
/// pages look at.
inline constexpr std::size_t response_cache_bytes = 32 << 20;
inline constexpr std::size_t kept_history_bytes = std::size_t{256} << 20;

/// What a call takes beside its parameters, about.
inline constexpr std::size_t call_bytes = 1024;

/// How large answers are taken to be before they are made.
inline constexpr std::size_t export_bytes_guess = std::size_t{4} << 20;
inline constexpr std::size_t listing_bytes_guess = std::size_t{1} << 20;
inline constexpr std::size_t events_bytes_guess = std::size_t{256} << 10;
inline constexpr std::size_t small_bytes_guess = std::size_t{64} << 10;

/// Trials and events of one answer, and the texts of them: with more, the rest
/// is in the next one. One row is there whatever it takes.
inline constexpr std::size_t rows_bytes_max = std::size_t{1} << 20;

/// A check of how the service does is good for so long; each of its parts may
/// take so long, and whoever asks hears the last one if it is not done by then.
inline constexpr std::chrono::seconds health_age{1};
inline constexpr std::chrono::seconds health_part_time{5};
inline constexpr std::chrono::milliseconds health_answer_time{700};

/// How long a request waits for the journal's status; after that it gets the
/// last status known.
inline constexpr std::chrono::milliseconds journal_answer_time{300};

/// How long a list parses the texts of studies that are new to it; the next
/// list parses the remaining ones.
inline constexpr std::chrono::milliseconds listed_texts_time{200};

/// How long a call may wait for something to happen.
inline constexpr std::chrono::milliseconds wait_max{60'000};

/// How often the store is looked at for news while somebody waits.
inline constexpr std::chrono::milliseconds look_interval{50};

/// How long actors may take to answer.
inline constexpr std::chrono::seconds status_timeout{10};
inline constexpr std::chrono::seconds command_timeout{60};
inline constexpr std::chrono::seconds submit_timeout{600};

/// How long a client that is refused has to hear why.
inline constexpr std::chrono::seconds refusal_time{5};

} // namespace hippo
