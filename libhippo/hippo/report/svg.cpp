#include "hippo/report/svg.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "hippo/report/text.hpp"

namespace hippo {

namespace {

constexpr std::size_t tooltip_line_max = 600;

/// Of one character, relative to the size of the font: generous, because the
/// reader's font is not known.
constexpr double character_width = 0.6;

std::array<int, 3> channels(const std::string& colour) {
  std::array<int, 3> result{};
  for (std::size_t i = 0; i < 3; ++i)
    std::from_chars(colour.data() + 1 + 2 * i, colour.data() + 3 + 2 * i,
                    result[i], 16);
  return result;
}

} // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  for (char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string px(double value) {
  if (!std::isfinite(value))
    return "0";
  auto result = fixed(value, 1);
  if (result.ends_with(".0"))
    result.resize(result.size() - 2);
  return result == "-0" ? "0" : result;
}

double text_pixels(std::string_view text, double font_px) {
  return static_cast<double>(display_width(text)) * font_px * character_width;
}

std::string fit_pixels(std::string_view text, double pixels, double font_px) {
  if (text_pixels(text, font_px) <= pixels)
    return std::string{text};
  const double columns = pixels / (font_px * character_width);
  return columns < 4 ? "" : fit(text, static_cast<std::size_t>(columns));
}

std::string palette_colour(std::size_t index) {
  static constexpr std::array colours{"#0072b2", "#e69f00", "#009e73",
                                      "#cc79a7", "#56b4e9", "#d55e00",
                                      "#b8a800"};
  return colours[index % colours.size()];
}

std::string mix(const std::string& colour, const std::string& other,
                double share) {
  const auto a = channels(colour);
  const auto b = channels(other);
  std::string result = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value =
      static_cast<unsigned>(std::lround(a[i] + share * (b[i] - a[i])));
    result += "0123456789abcdef"[value / 16 % 16];
    result += "0123456789abcdef"[value % 16];
  }
  return result;
}

std::string svg_open(double width, double height, std::string_view title) {
  const auto w = px(width);
  const auto h = px(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w
         + "\" height=\"" + h + "\" viewBox=\"0 0 " + w + ' ' + h
         + "\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
           "'DejaVu Sans', sans-serif\" fill=\"#222222\">\n<title>"
         + xml_text(title) + "</title>\n<rect width=\"" + w + "\" height=\"" + h
         + "\" fill=\"#ffffff\"/>\n";
}

std::string svg_text(double x_px, double y_px, std::string_view text,
                     double font_px, std::string_view attributes) {
  std::string result = "<text x=\"" + px(x_px) + "\" y=\"" + px(y_px)
                       + "\" font-size=\"" + px(font_px) + '"';
  if (!attributes.empty())
    result.append(" ").append(attributes);
  return result + '>' + xml_text(text) + "</text>\n";
}

std::string svg_tooltip(const std::vector<std::string>& lines) {
  std::string result = "<title>";
  for (std::size_t i = 0; i < lines.size(); ++i)
    result += (i == 0 ? "" : "\n") + xml_text(fit(lines[i], tooltip_line_max));
  return result + "</title>";
}

std::vector<double> round_ticks(double last, double count) {
  if (!(last > 0) || !std::isfinite(last))
    return {0};
  const double raw = last / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= raw)
      step = factor * power;
  std::vector<double> result;
  for (double i = 0; i * step <= last * (1 + 1e-9); ++i)
    result.push_back(i * step);
  return result;
}

} // namespace hippo
