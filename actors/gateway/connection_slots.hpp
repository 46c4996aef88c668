#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hippo {

/// Who may have a connection to a port, of those that there are slots for.
///
/// While there are slots everybody gets one. With none left, room is made:
///
/// 1. Of the party that has the most connections which have said nothing yet,
///    the oldest of these goes.
/// 2. If there is none, and the party would still have fewer connections than
///    another, it takes a slot of the one that has the most: of its idle ones
///    that which is idle for the longest time; if none is, its youngest.
/// 3. Else it makes room by one of its own that has been idle for `idle_beats`.
///
/// Whoever gets no slot gets a spare one, in which a connection is told why and
/// may ask how the service does; the oldest makes room for the next.
///
/// So no party that has less than its share, all slots divided by the parties,
/// loses a connection that has said something. No clock, no input or output.
class connection_slots {
public:
  struct limits {
    std::size_t most = 256;
    std::size_t spare = 32;
    /// Not busy for so long, a connection makes room for one of its own party.
    unsigned idle_beats = 10;
  };
  /// Numbers a connection; each is used once.
  using number = std::uint64_t;

  explicit connection_slots(const limits& bounds) : limits_(bounds) {}

  /// What becomes of a connection that has come.
  struct decision {
    bool is_spare = false;
    std::optional<number> let_go; ///< which makes room, and has no slot now
  };
  /// @param party that it is of, by its address
  decision open(number who, const std::string& party);

  /// It has said who it is, or what it asks.
  void note_greeted(number who);
  /// It is of another party: it has shown a certificate or a token.
  void note_party(number who, const std::string& party);
  /// Whether anything is being done for it.
  void note_busy(number who, bool yes);
  /// Something has come from it, or gone to it.
  void note_moved(number who);
  /// Does nothing for who was let go.
  void close(number who);

  /// A beat has passed.
  void beat() { ++now_; }

  [[nodiscard]] std::size_t size() const noexcept {
    return all_.size() - spare_;
  }
  [[nodiscard]] std::size_t spare() const noexcept { return spare_; }

private:
  struct slot {
    std::string party;
    bool is_spare = false;
    bool has_greeted = false;
    bool is_busy = false;
    std::uint64_t moved = 0; ///< the beat in which it last was not idle
  };
  struct counts {
    std::size_t all = 0;
    std::size_t silent = 0;
  };

  [[nodiscard]] std::optional<number> oldest_silent() const;
  [[nodiscard]] std::optional<number>
  taken_from_the_largest(const std::string& party) const;
  void remove(std::map<number, slot>::iterator position);
  void check_invariants() const;

  limits limits_;
  std::map<number, slot> all_; ///< by their numbers, and so by age
  std::map<std::string, counts> parties_; ///< of those that are not spare
  std::size_t spare_ = 0;
  std::uint64_t now_ = 0; ///< beats
};

} // namespace hippo
