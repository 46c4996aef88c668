#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hippo/space/value_range.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// The keys of all ranges, as a study file has them.
std::vector<std::string> range_names();

/// Returns the rule of the range that a map is, or null if it is none.
const scale_rule* range_in(const document& document);

/// Returns a number of a document as it is trained with.
using number_rounding = std::function<double(const document&, double)>;

/// Reads a range: a map with the key of `rule`, and perhaps `points` or `step`.
/// @param rounded of its two numbers
/// @returns it, or nothing after noting what is wrong
std::optional<value_range> read_range(const document& document,
                                      const scale_rule& rule,
                                      diagnostics& notes,
                                      const number_rounding& rounded);

} // namespace hippo
