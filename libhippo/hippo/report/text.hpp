#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/text.hpp"

namespace hippo {

/// Returns a value as text, whole: strings as they are, nothing for null.
std::string plain_text(const nlohmann::ordered_json& document);

/// Returns the parameters in short for a table: `lr=multistep(0.1,[6,9],0.1)
/// batch_size=64`, numbers with 4 significant digits.
std::string brief(const nlohmann::ordered_json& params);

/// How a part of a line looks on a terminal.
enum class style { plain, bold, dim, good, bad };

/// One line for a terminal, made of parts with styles.
class text_line {
public:
  text_line& add(std::string_view text, style look = style::plain);

  /// Columns so far.
  [[nodiscard]] std::size_t width() const;

  /// Returns the line cut to `columns`, with ANSI sequences if `colour`, ended
  /// by a newline. What the parts hold is made `printable()`.
  [[nodiscard]] std::string str(std::size_t columns, bool colour) const;

private:
  struct part {
    std::string text;
    style look;
  };
  std::vector<part> parts_;
};

} // namespace hippo
