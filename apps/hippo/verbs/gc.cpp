#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common_options.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/model/checkpoint_path.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/net/keys/certificate.hpp"
#include "hippo/service/merge/kept_plan.hpp"
#include "hippo/service/merge/retention.hpp"
#include "hippo/store/state_writer.hpp"
#include "object_place.hpp"
#include "outcome.hpp"
#include "packing.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A trainer may be about to say what a younger file is.
constexpr auto unknown_file_age_min = std::chrono::hours(1);

/// What `hippo gc` was asked for.
struct gc_options {
  std::string state = "hippo-state";
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  bool dry_run = false;
  bool json = false;
};

/// A file that no checkpoint of the store is in.
struct unknown_file {
  std::string path;
  std::uint64_t bytes = 0;
};

/// What is to become of one workload's checkpoints.
struct workload_plan {
  state_reader::usage usage;
  std::vector<idle_checkpoint> victims;
  std::vector<stored_checkpoint> hidden; ///< that only hidden trials need
  std::vector<unknown_file> unknown;
};

/// Chooses the checkpoints that nothing but hidden trials needs: those of these
/// nodes, unless another one that stays has parts in their files.
class hidden_checkpoints {
public:
  /// @param nodes sorted
  explicit hidden_checkpoints(std::vector<node_id> nodes)
    : nodes_(std::move(nodes)) {}

  void add(const stored_checkpoint& x) {
    if (std::binary_search(nodes_.begin(), nodes_.end(), x.node))
      candidates_.push_back(x);
    else
      keep(x);
  }

  std::vector<stored_checkpoint> take() {
    const auto is_held = [this](const stored_checkpoint& x) {
      return held_.contains(x.file.file);
    };
    for (;;) {
      const auto first = std::stable_partition(
        candidates_.begin(), candidates_.end(), std::not_fn(is_held));
      if (first == candidates_.end())
        return std::move(candidates_);
      for (auto x = first; x != candidates_.end(); ++x)
        keep(*x);
      candidates_.erase(first, candidates_.end());
    }
  }

private:
  void keep(const stored_checkpoint& x) {
    for (const auto& part : x.file.part_files)
      held_.insert(part.file);
  }

  std::vector<node_id> nodes_;
  std::vector<stored_checkpoint> candidates_;
  std::set<std::string> held_; ///< files with parts of what stays
};

std::uint64_t freed_by(const workload_plan& x) {
  std::uint64_t result = 0;
  for (const auto& y : x.victims)
    result += y.what.file.bytes;
  for (const auto& y : x.hidden)
    result += y.file.bytes;
  for (const auto& y : x.unknown)
    result += y.bytes;
  return result;
}

std::vector<unknown_file> find_unknown(const std::string& folder,
                                       const std::set<std::string>& known) {
  std::vector<unknown_file> result;
  std::error_code failed;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& x : fs::directory_iterator{folder, failed})
    if (x.is_regular_file(failed)
        && !known.contains(x.path().filename().string())
        && now - x.last_write_time(failed) > unknown_file_age_min)
      result.push_back({x.path().string(), x.file_size(failed)});
  return result;
}

/// Returns the files of initial states that no study of the store names.
expected<std::vector<unknown_file>> find_unnamed_initial(state_reader& store) {
  const auto studies = store.load_studies();
  if (!studies)
    return studies.failure();
  std::set<std::string> named;
  for (const auto& x : *studies)
    if (const auto state = initial_state_in(x.text))
      for (const auto& [path, file] : state->files)
        named.insert(file.sha256);
  return find_unknown(store.checkpoints() + '/' + initial_folder_name, named);
}

/// The same in an object store.
expected<std::vector<unknown_file>>
find_unknown(object_client& objects, const std::string& folder,
             const std::set<std::string>& known) {
  auto found = objects.list(folder + '/');
  if (!found)
    return found.failure();
  std::vector<unknown_file> result;
  const auto base = to_text(objects.where());
  const auto since = now_seconds() - unknown_file_age_min / 1s;
  const auto prefix = key_of(objects.where(), "");
  for (const auto& x : *found) {
    const auto name = x.key.substr(std::min(prefix.size(), x.key.size()));
    if (!known.contains(name) && x.changed && *x.changed < since)
      result.push_back({base + '/' + name, x.bytes});
  }
  return result;
}

/// Deletes what lies at a path, in a folder or in the object store.
std::optional<error> delete_at(const std::string& path,
                               object_client* objects) {
  if (is_in_object_store(path))
    return objects->remove(path.substr(to_text(objects->where()).size() + 1));
  std::error_code ignored;
  fs::remove(path, ignored);
  return std::nullopt;
}

