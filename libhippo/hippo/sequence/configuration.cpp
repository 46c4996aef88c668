#include "hippo/sequence/configuration.hpp"

#include <algorithm>
#include <cassert>

#include "hippo/base/hash.hpp"

namespace hippo {

std::vector<segment> join(const std::map<std::string, sequence>& sequences,
                          step_t end) {
  assert(end > 0);
  struct change {
    step_t at;
    const std::string* name;
    const form* to;
  };
  std::vector<change> changes;
  for (const auto& [name, x] : sequences)
    for (const auto& part : x.pieces())
      if (part.begin < end)
        changes.push_back({part.begin, &name, &part.shape});
  std::stable_sort(
    changes.begin(), changes.end(),
    [](const change& x, const change& y) { return x.at < y.at; });

  std::vector<segment> result{{0, {}}};
  for (const auto& x : changes) {
    if (result.back().begin != x.at)
      result.push_back({x.at, result.back().config});
    result.back().config.insert_or_assign(*x.name, *x.to);
  }
  return result;
}

namespace {

template <class Spell>
std::string joined(const configuration& x, Spell spell) {
  std::string result;
  for (const auto& [name, shape] : x) {
    if (!result.empty())
      result += ';';
    result += quoted_if_needed(name) + '=' + spell(shape);
  }
  return result;
}

} // namespace

std::string to_text(const configuration& params) {
  return joined(params, [](const form& y) { return to_text(y); });
}

std::string shown_text(const configuration& params) {
  return joined(params, [](const form& y) { return shown_text(y); });
}

std::vector<std::uint64_t> states_at(const std::vector<segment>& segments,
                                     const std::vector<step_t>& steps) {
  assert(std::ranges::is_sorted(steps));
  std::vector<std::uint64_t> result;
  auto next = segments.begin();
  std::uint64_t state = 0;
  for (auto at : steps) {
    for (; next != segments.end() && next->begin < at; ++next) {
      const auto text = std::to_string(next->begin) + ' '
                        + to_text(next->config);
      state = hash_bytes(text.data(), text.size(), state);
    }
    result.push_back(state);
  }
  return result;
}

} // namespace hippo
