#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hippo {

/// Of the page of a picture, in pixels.
inline constexpr double svg_margin = 28;

/// Returns `text` as XML character data or attribute value: escaped, without
/// characters that XML forbids.
std::string xml_text(std::string_view text);

/// Returns a coordinate in pixels, rounded to a tenth; 0 if not finite.
std::string px(double value);

/// Returns an estimate, on the safe side, of the pixels that `text` takes.
double text_pixels(std::string_view text, double font_px);

/// Cuts `text` so that it takes at most `pixels`; empty if not even a few
/// characters fit.
std::string fit_pixels(std::string_view text, double pixels, double font_px);

/// A colour, `#rrggbb`, of a palette that colour-blind people can tell apart
/// (Okabe and Ito); repeats after 7.
std::string palette_colour(std::size_t index);

/// Mixes `share` (0 to 1) of `other` into `colour`; both `#rrggbb`.
std::string mix(const std::string& colour, const std::string& other,
                double share);

/// The opening of a picture: light background, system fonts, nothing external.
std::string svg_open(double width, double height, std::string_view title);

/// A text at (x_px, y_px) of the base line. `attributes` go into the element as
/// they are, `text` is escaped.
std::string svg_text(double x_px, double y_px, std::string_view text,
                     double font_px, std::string_view attributes = "");

/// A `<title>` that shows as a tooltip, a line for each of `lines`; lines are
/// cut at a length that nobody reads to the end of.
std::string svg_tooltip(const std::vector<std::string>& lines);

/// Returns round numbers from 0 up to `last`, at most about `count` of them.
std::vector<double> round_ticks(double last, double count);

} // namespace hippo
