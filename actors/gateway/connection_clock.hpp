#pragma once

#include <cstddef>
#include <cstdint>

namespace hippo {

/// How long a phase of a connection may take: so many beats, and one more for
/// each `bytes_per_beat` that have moved in it. So somebody who moves less than
/// that has `beats` in all, however he spreads his bytes.
struct phase_limit {
  unsigned beats = 0;
  std::size_t bytes_per_beat = 0; ///< 0: bytes give no time
};

/// The time that a client's connection has for each of its phases.
struct connection_times {
  phase_limit handshake{10, 0};
  /// From then on until it has said who it is, or what it asks.
  phase_limit greeting{15, 4096};
  /// From the first byte of a request to its last.
  phase_limit request{15, 4096};
  /// While an answer is on its way: what the peer's system takes counts.
  phase_limit answer{60, 16384};
};

/// Notices that a peer does not say who it is, sends half a request, or takes
/// its answers too slowly. Asked at every beat: time in which the process was
/// stopped counts for nobody. No clock, no input or output.
///
/// A request and an answer are timed apart, so that neither gives the other
/// time. While an answer is on its way nothing is read, which is not the peer's
/// fault: then a request has no time to lose.
class connection_clock {
public:
  enum class verdict {
    fine,
    no_handshake,
    silent,       ///< it has not said who it is, or what it asks
    slow_request, ///< it does not send the rest of one
    slow_answer,  ///< it does not take one
  };

  explicit connection_clock(const connection_times& times) : times_(times) {}

  void note_let_in() noexcept;   ///< the handshake is done
  void note_greeted() noexcept;  ///< it has said who it is, or what it asks
  void note_read(std::size_t bytes) noexcept;
  /// A request has begun; the same while one has is nothing.
  void note_request_begun() noexcept;
  void note_request_ended() noexcept { in_request_ = false; }
  /// Whether it is the service that does not read on.
  void note_paused(bool yes) noexcept { is_paused_ = yes; }
  /// So many more bytes are to be taken by the peer.
  void note_unwritten(std::size_t bytes) noexcept;
  void note_written(std::size_t bytes) noexcept;

  /// A beat has passed.
  verdict beat() noexcept;

  /// Whether it sends a request or takes an answer more slowly than at the
  /// least rate, for some beats. Others that need the memory need not wait
  /// until its time is over.
  [[nodiscard]] bool is_behind() const noexcept;

private:
  /// What has passed of a phase.
  struct meter {
    std::uint64_t beats = 0;
    std::uint64_t bytes = 0;

    /// Another beat has passed. @returns whether that is too much
    bool is_over(const phase_limit& limit) noexcept;
    /// Whether it is slower than the least rate.
    [[nodiscard]] bool is_behind(const phase_limit& limit) const noexcept;
  };

  connection_times times_;
  bool is_let_in_ = false;
  bool has_greeted_ = false;
  bool in_request_ = false;
  bool is_paused_ = false;
  std::uint64_t unwritten_ = 0; ///< bytes
  meter opening_; ///< the handshake, then the greeting
  meter request_;
  meter answer_;
};

} // namespace hippo
