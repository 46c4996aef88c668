#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hippo/sequence/sequence.hpp"

namespace hippo {

/// The joint forms of all hyper-parameters over a range of steps.
using configuration = std::map<std::string, form>;

/// The configuration that rules from `begin` until the next segment.
struct segment {
  step_t begin = 0;
  configuration config;
  friend bool operator==(const segment&, const segment&) = default;
};

/// Cuts `[0, end)` where any of the sequences goes on with another form.
/// @returns segments whose first begins at 0, with strictly increasing begins
///          below `end`; neighbours differ
/// REQUIRES: `end > 0`
/// @complexity O(p log p) in the total number of pieces p
std::vector<segment> join(const std::map<std::string, sequence>& sequences,
                          step_t end);

/// Returns `name=form` for each entry, joined by `;`. Equal texts iff equal
/// configurations; this text is a plan node's identity.
std::string to_text(const configuration& params);

/// Returns the same for people, with the values that code is given.
std::string shown_text(const configuration& params);

/// Returns for each of some steps a number for the values in all steps before
/// it. Equal values have equal numbers; others have by a chance of 2^-64.
/// REQUIRES: `steps` is in order
/// @complexity O(segments + steps)
std::vector<std::uint64_t> states_at(const std::vector<segment>& segments,
                                     const std::vector<step_t>& steps);

} // namespace hippo
