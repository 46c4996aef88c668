#pragma once

#include <set>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "service.hpp"

namespace hippo {

/// What a service said of a study's end.
struct study_estimate {
  double seconds = 0; ///< since the begin
  std::string study;
  double left = 0; ///< seconds, as `hippo show` would have said; 0: it is over
};

/// Asks a service now and then when its studies will end, at even distances:
/// at least half of `moments_max` times in a run of any length.
class estimate_watch {
public:
  static constexpr std::size_t moments_max = 400;

  /// Asks if it is time to.
  /// @param now seconds since the begin, never less than before
  void look(service& actors, double now);

  /// In the order of their times.
  [[nodiscard]] const std::vector<study_estimate>& told() const {
    return told_;
  }

private:
  std::vector<study_estimate> told_;
  std::vector<double> moments_; ///< when it was asked
  std::set<std::string> ended_; ///< studies
  double apart_ = 1;            ///< seconds
};

/// Writes estimates as CSV.
/// @returns `errc::io_failed` if that is not possible
expected<std::monostate> write_estimates(const std::vector<study_estimate>& xs,
                                         const std::string& file);

} // namespace hippo
