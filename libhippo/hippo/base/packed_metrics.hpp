#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// The names of metrics, each list of them once: a study measures the same ones
/// again and again.
class metric_names {
public:
  /// Returns the place of the names of `numbers`, which are kept if they are
  /// new.
  /// @complexity O(metrics) if they are those of the last call, else
  ///             O(metrics * log lists)
  std::uint32_t intern(const metrics& numbers);

  /// How much more `bytes` would be after `intern`; 0: they are known.
  /// @complexity as of `intern`
  [[nodiscard]] std::uint64_t bytes_more(const metrics& numbers) const;

  /// How much the lists take, in bytes. O(1).
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// REQUIRES: `place` is of `intern`.
  [[nodiscard]] const std::vector<std::string>& at(std::uint32_t place) const {
    return *lists_[place];
  }

private:
  using list = std::vector<std::string>;

  [[nodiscard]] bool is_last(const metrics& numbers) const;
  static list list_of(const metrics& numbers);
  static std::uint64_t bytes_of(const metrics& numbers);

  std::map<list, std::uint32_t> places_;
  std::vector<const list*> lists_; ///< keys of `places_`
  std::uint32_t last_ = 0;
  std::uint64_t bytes_ = 0;
};

/// The result of an evaluation, in 16 bytes and 8 for each metric: a map of
/// names takes ten times as much. Keeps values bit for bit.
class packed_metrics {
public:
  packed_metrics() = default; ///< nothing
  packed_metrics(const metrics& numbers, metric_names& names);
  /// Zeros, to be written to.
  packed_metrics(std::uint32_t place, const metric_names& names);

  /// @param names that it was made with
  [[nodiscard]] metrics unpack(const metric_names& names) const;

  /// The place of its names, the values in their order, and how many there are.
  [[nodiscard]] std::uint32_t names() const noexcept { return names_; }
  [[nodiscard]] const double* values() const noexcept { return values_.get(); }
  [[nodiscard]] double* values() noexcept { return values_.get(); }
  [[nodiscard]] std::size_t size(const metric_names& names) const {
    return values_ ? names.at(names_).size() : 0;
  }

private:
  std::unique_ptr<double[]> values_; ///< in the order of their names
  std::uint32_t names_ = 0;
};

} // namespace hippo
