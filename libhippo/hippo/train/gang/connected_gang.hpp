#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/gang/gang_port.hpp"
#include "hippo/train/gang/member_connection.hpp"
#include "hippo/train/gang_lead.hpp"

namespace hippo {

/// A gang whose members are trainers, by the place of one of them: it has a
/// connection to each that it exchanges with, and to the lead, and the lead to
/// all. The member of the higher rank connects.
///
/// One thread at a time uses it.
class connected_gang final : public gang,
                             public gang_lead,
                             private gang_port::beating {
public:
  /// Waits until the others are there.
  /// @param is_cancelled whether the lease of this member was cancelled; called
  ///        again and again, as long as the gang is there
  /// @returns `errc::gang_lost` if one of them does not come in time, or
  ///          `errc::cancelled`
  /// REQUIRES: `port` outlives the gang that is returned.
  static expected<std::unique_ptr<connected_gang>>
  join(gang_port& port, const gang_place& place,
       member_connection::cancel_test is_cancelled);

  ~connected_gang() override;
  connected_gang(const connected_gang&) = delete;
  connected_gang& operator=(const connected_gang&) = delete;

  [[nodiscard]] std::size_t size() const override {
    return place_.members.size();
  }
  [[nodiscard]] std::size_t rank() const override { return place_.rank; }
  void exchange(std::size_t peer, std::span<const std::byte> out,
                std::span<std::byte> in) override;

  // -- the lead ---------------------------------------------------------------

  /// Has the others train or measure. Throws `gang_lost`, here and below.
  void give_order(const gang_order& order);

  /// Waits until all others are in the first state or, later, have carried out
  /// the order. @returns whether one of them leaves
  bool await_done();

  // -- another member ---------------------------------------------------------

  std::optional<gang_order> next() override;
  void tell_done(bool leaves) override;

  // -- the end ----------------------------------------------------------------

  /// Tells the others how the lease of this member has ended, and waits a
  /// moment until they know.
  void finish(const std::optional<error>& failure);

private:
  class joining;

  connected_gang(gang_port& port, const gang_place& place);

  [[nodiscard]] std::string name_of(std::uint32_t rank) const;
  member_connection& connection(std::size_t rank) {
    return *connections_.at(static_cast<std::uint32_t>(rank));
  }
  void beat() noexcept override;

  gang_port& port_;
  const gang_place place_;
  std::mutex mutex_; ///< guards what is added to the next; its thread reads it
  std::map<std::uint32_t, std::unique_ptr<member_connection>> connections_;
};

} // namespace hippo
