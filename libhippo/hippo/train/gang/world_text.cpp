#include "hippo/train/gang/world_text.hpp"

#include <algorithm>
#include <string_view>

namespace hippo {

namespace {

/// Ranks that see an id which begins otherwise are none of Hippo's.
constexpr std::string_view id_beginning = "hippo-";

bool is_id(const std::string& text) {
  return text.starts_with(id_beginning)
         && std::ranges::all_of(text, [](char x) {
              return x == '-' || (x >= 'a' && x <= 'z')
                     || (x >= '0' && x <= '9');
            });
}

} // namespace

std::string text_of(const rank_world& world) {
  return world.id + ' ' + to_text(world.master);
}

std::optional<rank_world> world_in(const std::string& text,
                                   const std::string& host) {
  const auto space = text.find(' ');
  auto id = text.substr(0, space);
  if (space == text.npos || !is_id(id))
    return std::nullopt;
  auto master = parse_endpoint(text.substr(space + 1));
  if (!master)
    return std::nullopt;
  return rank_world{std::move(id), std::move(*master), host};
}

std::string own_host(const gang_place& place) {
  const auto where = parse_endpoint(place.members.at(place.rank));
  return where ? where->host : std::string{};
}

} // namespace hippo
