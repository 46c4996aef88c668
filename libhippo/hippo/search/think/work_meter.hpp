#pragma once

#include <cstdint>

namespace hippo {

/// Counts what decisions of studies have cost on this thread, in values that
/// were drawn or judged. The same decisions always cost the same: tests see by
/// it where something is decided, however fast or busy the machine is.
class work_meter {
public:
  static void charge(std::uint64_t values) noexcept { spent_ += values; }
  [[nodiscard]] static std::uint64_t spent() noexcept { return spent_; }

  /// Work during the life of this object does not count.
  class pause {
  public:
    pause() = default;
    ~pause() { spent_ = before_; }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;

  private:
    std::uint64_t before_ = spent_;
  };

private:
  static inline thread_local std::uint64_t spent_ = 0;
};

} // namespace hippo
