#include "journal.hpp"

#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/base/whole_file.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/model/checkpoint_path.hpp"
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
  st.written = std::chrono::steady_clock::now();
  ++st.status.commits;
  st.status.records += st.unwritten.size();
  st.status.commit_seconds
    += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
         .count();
  return std::nullopt;
}

/// How long a folder counts as one that can be written, without a try.
constexpr std::chrono::seconds writable_for{1};

/// Writes a little into a folder, and takes it away.
/// @returns why that is not possible; empty if it is
std::string try_to_write(const std::string& folder) {
  const auto path = folder + "/.writable";
  const auto why = write_whole(path, std::string(4096, '\0'), {0600, true,
                                                               false});
  if (why) // something else may have that name
    return why->message;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return {};
}

/// How the journal does. What was written lately can be written; else a little
/// is.
journal_status status_of(journal_state& st) {
  auto result = st.status;
  const auto now = std::chrono::steady_clock::now();
  if (!st.store || !result.trouble.empty() || now - st.written < writable_for)
    return result;
  result.trouble = try_to_write(st.store->path());
  if (result.trouble.empty())
    st.written = now;
  return result;
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

/// Leaves what a workload runs anew, unless it is there as it was left.
void restore(const kept_code& x) {
  const auto found = read_checkpoint(x.folder, x.file);
  if (found)
    return;
  const auto left = write_checkpoint(x.folder, x.file.file, x.text);
  if (left)
    spdlog::warn("journal: what a study runs was not what it was, and is "
                 "written anew: {}",
                 found.failure().message);
  else
    spdlog::error("journal: what a study runs is not what it was, and cannot "
                  "be written anew: {}",
                  left.failure().message);
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
      if (x.code)
        restore(*x.code);
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
    [self](status_atom) { return status_of(self->state); },
  });
}

} // namespace hippo
