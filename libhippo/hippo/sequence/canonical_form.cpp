#include "hippo/sequence/canonical_form.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "hippo/sequence/line.hpp"

namespace hippo {

namespace {

/// The most steps at which two curves are compared.
constexpr step_t compared_steps_max = 1'000;

/// The end of the last piece: beyond every step that a study may speak of.
constexpr step_t never = std::numeric_limits<step_t>::max() / 4;

bool is_line(const form& x) { return x.kind == form_kind::line; }

/// Returns the first step in `[from, to)` at which `rules` does not give the
/// values of `x`, or `to`.
step_t parting(const form& rules, const form& x, step_t from, step_t to) {
  to = std::min(to, rules.end());
  if (rules == x || (is_line(rules) && is_line(x) && same_line(rules, x)))
    return to;
  const auto agree = [&](step_t at) { return rules.agrees_with(x, at); };
  if (from >= to || !agree(from))
    return from;
  const bool flat = rules.is_plateau() || x.is_plateau();
  if (!flat || !rules.is_monotone() || !x.is_monotone()) {
    const auto last = std::min(to, from + compared_steps_max);
    while (from < last && agree(from))
      ++from;
    return from;
  }
  // A monotone curve leaves a value once: double the stride, then halve it.
  step_t stride = 1;
  while (stride < to - from && agree(from + stride)) {
    from += stride;
    stride *= 2;
  }
  auto outside = stride < to - from ? from + stride : to;
  while (outside - from > 1) {
    const auto middle = from + (outside - from) / 2;
    (agree(middle) ? from : outside) = middle;
  }
  return outside;
}

class writer {
public:
  /// Adds the values of `x` from `from` until `to`.
  void add(const form& x, step_t from, step_t to) {
    auto at = from;
    if (!result_.empty())
      at = parting(result_.back().shape, x, from, to);
    while (at < to) {
      if (x.is_plateau()) {
        result_.push_back({at, x});
        return;
      }
      if (has_ruled(x, from, at)) {
        const auto moved = is_line(x) ? moved_line(x, at - 2) : std::nullopt;
        result_.push_back({at, moved.value_or(x)});
        return;
      }
      result_.push_back({at, x.plateau_at(at)});
      at = parting(result_.back().shape, x, at + 1, to);
    }
  }

  std::vector<piece> take() { return std::move(result_); }

private:
  /// Whether the curve `x`, given from `from` on, has the values of the two
  /// steps before `at`.
  [[nodiscard]] bool has_ruled(const form& x, step_t from, step_t at) const {
    if (at < 2)
      return false;
    // A line is a form of all steps, also of those before its origin.
    return is_line(x) ? goes_through(x, at - 1) && goes_through(x, at - 2)
                      : from <= at - 2;
  }

  /// Whether what rules step `at` has the value there of the line `x`.
  [[nodiscard]] bool goes_through(const form& x, step_t at) const {
    auto i = result_.size();
    while (result_[--i].begin > at) {
    }
    const auto& rules = result_[i].shape;
    return rules.type == x.type && rules.at(at) == scalar{line_at(x, at)};
  }

  std::vector<piece> result_;
};

} // namespace

std::vector<piece> canonical_form(std::vector<piece> pieces) {
  const sequence given{std::move(pieces)};
  const auto& xs = given.pieces();
  writer out;
  for (std::size_t i = 0; i < xs.size(); ++i)
    out.add(xs[i].shape, xs[i].begin,
            i + 1 < xs.size() ? xs[i + 1].begin : never);
  return out.take();
}

} // namespace hippo
