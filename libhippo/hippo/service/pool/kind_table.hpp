#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace hippo {

/// The kinds of device of a pool's trainers: how many trainers there are of
/// each, and how often they go.
class kind_table {
public:
  struct entry {
    std::size_t trainers = 0;       ///< that are there
    std::uint64_t memory_bytes = 0; ///< of the last one that has come
    double seconds = 0; ///< for which trainers were there, added up over them
    std::uint64_t interruptions = 0; ///< trainers that have gone
  };

  /// A trainer has come.
  void add(const std::string& kind, std::uint64_t memory_bytes);
  /// A trainer goes. REQUIRES: it has come.
  void remove(const std::string& kind);
  /// A trainer goes, or has gone, that was not told to.
  void note_interruption(const std::string& kind);
  /// Time goes on.
  void advance(double seconds);
  /// Forgets all kinds but these. REQUIRES: no trainers are there of others.
  void keep_only(const std::set<std::string>& kinds);

  [[nodiscard]] const std::map<std::string, entry>& all() const noexcept {
    return all_;
  }
  /// The kinds of which trainers are there.
  [[nodiscard]] std::set<std::string> there() const;
  /// Mean time until a trainer of a kind goes, as it was counted; 0: none has.
  [[nodiscard]] double
  seconds_between_interruptions(const std::string& kind) const;

private:
  std::map<std::string, entry> all_; ///< that have ever been there
};

} // namespace hippo
