#include "hippo/base/byte_ledger.hpp"

#include <cassert>
#include <map>
#include <mutex>
#include <utility>

namespace hippo {

namespace ledger_detail {

/// What all accounts of a ledger have in common.
struct books {
  std::mutex mutex; ///< guards `held` and `below` of every account
  std::uint64_t room = 0;
};

struct account {
  account(std::shared_ptr<books> of, std::shared_ptr<account> parent,
          std::string party)
    : all(std::move(of)), above(std::move(parent)), name(std::move(party)) {}
  account(const account&) = delete;
  account& operator=(const account&) = delete;

  ~account() {
    assert(held == 0);
    if (!above)
      return;
    const std::scoped_lock lock{all->mutex};
    // Another one of that name may be there since the last handle went.
    const auto i = above->below.find(name);
    if (i != above->below.end() && i->second.expired())
      above->below.erase(i);
  }

  /// How much it may take now. REQUIRES: the mutex is held.
  [[nodiscard]] std::uint64_t available() const {
    if (!above)
      return all->room - held;
    // To take x must leave as much free as is held then: held + x <= free - x.
    const auto free = above->available();
    return free <= held ? 0 : (free - held) / 2;
  }

  /// Takes bytes from it and all above it.
  /// @returns whether it may
  bool take(std::uint64_t bytes) {
    const std::scoped_lock lock{all->mutex};
    if (bytes > available())
      return false;
    for (auto* i = this; i != nullptr; i = i->above.get())
      i->held += bytes;
    return true;
  }

  void give_back(std::uint64_t bytes) {
    const std::scoped_lock lock{all->mutex};
    for (auto* i = this; i != nullptr; i = i->above.get()) {
      assert(i->held >= bytes);
      i->held -= bytes;
    }
  }

  /// The sentence for whoever is refused.
  [[nodiscard]] error refusal(std::uint64_t bytes) const {
    std::uint64_t now = 0;
    {
      const std::scoped_lock lock{all->mutex};
      now = held;
    }
    const auto* root = this;
    while (root->above)
      root = root->above.get();
    return {errc::resource_exhausted,
            name + " takes " + std::to_string(now)
              + " bytes of the service's memory, and " + std::to_string(bytes)
              + " more are beyond its share of the "
              + std::to_string(all->room) + " for " + root->name
              + ": take what was answered, or ask for less at a time"};
  }

  const std::shared_ptr<books> all;
  const std::shared_ptr<account> above; ///< null: the root
  const std::string name;
  std::uint64_t held = 0;
  std::map<std::string, std::weak_ptr<account>> below; ///< by name
};

} // namespace ledger_detail

// -- booking ------------------------------------------------------------------

byte_booking::byte_booking(byte_booking&& other) noexcept
  : account_(std::move(other.account_)),
    bytes_(std::exchange(other.bytes_, 0)) {}

byte_booking& byte_booking::operator=(byte_booking&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

byte_booking::~byte_booking() {
  if (bytes_ > 0)
    account_->give_back(bytes_);
}

std::optional<error> byte_booking::resize(std::uint64_t bytes) {
  assert(account_ || bytes == 0);
  if (bytes > bytes_ && !account_->take(bytes - bytes_))
    return account_->refusal(bytes - bytes_);
  if (bytes < bytes_)
    account_->give_back(bytes_ - bytes);
  bytes_ = bytes;
  return std::nullopt;
}

// -- account ------------------------------------------------------------------

byte_account byte_account::open(const std::string& name) const {
  const std::scoped_lock lock{account_->all->mutex};
  auto& known = account_->below[name];
  auto result = known.lock();
  if (!result) {
    result = std::make_shared<ledger_detail::account>(account_->all, account_,
                                                      name);
    known = result;
  }
  return byte_account{std::move(result)};
}

expected<byte_booking> byte_account::take(std::uint64_t bytes) const {
  byte_booking result;
  result.account_ = account_;
  if (auto why = result.resize(bytes))
    return *why;
  return result;
}

std::uint64_t byte_account::held() const {
  const std::scoped_lock lock{account_->all->mutex};
  return account_->held;
}

std::uint64_t byte_account::available() const {
  const std::scoped_lock lock{account_->all->mutex};
  return account_->available();
}

const std::string& byte_account::name() const { return account_->name; }

// -- ledger -------------------------------------------------------------------

byte_ledger::byte_ledger(std::string name, std::uint64_t room)
  : root_(std::make_shared<ledger_detail::account>(
      std::make_shared<ledger_detail::books>(), nullptr, std::move(name))) {
  root_->all->room = room;
}

std::uint64_t byte_ledger::room() const noexcept { return root_->all->room; }

} // namespace hippo
