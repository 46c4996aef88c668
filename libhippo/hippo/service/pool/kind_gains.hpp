#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "hippo/plan/schedule/placement.hpp"
#include "hippo/service/pool/demand_table.hpp"
#include "hippo/service/pool/kind_table.hpp"

namespace hippo {

/// The gains of mergers by kinds of device. There is no choice, and all is
/// as the shares have it, unless there are several kinds and one merger gains
/// more by one of them than another does.
class kind_gains {
public:
  kind_gains() = default; ///< nothing speaks against turns
  kind_gains(const demand_table& demands, const kind_table& kinds,
             placement_rule rule);

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// REQUIRES: not `empty()`, and the kind has been there.
  [[nodiscard]] double of(std::size_t place, const std::string& kind) const {
    return all_[place].at(kind);
  }
  /// Of turns, by which the one that gains may be ahead.
  [[nodiscard]] double slack() const noexcept { return slack_; }

private:
  std::vector<std::map<std::string, double>> all_; ///< by place and kind
  double slack_ = 0;
};

} // namespace hippo
