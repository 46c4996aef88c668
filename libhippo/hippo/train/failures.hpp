#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// How much is told of a failure in all.
inline constexpr std::size_t failure_bytes_max = 32 << 10;

/// Makes a call and returns the exception that it threw as an error.
template <class Call>
std::optional<error> guarded(Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const missing_data_error& e) {
    return error{errc::missing_data, e.what()};
  } catch (const gang_lost& e) {
    return error{errc::gang_lost, e.what()};
  } catch (const std::bad_alloc& e) {
    return error{errc::resource_exhausted, e.what()};
  } catch (const std::exception& e) {
    return error{errc::training_failed, e.what()};
  } catch (...) {
    return error{errc::training_failed,
                 "the workload threw something that is no std::exception"};
  }
}

/// Leaves out the middle of a text that is too long to be told.
std::string shortened(const std::string& text);

/// Adds the end of what a workload has printed to its failure.
void add_last_words(error& to, std::string printed);

} // namespace hippo
