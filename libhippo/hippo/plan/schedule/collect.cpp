#include "hippo/plan/schedule/collect.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace hippo {

namespace {

struct candidate {
  double seconds = 0; ///< to train it again
  plan_checkpoint what;
};

/// The states that running leases may still have to load, and those that they
/// have reached: what is left goes on from there if one ends early.
std::set<std::pair<node_id, step_t>> states_of_leases(const search_plan& plan) {
  std::set<std::pair<node_id, step_t>> result;
  plan_node room;
  for (auto id : id_range(node_id{1}, plan.size())) {
    const auto& x = plan.peek(id, room);
    for (const auto& r : x.running) {
      result.emplace(r.from > x.begin ? id : x.parent, r.from);
      if (r.reached > r.from)
        result.emplace(id, r.reached);
    }
  }
  return result;
}

} // namespace

std::vector<plan_checkpoint> collect_checkpoints(const search_plan& plan,
                                                 const stage_tree& tree,
                                                 std::uint64_t bytes,
                                                 const std::string& spared) {
  const auto leased = states_of_leases(plan);
  std::vector<candidate> candidates;
  std::map<std::string, std::uint64_t> users; // of a file with parts of others
  plan_node room;
  for (auto id : id_range(node_id{1}, plan.size())) {
    const auto& x = plan.peek(id, room);
    auto before = x.begin;
    for (const auto& [at, file] : x.checkpoints) {
      for (const auto& y : file.part_files)
        ++users[y.file];
      const auto steps = static_cast<double>(at - before);
      before = at;
      if (tree.runnables().count({id, at}) == 0 && leased.count({id, at}) == 0
          && file.file != spared)
        candidates.push_back(
          {steps * tree.seconds_per_step(id), {id, at, file}});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const candidate& x, const candidate& y) {
                     return x.seconds < y.seconds;
                   });
  std::vector<plan_checkpoint> result;
  std::uint64_t freed = 0;
  for (bool has_gone = true; has_gone;) {
    has_gone = false;
    std::vector<candidate> used;
    for (auto& x : candidates) {
      if (freed >= bytes)
        return result;
      const auto& file = x.what.file;
      if (const auto i = users.find(file.file);
          i != users.end() && i->second > 0) {
        used.push_back(std::move(x));
        continue;
      }
      for (const auto& y : file.part_files)
        --users[y.file];
      has_gone |= !file.part_files.empty();
      freed += file.bytes;
      result.push_back(std::move(x.what));
    }
    candidates = std::move(used);
  }
  return result;
}

std::vector<plan_checkpoint> damaged_with(const search_plan& plan,
                                          const checkpoint& damaged) {
  std::set<std::string> files{damaged.file};
  for (const auto& x : damaged.part_files)
    files.insert(x.file);
  std::vector<plan_checkpoint> result;
  for (bool is_more = true; is_more;) {
    is_more = false;
    result.clear();
    plan_node room;
    for (auto id : id_range(node_id{1}, plan.size()))
      for (const auto& [at, file] : plan.peek(id, room).checkpoints) {
        const bool is_one =
          files.contains(file.file)
          || std::ranges::any_of(file.part_files, [&](const part_file& y) {
               return files.contains(y.file);
             });
        if (!is_one)
          continue;
        is_more |= files.insert(file.file).second;
        result.push_back({id, at, file});
      }
  }
  return result;
}

std::vector<std::uint64_t>
divide_checkpoint_space(const std::vector<checkpoint_user>& users,
                        std::uint64_t bytes_max, std::uint64_t reserve) {
  std::uint64_t live_bytes = 0;
  std::uint64_t other_bytes = 0;
  std::uint64_t live = 0;
  for (const auto& x : users) {
    (x.live ? live_bytes : other_bytes) += x.bytes;
    live += x.live;
  }
  const auto others_max
    = bytes_max - std::min(bytes_max, live_bytes + reserve);
  auto excess = other_bytes - std::min(other_bytes, others_max);
  std::vector<std::uint64_t> result;
  for (const auto& x : users) {
    const auto given_up = x.live ? 0 : std::min(excess, x.bytes);
    excess -= given_up;
    other_bytes -= given_up;
    result.push_back(x.bytes - given_up);
  }
  const auto space = bytes_max - std::min(bytes_max, other_bytes);
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (!users[i].live)
      continue;
    const auto part = static_cast<double>(users[i].bytes)
                      / static_cast<double>(live_bytes);
    result[i] = live_bytes <= space
                  ? users[i].bytes + (space - live_bytes) / live
                  : static_cast<std::uint64_t>(
                    part * static_cast<double>(space));
  }
  return result;
}

} // namespace hippo
