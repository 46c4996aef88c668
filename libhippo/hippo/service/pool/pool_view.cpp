#include "hippo/service/pool/pool_view.hpp"

#include <algorithm>

namespace hippo {

bool pool_view::suits(const pool_trainer& trainer, merger_number merger) const {
  const auto* const need = needs.find(merger);
  return need == nullptr || trainer.can_train(*need);
}

bool pool_view::is_of_use(const pool_trainer& trainer,
                          merger_number merger) const {
  if (!suits(trainer, merger) || !has_enough(trainer, merger))
    return false;
  const auto place = demands.place_of(merger);
  return !place || demands[*place].kinds.empty()
         || demands[*place].kinds.count(trainer.record.device) > 0;
}

bool pool_view::has_enough(const pool_trainer& trainer, merger_number merger,
                           bool able) const {
  const auto* const need = needs.find(merger);
  if (need == nullptr || need->ranks <= trainer.record.ranks)
    return true;
  auto missing = need->ranks / trainer.record.ranks;
  for (const auto& [number, x] : trainers.all()) {
    if (x.is_there() && x.record.ranks == trainer.record.ranks
        && x.record.device == trainer.record.device && x.can_train(*need)
        && (!able || x.is_able(merger)))
      --missing;
    if (missing == 0)
      return true;
  }
  return false;
}

bool pool_view::could_use(const pool_trainer& trainer,
                          std::size_t place) const {
  const auto merger = demands[place].merger;
  const auto* const need = needs.find(merger);
  if (need != nullptr && need->ranks > trainer.record.ranks
      && needs.rests_until(merger) > now)
    return false;
  return is_of_use(trainer, merger) && !trainer.is_resting(merger, now);
}

bool pool_view::has_trainer_for(merger_number merger) const {
  const auto& all = trainers.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& kvp) {
    return kvp.second.is_there() && is_of_use(kvp.second, merger);
  });
}

std::map<trainer_id, std::string>
pool_view::able_for(merger_number merger) const {
  std::map<trainer_id, std::string> result;
  for (const auto& [number, x] : trainers.all())
    if (x.is_there() && x.record.sick.empty()
        && (x.record.stalled.empty() || x.awaited_until) && x.is_able(merger)
        && suits(x, merger) && has_enough(x, merger, true))
      result.emplace(number, x.record.device);
  return result;
}

} // namespace hippo
