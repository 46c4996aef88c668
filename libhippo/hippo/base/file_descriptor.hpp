#pragma once

#include <utility>

namespace hippo {

/// An open file of the operating system; closed when destroyed.
class file_descriptor {
public:
  /// @param number as `open` returned it; negative: none
  explicit file_descriptor(int number = -1) noexcept : number_(number) {}
  file_descriptor(file_descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor();

  explicit operator bool() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }

  /// Lets go of it: whoever has the number closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

private:
  int number_;
};

} // namespace hippo
