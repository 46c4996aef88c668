#include "hippo/train/torch/subnetworks.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "hippo/base/number.hpp"
#include "hippo/train/torch/epoch.hpp"

namespace hippo {

namespace {

/// Numbers of periods are exact below it.
constexpr double periods_max = 0x1p53;

/// Returns all subnetworks in the order of a cycle.
std::vector<std::uint32_t> order_of(std::uint32_t count, std::uint64_t seed,
                                    std::uint64_t cycle) {
  return random_order(count, {seed, purpose::subnetwork_order, {cycle}});
}

} // namespace

subnetwork_settings subnetworks_at(const configuration& config, step_t at) {
  subnetwork_settings result;
  const auto number = [&](const char* name, double fallback, double min,
                          double max) {
    const auto i = config.find(name);
    if (i == config.end())
      return fallback;
    const auto value = std::get<double>(i->second.at(at));
    // A schedule may go where a study's check did not look.
    if (value < min || value > max)
      throw std::invalid_argument(std::string{name} + " is " + to_text(value)
                                  + " at epoch " + std::to_string(at)
                                  + ": it must be from " + to_text(min) + " to "
                                  + to_text(max));
    return value;
  };
  const auto whole_number = [&](const char* name, std::uint32_t fallback,
                                double min, double max) {
    return static_cast<std::uint32_t>(number(name, fallback, min, max));
  };
  result.count =
    whole_number(subnetworks_name, result.count, 0, subnetworks_max);
  result.at_once =
    whole_number(at_once_name, result.at_once, 1, subnetworks_at_once_max);
  result.period = number(subnetwork_period_name, result.period,
                         std::numeric_limits<double>::denorm_min(),
                         std::numeric_limits<double>::infinity());
  result.block = whole_number(dropout_block_name, result.block, 1,
                              std::numeric_limits<std::uint32_t>::max());
  if (const auto i = config.find(subnetwork_draw_name); i != config.end())
    result.replaces =
      std::get<std::string>(i->second.at(at)) == draw_with_replacement;
  if (result.count != 0 && result.at_once > result.count)
    throw std::invalid_argument(
      std::string{at_once_name} + ' ' + std::to_string(result.at_once)
      + " is above " + subnetworks_name + ' ' + std::to_string(result.count)
      + " at epoch " + std::to_string(at) + ": it must be at most that");
  return result;
}

std::uint64_t subnetwork_period_of(const subnetwork_settings& settings,
                                   step_t epoch, double share) {
  const auto periods = (static_cast<double>(epoch) + share) / settings.period;
  return static_cast<std::uint64_t>(std::min(periods, periods_max));
}

std::vector<std::uint32_t> subnetworks_of(const subnetwork_settings& settings,
                                          std::uint64_t seed,
                                          std::uint64_t period) {
  std::vector<std::uint32_t> result;
  if (settings.replaces) {
    for (std::uint64_t slot = 0; slot < settings.at_once; ++slot) {
      random_numbers numbers{seed, purpose::subnetwork_order, {period, slot}};
      result.push_back(
        static_cast<std::uint32_t>(numbers.below(settings.count)));
    }
    return result;
  }
  // A period may end one cycle and begin the next.
  auto place = period * settings.at_once;
  std::vector<std::uint32_t> order;
  for (std::uint32_t slot = 0; slot < settings.at_once; ++slot, ++place) {
    if (order.empty() || place % settings.count == 0)
      order = order_of(settings.count, seed, place / settings.count);
    result.push_back(order[place % settings.count]);
  }
  return result;
}

void put_subnetworks(const subnetwork_settings& settings,
                     const std::vector<std::uint32_t>& all, std::int64_t part,
                     std::int64_t parts, step_values& to) {
  to->dropout_slots = 0;
  to->dropout_block = settings.block;
  if (settings.count == 0)
    return;
  const auto count = static_cast<std::int64_t>(all.size());
  const auto first = part * count / parts;
  const auto end = ((part + 1) * count + parts - 1) / parts;
  std::copy(all.begin() + first, all.begin() + end, to->subnetworks);
  to->dropout_slots = static_cast<std::uint32_t>(end - first);
}

} // namespace hippo
