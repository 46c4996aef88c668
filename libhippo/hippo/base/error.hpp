#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace hippo {

/// Failure codes. Values are part of the wire format: append only, never
/// renumber.
enum class errc : std::uint8_t {
  malformed_message = 1, ///< bytes do not decode as the expected schema
  invalid_argument,      ///< a value outside of what its documentation allows
  invalid_study,         ///< a study file that cannot be run; see the message
  unknown_workload,      ///< no workload of that name
  missing_data,          ///< a data set is not where the workload expects it
  diverged,              ///< training produced a value that is not finite
  bad_checkpoint,        ///< a checkpoint is missing, damaged, of another kind
  training_failed,       ///< the workload threw; see the message
  cancelled,             ///< somebody asked for the work to end
  unknown_lease,         ///< the lease ended before the message arrived
  incompatible_version,  ///< the peer or folder is of another version
  in_use,                ///< another process holds the state folder
  io_failed,             ///< the operating system refused; see the message
  unknown_study,         ///< no study of that name
  not_allowed,           ///< a key or certificate that lets nobody in here
  resource_exhausted,    ///< a limit on how many or how much; see the message
  cannot_start,          ///< this trainer cannot start the workload; see there
  fails_everywhere,      ///< training threw the same on several trainers
  gang_lost,             ///< another trainer of the gang is gone or has failed
};

/// Whether training that has failed so may succeed if it is tried again: what
/// the values themselves lead to, or several trainers agree on, does not pass.
[[nodiscard]] constexpr bool may_pass(errc code) noexcept {
  return code != errc::diverged && code != errc::fails_everywhere;
}

/// Returns the enumerator's name, e.g. `"bad_checkpoint"`.
const char* to_string(errc code) noexcept;

/// A failure: its code and one sentence for the person who can act on it.
struct [[nodiscard]] error {
  errc code{};
  std::string message;
};

/// A `T` or the reason why there is none.
template <class T>
class [[nodiscard]] expected {
public:
  expected(T value) : state_(std::move(value)) {}
  expected(error reason) : state_(std::move(reason)) {}
  expected(errc code, std::string message)
    : state_(error{code, std::move(message)}) {}

  explicit operator bool() const noexcept {
    return std::holds_alternative<T>(state_);
  }

  /// REQUIRES: `*this` holds a value.
  T& operator*() noexcept {
    assert(*this);
    return *std::get_if<T>(&state_);
  }
  const T& operator*() const noexcept {
    assert(*this);
    return *std::get_if<T>(&state_);
  }
  T* operator->() noexcept { return &**this; }
  const T* operator->() const noexcept { return &**this; }

  /// REQUIRES: `*this` holds an error.
  const hippo::error& failure() const noexcept {
    assert(!*this);
    return *std::get_if<hippo::error>(&state_);
  }

private:
  std::variant<T, hippo::error> state_;
};

} // namespace hippo
