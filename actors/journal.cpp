#include "journal.hpp"

#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/plan/checkpoint_path.hpp"
#include "turn_watch.hpp"

namespace hippo {

namespace {

using journal_self = journal_actor::stateful_pointer<journal_state>;

/// Writes what waits. @returns why that is not possible
std::optional<error> write(journal_state& st) {
  if (!st.store || st.unwritten.empty())
    return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  if (auto done = st.store->commit(st.unwritten); !done)
    return done.failure();
  ++st.status.commits;
  st.status.records += st.unwritten.size();
  st.status.commit_seconds
    += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
         .count();
  return std::nullopt;
}

void delete_files(const journal_state& st,
                  const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    if (is_in_object_store(path)) {
      if (st.remove_elsewhere)
        st.remove_elsewhere(path);
      continue;
    }
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed)
      spdlog::warn("journal: cannot delete {}: {}", path, failed.message());
  }
}

void flush(journal_self self) {
  auto& st = self->state;
  const auto trouble = write(st);
  if (trouble && st.retry.count() > 0) {
    if (st.status.trouble.empty())
      spdlog::critical("journal: {}; nothing is passed on until it can be "
                       "written",
                       trouble->message);
    st.status.trouble = trouble->message;
    self->delayed_send(self, st.retry, flush_atom::value);
    return;
  }
  if (!st.status.trouble.empty())
    spdlog::info("journal: writing goes on");
  st.status.trouble.clear();
  st.unwritten = {};
  for (auto& x : std::exchange(st.waiting, {})) {
    if (trouble) {
      x.promise.deliver(caf::make_error(trouble->code, trouble->message));
      continue;
    }
    for (auto& [owner, news] : x.news)
      self->send(owner, outcome_atom::value, std::move(news));
    delete_files(st, x.files);
    x.promise.deliver(std::uint64_t{x.records});
  }
  if (trouble)
    spdlog::critical("journal: {}", trouble->message);
}

} // namespace

journal_actor::behavior_type journal(journal_self self,
                                     std::shared_ptr<state_writer> store,
                                     std::chrono::milliseconds retry,
                                     file_remover remove_elsewhere) {
  self->state.store = std::move(store);
  self->state.retry = retry;
  self->state.remove_elsewhere = std::move(remove_elsewhere);
  return watched<journal_actor::behavior_type>("journal", {
    // Entries may be large: whoever sent this one has no use for it any more.
    [self](commit_atom, journal_entry& x) -> caf::result<std::uint64_t> {
      auto& waiting = self->state.waiting;
      auto& unwritten = self->state.unwritten;
      auto promise = self->make_response_promise<std::uint64_t>();
      // What is in the mailbox already comes before this, and is committed
      // along with it.
      if (waiting.empty())
        self->send(self, flush_atom::value);
      waiting.push_back({x.records.size(), std::move(x.news),
                         std::move(x.files), promise});
      unwritten.insert(unwritten.end(),
                       std::make_move_iterator(x.records.begin()),
                       std::make_move_iterator(x.records.end()));
      return promise;
    },
    [self](flush_atom) { flush(self); },
    [self](status_atom) { return self->state.status; },
  });
}

} // namespace hippo
