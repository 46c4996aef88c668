#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Machines that are alike: what they train on, and what they cost. All of it
/// is told by whoever wrote it down; nothing is looked up.
struct machine_kind {
  std::string name; ///< letters, digits and `-_.`, begins with one of the first
  /// Words of the kind of device that trainers report there; see `is_device`.
  std::string device;
  double price = 0;   ///< of a machine and an hour, in any currency; at least 0
  unsigned count = 1; ///< how many there are, at least 1
  unsigned trainers = 1;             ///< on each, at least 1
  double start_seconds = 0;          ///< from asking for one until it can train
  double interruptions = 0;          ///< of a machine, an hour; 0: it stays
  double notice_seconds = 0;         ///< of warning before it goes
  std::vector<std::string> profiles; ///< files, as they are written down

  /// The cost of an hour of one of its trainers.
  [[nodiscard]] double trainer_price() const {
    return price / static_cast<double>(trainers);
  }
};

/// The machines that could be rented or are there.
struct fleet {
  std::vector<machine_kind> kinds; ///< not empty, no name twice

  /// Returns the kind of that name, or null.
  [[nodiscard]] const machine_kind* find(const std::string& name) const;
};

/// The result of reading a fleet: one unless there is an error.
struct fleet_file {
  std::optional<fleet> found;
  std::vector<diagnostic> errors;
};

/// Reads and checks the text of a file of machines with their prices;
/// docs/machines.md describes it. Every error that can be told independently
/// is told.
/// @param name stands for the file in messages
fleet_file read_fleet(const std::string& text, const std::string& name);

/// Whether a trainer that reports a kind of device could be on a machine with
/// `device`: the words of `device` stand in what is reported, side by side.
/// Words are of letters and digits, whatever their case: `L4` is not in
/// `NVIDIA L40S`, and `cpu amd` is in `cpu amd x86-64-v4 avx512`.
bool is_device(const std::string& device, const std::string& reported);

/// Finds of which kind a trainer's machine is.
/// @param machine the name that the trainer gave; empty: it gave none, and its
///        device decides
/// @param reported its kind of device
/// @returns the kind; null: its device is that of none; or
///          `errc::invalid_argument`: there is no kind of that name, or the
///          device is that of several, and which ones
expected<const machine_kind*> kind_of_machine(const fleet& fleet,
                                              const std::string& machine,
                                              const std::string& reported);

/// Some machines of one kind.
struct machine_group {
  std::size_t kind = 0;  ///< of `fleet::kinds`
  unsigned machines = 1; ///< at least 1, at most the kind's count
  friend bool operator==(const machine_group&, const machine_group&) = default;
};

/// Reads which machines are used: `16xa100-spot,4xl4`.
/// @returns them in the order of the text, no kind twice; or
///          `errc::invalid_argument` and what is wrong
expected<std::vector<machine_group>> read_use(const fleet& fleet,
                                              const std::string& text);

/// How many trainers are on machines together.
std::size_t trainers_on(const fleet& fleet,
                        const std::vector<machine_group>& used);

/// Returns machines as `read_use` takes them.
std::string to_text(const fleet& fleet, const std::vector<machine_group>& used);

} // namespace hippo
