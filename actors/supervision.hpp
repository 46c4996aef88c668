#pragma once

#include <string>

#include "coordinator.hpp"

// What a coordinator does when a study or a merger cannot go on.

namespace hippo {

/// The little that is known of a study without the store.
stored_study row_of(study_id id, const coordinator_state::study_entry& entry);

/// A study cannot start, or its actor has died: it has failed, and that is
/// stored. Nothing new of it is trained. Others do not notice.
/// @param stored the study; what the store has of it counts where there is one
/// @param why for people
void fail_study(coordinator_self self, stored_study stored,
                const std::string& why);

/// Cancels a study that has not started, whatever it is at: it is read, or does
/// again what it did. As with any other command to cancel, that is stored as
/// the last that the study has heard.
/// @param promise is told whether it was, once that is stored
void cancel_early(coordinator_self self, study_id id, const std::string& why,
                  caf::typed_response_promise<bool> promise);

/// An actor that the coordinator watches has ended. A study has failed then. A
/// merger that dies for the first time for a while is made again with its
/// studies, which go on from the store; if it dies again, the one has failed
/// whose orders it was carrying out, or all if there was none. If
/// nothing can be stored any more, the coordinator ends.
void note_down(coordinator_self self, const caf::down_msg& msg);

} // namespace hippo
