#include "coordinator.hpp"

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/core/hash.hpp"
#include "hippo/merge/retention.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/train/checkpoint_file.hpp"
#include "merger.hpp"
#include "study.hpp"

namespace hippo {

namespace {

using self_ptr = coordinator_actor::stateful_pointer<coordinator_state>;
using id_promise = caf::typed_response_promise<std::uint64_t>;

/// How many leases a generation may have.
constexpr std::uint64_t leases_per_generation = 1ull << 32;

/// How often idle mergers are looked for, and the space for checkpoints is
/// divided.
constexpr auto look_interval = std::chrono::seconds(10);

/// Once so much of the space for checkpoints is full, workloads without studies
/// give up theirs until one part of so many is free.
constexpr double full_from = 0.95;
constexpr std::uint64_t reserve_divisor = 10;

/// How long a study may take to start.
constexpr auto start_timeout = std::chrono::minutes(10);

/// Events that are read at a time when a study is restored.
constexpr std::size_t events_per_read = 10'000;

caf::error to_caf(const error& x) { return caf::make_error(x.code, x.message); }

const workload_descriptor* find_workload(const coordinator_state& st,
                                         const std::string& name) {
  const auto& all = st.options.workloads;
  const auto i = std::find_if(all.begin(), all.end(),
                              [&](const auto& x) { return x.name == name; });
  return i == all.end() ? nullptr : &*i;
}

// -- mergers ------------------------------------------------------------------

/// Leaves what a workload runs where its trainers look for checkpoints.
expected<checkpoint> leave_code(const std::string& folder,
                                const std::string& code) {
  if (code.empty())
    return checkpoint{};
  return write_checkpoint(folder, code_file_name, code);
}

expected<merger_options> options_for(coordinator_state& st,
                                     const study_spec& study) {
  const auto& workload = study.workload;
  const auto key = key_of(workload);
  merger_options result;
  result.workload = workload;
  result.policy = st.options.policy;
  result.merge = st.options.merge && may_share(workload);
  result.checkpoint_bytes_max = st.options.checkpoint_bytes_max;
  result.stall_max = st.options.stall_max;
  const auto& known = *find_workload(st, workload.name);
  result.workload_version = known.version;
  for (const auto& p : known.hyper_parameters)
    if (p.affects_speed)
      result.speed_names.push_back(p.name);
  result.first_lease = ++st.last_lease_epoch * leases_per_generation;
  result.folder_token = st.options.folder_token;
  result.depot_port = st.options.depot_port;
  if (!st.options.known)
    return result;
  result.folder = st.options.checkpoints + '/' + hash_text(key);
  std::error_code failed;
  std::filesystem::create_directories(result.folder, failed);
  if (failed)
    return error{errc::io_failed, result.folder + ": " + failed.message()};
  auto code = leave_code(result.folder, study.code);
  if (!code)
    return code.failure();
  result.code = std::move(*code);
  auto stored = st.options.known->load_plan(key);
  if (!stored)
    return stored.failure();
  result.known = std::move(*stored);
  return result;
}

/// Finds the merger of a study's workload key or makes one.
expected<coordinator_state::merger_entry*> merger_for(self_ptr self,
                                                      const study_spec& study) {
  auto& st = self->state;
  const auto key = key_of(study.workload);
  if (const auto i = st.mergers.find(key); i != st.mergers.end()) {
    // Whoever came last says how it is run.
    self->send(i->second.handle, settings_atom::value, study.workload);
    return &i->second;
  }
  auto options = options_for(st, study);
  if (!options)
    return options.failure();
  auto& entry = st.mergers[key];
  entry.handle = self->spawn(merger, std::move(*options), st.pool, st.journal);
  self->monitor(entry.handle);
  if (st.going)
    self->send(entry.handle, go_atom::value);
  return &entry;
}

void retire(self_ptr self, const std::string& key) {
  auto& entry = self->state.mergers.at(key);
  entry.retiring = true;
  self->request(entry.handle, caf::infinite, retire_atom::value)
    .then(
      [self, handle = entry.handle](std::uint64_t) {
        self->send_exit(handle, caf::exit_reason::user_shutdown);
      },
      [](const caf::error&) {}); // it is down: the down handler has heard
}

void retire_idle(self_ptr self) {
  auto& st = self->state;
  const auto now = self->clock().now();
  for (auto& [key, x] : st.mergers)
    if (x.live_studies == 0 && !x.retiring && x.waiting.empty()
        && now - x.idle_since >= st.options.idle_merger_max)
      retire(self, key);
}

// -- checkpoints --------------------------------------------------------------

/// Gives up checkpoints of a workload that has no merger.
void trim_idle(self_ptr self, const std::string& key, std::uint64_t bytes) {
  auto& st = self->state;
  auto known = st.options.known->load_plan(key);
  if (!known) {
    spdlog::warn("coordinator: cannot give up checkpoints of {}: {}", key,
                 known.failure().message);
    return;
  }
  journal_entry entry;
  std::vector<std::string> files;
  for (const auto& x : collect_idle(std::move(*known), bytes)) {
    entry.records.emplace_back(checkpoint_removed{key, x.what.node, x.what.at});
    files.push_back(st.options.checkpoints + '/' + hash_text(key) + '/'
                    + x.what.file.file);
  }
  st.collecting = true;
  self
    ->request(st.journal, caf::infinite, commit_atom::value, std::move(entry))
    .then(
      [self, key, files = std::move(files)](std::uint64_t) {
        self->state.collecting = false;
        std::error_code ignored; // `hippo gc` finds what is left
        for (const auto& file : files)
          std::filesystem::remove(file, ignored);
        spdlog::info("coordinator: gave up {} checkpoints of {}, which is idle",
                     files.size(), key);
      },
      [self](const caf::error&) { self->state.collecting = false; });
}

bool limits_space(const coordinator_state& st) {
  return st.options.known && st.options.checkpoint_bytes_max != UINT64_MAX;
}

/// Keeps the checkpoints of all workloads together within their space.
void divide_space(self_ptr self) {
  auto& st = self->state;
  if (st.collecting || st.submissions_under_way > 0)
    return; // plans that are read must agree with the files
  auto stored = st.options.known->load_checkpoint_bytes();
  if (!stored)
    return; // the journal says what is wrong
  std::vector<checkpoint_user> users;
  std::uint64_t total = 0;
  for (const auto& [key, bytes] : *stored) {
    users.push_back({bytes, st.mergers.count(key) > 0});
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
      self->send(st.mergers.at(key).handle, budget_atom::value, space[i]);
    else if (space[i] < users[i].bytes)
      trim_idle(self, key, users[i].bytes - space[i]);
  }
}

// -- studies ------------------------------------------------------------------

/// Reads what a study has heard in earlier runs.
/// @param known null: nothing was kept
expected<std::vector<stored_event>> history_of(state_reader* known,
                                               std::uint64_t id) {
  std::vector<stored_event> result;
  if (known == nullptr)
    return result;
  for (;;) {
    const auto after = result.empty() ? 0 : result.back().id;
    auto more = known->load_events(id, after, events_per_read);
    if (!more)
      return more.failure();
    if (more->empty())
      return result;
    result.insert(result.end(), std::make_move_iterator(more->begin()),
                  std::make_move_iterator(more->end()));
  }
}

void note_end(self_ptr self, std::uint64_t id) {
  auto& st = self->state;
  auto& x = st.studies.at(id);
  if (std::exchange(x.ended, true))
    return;
  const auto key = x.workload_key;
  auto& entry = st.mergers.at(key);
  --entry.live_studies;
  entry.idle_since = self->clock().now();
  if (st.options.keep_ended)
    return;
  self->send_exit(x.handle, caf::exit_reason::user_shutdown);
  st.studies.erase(id);
}

void start(self_ptr self, study_submission x, id_promise promise) {
  auto& st = self->state;
  const auto& spec = x.study.spec;
  const auto& stored = *x.stored;
  // Reading much takes long: the plan is read meanwhile.
  auto reading
    = std::async(std::launch::async, history_of, st.histories.get(), stored.id);
  auto entry = merger_for(self, spec);
  if (!entry) {
    promise.deliver(to_caf(entry.failure()));
    return;
  }
  if ((*entry)->retiring) {
    (*entry)->waiting.push_back(
      [self, x = std::move(x), promise] { start(self, x, promise); });
    return;
  }
  auto history = reading.get();
  if (!history) {
    promise.deliver(to_caf(history.failure()));
    return;
  }
  ++(*entry)->live_studies;
  const auto id = stored.id;
  study_options options{spec, *find_workload(st, spec.workload.name), stored,
                        std::move(*history)};
  auto handle
    = self->spawn(study, std::move(options), (*entry)->handle, st.journal,
                  caf::actor_cast<observer_actor>(self));
  st.studies[id] = {stored.name, key_of(spec.workload), handle, 0, false};
  spdlog::info("coordinator: study {} is {}", id, stored.name);
  self->request(handle, start_timeout, start_atom::value)
    .then(
          [self, promise, id](std::uint64_t no) mutable {
            if (const auto i = self->state.studies.find(id);
                i != self->state.studies.end())
              i->second.no = no;
            promise.deliver(id);
          },
          [self, promise, id](caf::error& err) mutable {
            spdlog::error("coordinator: study {} cannot start: {}", id,
                          self->system().render(err));
            promise.deliver(std::move(err));
          });
}

void submit(self_ptr self, study_submission x, id_promise promise) {
  auto& st = self->state;
  const auto& spec = x.study.spec;
  if (find_workload(st, spec.workload.name) == nullptr) {
    promise.deliver(caf::make_error(errc::unknown_workload,
                                    "no workload '" + spec.workload.name
                                      + "'"));
    return;
  }
  std::vector<journal_record> records;
  if (!x.stored) {
    x.stored = stored_study{};
    auto& stored = *x.stored;
    stored.id = ++st.last_study;
    stored.name = spec.name;
    stored.file = spec.file;
    stored.text = x.study.text;
    stored.metric = spec.objective.metric;
    stored.direction = spec.objective.direction;
    stored.weight = spec.weight;
    records.emplace_back(study_saved{stored});
  }
  // Along with what is there already, so that the plan is read after it, and
  // the numbers of the leases of a merger that is yet to come.
  records.emplace_back(lease_epoch_begun{st.last_lease_epoch + 1});
  ++st.submissions_under_way;
  self
    ->request(st.journal, caf::infinite, commit_atom::value,
              journal_entry{std::move(records), {}})
    .then(
      [self, x = std::move(x), promise](std::uint64_t) mutable {
        --self->state.submissions_under_way;
        start(self, std::move(x), promise);
      },
      [self, promise](caf::error& err) mutable {
        --self->state.submissions_under_way;
        promise.deliver(std::move(err));
      });
}

caf::error not_running(std::uint64_t study) {
  return caf::make_error(errc::unknown_study, "study " + std::to_string(study)
                                                + " is not running");
}

/// Answers those who asked for studies while these were being restored.
void answer_early(coordinator_state& st) {
  for (auto& [id, promise] : std::exchange(st.asked_early, {})) {
    if (const auto i = st.studies.find(id); i != st.studies.end())
      promise.deliver(i->second.handle);
    else
      promise.deliver(not_running(id));
  }
}

/// Finds out which numbers earlier runs have given.
expected<std::monostate> look_back(coordinator_state& st) {
  auto& known = *st.options.known;
  const auto study = known.last_study();
  if (!study)
    return study.failure();
  const auto generation = known.last_lease_epoch();
  if (!generation)
    return generation.failure();
  auto histories = state_reader::open(known.path());
  if (!histories)
    return histories.failure();
  st.last_study = *study;
  st.last_lease_epoch = *generation;
  st.histories = std::move(*histories);
  return std::monostate{};
}

coordinator_status status_of(const coordinator_state& st) {
  coordinator_status result;
  for (const auto& [id, x] : st.studies)
    result.studies.push_back(
      {id, x.name, x.workload_key, x.handle, x.no, x.ended});
  for (const auto& [key, x] : st.mergers)
    result.mergers.push_back({key, x.handle});
  return result;
}

} // namespace

coordinator_state::~coordinator_state() {
  for (const auto& [id, x] : studies)
    caf::anon_send_exit(x.handle, caf::exit_reason::user_shutdown);
  for (const auto& [key, x] : mergers)
    caf::anon_send_exit(x.handle, caf::exit_reason::user_shutdown);
}

coordinator_actor::behavior_type
coordinator(self_ptr self, coordinator_options options, pool_actor pool,
            journal_actor journal, observer_actor observer) {
  auto& state = self->state;
  state.options = std::move(options);
  state.pool = std::move(pool);
  state.journal = std::move(journal);
  state.observer = std::move(observer);
  if (state.options.known)
    if (auto read = look_back(state); !read)
      self->quit(to_caf(read.failure()));
  self->set_down_handler([self](const caf::down_msg& msg) {
    auto& st = self->state;
    const auto i
      = std::find_if(st.mergers.begin(), st.mergers.end(), [&](const auto& x) {
          return x.second.handle.address() == msg.source;
        });
    if (i == st.mergers.end())
      return;
    if (!i->second.retiring) {
      // It could not go on, and has said why.
      self->quit(msg.reason);
      return;
    }
    const auto waiting = std::move(i->second.waiting);
    st.mergers.erase(i);
    for (const auto& f : waiting)
      f();
  });
  if (!state.options.keep_ended || limits_space(state))
    self->delayed_send(self, look_interval, tick_atom::value);
  return {
    [self](notify_atom, const trial_event& x) {
      self->send(self->state.observer, notify_atom::value, x);
    },
    [self](notify_atom, const study_end& x) {
      spdlog::info("coordinator: study {} ({}) has ended: {}", x.id, x.name,
                   to_string(x.state));
      note_end(self, x.id);
      self->send(self->state.observer, notify_atom::value, x);
    },
    [self](submit_atom,
           const study_submission& x) -> caf::result<std::uint64_t> {
      auto promise = self->make_response_promise<std::uint64_t>();
      submit(self, x, promise);
      return promise;
    },
    [self](find_atom, std::uint64_t id) -> caf::result<study_actor> {
      auto& st = self->state;
      if (const auto i = st.studies.find(id); i != st.studies.end())
        return i->second.handle;
      if (st.going)
        return not_running(id);
      auto promise = self->make_response_promise<study_actor>();
      st.asked_early.emplace_back(id, promise);
      return promise;
    },
    [self](depot_atom, std::uint16_t port) {
      self->state.options.depot_port = port;
    },
    [self](go_atom) {
      self->state.going = true;
      answer_early(self->state);
      for (const auto& [key, x] : self->state.mergers)
        self->send(x.handle, go_atom::value);
    },
    [self](halt_atom) {
      for (const auto& [key, x] : self->state.mergers)
        self->send(x.handle, halt_atom::value);
    },
    [self](tick_atom) {
      if (!self->state.options.keep_ended)
        retire_idle(self);
      if (limits_space(self->state))
        divide_space(self);
      self->delayed_send(self, look_interval, tick_atom::value);
    },
    [self](status_atom) { return status_of(self->state); },
  };
}

} // namespace hippo
