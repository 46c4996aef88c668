#pragma once

#include <optional>
#include <string>

#include "hippo/model/lease.hpp"
#include "hippo/train/world_member.hpp"

namespace hippo {

/// Renders a world as the lead of a gang orders others to enter it: its id, a
/// space, and HOST:PORT of its first rank.
std::string text_of(const rank_world& world);

/// Reads what `text_of` has rendered. @param host of the one that reads it
/// @returns nothing: it is none
std::optional<rank_world> world_in(const std::string& text,
                                   const std::string& host);

/// Returns the host at which other members reach one.
std::string own_host(const gang_place& place);

} // namespace hippo
