#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "caf/all.hpp"

#include "hippo/base/ids.hpp"

namespace hippo {

/// Returns the text of an exception, for people.
inline std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "memory ran out";
  } catch (const std::exception& why) {
    return why.what();
  } catch (...) {
    return "something was thrown";
  }
}

/// A fault of the program, or that memory ran out: why an actor has ended in
/// which something was thrown.
struct fault {
  std::string what;
  std::uint64_t study = 0; ///< whose orders it was carrying out; 0: nobody's

  /// Whether it was carrying out what a study wants.
  [[nodiscard]] bool is_of(study_id study_number) const {
    return number_of(study_number) == study;
  }
};

/// Returns the exit reason of an actor in which an exception was thrown. Actors
/// that monitor it read the exception with `fault_in`.
/// @param study whose orders it was carrying out
inline caf::error fault_of(const std::exception_ptr& failure,
                           std::optional<study_id> study = {}) {
  return caf::make_error(caf::sec::runtime_error, text_of(failure),
                         study ? number_of(*study) : std::uint64_t{0});
}

/// Returns the fault in an error that `fault_of` has made, or nothing.
inline std::optional<fault> fault_in(const caf::error& failure) {
  if (failure != caf::sec::runtime_error
      || !failure.context().match_elements<std::string, std::uint64_t>())
    return std::nullopt;
  return fault{failure.context().get_as<std::string>(0),
               failure.context().get_as<std::uint64_t>(1)};
}

} // namespace hippo
