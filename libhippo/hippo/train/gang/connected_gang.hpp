#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/gang/gang_port.hpp"
#include "hippo/train/gang/member_connection.hpp"
#include "hippo/train/gang_lead.hpp"

namespace hippo {

/// The connections that a gang's members have.
enum class gang_links : std::uint8_t {
  exchanging, ///< to the lead, and to those that a member exchanges with
  to_lead,    ///< to the lead alone, which has the state of all
};

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
  /// @param links `exchanging` only of a power of two of members
  /// @returns `errc::gang_lost` if one of them does not come in time, or
  ///          `errc::cancelled`
  /// REQUIRES: `port` outlives the gang that is returned.
  static expected<std::unique_ptr<connected_gang>>
  join(gang_port& port, const gang_place& place,
       member_connection::cancel_test is_cancelled,
       gang_links links = gang_links::exchanging);

  ~connected_gang() override;
  connected_gang(const connected_gang&) = delete;
  connected_gang& operator=(const connected_gang&) = delete;

  [[nodiscard]] std::size_t size() const override {
    return place_.members.size();
  }
  [[nodiscard]] std::size_t rank() const override { return place_.rank; }
  [[nodiscard]] const gang_place& place() const { return place_; }

  /// Names a member to people.
  [[nodiscard]] std::string name_of(std::uint32_t rank) const;

  void exchange(std::size_t peer, std::span<const std::byte> out,
                std::span<std::byte> in) override;

  // -- the lead ---------------------------------------------------------------

  /// Has the others carry out an order. Throws `gang_lost`, here and below.
  void give_order(const gang_order& order);

  /// Waits until all others are in the first state or, later, have carried out
  /// the order. @returns whether one of them leaves
  bool await_done();

  /// Asks a member for the state that it has saved, and takes it piece by
  /// piece. Throws `std::runtime_error` as well, if `take` refuses it.
  void take_state(std::uint32_t rank, const byte_taker& take);

  // -- another member ---------------------------------------------------------

  std::optional<gang_order> next() override;
  void tell_done(bool leaves) override;

  /// Tells the lead the world of this member's ranks; empty: none.
  void tell_world(const std::string& world);

  /// Says that the last order could not be carried out.
  void tell_problem(const std::string& why);

  /// Sends the lead a state that it has asked for. Throws what reading it does.
  void give_state(const content_source& state);

  // -- while own calls run ----------------------------------------------------

  /// A frame of another member.
  struct heard {
    std::uint32_t rank = 0;
    member_connection::short_frame frame;
  };

  using time_point = std::chrono::steady_clock::time_point;

  /// Waits for a frame of any member, or until a descriptor can be read, or
  /// until a moment.
  /// @param readable the descriptor; -1: none
  /// @returns nothing: it can be read, or the moment has come
  std::optional<heard> hear(int readable = -1,
                            time_point until = time_point::max());

  /// How long others are heard once a rank has failed.
  [[nodiscard]] gang_limits::duration aftermath() const {
    return port_.limits().aftermath;
  }

  /// Reads an order that was heard; nothing: the lease has ended.
  [[nodiscard]] std::optional<gang_order> order_in(const heard& said) const;

  // -- the end ----------------------------------------------------------------

  /// Tells the others how the lease of this member has ended, and waits a
  /// moment until they know.
  void finish(const std::optional<error>& failure);

private:
  class joining;

  connected_gang(gang_port& port, const gang_place& place,
                 member_connection::cancel_test is_cancelled, gang_links links);

  member_connection& connection(std::size_t rank) {
    return *connections_.at(static_cast<std::uint32_t>(rank));
  }
  void beat() noexcept override;

  gang_port& port_;
  const gang_place place_;
  const member_connection::cancel_test is_cancelled_;
  const gang_links links_;
  std::mutex mutex_; ///< guards what is added to the next; its thread reads it
  std::map<std::uint32_t, std::unique_ptr<member_connection>> connections_;
};

} // namespace hippo
