#include "hippo/service/pool/machine_prices.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

/// Adds a word to an enumeration.
void list(std::string& to, const std::string& x) {
  to += (to.empty() ? "" : ", ") + x;
}

void list_device(std::string& to, const machine_kind& x) {
  list(to, "'" + x.device + "' (" + x.name + ')');
}

/// Says what devices the kinds of a list have.
std::string devices_of(const fleet& x) {
  std::string result;
  for (const auto& kind : x.kinds)
    list_device(result, kind);
  return result;
}

void add(trainers_cost& to, const trainer_record& x) {
  ++to.trainers;
  to.work += cost_of(x.price, x.work_seconds);
  to.idle += cost_of(x.price, x.idle_seconds);
}

} // namespace

std::optional<pool_effect::log_line>
machine_prices::place(pool_trainer& trainer, const std::string& said) const {
  if (!machines_)
    return std::nullopt;
  auto& record = trainer.record;
  const auto found = kind_of_machine(*machines_, said, record.device);
  if (found && *found != nullptr) {
    const auto& kind = **found;
    record.machine = kind.name;
    record.price = kind.trainer_price();
    if (record.notice_seconds == 0)
      record.notice_seconds = kind.notice_seconds;
    trainer.interruptions = kind.interruptions;
    return pool_effect::log_line{false,
                                 "trainer " + std::to_string(record.number)
                                   + " is on a machine of kind " + kind.name};
  }
  record.unpriced = found ? "no kind of machine of the list has its device, '"
                              + excerpt(record.device) + "'; they have "
                              + devices_of(*machines_)
                          : found.failure().message;
  return pool_effect::log_line{
    true, "what trainer " + std::to_string(record.number) + " (" + record.name
            + ") costs is not known: " + record.unpriced};
}

void machine_prices::note_joined(moment now) {
  if (!first_joined_)
    first_joined_ = now;
}

void machine_prices::keep(const trainer_record& record) {
  if (!record.machine.empty())
    add(forgotten_[record.machine], record);
}

bool machine_prices::is_due(moment now) const {
  return !has_said_missing_ && machines_ && first_joined_
         && now - *first_joined_ >= listed_devices_after;
}

std::optional<pool_effect::log_line>
machine_prices::take_missing(const std::set<std::string>& reported,
                             moment now) {
  if (!is_due(now))
    return std::nullopt;
  has_said_missing_ = true;
  std::string missing, known;
  for (const auto& kind : machines_->kinds)
    if (std::ranges::none_of(reported, [&](const auto& device) {
          return is_device(kind.device, device);
        }))
      list_device(missing, kind);
  if (missing.empty())
    return std::nullopt;
  for (const auto& device : reported)
    list(known, "'" + device + '\'');
  return pool_effect::log_line{
    true, "no trainer reports a device of the list of machines: " + missing
            + "; trainers report " + known};
}

std::vector<trainers_cost>
machine_prices::costs(const std::vector<trainer_record>& known) const {
  if (!machines_)
    return {};
  auto by_kind = forgotten_;
  for (const auto& x : known)
    if (!x.machine.empty())
      add(by_kind[x.machine], x);
  std::vector<trainers_cost> result;
  for (const auto& kind : machines_->kinds)
    if (auto found = by_kind.extract(kind.name)) {
      found.mapped().kind = kind.name;
      found.mapped().price = kind.trainer_price();
      found.mapped().on_each = kind.trainers;
      result.push_back(std::move(found.mapped()));
    }
  return result;
}

void machine_prices::check([[maybe_unused]] const trainer_record& x) const {
  assert(x.machine.empty() || x.unpriced.empty());
  assert(x.machine.empty()
         || machines_->find(x.machine)->trainer_price() == x.price);
}

} // namespace hippo
