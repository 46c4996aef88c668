#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace hippo {

/// A unit of training progress, counted from 0: the workload says what one is.
/// "Step t" of a sequence is the value used while going from state t to t + 1.
using step_t = std::uint64_t;

/// A hyper-parameter's value at one step, or an option: a number or a word.
using scalar = std::variant<double, std::string>;

/// The type of a value that code is given, where a `scalar` does not tell it.
enum class value_type : std::uint8_t {
  plain, ///< a number with a point, a word
  whole, ///< a number without a point, up to `whole_limit`
  truth, ///< the number 1 or 0 stands for true or false
  json,  ///< the word is the JSON text of any other value
};

/// Up to here every whole number is a double of its own.
inline constexpr double whole_limit = 9'007'199'254'740'992; // 2^53

/// The result of an evaluation, by the metric's name.
using metrics = std::map<std::string, double>;

/// Whether small or large values of an objective are good.
enum class direction : std::uint8_t { minimize, maximize };

/// Where a trial stands. The names are those that people see, in capitals.
enum class trial_state : std::uint8_t {
  pending,
  running,
  paused,
  complete,
  pruned,
  failed,
  cancelled,
};
const char* to_string(trial_state state) noexcept; ///< e.g. `"COMPLETE"`

/// Whether a trial will never be trained further.
bool has_ended(trial_state state) noexcept;

} // namespace hippo
