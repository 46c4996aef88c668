#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "hippo/train/failures.hpp"
#include "hippo/train/gang/gang_limits.hpp"
#include "hippo/train/gang/member_socket.hpp"

namespace hippo {

/// The connection of a member of a gang to another one. It carries frames: a
/// kind, a length, and as many bytes. Frames that do not fit end it, before any
/// memory is taken for it.
///
/// One thread at a time uses it, but for `beat`.
class member_connection {
public:
  enum class frame_kind : std::uint32_t {
    alive = 1, ///< a sign of life, at any time; without bytes
    values,    ///< numbers that members exchange
    train,     ///< of the lead: the steps to train; 16 bytes
    done,      ///< to the lead: they are trained; 1 byte: whether it leaves
    failed,    ///< the member trains no more; says why
    lost,      ///< another member is lost to it; says which, and why
    end,       ///< of the lead: the lease has ended; without bytes
    // Of ranks, but for `evaluate`. Orders of the lead have no bytes unless
    // they say so.
    enter, ///< of the lead: the world to enter; to it: the one of before
    prepare,
    init,
    load,
    evaluate,
    save,
    give,    ///< of the lead: a state is to come; to it: its size, 8 bytes
    problem, ///< to the lead: the order cannot be carried out; says why
  };

  /// Whether the lease of this member was cancelled. Called again and again
  /// while something is awaited.
  using cancel_test = std::function<bool()>;

  /// The reaction of this member to the cancellation of its lease.
  enum class cancel_way : std::uint8_t {
    hurries, ///< the present step is to end, unless others are silent
    leaves,  ///< at once
  };

  /// @param name of the member at the other end, for people
  member_connection(member_socket socket, std::string name, gang_limits limits,
                    cancel_test is_cancelled, cancel_way way);
  ~member_connection();
  member_connection(const member_connection&) = delete;
  member_connection& operator=(const member_connection&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // Each of the following throws `gang_lost` if the other member does something
  // else, has failed, is gone or is silent for too long. Nothing but `close`
  // and `say_last` may be called after that.

  /// Sends values and receives as many bytes as `in` has.
  void exchange(std::span<const std::byte> out, std::span<std::byte> in);

  /// Sends a frame that is no `values`.
  void send(frame_kind kind, const std::string& text);

  /// Sends values to a member that awaits so many.
  void send(std::span<const std::byte> values);

  /// Receives as many bytes of values as `in` has.
  void receive(std::span<std::byte> in);

  /// A frame that is no `values`, and no sign of life.
  struct short_frame {
    frame_kind kind{};
    std::string text;
  };

  /// Waits for the next frame.
  short_frame receive();

  /// Begins to wait for a frame by `look`.
  void listen();

  /// Returns the next frame if it is there.
  /// @param silence how long the other member may be silent, since `listen`
  std::optional<short_frame> look(gang_limits::duration silence);

  /// The descriptor that can be read once `look` may find something.
  [[nodiscard]] int number() const noexcept { return socket_.number(); }

  /// Sends a last frame, if that is possible without waiting, and nothing after
  /// it.
  void say_last(frame_kind kind, const std::string& text);

  /// Waits until the other member has closed the connection, until `then` at
  /// the longest, so that it gets the last frame.
  void await_close(std::chrono::steady_clock::time_point then) const;

  /// Sends a sign of life unless something else is being sent. Any thread.
  void beat() noexcept;

private:
  static constexpr std::size_t header_bytes = 16;
  /// Of all frames but `values` and `problem`.
  static constexpr std::uint64_t text_bytes_max = 4096;
  static constexpr std::uint64_t problem_bytes_max = 2 * failure_bytes_max;

  using header = std::array<std::byte, header_bytes>;

  static header header_of(frame_kind kind, std::uint64_t size);

  /// The bytes that `talk` has to send, if there are any.
  struct outgoing {
    std::span<const std::byte> head, body;
  };

  /// Sends and receives at the same time, until both are done.
  /// @param reads whether a frame is to come @param values where its bytes go,
  /// if it is to be one of values
  void talk(outgoing out, bool reads, std::span<std::byte> values,
            bool wants_values);
  /// Writes as much as the socket takes. @returns whether anything was
  bool write_some(outgoing& out);
  /// Reads as much as is there, up to the end of a frame. @returns whether
  /// anything has come
  bool read_some(std::span<std::byte> values, bool wants_values,
                 bool& is_whole);
  void begin_frame(std::span<std::byte> values, bool wants_values);
  /// The other member is lost: says why.
  [[noreturn]] void lose(const std::string& clause);
  /// Likewise where nothing has come of it for too long.
  [[noreturn]] void give_up_silent(gang_limits::duration limit) const;
  /// The same where it may still get the last frame.
  [[noreturn]] void give_up(const std::string& clause) const;

  const std::string name_;
  const gang_limits limits_;
  const cancel_test is_cancelled_;
  const cancel_way way_;

  // The part of the next frame that has come.
  header header_{};
  std::size_t header_got_ = 0;
  std::size_t body_got_ = 0;
  std::uint64_t body_size_ = 0;
  frame_kind kind_{};
  std::string text_;
  std::chrono::steady_clock::time_point heard_; ///< since `listen`

  std::mutex mutex_; ///< guards what follows
  member_socket socket_;
  std::string owed_;        ///< bytes of a sign of life that have to come next
  bool is_writing_ = false; ///< in the midst of a frame
  bool is_over_ = false;
};

} // namespace hippo
