#include "hippo/plan/configuration_pool.hpp"

namespace hippo {

namespace {

std::string text_of(const std::string& name, const form& shape) {
  return name + '=' + to_text(shape);
}

} // namespace

configuration_pool::compact
configuration_pool::intern(const configuration& x) {
  compact result;
  result.reserve(x.size());
  for (const auto& [name, shape] : x) {
    const auto [i, added] = by_text_.try_emplace(
      text_of(name, shape), static_cast<std::uint32_t>(entries_.size()));
    if (added)
      entries_.push_back({name, shape});
    result.push_back(i->second);
  }
  return result;
}

std::optional<configuration_pool::compact>
configuration_pool::find(const configuration& x) const {
  compact result;
  result.reserve(x.size());
  for (const auto& [name, shape] : x) {
    const auto i = by_text_.find(text_of(name, shape));
    if (i == by_text_.end())
      return std::nullopt;
    result.push_back(i->second);
  }
  return result;
}

configuration configuration_pool::restore(const compact& x) const {
  configuration result;
  for (auto i : x)
    result.emplace(entries_[i].name, entries_[i].shape);
  return result;
}

} // namespace hippo
