#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hippo {

/// A sequence's value at every step, to be drawn.
struct sequence_curve {
  std::string name;
  std::vector<double> values;      ///< by step, from 0; all finite
  std::vector<std::uint64_t> cuts; ///< where another form begins
};

/// The characters of a plot on a terminal.
enum class plot_charset {
  ascii,   ///< one `*` for a character
  braille, ///< 2 by 4 dots in a character
};

/// Draws a curve in text: values upwards, steps to the right, at most `columns`
/// wide and `rows` high, plus two rows for the axis of steps. Each value holds
/// until the next step. Where many steps fall on one dot, all of their values
/// are covered.
/// REQUIRES: the curve has values, `columns >= 30`, `rows >= 3`
/// @complexity O(steps)
std::string plot_text(const sequence_curve& curve, std::size_t columns,
                      std::size_t rows, plot_charset charset);

/// Draws curves of equal length into one picture, a name for each if there are
/// several; a pale line where another form begins. Drawn so that equal input
/// gives equal bytes.
/// REQUIRES: there is a curve, and each has values
/// @complexity O(steps)
std::string plot_svg(const std::vector<sequence_curve>& xs,
                     const std::string& title);

} // namespace hippo
