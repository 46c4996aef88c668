#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// Stores configurations as short lists of numbers: each pair of name and form
/// is kept once, so that a million nodes that differ in one hyper-parameter
/// cost a million lists and not a million maps.
class configuration_pool {
public:
  /// Equal lists iff equal configurations.
  using compact = std::vector<std::uint32_t>;

  /// @param cold where the pairs are; outlives the pool
  explicit configuration_pool(std::pmr::memory_resource* cold
                              = std::pmr::get_default_resource())
    : entries_(cold), forms_(cold), by_key_(cold) {}

  /// O(hyper-parameters).
  compact intern(const configuration& params);

  /// Returns what `intern` would, if it would add nothing.
  [[nodiscard]] std::optional<compact> find(const configuration& params) const;

  [[nodiscard]] configuration restore(const compact& packed) const;

  /// Returns a hash of what `packed` stands for, the same in every pool and
  /// every run. O(hyper-parameters).
  [[nodiscard]] std::uint64_t digest_of(const compact& packed) const;

  /// About how much of the cold memory it takes. O(1).
  [[nodiscard]] std::uint64_t cold_bytes() const;

private:
  /// A form: most often a constant, of which many trials have one each of their
  /// own, else the place of one in `forms_`.
  using packed_form = std::variant<double, std::uint32_t>;

  struct entry {
    packed_form shape;
    std::uint64_t digest = 0; ///< of name and form, as text
    std::uint32_t name = 0;   ///< of `names_`
  };

  [[nodiscard]] packed_form pack(const form& form);
  [[nodiscard]] form unpack(const packed_form& packed) const;

  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t key,
                                                  const std::string& name,
                                                  const form& shape) const;

  std::pmr::deque<entry> entries_;
  std::pmr::deque<form> forms_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::pmr::unordered_multimap<std::uint64_t, std::uint32_t> by_key_;
};

} // namespace hippo
