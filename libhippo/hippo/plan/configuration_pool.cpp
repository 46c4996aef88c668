#include "hippo/plan/configuration_pool.hpp"

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

std::uint64_t hash_of(const std::string& x, std::uint64_t seed) {
  return hash_bytes(x.data(), x.size(), seed);
}

/// What an entry is found by. Equal forms have equal bytes, since their numbers
/// are canonical.
std::uint64_t key_of(const std::string& name, const form& x) {
  const std::uint64_t head[]{static_cast<std::uint64_t>(x.kind)
                               | static_cast<std::uint64_t>(x.type) << 8,
                             x.origin};
  auto key = hash_of(name, hash_bytes(head, sizeof(head)));
  key = hash_bytes(x.a.data(), sizeof(x.a), key);
  return x.word.empty() ? key : hash_of(x.word, key);
}

} // namespace

configuration_pool::packed_form configuration_pool::pack(const form& form) {
  if (form == unpack(form.a[0]))
    return form.a[0];
  forms_.push_back(form);
  return static_cast<std::uint32_t>(forms_.size() - 1);
}

form configuration_pool::unpack(const packed_form& packed) const {
  if (const auto* place = std::get_if<std::uint32_t>(&packed))
    return forms_[*place];
  form result;
  result.a[0] = std::get<double>(packed);
  return result;
}

std::uint64_t configuration_pool::cold_bytes() const {
  // An entry, and a place in `by_key_`.
  return entries_.size() * (sizeof(entry) + 6 * sizeof(void*))
         + forms_.size() * sizeof(form);
}

std::optional<std::uint32_t>
configuration_pool::find(std::uint64_t key, const std::string& name,
                         const form& shape) const {
  const auto [first, last] = by_key_.equal_range(key);
  for (auto i = first; i != last; ++i) {
    const auto& x = entries_[i->second];
    if (names_[x.name] == name && unpack(x.shape) == shape)
      return i->second;
  }
  return std::nullopt;
}

configuration_pool::compact
configuration_pool::intern(const configuration& params) {
  compact result;
  result.reserve(params.size());
  for (const auto& [name, shape] : params) {
    const auto key = key_of(name, shape);
    auto found = find(key, name, shape);
    if (!found) {
      found = static_cast<std::uint32_t>(entries_.size());
      const auto text = name + '=' + to_text(shape);
      const auto [place, is_new] = by_name_.try_emplace(
        name, static_cast<std::uint32_t>(names_.size()));
      if (is_new)
        names_.push_back(name);
      entries_.push_back({pack(shape), hash_of(text, 0), place->second});
      by_key_.emplace(key, *found);
    }
    result.push_back(*found);
  }
  return result;
}

std::optional<configuration_pool::compact>
configuration_pool::find(const configuration& params) const {
  compact result;
  result.reserve(params.size());
  for (const auto& [name, shape] : params) {
    const auto found = find(key_of(name, shape), name, shape);
    if (!found)
      return std::nullopt;
    result.push_back(*found);
  }
  return result;
}

configuration configuration_pool::restore(const compact& packed) const {
  configuration result;
  for (auto i : packed)
    result.emplace(names_[entries_[i].name], unpack(entries_[i].shape));
  return result;
}

std::uint64_t configuration_pool::digest_of(const compact& packed) const {
  std::uint64_t result = 0;
  for (auto i : packed) {
    const auto digest = entries_[i].digest;
    result = hash_bytes(&digest, sizeof(digest), result);
  }
  return result;
}

} // namespace hippo
