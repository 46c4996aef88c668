#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hippo/store/state_writer.hpp"
#include "messages.hpp"

namespace hippo {

/// Deletes what lies elsewhere than in a folder. Must not wait.
using file_remover = std::function<void(const std::string& path)>;

/// State of the journal: the store, which nobody else writes.
struct journal_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.journal";

  std::shared_ptr<state_writer> store;
  /// How long to wait before what could not be written is tried again; 0: those
  /// who asked for it hear that it failed.
  std::chrono::milliseconds retry{0};
  file_remover remove_elsewhere;

  /// What is passed on and deleted once the records of an entry are written.
  struct waiting_entry {
    std::size_t records = 0; ///< how many
    std::vector<std::pair<trial_owner_actor, study_news>> news;
    std::vector<std::string> files; ///< to delete
    caf::typed_response_promise<std::uint64_t> promise;
  };
  std::vector<journal_record> unwritten; ///< in the order in which they came
  std::vector<waiting_entry> waiting;    ///< for these, likewise
  journal_status status;
  /// When anything was last written to the folder, or tried to be.
  std::chrono::steady_clock::time_point written{};
};

/// Commits records to the store. What comes in while the disk is busy is
/// committed together. Blocks while the disk does: spawn it detached. Without a
/// store it forgets everything, but passes on the news.
/// @param remove_elsewhere for files whose path is in an object store
journal_actor::behavior_type
journal(journal_actor::stateful_pointer<journal_state> self,
        std::shared_ptr<state_writer> store, std::chrono::milliseconds retry,
        file_remover remove_elsewhere);

} // namespace hippo
