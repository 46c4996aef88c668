#pragma once

#include <cstdint>
#include <string>

namespace hippo {

/// Returns the text of a study file with the option `lanes` of its workload set
/// to a number, whatever it says itself, and nothing else changed. 1 is what it
/// is where nothing is said, and is not added. A text of which the workload
/// cannot be made out is returned as it is, for `read_study` to say what is
/// wrong with it.
std::string with_lanes(const std::string& study, std::uint32_t lanes);

} // namespace hippo
