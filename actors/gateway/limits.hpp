#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hippo {

/// What one client, and all of them together, may ask of a gateway.
struct gateway_limits {
  /// Clients at a time. As many more are told so, and let go.
  std::size_t clients = 256;
  std::size_t http_connections = 64; ///< at a time
  /// Calls of one client that are being answered.
  std::size_t calls = 256;
  /// Studies that one client has got and not let go of.
  std::size_t studies = 4096;
  /// Size of a message from a client, all that is read of it counted.
  std::size_t message_bytes = std::size_t{4} << 20;
  /// Bytes of answers, from before they are made until they have been taken: of
  /// one client, and of all of them. With more, the next ones wait.
  std::size_t answer_bytes = std::size_t{32} << 20;
  std::size_t all_answer_bytes = std::size_t{256} << 20;
  /// A client that does not take what it asked for within this is let go.
  std::chrono::milliseconds stall{60'000};
};

/// Sizes of what a client gives and gets.
inline constexpr std::size_t study_text_bytes_max = std::size_t{1} << 20;
inline constexpr std::size_t client_name_bytes_max = 1024;
inline constexpr std::size_t command_text_bytes_max = 64 << 10;
inline constexpr std::uint32_t trials_per_call_max = 1000;
inline constexpr std::uint32_t events_per_call_max = 1000;
inline constexpr std::size_t log_bytes_per_call_max = 64 << 10;
inline constexpr std::size_t checkpoint_bytes_per_call_max = 1 << 20;
inline constexpr std::size_t outputs_per_call_max = 16;
inline constexpr std::size_t exported_results_max = 200'000;
inline constexpr std::size_t shown_stages_max = 10'000;
inline constexpr std::size_t shown_curves_max = 1000; ///< of a hyper-parameter
inline constexpr double shown_timeline_seconds = 3600;
/// Of answers that are kept for the next one who asks, and of studies that
/// pages look at.
inline constexpr std::size_t kept_answers_bytes = 32 << 20;
inline constexpr std::size_t kept_history_bytes = std::size_t{256} << 20;

/// How large answers are taken to be before they are made.
inline constexpr std::size_t export_bytes_guess = std::size_t{32} << 20;
inline constexpr std::size_t listing_bytes_guess = std::size_t{1} << 20;
inline constexpr std::size_t events_bytes_guess = std::size_t{256} << 10;

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
