#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hippo/report/record.hpp"
#include "hippo/store/records.hpp"
#include "studies.hpp"

namespace hippo {

/// What the state folder remembers of a study besides its text.
struct study_note {
  std::string file; ///< where the text came from
  std::string metric;
  std::optional<best_record> best;
  std::uint64_t best_leaf = 0; ///< the plan's last node of the best trial
};

/// Makes the entry for a study; before it has run there is no `record`.
stored_study note_study(const loaded_study& x, std::uint64_t seq,
                        const study_record* record = nullptr,
                        std::uint64_t best_leaf = 0);

/// Reads what `note_study` wrote.
expected<study_note> read_note(const stored_study& x);

} // namespace hippo
