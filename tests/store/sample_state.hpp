#pragma once

#include <vector>

#include "hippo/model/records.hpp"

namespace hippo {

inline constexpr auto sample_key = "toy;seed=1";

/// What the sample databases under tests/data hold: a row at least of every
/// table, among them strands, a NaN and an event of every kind of cause.
std::vector<journal_record> sample_records();

} // namespace hippo
