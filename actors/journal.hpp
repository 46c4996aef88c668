#pragma once

#include <memory>

#include "hippo/store/state_folder.hpp"
#include "messages.hpp"

namespace hippo {

/// State of the journal: the store, which nobody else writes.
struct journal_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.journal";

  std::shared_ptr<state_folder> store;
};

/// Commits records to the store. Blocks while the disk does: spawn it detached.
/// Without a store it forgets everything, which only tests want.
journal_actor::behavior_type
journal(journal_actor::stateful_pointer<journal_state> self,
        std::shared_ptr<state_folder> store);

} // namespace hippo
