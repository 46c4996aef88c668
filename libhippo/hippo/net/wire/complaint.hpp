#pragma once

#include <string>
#include <string_view>

namespace hippo {

/// Why a message is refused; the first reason counts.
class complaint {
public:
  /// Returns `ok` and notes `why` if it is false.
  bool require(bool ok, const char* what, std::string_view why) {
    if (!ok && text_.empty())
      text_ = std::string{what}.append(" ").append(why);
    return ok;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

private:
  std::string text_;
};

} // namespace hippo
