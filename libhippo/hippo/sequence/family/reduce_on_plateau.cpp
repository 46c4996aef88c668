#include "hippo/sequence/family/reduce_on_plateau.hpp"

#include <algorithm>
#include <limits>

namespace hippo::family {

namespace {

/// Decides when to reduce.
struct plateau_watch {
  std::uint64_t patience = 0;
  std::uint64_t cooldown = 0;
  double threshold = 0;
  bool relative = true;
  bool maximize = true;

  double best = 0;
  std::uint64_t bad = 0;     ///< measurements in a row that were no better
  std::uint64_t cooling = 0; ///< measurements that do not count yet

  [[nodiscard]] bool is_better(double x) const {
    const double margin = maximize ? threshold : -threshold;
    const double bar = relative ? best * (1 + margin) : best + margin;
    return maximize ? x > bar : x < bar;
  }

  /// Takes in a measurement. @returns whether to reduce now
  bool take(double x) {
    if (is_better(x)) {
      best = x;
      bad = 0;
    } else {
      ++bad;
    }
    if (cooling > 0) {
      --cooling;
      bad = 0;
    }
    if (bad <= patience)
      return false;
    cooling = cooldown;
    bad = 0;
    return true;
  }
};

} // namespace

std::vector<piece> reduce_on_plateau(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto factor = in["factor"].share_or(0.1);
  plateau_watch watch;
  watch.patience = in["patience"].count_or(10, 0, " of measurements");
  watch.threshold = in["threshold"].ratio_or(1e-4);
  watch.relative = in["threshold_mode"].word_or("rel", {"rel", "abs"}) == "rel";
  watch.cooldown = in["cooldown"].count_or(0, 0, " of measurements");
  const auto min = in["min"].number_or(0);
  const auto epsilon = in["epsilon"].ratio_or(1e-8);
  watch.maximize = in.better() == direction::maximize;
  watch.best = watch.maximize ? -std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::infinity();
  std::vector<piece> result{{0, form::constant(initial)}};
  double value = initial; // not rounded, or errors would add up
  for (const auto& x : in.responses()) {
    if (!watch.take(x.value))
      continue;
    const auto less = std::max(value * factor, min);
    if (value - less <= epsilon)
      continue;
    value = less;
    result.push_back({x.at, form::constant(value)});
  }
  return result;
}

} // namespace hippo::family
