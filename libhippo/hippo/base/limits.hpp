#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hippo {

// The limits of messages between a service and its trainers. The codec refuses
// all else, and so does every reader of things that travel later: study files,
// the metrics of a workload.

/// Of a name: a hyper-parameter's, an option's, a metric's, a host's. What may
/// be called so is `name.hpp`.
inline constexpr std::size_t max_name_bytes = 1024;
/// Of a word that is a value (a prompt, say), a message, a folder, a workload
/// key.
inline constexpr std::size_t max_text_bytes = 64 << 10;
inline constexpr std::size_t max_hyper_parameters = 4096;
inline constexpr std::size_t max_workload_options = 4096;
inline constexpr std::size_t max_metrics = 4096;
/// Of the names of all metrics of one measurement.
inline constexpr std::size_t max_metrics_bytes = 64 << 10;
/// Of the different lists of names that the results of a workload key have, as
/// `metric_names::bytes` counts them.
inline constexpr std::size_t max_name_lists_bytes = 4 << 20;

/// How many trials of a study may be open at most; see `trial_window`.
inline constexpr std::uint64_t trials_ahead_max = 4096;

/// Says why a text cannot travel ("holds a zero byte"): it is too long,
/// holds a zero byte, or is not valid UTF-8. @returns nothing if it can
std::optional<std::string> refused_text(std::string_view text,
                                        std::size_t bytes_max);

} // namespace hippo
