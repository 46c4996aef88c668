#include "hippo/net/link/link_watch.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

link_limits limits_for(std::chrono::milliseconds silence_max) {
  link_limits result;
  result.beat = std::clamp<std::chrono::milliseconds>(
    silence_max / 4, std::chrono::milliseconds{10}, std::chrono::seconds{1});
  result.silent_beats_max
    = static_cast<unsigned>(2 * silence_max / result.beat);
  return result;
}

link_watch::verdict
link_watch::beat(bool any_unsent,
                 std::optional<std::size_t> begun) noexcept {
  if (is_finishing_ && ++since_finishing_ > limits_.end_beats_max)
    return verdict::over;
  if (!has_said_hello_ && ++since_opened_ > limits_.hello_beats_max)
    return verdict::late;
  if (++since_received_ > limits_.silent_beats_max)
    return verdict::silent;
  if (begun && ++since_begun_ > limits_.silent_beats_max) {
    const auto beyond = since_begun_ - limits_.silent_beats_max;
    if (static_cast<double>(*begun)
        < std::chrono::duration<double>(limits_.beat * beyond).count()
            * static_cast<double>(limits_.message_bytes_per_second_min))
      return verdict::slow;
  }
  since_taken_ = any_unsent ? since_taken_ + 1 : 0;
  if (since_taken_ > limits_.silent_beats_max)
    return verdict::stuck;
  const bool is_quiet = !std::exchange(sent_, false);
  return is_quiet && has_spoken_ && !is_finishing_ && !any_unsent
           ? verdict::speak
           : verdict::fine;
}

} // namespace hippo
