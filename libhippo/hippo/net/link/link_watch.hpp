#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace hippo {

/// The cost that a connection between service and trainer may have, and how
/// long it may stand still. Time is counted in beats, so that a process that
/// was stopped itself does not take everybody else for silent.
struct link_limits {
  std::chrono::milliseconds beat{1000};
  unsigned silent_beats_max = 30; ///< nothing read, or nothing taken by it
  unsigned hello_beats_max = 10;  ///< until it has said who it is
  unsigned end_beats_max = 5;     ///< to close after we did
  /// A message may take as long as a peer may be silent, and longer as long as
  /// it has moved this since it began.
  std::size_t message_bytes_per_second_min = std::size_t{16} << 10;
  /// Unsent bytes: from here on nothing more is read from the peer.
  std::size_t unsent_bytes_pause = std::size_t{1} << 20;
  /// From here on it is let go. Room for the largest message.
  std::size_t unsent_bytes_max = std::size_t{128} << 20;
  /// Frames that were read and not yet handled: as much again is not read.
  std::size_t unread_frames_max = 64;
  std::size_t unread_bytes_max = std::size_t{1} << 20;
};

/// Returns the limits for peers that may be silent for so long: the connection
/// is closed after twice that. What becomes of a trainer is the pool's
/// decision, which comes first.
link_limits limits_for(std::chrono::milliseconds silence_max);

/// Notices that a peer does not say who it is, is silent, or takes nothing.
/// Asked at every beat. No clock, no input or output.
class link_watch {
public:
  enum class verdict {
    fine,
    speak,  ///< it has been told nothing since the last beat
    late,   ///< it has not said who it is
    slow,   ///< it has begun a message and does not go on with it
    silent, ///< nothing was heard of it
    stuck,  ///< it does not take what is sent
    over,   ///< it does not close although we did
  };

  explicit link_watch(const link_limits& limits) : limits_(limits) {}

  void note_received() noexcept { since_received_ = 0; }
  void note_hello() noexcept { has_said_hello_ = true; }
  void note_sent() noexcept { sent_ = has_spoken_ = true; }
  void note_taken() noexcept { since_taken_ = 0; }
  void note_finishing() noexcept { is_finishing_ = true; }

  /// A message is complete.
  void note_message() noexcept { since_begun_ = 0; }

  /// A beat has passed.
  /// @param any_unsent whether the peer has something to take
  /// @param begun how many bytes have come of a message that is not complete;
  ///        nothing: there is none, or it is not read on
  verdict beat(bool any_unsent,
               std::optional<std::size_t> begun = std::nullopt) noexcept;

  /// For how many beats a message has been incomplete.
  [[nodiscard]] unsigned beats_begun() const noexcept { return since_begun_; }

private:
  link_limits limits_;
  bool has_said_hello_ = false;
  bool is_finishing_ = false;
  bool has_spoken_ = false; ///< has sent anything
  bool sent_ = false;       ///< since the last beat
  unsigned since_received_ = 0;
  unsigned since_opened_ = 0;
  unsigned since_taken_ = 0;
  unsigned since_finishing_ = 0;
  unsigned since_begun_ = 0; ///< a message that is not complete
};

} // namespace hippo
