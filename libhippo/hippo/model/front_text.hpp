#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "hippo/base/error.hpp"
#include "hippo/model/run_record.hpp"

namespace hippo {

/// A study's goals and their values, in the form in which they are stored and
/// reported; `front_view` of schemas/model.capnp has the same in JSON:
///
///     {"goals": [{"metric": "acc", "direction": "maximize"}, ...],
///      "constraints": ["ms <= 5"],
///      "points": [{"trial": 3, "step": 9, "values": {"acc": 0.9, ...}}, ...],
///      "hypervolume": 0.4, "reference": {"acc": 0.1, "ms": 9}}
///
/// The last two are null as long as there are none. `points` have `params`
/// where they were looked up. A value that is not finite is null.
nlohmann::ordered_json to_json(const goals& wanted, const front_record& record);

/// Reads the same. What is missing or of another kind is an error.
struct told_front {
  goals wanted;
  front_record front;
};
expected<told_front> front_from_json(const std::string& text);

/// Says it in a few words: `front of 5, hypervolume 0.4213`.
std::string brief_text(const front_so_far& front);

} // namespace hippo
