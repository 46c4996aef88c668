#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

namespace ledger_detail {
struct account;
} // namespace ledger_detail

/// Bytes that are held on behalf of a party. They are given back when this
/// ends, on any thread.
class byte_booking {
public:
  byte_booking() = default; ///< of nothing
  byte_booking(byte_booking&& other) noexcept;
  byte_booking& operator=(byte_booking&& other) noexcept;
  ~byte_booking();

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Holds so many from now on. To hold fewer always succeeds.
  /// @returns nothing, or `errc::resource_exhausted`: `bytes()` is as before
  std::optional<error> resize(std::uint64_t bytes);

private:
  friend class byte_account;

  std::shared_ptr<ledger_detail::account> account_;
  std::uint64_t bytes_ = 0;
};

/// A party on whose behalf bytes are held: an address, an identity, one of its
/// connections. A handle; the account is there as long as a handle, a booking
/// or an account below it is.
class byte_account {
public:
  /// Returns the account of `name` below this one: the same one to all who ask
  /// while it is there.
  [[nodiscard]] byte_account open(const std::string& name) const;

  /// Takes bytes for as long as the booking lives.
  /// @returns `errc::resource_exhausted` if that is more than its share
  expected<byte_booking> take(std::uint64_t bytes) const;

  /// The bytes that it holds, and all below it.
  [[nodiscard]] std::uint64_t held() const;

  /// How much it may take now.
  [[nodiscard]] std::uint64_t available() const;

  /// @example `"10.0.0.7"`; a ledger's own account has the ledger's
  [[nodiscard]] const std::string& name() const;

private:
  friend class byte_ledger;

  explicit byte_account(std::shared_ptr<ledger_detail::account> account)
    : account_(std::move(account)) {}

  std::shared_ptr<ledger_detail::account> account_;
};

/// The memory that may be held on behalf of parties that nobody vouches for,
/// and the shares that they have of it.
///
/// A party may take what leaves at least as much free as it then holds. So one
/// that takes all it can gets half, two a third each, n of them 1/(n+1), and as
/// much stays free for whoever comes next: nobody has to be told to give back,
/// and who holds less than what is free is never refused. It is the dynamic
/// threshold of shared-memory switches (Choudhury and Hahne, "Dynamic Queue
/// Length Thresholds for Shared-Memory Packet Switches", 1998) with a factor of
/// one, applied at each level of a tree: what an identity may yet take is what
/// its connections share.
///
/// Thread-safe. O(depth) for a booking.
/// @invariant an account holds the sum of its bookings and of the accounts
///            below it; `room()` is never exceeded
class byte_ledger {
public:
  /// Of services that name no other.
  static constexpr std::uint64_t default_room = std::uint64_t{256} << 20;

  /// @param name whom the room is for, as refusals say it
  explicit byte_ledger(std::string name = "clients and trainers",
                       std::uint64_t room = default_room);

  [[nodiscard]] byte_account root() const { return byte_account{root_}; }
  [[nodiscard]] std::uint64_t room() const noexcept;

private:
  std::shared_ptr<ledger_detail::account> root_;
};

} // namespace hippo
