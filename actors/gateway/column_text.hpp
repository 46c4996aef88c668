#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/cell_column.hpp"

namespace hippo {

/// JSON in one line, whatever bytes its texts have.
inline std::string text_of(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

/// Writes an object by columns.
class columns {
public:
  /// Adds a member, of which the value is to be written next.
  std::string& add(const char* name) {
    text_ += text_.empty() ? '{' : ',';
    text_ += '"';
    text_ += name;
    text_ += "\":";
    return text_;
  }
  /// Adds a list of what `cell_of` gives for each item.
  template <class Items, class F>
  void add_list(const char* name, const Items& items, F cell_of) {
    add(name) += '[';
    for (const auto& x : items) {
      write(cell_of(x));
      text_ += ',';
    }
    if (text_.back() == ',')
      text_.pop_back();
    text_ += ']';
  }
  std::string take() {
    text_ += "}\n";
    return std::move(text_);
  }

private:
  void write(std::uint64_t number) { add_number(text_, number); }
  void write(double number) { add_number(text_, number); }
  void write(const std::string& word) { text_ += text_of(word); }
  void write(const nlohmann::ordered_json& value) { text_ += text_of(value); }
  void write(const std::optional<std::uint64_t>& number) {
    if (number)
      add_number(text_, *number);
    else
      text_ += "null";
  }

  std::string text_;
};

} // namespace hippo
