#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hippo {

/// Impressions of advertisements in the order of time, in the form of Criteo's
/// logs: each has 13 numbers and 26 categories, and was clicked or not.
struct click_log {
  static constexpr std::int64_t number_count = 13;
  static constexpr std::int64_t category_count = 26;

  at::Tensor numbers; ///< impressions x 13 floats
  at::Tensor rows;   ///< impressions x 26 int32: a row of each category's table
  at::Tensor labels; ///< floats: 1 where it was clicked, else 0

  [[nodiscard]] std::int64_t size() const { return labels.numel(); }

  /// Returns the impressions from `first` on, without copying them.
  [[nodiscard]] click_log part(std::int64_t first, std::int64_t count) const {
    return {numbers.narrow(0, first, count), rows.narrow(0, first, count),
            labels.narrow(0, first, count)};
  }
};

/// The impressions that are read: those to train on, and the ones that follow.
struct click_split {
  std::size_t training = 0;
  std::size_t validation = 0;
  std::uint64_t rows = 0; ///< of a category's table: tokens are hashed to these
};

struct click_data {
  click_log training, validation;
};

/// Makes impressions whose clicks a hidden factorisation machine decides
/// (Rendle, 2010): its logit adds up an effect of each category, products of
/// hidden vectors of two categories, and a share of each number. Few tokens of
/// a category are frequent, many are rare. All is a function of the number of
/// an impression; the same bits on every CPU.
click_data make_clicks(const click_split& split);

/// Reads the first lines of a file in the form of Criteo's `train.txt`: 1 or 0,
/// 13 whole numbers and 26 categories, separated by tabs; any of them but the
/// first may be empty. A number counts as ln(1 + number), and as 0 where it is
/// missing or below 0.
/// Throws `missing_data_error` without the file, and `std::runtime_error` with
/// the place and the right form of a line that has another one.
click_data read_criteo(const std::string& path, const click_split& split);

/// Returns the row of a category's table that stands for a token.
std::int32_t click_row(std::int64_t category, std::uint64_t token,
                       std::uint64_t rows);

} // namespace hippo
