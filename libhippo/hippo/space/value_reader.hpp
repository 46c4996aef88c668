#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Turns a scalar of a document into one of the domain; truth values are 1 and
/// 0. REQUIRES: a leaf.
scalar to_scalar(const document& document);

/// Reads single values of a document. Where one is not what it should be, an
/// error is noted and nothing returned.
class value_reader {
public:
  explicit value_reader(diagnostics& notes) : notes_(&notes) {}

  [[nodiscard]] diagnostics& notes() const noexcept { return *notes_; }

  /// Notes every key of a map that is not among `known`.
  void known_keys(const document& document, const std::string& what,
                  const std::vector<std::string>& known) const;

  /// Returns the value of a map's key, or null after noting that it is missing.
  const document* required(const document& document,
                           const std::string& key) const;

  /// Whether `document` is a map. @param what it should hold, for the message
  [[nodiscard]] bool is_map(const document& document,
                            const std::string& what) const;

  [[nodiscard]] std::optional<std::string> word(const document& document) const;
  [[nodiscard]] std::optional<bool> truth(const document& document) const;

  /// Reads a list of at least one word.
  [[nodiscard]] std::optional<std::vector<std::string>>
  words(const document& document) const;

  [[nodiscard]] std::optional<std::uint64_t> whole(const document& document,
                                                   std::uint64_t least,
                                                   std::uint64_t most) const;

  [[nodiscard]] std::optional<double> finite(const document& document) const;

  /// Reads a number from 0 to `most`.
  [[nodiscard]] std::optional<double> from_zero(const document& document,
                                                double most) const;

  /// Reads a finite number above 0.
  [[nodiscard]] std::optional<double> positive(const document& document) const;

private:
  diagnostics* notes_;
};

} // namespace hippo
