#pragma once

namespace hippo {

/// The name by which a trial's values have its length, where the study's trials
/// have several: the key of early study files, by which lengths are stored and
/// drawn. Study files write `max_steps`.
inline constexpr auto length_name = "steps.max";

} // namespace hippo
