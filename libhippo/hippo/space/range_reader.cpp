#include "hippo/space/range_reader.hpp"

#include <cmath>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/base/portable_math.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// The most points of a range.
constexpr std::uint64_t points_max = 1'000'000;

class range_reader {
public:
  range_reader(const document& x, const scale_rule& rule, diagnostics& notes,
               const number_rounding& rounded)
    : x_(x), rule_(rule), body_(*x.find(std::string{rule.name})),
      notes_(notes), rounded_(rounded) {}

  std::optional<value_range> read() {
    const auto errors = notes_.errors();
    out_.scale = rule_.scale;
    const auto* points = x_.find("points");
    const auto* step = x_.find("step");
    if (body_.items.size() != 2) {
      notes_.error(body_, std::string{"must be a list "}
                            + (rule_.is_normal ? "[mean, deviation]"
                                               : "[low, high]")
                            + ", found "
                            + (body_.items.empty()
                                 ? body_.found()
                                 : std::to_string(body_.items.size())
                                     + " items"));
      return {};
    }
    if (points != nullptr && step != nullptr)
      notes_.error(*step, "must not stand beside 'points': either says which "
                          "values there are");
    if (step != nullptr && !rule_.takes_step)
      notes_.error(*step, std::string{"is not for "} + std::string{rule_.name}
                            + ": give 'points'");
    const auto first = number_in(body_.items[0]);
    const auto second = number_in(body_.items[1]);
    std::optional<std::uint64_t> count;
    if (points != nullptr)
      count = read_points(*points);
    if (step != nullptr)
      read_step(*step);
    if (notes_.errors() != errors)
      return {};
    if (rule_.is_normal)
      set_normal(*first, *second);
    else
      set_ends(*first, *second);
    if (step != nullptr && !rule_.is_normal && notes_.errors() == errors)
      count = step_off(*step);
    if (notes_.errors() != errors)
      return {};
    if (count)
      out_.set_points(*count);
    else if (rule_.scale == range_scale::int_uniform)
      out_.set_points(static_cast<std::uint64_t>(out_.high - out_.low) + 1);
    return out_;
  }

private:
  std::optional<double> number_in(const document& x) {
    const auto value = x.type == document::kind::leaf ? x.meaning() : json{};
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      notes_.error(x, "must be a finite number, found " + x.found());
      return {};
    }
    return rounded_(x, value.get<double>());
  }

  void set_ends(double low, double high) {
    check_end(body_.items[0], low);
    check_end(body_.items[1], high);
    if (low >= high)
      notes_.error(body_.items[0], "must be below the other end, found "
                                     + to_text(low) + " and " + to_text(high));
    out_.low = low;
    out_.high = high;
  }

  void check_end(const document& x, double end) {
    if (rule_.is_logarithmic && end <= 0)
      notes_.error(x, "must be above 0 on a logarithmic range, found "
                        + x.found());
    else if (rule_.is_whole
             && (std::floor(end) != end || std::abs(end) > canonical_whole_max))
      notes_.error(x, "must be a whole number of at most 12 digits, found "
                        + x.found());
  }

  void set_normal(double mean, double deviation) {
    if (deviation <= 0) {
      notes_.error(body_.items[1], "must be a deviation above 0, found "
                                     + body_.items[1].found());
      return;
    }
    out_.mean = mean;
    out_.deviation = deviation;
    out_.low = out_.between(0).get<double>();
    out_.high = out_.between(1).get<double>();
    const bool is_lost = rule_.is_logarithmic && out_.step == 0
                         && out_.low == 0;
    if (!std::isfinite(out_.low) || !std::isfinite(out_.high) || is_lost)
      notes_.error(body_, "has values beyond what a number can be: "
                            + to_text(deviations_max)
                            + " deviations from the mean lie "
                            + to_text(out_.low) + " and " + to_text(out_.high));
  }

  std::uint64_t read_points(const document& x) {
    const auto value = x.type == document::kind::leaf ? x.meaning() : json{};
    if (value.is_number_integer() && value.get<std::int64_t>() >= 2
        && value.get<std::int64_t>() <= static_cast<std::int64_t>(points_max))
      return value.get<std::uint64_t>();
    notes_.error(x, "must be a whole number from 2 to "
                      + std::to_string(points_max) + ", found " + x.found());
    return 0;
  }

  void read_step(const document& x) {
    const auto value = x.type == document::kind::leaf ? x.meaning() : json{};
    const auto step = value.is_number() ? canonical(value.get<double>()) : 0;
    if (!(step > 0) || !std::isfinite(step))
      notes_.error(x, "must be a finite number above 0, found " + x.found());
    else if (rule_.is_whole
             && (std::floor(step) != step || step > canonical_whole_max))
      notes_.error(x, "must be a whole number of at most 12 digits, found "
                        + x.found());
    out_.step = step;
    out_.step_is_whole = value.is_number_integer();
  }

  /// Makes `step` points: from the low end on, as many as there are.
  /// @returns how many, after moving the high end to the last one
  std::uint64_t step_off(const document& x) {
    const auto step = std::exchange(out_.step, 0);
    const auto end_after = [&](double steps) {
      return canonical(out_.low + step * steps);
    };
    auto steps = std::round((out_.high - out_.low) / step);
    if (!rule_.is_whole && !(steps < static_cast<double>(points_max))) {
      notes_.error(x, "gives more than " + std::to_string(points_max)
                        + " values from " + to_text(out_.low) + " to "
                        + to_text(out_.high));
      return 0;
    }
    if (end_after(steps) > out_.high)
      --steps;
    const auto end = end_after(steps);
    if (end != out_.high)
      notes_.warn(body_, "is not divisible by the step of " + to_text(step)
                           + ": its last value is " + to_text(end) + ", not "
                           + to_text(out_.high));
    out_.high = end;
    return static_cast<std::uint64_t>(steps) + 1;
  }

  const document& x_;
  const scale_rule& rule_;
  const document& body_;
  diagnostics& notes_;
  const number_rounding& rounded_;
  value_range out_;
};

} // namespace

std::vector<std::string> range_names() {
  std::vector<std::string> result;
  for (const auto& x : scale_rules())
    result.emplace_back(x.name);
  return result;
}

const scale_rule* range_in(const document& document) {
  for (const auto& rule : scale_rules())
    if (document.find(std::string{rule.name}) != nullptr)
      return &rule;
  return nullptr;
}

std::optional<value_range> read_range(const document& document,
                                      const scale_rule& rule,
                                      diagnostics& notes,
                                      const number_rounding& rounded) {
  return range_reader{document, rule, notes, rounded}.read();
}

} // namespace hippo
