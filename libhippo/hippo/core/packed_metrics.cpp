#include "hippo/core/packed_metrics.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

std::uint32_t metric_names::intern(const metrics& x) {
  const auto is_named = [](const auto& kvp, const std::string& name) {
    return kvp.first == name;
  };
  if (last_ < lists_.size()
      && std::equal(x.begin(), x.end(), at(last_).begin(), at(last_).end(),
                    is_named))
    return last_;
  list names;
  for (const auto& kvp : x)
    names.push_back(kvp.first);
  const auto [i, is_new] = places_.try_emplace(
    std::move(names), static_cast<std::uint32_t>(lists_.size()));
  if (is_new)
    lists_.push_back(&i->first);
  last_ = i->second;
  return last_;
}

packed_metrics::packed_metrics(const metrics& x, metric_names& names)
  : values_(std::make_unique<double[]>(x.size())), names_(names.intern(x)) {
  std::transform(x.begin(), x.end(), values_.get(),
                 [](const auto& kvp) { return kvp.second; });
}

packed_metrics::packed_metrics(std::uint32_t place, const metric_names& names)
  : values_(std::make_unique<double[]>(names.at(place).size())),
    names_(place) {}

metrics packed_metrics::unpack(const metric_names& names) const {
  metrics result;
  if (!values_)
    return result;
  const auto* value = values_.get();
  for (const auto& name : names.at(names_))
    result.emplace_hint(result.end(), name, *value++);
  return result;
}

} // namespace hippo
