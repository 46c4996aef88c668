#include "hippo/store/lanes_keys.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

/// How the names of the workloads began that had the option. Those of libraries
/// may have one of that name which means something else.
constexpr std::array<std::string_view, 3> families{"fashion-", "cifar-",
                                                   "folder-"};

/// Returns a key without `lanes=1`; nothing: it does not have that.
std::optional<std::string> without_lanes(const std::string& key) {
  constexpr std::string_view part = ";lanes=1";
  if (std::ranges::none_of(families,
                           [&](auto x) { return key.starts_with(x); }))
    return std::nullopt;
  for (auto at = key.find(part); at != key.npos; at = key.find(part, at + 1)) {
    const auto end = at + part.size();
    const bool is_escaped = key[at - 1] == '\\'; // a part of a folder's name
    if (!is_escaped && (end == key.size() || key[end] == ';'))
      return std::string{key}.erase(at, part.size());
  }
  return std::nullopt;
}

} // namespace

expected<std::monostate> migrate_lanes_keys(sql_database& database,
                                            const std::string& checkpoints) {
  std::map<std::uint64_t, std::string> keys;
  std::set<std::string> taken;
  if (auto done = database.for_each("SELECT id, key FROM workloads",
                                    [&](auto& row) {
                                      keys[row.number(0)] = row.text(1);
                                      taken.emplace(row.text(1));
                                    });
      !done)
    return done;
  auto update
    = database.prepare("UPDATE workloads SET key = ?2 WHERE id = ?1");
  if (!update)
    return update.failure();
  const std::filesystem::path all{checkpoints};
  for (const auto& [id, key] : keys) {
    const auto now = without_lanes(key);
    if (!now || !taken.insert(*now).second)
      continue;
    std::error_code ignored; // checkpoints that are missing are trained again
    const auto there = all / hash_text(*now);
    if (!std::filesystem::exists(there, ignored))
      std::filesystem::rename(all / hash_text(key), there, ignored);
    if (auto done = update->bind(1, id).bind_text(2, *now).run(); !done)
      return done;
  }
  return std::monostate{};
}

} // namespace hippo
