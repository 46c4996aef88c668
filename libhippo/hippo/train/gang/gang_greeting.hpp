#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hippo/base/ids.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// The first bytes of a connection between members of a gang: which gang it is
/// for, and proof that the one that connects knows the gang's secret, which it
/// does not show. All are of one length.
struct gang_greeting {
  static constexpr std::size_t proof_bytes = 64;
  static constexpr std::size_t bytes = 24 + proof_bytes;

  lease_id lead{};        ///< names the gang
  std::uint32_t from = 0; ///< the rank of the one that connects
  std::uint32_t to = 0;   ///< and of the one that is to answer
  std::string proof;

  /// Returns that of a member.
  static gang_greeting of(const gang_place& place, std::uint32_t to);

  /// Reads `bytes` bytes. @returns nothing if they are no greeting
  static std::optional<gang_greeting> read(std::span<const std::byte> bytes);

  [[nodiscard]] std::array<std::byte, bytes> write() const;

  /// Whether the one that connects knows the secret.
  [[nodiscard]] bool is_proved_by(const std::string& secret) const;

  /// Returns the answer, of `proof_bytes`, which proves the same of the other.
  [[nodiscard]] std::string answer(const std::string& secret) const;
};

/// Whether two texts are equal. Takes as long wherever they differ.
bool are_equal_secrets(const std::string& left, const std::string& right);

} // namespace hippo
