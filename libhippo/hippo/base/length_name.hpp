#pragma once

namespace hippo {

/// The name by which a trial's values have its length, where the study's trials
/// have several: as a study file has it.
inline constexpr auto length_name = "steps.max";

} // namespace hippo
