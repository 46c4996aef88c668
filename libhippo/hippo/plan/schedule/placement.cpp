#include "hippo/plan/schedule/placement.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <tuple>

namespace hippo {

namespace {

struct named_rule {
  placement_rule rule;
  const char* word;
};

constexpr std::array<named_rule, 3> rules{{
  {placement_rule::advantage, "advantage"},
  {placement_rule::complexity, "complexity"},
  {placement_rule::fair, "fair"},
}};

/// How often kinds and keys are fitted in turns. Where all kinds have trained
/// the same keys equally long, the first time is exact.
constexpr int fit_rounds = 30;

/// A speed that has moved by no more than this factor is no news.
constexpr double telling_factor = 1.1;

/// Adds a place next to the last one of `kinds`, unless two are neighbours.
void add_neighbour(std::set<std::size_t>& kinds, std::size_t count) {
  if (count < 2 || std::any_of(kinds.begin(), kinds.end(), [&](auto x) {
        return kinds.count(x + 1) > 0;
      }))
    return;
  const auto last = *kinds.rbegin();
  kinds.insert(last > 0 ? last - 1 : last + 1);
}

/// The ranks of `xs`, from 1 for the least.
std::vector<double> ranks_of(const std::vector<double>& xs) {
  std::vector<double> result;
  result.reserve(xs.size());
  for (const auto x : xs)
    result.push_back(1 + static_cast<double>(std::count_if(
      xs.begin(), xs.end(), [x](double y) { return y < x; })));
  return result;
}

} // namespace

std::optional<placement_rule> placement_rule_from(const std::string& word) {
  for (const auto& x : rules)
    if (word == x.word)
      return x.rule;
  return std::nullopt;
}

std::string to_word(placement_rule rule) {
  for (const auto& y : rules)
    if (rule == y.rule)
      return y.word;
  assert(false);
  return {};
}

// -- advantage ----------------------------------------------------------------

double advantage(const kind_speeds& speeds, const std::string& kind,
                 const std::set<std::string>& kinds) {
  const auto here = speeds.find(kind);
  if (here == speeds.end())
    return 1;
  double sum = 0;
  double known = 0;
  for (const auto& [name, speed] : speeds)
    if (kinds.count(name) > 0) {
      sum += speed;
      ++known;
    }
  return sum > 0 ? here->second / (sum / known) : 1;
}

kind_speeds compare_speeds(std::vector<measured_steps> xs) {
  std::sort(xs.begin(), xs.end(), [](const auto& x, const auto& y) {
    return std::tie(x.kind, x.speed_key) < std::tie(y.kind, y.speed_key);
  });
  struct term {
    double log_seconds;
    double weight;
    double* kind;
    double* key;
  };
  struct sums {
    double total = 0;
    double weight = 0;
  };
  std::map<std::string, double> kinds; // logarithms of their factors
  std::map<std::string, double> keys;
  std::vector<term> terms;
  for (const auto& x : xs)
    if (x.seconds > 0 && x.steps > 0)
      terms.push_back({std::log(x.seconds), std::sqrt(x.steps),
                       &kinds[x.kind], &keys[x.speed_key]});
  // One side is fitted while the other is held, in turns.
  const auto fit = [&terms](double* term::*fitted, double* term::*held) {
    std::map<double*, sums> all;
    for (const auto& x : terms) {
      auto& y = all[x.*fitted];
      y.total += x.weight * (x.log_seconds - *(x.*held));
      y.weight += x.weight;
    }
    for (const auto& [to, y] : all)
      *to = y.total / y.weight;
  };
  for (int i = 0; i < fit_rounds; ++i) {
    fit(&term::key, &term::kind);
    fit(&term::kind, &term::key);
  }
  kind_speeds result;
  for (const auto& [name, log_factor] : kinds)
    result.emplace(name, std::exp(-log_factor));
  return result;
}

bool differ(const kind_speeds& left, const kind_speeds& right) {
  return !std::equal(left.begin(), left.end(), right.begin(), right.end(),
                     [](const auto& a, const auto& b) {
                       return a.first == b.first
                              && a.second <= b.second * telling_factor
                              && b.second <= a.second * telling_factor;
                     });
}

// -- complexity ---------------------------------------------------------------

std::vector<std::size_t> in_order(const std::vector<double>& xs) {
  std::vector<std::size_t> result(xs.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  std::stable_sort(result.begin(), result.end(),
                   [&](auto i, auto j) { return xs[i] < xs[j]; });
  return result;
}

std::vector<double> products_of_ranks(
  const std::vector<double>& complexities,
  const std::vector<double>& uncertainties) {
  assert(complexities.size() == uncertainties.size());
  auto result = ranks_of(complexities);
  const auto others = ranks_of(uncertainties);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] *= others[i];
  return result;
}

std::vector<std::set<std::size_t>> assign_in_order(std::size_t spaces,
                                                   std::size_t kinds) {
  assert(spaces > 0 && kinds > 0);
  const auto larger = std::max(spaces, kinds);
  const auto smaller = std::min(spaces, kinds);
  std::vector<std::set<std::size_t>> result(spaces);
  const auto join = [&](std::size_t item, std::size_t place) {
    if (spaces == larger)
      result[item].insert(place);
    else
      result[place].insert(item);
  };
  for (std::size_t i = 0; i < larger; ++i) {
    const auto place = i * smaller / larger;
    const auto rest = i * smaller % larger; // of the place, in larger-ths
    join(i, place);
    const bool has_next = place + 1 < smaller;
    if (has_next && (2 * rest < larger || place == 0))
      join(i, place + 1);
    else if (place > 0)
      join(i, place - 1);
  }
  for (auto& x : result)
    add_neighbour(x, kinds);
  return result;
}

} // namespace hippo