/// @param bytes that are to become free
/// @param objects where checkpoints are; null: in the state folder
expected<workload_plan> plan_for(state_reader& store, object_client* objects,
                                 state_reader::usage usage,
                                 std::uint64_t bytes) {
  workload_plan result;
  const auto folder = hash_text(usage.workload_key);
  std::set<std::string> files{code_file_name};
  std::set<std::string> names; // of objects
  kept_plan all;
  bool is_damaged = false;
  auto nodes = store.load_hidden_nodes(usage.workload_key);
  if (!nodes)
    return nodes.failure();
  hidden_checkpoints hidden{std::move(*nodes)};
  const auto known
    = store.load_plan(usage.workload_key, [&](stored_plan part) {
        is_damaged = is_damaged || part.damages > 0;
        for (const auto& x : part.damage)
          std::cerr << "hippo: of " << usage.workload_key
                    << " is damaged, and left out: " << x << '\n';
        for (const auto& x : part.checkpoints) {
          files.insert(x.file.file);
          hidden.add(x);
          if (objects != nullptr)
            names.insert(folder + '/'
                         + stored_name(to_text(objects->where()), x.file));
        }
        if (bytes > 0)
          all.restore(std::move(part));
      });
  if (!known)
    return known.failure();
  // Of a plan that is damaged nobody knows which files are of no use.
  if (!is_damaged)
    result.unknown = find_unknown(store.checkpoints() + '/' + folder, files);
  if (objects != nullptr && !is_damaged) {
    auto more = find_unknown(*objects, folder, names);
    if (!more)
      return more.failure();
    result.unknown.insert(result.unknown.end(), more->begin(), more->end());
  }
  result.hidden = hidden.take();
  std::uint64_t freed = 0;
  std::set<std::string> gone;
  for (const auto& x : result.hidden) {
    freed += x.file.bytes;
    gone.insert(x.file.file);
  }
  if (bytes > freed)
    result.victims = collect_idle(all.plan, bytes);
  std::erase_if(result.victims,
                [&](const auto& x) { return gone.contains(x.what.file.file); });
  result.usage = std::move(usage);
  return result;
}

nlohmann::ordered_json to_json(const unknown_file& file) {
  return {{"file", file.path}, {"bytes", file.bytes}};
}

