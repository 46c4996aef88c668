#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hippo/base/types.hpp"

namespace hippo {

// The one grammar for names: of a study, a hyper-parameter, a metric, an
// argument or option of a workload, and every other key of a text that people
// write. Whatever passes it survives messages, the store, HTTP, the page and
// every export. What must hold of bytes that come over the network or from the
// store is `limits.hpp`: it takes all names that older versions took.

/// By which rules a name is judged.
enum class name_rules {
  today,
  of_before, ///< of what an older version took, which still opens
};

inline constexpr std::size_t max_study_name_bytes = 100;

/// Says why nothing can be called so ("begins with white space"): a name has 1
/// to 1,024 bytes of UTF-8, neither begins nor ends with white space, and holds
/// no control character, no line separator and no U+FFFE or U+FFFF.
/// @returns nothing if it can
std::optional<std::string> refused_name(std::string_view name,
                                        name_rules rules = name_rules::today);

/// The same of a study, whose name is also a part of addresses and file names:
/// 1 to 100 ASCII letters, digits, '-', '_' and '.', the first a letter or
/// digit. One of digits alone would be taken for a study's number.
std::optional<std::string>
refused_study_name(std::string_view name,
                   name_rules rules = name_rules::today);

/// How long the names of what was measured are together.
std::size_t bytes_of_names(const metrics& measured);

/// Says why what a workload has measured cannot be told: "a metric whose name
/// is empty: ''".
std::optional<std::string> refused_metrics(const metrics& measured);

} // namespace hippo
