#include "checkpoint_space.hpp"

#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "hippo/base/hash.hpp"
#include "hippo/model/checkpoint_path.hpp"
#include "hippo/service/merge/kept_plan.hpp"
#include "hippo/service/merge/retention.hpp"

namespace hippo {

namespace {

/// Once so much of the space for checkpoints is full, workloads without studies
/// give up theirs until one part of so many is free.
constexpr double full_from = 0.95;
constexpr std::uint64_t reserve_divisor = 10;

/// Evicts checkpoints of a workload that has no merger.
void evict_idle(coordinator_self self, const std::string& key,
                std::uint64_t bytes) {
  auto& st = self->state;
  kept_plan all;
  const auto known = st.options.known->load_plan(
    key, [&](stored_plan part) { all.restore(std::move(part)); });
  if (!known) {
    spdlog::warn("coordinator: cannot evict checkpoints of {}: {}", key,
                 known.failure().message);
    return;
  }
  journal_entry entry;
  for (const auto& x : collect_idle(all.plan, bytes)) {
    entry.records.emplace_back(
      checkpoint_removed{key, x.what.node, x.what.at, x.what.file.file});
    entry.files.push_back(
      checkpoint_path(checkpoint_folder(st, key), x.what.file));
  }
  st.collecting = true;
  self
    ->request(st.journal, caf::infinite, commit_atom::value, std::move(entry))
    .then(
      [self, key](std::uint64_t evicted) {
        self->state.collecting = false;
        spdlog::info("coordinator: evicted {} checkpoints of {}, which is idle",
                     evicted, key);
      },
      [self](const caf::error&) { self->state.collecting = false; });
}

} // namespace

std::string checkpoint_folder(const coordinator_state& st,
                              const std::string& key) {
  const auto& x = st.options;
  return (x.objects.empty() ? x.checkpoints : x.objects) + '/' + hash_text(key);
}

bool limits_space(const coordinator_state& st) {
  return st.options.known && st.options.checkpoint_bytes_max != UINT64_MAX;
}

/// Keeps the checkpoints of all workloads together within their space.
void divide_space(coordinator_self self) {
  auto& st = self->state;
  if (st.collecting)
    return;
  auto stored = st.options.known->load_checkpoint_bytes();
  if (!stored)
    return; // the journal says what is wrong
  std::vector<checkpoint_user> users;
  std::uint64_t total = 0;
  for (const auto& [key, bytes] : *stored) {
    users.push_back({bytes, st.core->has_merger(key)});
    total += bytes;
  }
  const auto bytes_max = st.options.checkpoint_bytes_max;
  const auto is_full
    = static_cast<double>(total) > full_from * static_cast<double>(bytes_max);
  const auto space = divide_checkpoint_space(
    users, bytes_max, is_full ? bytes_max / reserve_divisor : 0);
  for (std::size_t i = 0; i < users.size(); ++i) {
    const auto& key = (*stored)[i].first;
    if (users[i].live)
      self->send(st.mergers.at(key), budget_atom::value, space[i]);
    else if (space[i] < users[i].bytes)
      evict_idle(self, key, users[i].bytes - space[i]);
  }
}

} // namespace hippo
