#include "hippo/base/packed_metrics.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

bool metric_names::is_last(const metrics& numbers) const {
  return last_ < lists_.size()
         && std::equal(numbers.begin(), numbers.end(), at(last_).begin(),
                       at(last_).end(),
                       [](const auto& kvp, const std::string& name) {
                         return kvp.first == name;
                       });
}

metric_names::list metric_names::list_of(const metrics& numbers) {
  list result;
  for (const auto& kvp : numbers)
    result.push_back(kvp.first);
  return result;
}

std::uint64_t metric_names::bytes_of(const metrics& numbers) {
  constexpr std::uint64_t list_bytes = 128; // with its place in the map
  std::uint64_t result = list_bytes;
  for (const auto& kvp : numbers)
    result += sizeof(std::string) + kvp.first.size();
  return result;
}

std::uint64_t metric_names::bytes_more(const metrics& numbers) const {
  return is_last(numbers) || places_.count(list_of(numbers)) > 0
           ? 0
           : bytes_of(numbers);
}

std::uint32_t metric_names::intern(const metrics& numbers) {
  if (is_last(numbers))
    return last_;
  const auto [i, is_new] = places_.try_emplace(
    list_of(numbers), static_cast<std::uint32_t>(lists_.size()));
  if (is_new) {
    lists_.push_back(&i->first);
    bytes_ += bytes_of(numbers);
  }
  last_ = i->second;
  return last_;
}

packed_metrics::packed_metrics(const metrics& numbers, metric_names& names)
  : values_(std::make_unique<double[]>(numbers.size())),
    names_(names.intern(numbers)) {
  std::transform(numbers.begin(), numbers.end(), values_.get(),
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
