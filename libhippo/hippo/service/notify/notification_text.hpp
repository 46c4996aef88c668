#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hippo/model/notification.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

/// Renders the body of a notification, JSON in the form of "Standard Webhooks":
/// `type`, `timestamp` (ISO 8601) and `data`, and a sentence for chats in
/// `text`.
/// @param best the study's best trial, if it has one
/// @param seconds since 1970, at which it is rendered
std::string notification_text(notify_event event, const stored_study& study,
                              const std::optional<stored_trial>& best,
                              std::int64_t seconds);

} // namespace hippo
