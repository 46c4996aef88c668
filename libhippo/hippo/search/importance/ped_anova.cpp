#include "hippo/search/importance/ped_anova.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "hippo/search/surrogate/normal.hpp"

namespace hippo {

namespace {

constexpr std::size_t grid_points_max = 50;

/// A share that no point of a grid has less than: two are divided.
constexpr double share_min = 1e-12;

/// How many trials are at each point of a grid.
std::vector<double> count(const parameter_domain& domain,
                          const std::vector<double>& values) {
  std::vector<double> result(domain.points);
  const auto scaled = [&](double x) { return domain.is_log ? std::log(x) : x; };
  const auto low = scaled(domain.low);
  const auto last = static_cast<double>(domain.points - 1);
  const auto width = (scaled(domain.high) - low) / last;
  for (const auto x : values) {
    // Of two that are equally near the lower one.
    const auto at = domain.is_category
                      ? x
                      : std::ceil((scaled(x) - low) / width - 0.5);
    ++result[static_cast<std::size_t>(std::clamp(at, 0., last))];
  }
  return result;
}

/// How much of a normal distribution lies between two points.
double normal_mass(double from, double to) {
  if (from > 0) // where differences are exact
    return normal_mass(-to, -from);
  return normal_below(to) - normal_below(from);
}

/// A kernel of a Parzen estimator: of weight points of a grid.
struct kernel {
  double at = 0;
  double weight = 0;
};

/// The bandwidth by Scott's rule, and at least nine tenths of a point's width.
double bandwidth(const std::vector<kernel>& kernels) {
  double all = 0, mean = 0, variance = 0;
  for (const auto& x : kernels) {
    all += x.weight;
    mean += x.at * x.weight;
  }
  mean /= all;
  for (const auto& x : kernels)
    variance += (x.at - mean) * (x.at - mean) * x.weight;
  variance /= std::max(1., all - 1);
  // The last kernel's position stands for those behind it.
  const auto position = [&](double weight, bool beyond) {
    double sum = 0;
    for (const auto& x : kernels) {
      sum += x.weight;
      if (beyond ? sum > weight : sum >= weight)
        return x.at;
    }
    return kernels.back().at;
  };
  const auto between = position(std::floor(all * 3 / 4), true)
                       - position(std::floor(all / 4), false);
  const auto scott = 1.059 * std::min(between / 1.34, std::sqrt(variance))
                     * std::pow(all, -0.2);
  return std::max(scott, 0.5 / 1.64);
}

/// The density on a grid that counts suggest, with a uniform one as the prior
/// of weight 1.
std::vector<double> density(const parameter_domain& domain,
                            const std::vector<double>& counts) {
  std::vector<kernel> kernels;
  double all = 1; // the prior
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) {
      kernels.push_back({static_cast<double>(i), counts[i]});
      all += counts[i];
    }
  const auto points = static_cast<double>(domain.points);
  std::vector<double> result(domain.points);
  if (domain.is_category) {
    const auto spread = 1 / static_cast<double>(kernels.size() + 1);
    const auto whole = 1 + spread * points;
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = 1 / points / all
                  + (all - 1) / all * spread / whole
                  + counts[i] / all / whole;
    return result;
  }
  const auto add = [&](double at, double width, double weight) {
    const auto whole
      = normal_mass((-0.5 - at) / width, (points - 0.5 - at) / width);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto x = static_cast<double>(i) - at;
      result[i]
        += weight * normal_mass((x - 0.5) / width, (x + 0.5) / width) / whole;
    }
  };
  const auto width = bandwidth(kernels);
  for (const auto& x : kernels)
    add(x.at, width, x.weight / all);
  add((points - 1) / 2, points, 1 / all);
  return result;
}

/// Pearson's divergence of the best trials' density from that of all.
double divergence(const parameter_domain& domain,
                  const std::vector<double>& best,
                  const std::vector<double>& all) {
  const auto of_best = density(domain, count(domain, best));
  const auto of_all = density(domain, count(domain, all));
  double result = 0;
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    const auto base = of_all[i] + share_min;
    const auto ratio = (of_best[i] + share_min) / base - 1;
    result += base * ratio * ratio;
  }
  return result;
}

/// The loss that the best trials have at most.
double worst_of_best(std::vector<double> losses, double quantile) {
  const auto many
    = std::ceil(quantile * static_cast<double>(losses.size()));
  const auto at = losses.begin() + static_cast<std::ptrdiff_t>(many) - 1;
  std::nth_element(losses.begin(), at, losses.end());
  return *at;
}

} // namespace

parameter_domain real_domain(double low, double high, bool is_log) {
  assert(low <= high && (!is_log || low > 0));
  return {false, is_log, low, high, low == high ? 1 : grid_points_max};
}

parameter_domain integer_domain(double low, double high) {
  assert(low <= high);
  const auto many = std::min(high - low + 1, double{grid_points_max});
  return {false, false, low, high, static_cast<std::size_t>(many)};
}

parameter_domain category_domain(std::size_t categories) {
  return {true, false, 0, static_cast<double>(categories) - 1, categories};
}

std::vector<double>
ped_anova(const std::vector<varied_parameter>& parameters,
          const std::vector<double>& losses, double quantile) {
  assert(quantile > 0 && quantile < 1);
  std::vector<double> result(parameters.size());
  if (losses.size() < 2)
    return result;
  const auto limit = worst_of_best(losses, quantile);
  const auto best = best_trials(losses, quantile);
  const auto share
    = static_cast<double>(best) / static_cast<double>(losses.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& x = parameters[i];
    assert(x.values.size() == losses.size());
    for (std::size_t no = 0; no < x.domains.size(); ++no) {
      const auto& domain = x.domains[no];
      std::vector<double> of_best, of_all;
      for (std::size_t trial = 0; trial < losses.size(); ++trial) {
        if (x.values[trial].domain != no)
          continue;
        of_all.push_back(x.values[trial].value);
        if (losses[trial] <= limit)
          of_best.push_back(x.values[trial].value);
      }
      // A trial that has a domain for itself says nothing: it is not among the
      // best, or they are all that there is, and differ from it in nothing.
      if (domain.points < 2 || of_best.empty())
        continue;
      // How likely it is that the best trials, and that all have this domain.
      const auto of_those
        = static_cast<double>(of_best.size()) / static_cast<double>(best);
      const auto of_these = static_cast<double>(of_all.size())
                            / static_cast<double>(losses.size());
      result[i]
        += of_those * of_those / of_these * divergence(domain, of_best, of_all);
    }
    result[i] *= share * share;
  }
  return result;
}

std::size_t best_trials(const std::vector<double>& losses, double quantile) {
  const auto limit = worst_of_best(losses, quantile);
  return static_cast<std::size_t>(std::count_if(
    losses.begin(), losses.end(), [=](double x) { return x <= limit; }));
}

} // namespace hippo