std::string megabytes(std::uint64_t bytes) {
  return std::to_string((bytes + 500'000) / 1'000'000) + " MB";
}

void print_text(const std::vector<workload_plan>& plans,
                const std::vector<unknown_file>& initial, const gc_options& o) {
  std::uint64_t bytes = 0;
  std::uint64_t freed = 0;
  for (const auto& x : plans) {
    bytes += x.usage.checkpoint_bytes;
    freed += freed_by(x);
    std::cout << x.usage.workload_key << "\n  " << x.usage.checkpoints
              << " checkpoints, " << megabytes(x.usage.checkpoint_bytes)
              << '\n';
    step_t steps = 0;
    for (const auto& y : x.victims)
      steps += y.steps;
    if (!x.victims.empty())
      std::cout << (o.dry_run ? "  would give up " : "  gave up ")
                << x.victims.size() << " of them: at most " << steps
                << " steps to train again, if ever needed\n";
    for (const auto& y : x.victims)
      std::cout << "    node " << to_string(y.what.node) << " at step "
                << y.what.at << ": " << y.what.file.file << ", "
                << megabytes(y.what.file.bytes) << ", " << y.steps
                << " steps\n";
    if (!x.hidden.empty())
      std::cout << (o.dry_run ? "  would give up " : "  gave up ")
                << x.hidden.size() << " of them that only hidden trials need\n";
    if (!x.unknown.empty())
      std::cout << (o.dry_run ? "  would delete " : "  deleted ")
                << x.unknown.size() << " files that no checkpoint is in\n";
    for (const auto& y : x.unknown)
      std::cout << "    " << y.path << ", " << megabytes(y.bytes) << '\n';
  }
  for (const auto& x : initial) {
    freed += x.bytes;
    std::cout << (o.dry_run ? "would delete " : "deleted ") << x.path << ", "
              << megabytes(x.bytes)
              << ": a file of an initial state that no study names\n";
  }
  std::cout << "in all " << megabytes(bytes) << "; the budget is "
            << megabytes(o.checkpoint_bytes_max)
            << (o.dry_run ? "; would free " : "; freed ") << megabytes(freed)
            << '\n';
}

void print_json(const std::vector<workload_plan>& plans,
                const std::vector<unknown_file>& initial, const gc_options& o) {
  auto workloads = nlohmann::ordered_json::array();
  for (const auto& x : plans) {
    auto victims = nlohmann::ordered_json::array();
    for (const auto& y : x.victims)
      victims.push_back({{"node", y.what.node},
                         {"step", y.what.at},
                         {"file", y.what.file.file},
                         {"bytes", y.what.file.bytes},
                         {"steps_to_train_again", y.steps}});
    auto unknown = nlohmann::ordered_json::array();
    for (const auto& y : x.unknown)
      unknown.push_back(to_json(y));
    auto hidden = nlohmann::ordered_json::array();
    for (const auto& y : x.hidden)
      hidden.push_back({{"node", y.node},
                        {"step", y.step},
                        {"file", y.file.file},
                        {"bytes", y.file.bytes}});
    workloads.push_back({{"workload", x.usage.workload_key},
                         {"checkpoints", x.usage.checkpoints},
                         {"bytes", x.usage.checkpoint_bytes},
                         {"given_up", std::move(victims)},
                         {"hidden", std::move(hidden)},
                         {"unknown_files", std::move(unknown)},
                         {"freed_bytes", freed_by(x)}});
  }
  auto unnamed = nlohmann::ordered_json::array();
  for (const auto& x : initial)
    unnamed.push_back(to_json(x));
  const nlohmann::ordered_json result{{"budget", o.checkpoint_bytes_max},
                                      {"dry_run", o.dry_run},
                                      {"workloads", std::move(workloads)},
                                      {"initial_files", std::move(unnamed)}};
  std::cout << result.dump(2) << '\n';
}

/// Carries a plan out: in the store first, so that no checkpoint is known whose
/// file is gone.
std::optional<error> apply_plan(const workload_plan& x, state_writer& store,
                                object_client* objects) {
  const auto& key = x.usage.workload_key;
  std::vector<journal_record> records;
  std::vector<std::string> paths;
  const auto folder = '/' + hash_text(key);
  const auto give_up = [&](node_id node, step_t step, const checkpoint& file) {
    records.emplace_back(checkpoint_removed{key, node, step, file.file});
    paths.push_back(checkpoint_path(store.checkpoints() + folder, file));
    if (objects != nullptr)
      paths.push_back(
        checkpoint_path(to_text(objects->where()) + folder, file));
  };
  for (const auto& y : x.victims)
    give_up(y.what.node, y.what.at, y.what.file);
  for (const auto& y : x.hidden)
    give_up(y.node, y.step, y.file);
  if (auto done = store.commit(records); !done)
    return done.failure();
  for (const auto& y : x.unknown)
    paths.push_back(y.path);
  for (const auto& path : paths)
    if (auto why = delete_at(path, objects))
      return why;
  return std::nullopt;
}

/// Evicts the checkpoints that only hidden trials need, and checkpoints beyond
/// the budget, those of the oldest workload first and
/// of these the ones that take the least to train again, and deletes files that
/// are in no checkpoint; or says what it would do.
/// @returns the exit code
int gc(const gc_options& options) {
  // Reading never makes a folder: a misspelt one is no reason to make it.
  auto reader = state_reader::open(options.state);
  if (!reader)
    return fail(reader.failure(), exit_bad_input);
  std::unique_ptr<state_writer> writer; // null on a dry run
  if (!options.dry_run) {
    auto opened = state_writer::open(options.state);
    if (!opened)
      return fail(opened.failure(), exit_bad_input);
    writer = std::move(*opened);
  }
  state_reader& store = writer ? *writer : **reader;
  auto place = find_object_place(options.state, {});
  if (!place)
    return fail(place.failure(), exit_bad_input);
  std::unique_ptr<object_client> objects; // null: checkpoints are in the folder
  if (*place)
    objects = std::make_unique<object_client>(std::move(**place));
  auto usages = store.load_usage();
  if (!usages)
    return fail(usages.failure(), exit_failed);
  std::vector<checkpoint_user> users;
  for (const auto& x : *usages)
    users.push_back({x.checkpoint_bytes, false});
  const auto space
    = divide_checkpoint_space(users, options.checkpoint_bytes_max, 0);
  std::vector<workload_plan> plans;
  int code = exit_done; // of one that cannot be read the others know nothing
  for (std::size_t i = 0; i < users.size(); ++i) {
    auto plan = plan_for(store, objects.get(), std::move((*usages)[i]),
                         users[i].bytes - space[i]);
    if (!plan) {
      code = fail(plan.failure(), exit_failed);
      continue;
    }
    if (writer)
      if (auto why = apply_plan(*plan, *writer, objects.get()))
        return fail(*why, exit_failed);
    plans.push_back(std::move(*plan));
  }
  auto initial = find_unnamed_initial(store);
  if (!initial)
    return fail(initial.failure(), exit_failed);
  if (writer)
    for (const auto& x : *initial)
      if (auto why = delete_at(x.path, nullptr))
        return fail(*why, exit_failed);
  if (options.json)
    print_json(plans, *initial, options);
  else
    print_text(plans, *initial, options);
  return code;
}

} // namespace

void add_gc(verb_table& verbs) {
  const auto x = std::make_shared<gc_options>();
  const auto format = std::make_shared<std::string>("table");
  auto* verb = verbs.add(
    local_group, "gc", "Give up checkpoints beyond a budget, cheapest first",
    "hippo gc --state /data/hippo --checkpoint-budget 10GB --dry-run",
    [x, format] {
      x->json = *format == "json";
      return gc(*x);
    });
  verb->add_option("--state", x->state, "State folder")->capture_default_str();
  add_checkpoint_budget(*verb, x->checkpoint_bytes_max, "50GB");
  verb->add_flag("--dry-run", x->dry_run,
                 "Only say what would go; works while a service runs");
  add_format(*verb, *format);
}

} // namespace hippo
