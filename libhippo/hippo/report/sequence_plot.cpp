#include "hippo/report/sequence_plot.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "hippo/report/svg.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

/// The values that a plot must have room for.
struct span {
  double low = 0;
  double high = 0;

  void cover(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

span span_of(const std::vector<double>& xs) {
  span result{xs.at(0), xs.at(0)};
  for (auto x : xs)
    result.cover(x);
  return result;
}

/// A column of a plot covers some steps, or a part of one.
span span_of_column(const std::vector<double>& xs, std::size_t column,
                    std::size_t columns) {
  const auto first = column * xs.size() / columns;
  const auto last = std::max(first + 1, (column + 1) * xs.size() / columns);
  span result{xs[first], xs[first]};
  for (auto i = first; i < last; ++i)
    result.cover(xs[i]);
  return result;
}

// -- text ---------------------------------------------------------------------

constexpr std::size_t label_columns = 10;

/// Dots, row 0 on top.
class canvas {
public:
  canvas(std::size_t width, std::size_t height)
    : width_(width), dots_(width * height) {}

  void set(std::size_t x, std::size_t y) { dots_[y * width_ + x] = true; }
  [[nodiscard]] bool has(std::size_t x, std::size_t y) const {
    return dots_[y * width_ + x];
  }

private:
  std::size_t width_;
  std::vector<bool> dots_;
};

/// Returns the character of 2 by 4 dots whose top left one is at (x, y).
std::string braille(const canvas& in, std::size_t x, std::size_t y) {
  // The order of the bits is Unicode's.
  constexpr std::array<std::array<unsigned, 2>, 4> bits{
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
  unsigned code = 0;
  for (std::size_t dy = 0; dy < 4; ++dy)
    for (std::size_t dx = 0; dx < 2; ++dx)
      if (in.has(x + dx, y + dy))
        code |= bits[dy][dx];
  if (code == 0)
    return " ";
  const auto third = static_cast<char>(0x80 + (code & 0x3f));
  return {static_cast<char>(0xe2), static_cast<char>(0xa0 + (code >> 6)),
          third};
}

} // namespace

std::string plot_text(const sequence_curve& curve, std::size_t columns,
                      std::size_t rows, plot_charset charset) {
  assert(!curve.values.empty() && columns >= 30 && rows >= 3);
  const bool fine = charset == plot_charset::braille;
  const auto cells = columns - label_columns - 2;
  const auto width = cells * (fine ? 2 : 1);
  const auto height = rows * (fine ? 4 : 1);
  const auto all = span_of(curve.values);
  const bool flat = all.low == all.high;
  const auto row_of = [&](double value) {
    if (flat)
      return height / 2;
    // Halves first: the difference of large values may be infinite.
    const auto share = (value / 2 - all.low / 2) / (all.high / 2 - all.low / 2);
    return height - 1
           - static_cast<std::size_t>(
             std::lround(share * static_cast<double>(height - 1)));
  };
  canvas dots{width, height};
  double before = curve.values[0];
  for (std::size_t column = 0; column < width; ++column) {
    auto part = span_of_column(curve.values, column, width);
    const auto last = std::max(column * curve.values.size() / width + 1,
                               (column + 1) * curve.values.size() / width);
    part.cover(before); // no gap where a value jumps
    for (auto y = row_of(part.high); y <= row_of(part.low); ++y)
      dots.set(column, y);
    before = curve.values[last - 1];
  }
  std::string result;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string label;
    if (flat && row == rows / 2)
      label = significant(all.low, 4);
    else if (!flat && row == 0)
      label = significant(all.high, 4);
    else if (!flat && row == rows - 1)
      label = significant(all.low, 4);
    result += pad_left(label, label_columns) + (fine ? " ┤" : " |");
    std::string line;
    for (std::size_t cell = 0; cell < cells; ++cell)
      if (fine)
        line += braille(dots, 2 * cell, 4 * row);
      else
        line += dots.has(cell, row) ? '*' : ' ';
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  result += std::string(label_columns, ' ') + (fine ? " └" : " +");
  for (std::size_t cell = 0; cell < cells; ++cell)
    result += fine ? "─" : "-";
  const auto end = std::to_string(curve.values.size());
  return result + '\n' + std::string(label_columns + 2, ' ') + '0'
         + pad_left(end, cells - 1) + '\n';
}

// -- pictures -----------------------------------------------------------------

namespace {

constexpr double picture_width = 640;
constexpr double picture_height = 260;
constexpr double frame_left = 70;
constexpr double frame_right = 20;
constexpr double frame_top = 40;
constexpr double frame_bottom = 36;
constexpr double label_px = 12;
constexpr double title_px = 14;
constexpr std::size_t points_max = 500; ///< steps drawn one by one
constexpr std::size_t cuts_max = 100;   ///< lines that can be told apart
constexpr const char* grey = "#cccccc";

std::string line(double x1, double y1, double x2, double y2,
                 const std::string& colour) {
  return "<line x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2)
         + "\" y2=\"" + px(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

/// Places values and steps in the picture.
struct frame {
  span values;
  double steps = 1;

  [[nodiscard]] double x(double step) const {
    return frame_left
           + step / steps * (picture_width - frame_left - frame_right);
  }
  [[nodiscard]] double y(double value) const {
    const auto share = (value / 2 - values.low / 2)
                       / (values.high / 2 - values.low / 2);
    return picture_height - frame_bottom
           - share * (picture_height - frame_top - frame_bottom);
  }
};

std::string axes(const frame& at) {
  std::string result;
  auto ticks = round_ticks(at.values.high, 4);
  for (auto x : round_ticks(-at.values.low, 4))
    if (x > 0)
      ticks.push_back(-x);
  for (auto value : ticks)
    result += line(frame_left, at.y(value), picture_width - frame_right,
                   at.y(value), "#eeeeee")
              + svg_text(frame_left - 8, at.y(value) + 4, significant(value, 3),
                         label_px, "text-anchor=\"end\"");
  for (auto step : round_ticks(at.steps, 8))
    result +=
      svg_text(at.x(step), picture_height - frame_bottom + 18,
               significant(step, 9), label_px, "text-anchor=\"middle\"");
  return result
         + line(frame_left, frame_top, frame_left,
                picture_height - frame_bottom, "#888888");
}

std::string polyline(const sequence_curve& x, const frame& at,
                     const std::string& colour) {
  std::string points;
  const auto add = [&](double step, double value) {
    points += (points.empty() ? "" : " ") + px(at.x(step)) + ','
              + px(at.y(value));
  };
  const auto columns = std::min(x.values.size(), points_max);
  for (std::size_t i = 0; i < columns; ++i) {
    const auto part = span_of_column(x.values, i, columns);
    const auto width = at.steps / static_cast<double>(columns);
    const auto begin = static_cast<double>(i) * width;
    // Of steps that fall together, the way from the lowest to the highest.
    const auto first = x.values[i * x.values.size() / columns];
    const bool falls = first > part.low / 2 + part.high / 2;
    add(begin, falls ? part.high : part.low);
    add(begin + width, falls ? part.low : part.high);
  }
  return "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + colour
         + "\" points=\"" + points + "\"/>\n";
}

} // namespace

std::string plot_svg(const std::vector<sequence_curve>& xs,
                     const std::string& title) {
  assert(!xs.empty());
  frame at;
  for (const auto& x : xs) {
    const auto all = span_of(x.values);
    at.values.cover(all.low); // 0 is always shown
    at.values.cover(all.high);
    at.steps = std::max(at.steps, static_cast<double>(x.values.size()));
  }
  if (at.values.low == at.values.high)
    at.values.high = 1;
  auto result = svg_open(picture_width, picture_height, title) + axes(at);
  if (xs.size() == 1 && xs[0].cuts.size() <= cuts_max)
    for (auto cut : xs[0].cuts)
      result += line(at.x(static_cast<double>(cut)), frame_top,
                     at.x(static_cast<double>(cut)),
                     picture_height - frame_bottom, grey);
  result += svg_text(
    frame_left, 24,
    fit_pixels(title, picture_width - frame_left - frame_right, title_px),
    title_px);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    result += polyline(xs[i], at, palette_colour(i));
    if (xs.size() > 1)
      result +=
        svg_text(picture_width - frame_right,
                 frame_top + 12 + 14 * static_cast<double>(i),
                 fit_pixels(xs[i].name, picture_width / 2, label_px), label_px,
                 "text-anchor=\"end\" style=\"fill:" + palette_colour(i) + '"');
  }
  return result + "</svg>\n";
}

} // namespace hippo
