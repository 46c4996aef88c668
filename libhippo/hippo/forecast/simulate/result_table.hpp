#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The most bytes that the text of a table may have.
inline constexpr std::size_t result_table_bytes_max = 64 << 20;

struct result_table_file;

/// Recorded results of real training, for simulations: a tabular
/// benchmark (Klein and Hutter, arXiv 1905.04970), in which trials that begin
/// alike have the same results up to where they part.
///
/// A state of training is what the hyper-parameters of the table's columns were
/// in each step up to it, by value, so that it does not matter how a schedule
/// is spelt. Other hyper-parameters change nothing.
///
/// Immutable and thread-safe.
class result_table {
public:
  /// A state of training; the first one is 0.
  using state = std::uint64_t;

  /// Returns the state `at + 1` that follows from state `at`. O(columns).
  /// REQUIRES: `config` has every hyper-parameter of the table
  [[nodiscard]] state next(state current, const configuration& config,
                           step_t at) const;

  /// Returns what was measured in a state, NaN where training had diverged;
  /// nothing if no row passes through the state, and no metrics if those that
  /// do were not measured there.
  [[nodiscard]] const metrics* find(state current) const;

  /// Says where a trial that is measured every so many steps leaves the table,
  /// if it does.
  [[nodiscard]] std::optional<std::string>
  misses(const std::vector<segment>& trial, step_t steps, step_t every) const;

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

private:
  friend class result_table_reader;

  std::vector<std::string> columns_; ///< hyper-parameters
  std::unordered_map<state, metrics> states_;
  std::size_t rows_ = 0;
};

/// The result of reading a table: one unless there is an error.
struct result_table_file {
  std::optional<result_table> table;
  std::vector<diagnostic> errors;
};

/// Reads a table: CSV (RFC 4180) with a line of names. A column is a
/// hyper-parameter, whose values are written as in a study file, or one metric
/// at one step, `val_accuracy@9`; docs/simulation.md describes it. Every error
/// that can be told independently is told.
/// @param name stands for the file in messages
/// @param workload that was trained; each of its metrics has a column
result_table_file read_result_table(const std::string& text,
                                    const std::string& name,
                                    const workload_descriptor& workload);

} // namespace hippo
