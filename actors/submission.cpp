#include "submission.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "fault.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/service/merge/other_steps.hpp"
#include "hippo/space/own_workload.hpp"
#include "memory_space.hpp"
#include "merger.hpp"
#include "study.hpp"
#include "supervision.hpp"

namespace hippo {

namespace {

/// A merger's number of a study that has started, or why it has not.
using expected_start = std::variant<study_no, caf::error>;

/// How many leases an epoch may have.
constexpr std::uint64_t leases_per_epoch = 1ull << 32;

/// Events that are read at a time when a study is restored.
constexpr std::size_t events_per_read = 10'000;

const workload_descriptor* find_workload(const coordinator_state& st,
                                         const std::string& name) {
  const auto& all = st.options.workloads;
  const auto i = std::find_if(all.begin(), all.end(),
                              [&](const auto& x) { return x.name == name; });
  return i == all.end() ? nullptr : &*i;
}

/// Leaves what a workload runs where its trainers look for checkpoints.
expected<checkpoint> leave_code(const std::string& folder,
                                const std::string& code) {
  if (code.empty())
    return checkpoint{};
  return write_checkpoint(folder, code_file_name, code);
}

/// Says what of a plan cannot be read.
void tell_damage(const std::string& key, const stored_plan& part) {
  for (const auto& what : part.damage)
    spdlog::error("coordinator: of {} is damaged, and left out: {}", key, what);
  if (part.damages > part.damage.size())
    spdlog::error("coordinator: of {} {} more are damaged, and left out", key,
                  part.damages - part.damage.size());
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
  result.unpacked_nodes_max = st.options.unpacked_nodes_max;
  result.stall_max = st.options.stall_max;
  result.unmeasured_stall_max = st.options.unmeasured_stall_max;
  const auto& known = *find_workload(st, workload.name);
  result.workload_version = known.version;
  for (const auto& x : known.metrics)
    result.metrics.push_back(x.name);
  result.speed_names = speed_names_of(known);
  result.first_lease = lease_id{++st.last_lease_epoch * leases_per_epoch};
  result.trace = st.options.trace;
  result.folder_token = st.options.folder_token;
  result.depot_port = st.options.depot_port;
  std::shared_ptr<file_memory> cold;
  if (!st.options.cold_folder.empty()) {
    try {
      cold = std::make_shared<file_memory>(st.options.cold_folder);
    } catch (const std::system_error& x) {
      return error{errc::io_failed, x.what()};
    }
  }
  result.kept = std::make_shared<kept_plan>(
    waiting_limits{}, workload.any_device, std::move(cold));
  if (st.options.known)
    result.folder = checkpoint_folder(st, key);
  return result;
}

/// What is read before a merger can be made.
struct plan_source {
  std::string state;  ///< the state folder
  std::string folder; ///< of its checkpoints, on this machine
  std::string key;
  std::string code; ///< of its studies
  std::vector<workload_descriptor> workloads;
};

/// Adds what is stored of a workload key to a merger's options. Takes as long
/// as the plan is large.
std::optional<error> read_plan(const plan_source& from, merger_options& to) {
  std::error_code failed;
  std::filesystem::create_directories(from.folder, failed);
  if (failed)
    return error{errc::io_failed, from.folder + ": " + failed.message()};
  auto code = leave_code(from.folder, from.code);
  if (!code)
    return code.failure();
  to.code = std::move(*code);
  if (!from.code.empty())
    to.kept_code_text = std::make_shared<const kept_code>(
      kept_code{from.folder, to.code, from.code});
  auto store = state_reader::open(from.state);
  if (!store)
    return store.failure();
  auto stored = (*store)->load_plan(from.key, [&](stored_plan part) {
    tell_damage(from.key, part);
    to.kept->restore(std::move(part));
  });
  if (!stored)
    return stored.failure();
  auto own_times = (*store)->load_timings(from.key);
  if (!own_times)
    return own_times.failure();
  to.timings = std::move(*own_times);
  auto evicted = (*store)->load_evicted(from.key);
  if (!evicted)
    return evicted.failure();
  to.evicted = std::move(*evicted);
  const auto trained = (*store)->load_trained(from.key);
  if (!trained)
    return trained.failure();
  to.trained = *trained;
  auto times = (*store)->load_timings();
  if (!times)
    return times.failure();
  to.other_steps = step_profiles_of_others(*times, from.key, from.workloads);
  return std::nullopt;
}

/// Makes a merger of what was read.
coordinator_state::merger_entry& add_merger(coordinator_self self,
                                            const std::string& key,
                                            merger_options options) {
  auto& st = self->state;
  const auto handle
    = self->spawn(merger, std::move(options), st.pool, st.journal);
  self->monitor(handle);
  auto& entry = st.mergers[key];
  entry.handle = handle;
  if (st.going)
    self->send(entry.handle, go_atom::value);
  return entry;
}

/// Finds the merger of a study's workload key, or has one made.
/// @param later called once there is one, or why there is none is known; the
///        result is null then
expected<coordinator_state::merger_entry*>
merger_for(coordinator_self self, const study_spec& study,
           const std::function<coordinator_state::plan_waiter()>& later) {
  auto& st = self->state;
  const auto key = key_of(study.workload);
  if (const auto i = st.mergers.find(key); i != st.mergers.end())
    return &i->second;
  if (const auto i = st.reading.find(key); i != st.reading.end()) {
    i->second.waiting.push_back(later());
    return nullptr;
  }
  auto options = options_for(st, study);
  if (!options)
    return options.failure();
  if (!st.options.known)
    return &add_merger(self, key, std::move(*options));
  const plan_source from{st.options.known->path(),
                         st.options.checkpoints + '/' + hash_text(key), key,
                         study.code, st.options.workloads};
  auto& entry = st.reading[key];
  entry.place = thinking_place{st.options.where, job_kind::decision};
  entry.options = std::make_shared<merger_options>(std::move(*options));
  entry.failure = std::make_shared<std::optional<error>>();
  entry.waiting.push_back(later());
  entry.place.post([from, options = entry.options, failure = entry.failure,
                    to = coordinator_actor{self}](const job_turn&) {
    try {
      *failure = read_plan(from, *options);
    } catch (const std::exception& why) {
      *failure = error{errc::io_failed, why.what()};
    }
    caf::anon_send(to, thought_atom::value, from.key);
  });
  return nullptr;
}

/// Reads what a study was sent in earlier runs, by a reader of its own.
/// @param known null: nothing was kept
history_reader history_of(const state_reader* known, study_id id) {
  if (known == nullptr)
    return {};
  struct place {
    std::string path;
    std::unique_ptr<state_reader> store;
  };
  return [id, x = std::make_shared<place>(place{known->path(), {}})](
           std::uint64_t after) -> expected<std::vector<stored_event>> {
    if (!x->store) {
      auto opened = state_reader::open(x->path);
      if (!opened)
        return opened.failure();
      x->store = std::move(*opened);
    }
    return x->store->load_events(id, after, events_per_read);
  };
}

/// In seconds since 1970.
double seconds_now() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

/// Ends a study that has an actor and cannot be started.
void give_up(coordinator_self self, study_id id, const std::string& why) {
  const auto& entry = self->state.studies.at(id);
  const auto handle = entry.handle;
  fail_study(self, row_of(id, entry), why);
  self->send_exit(handle, caf::exit_reason::user_shutdown);
}

/// Why a study says that it cannot start, for people.
std::string reason_of(coordinator_self self, const caf::error& why) {
  const auto& context = why.context();
  const auto said = context.match_elements<std::string>()
                      ? context.get_as<std::string>(0)
                      : self->system().render(why);
  return (why == errc::malformed_message ? "what is stored of it is damaged: "
                                         : "it cannot start: ")
         + said;
}

/// A study has started, or has said why it cannot.
void note_started(coordinator_self self, study_id id,
                  const study_actor& handle,
                  const expected_start& what) {
  auto& studies = self->state.studies;
  const auto i = studies.find(id);
  if (i == studies.end() || i->second.handle != handle)
    return; // it has died, and that was seen to
  if (const auto* no = std::get_if<study_no>(&what)) {
    i->second.no = *no;
    if (auto who = std::exchange(i->second.submitter, std::nullopt))
      who->deliver(id);
    return;
  }
  const auto& why = std::get<caf::error>(what);
  if (why == errc::malformed_message || why == errc::io_failed
      || why == caf::sec::request_timeout)
    give_up(self, id, reason_of(self, why));
  // Else an actor has died: what comes of it follows from that.
}

/// Whether a submission is still wanted: its study may have been cancelled.
bool is_awaited(const coordinator_state& st, study_id id,
                std::uint64_t attempt) {
  const auto i = st.awaited.find(id);
  return i != st.awaited.end() && i->second == attempt;
}

caf::error was_cancelled(study_id id) {
  return caf::make_error(errc::cancelled, "study " + to_string(id)
                                            + " has been cancelled");
}

/// @param attempt the number of the submission
void start(coordinator_self self, study_submission x, std::uint64_t attempt,
           submission_promise promise);

/// Makes a study's actor, along with a merger if there is none.
/// @returns why it cannot
std::optional<error> make_study(coordinator_self self, study_submission& x,
                                std::uint64_t attempt,
                                submission_promise promise) {
  auto& st = self->state;
  const auto& spec = x.study->spec();
  const auto& stored = *x.stored;
  auto entry = merger_for(self, spec, [&] {
    return coordinator_state::plan_waiter{
      [=] { start(self, x, attempt, promise); },
      [=, row = stored](const error& why) mutable {
        if (is_awaited(self->state, row.id, attempt))
          fail_study(self, row, "it cannot start: " + why.message);
        promise.deliver(to_caf_error(why));
      }};
  });
  if (!entry)
    return entry.failure();
  if (*entry == nullptr)
    return std::nullopt; // until its plan is read
  if ((*entry)->retiring) {
    (*entry)->waiting.push_back(
      [=, x = std::move(x)] { start(self, x, attempt, promise); });
    return std::nullopt;
  }
  const auto id = stored.id;
  study_options options{spec,
                        x.study->search(),
                        *find_workload(st, spec.workload.name),
                        stored,
                        {}};
  if (spec.budget.deadline)
    options.deadline_left
      = seconds_until(*spec.budget.deadline, x.age_seconds, seconds_now());
  coordinator_state::study_entry made;
  made.name = stored.name;
  made.workload_key = key_of(spec.workload);
  made.study = std::make_shared<accepted_study>(*x.study);
  made.submitter = promise;
  auto& known = st.studies[id] = std::move(made);
  st.awaited.erase(id);
  ++(*entry)->live_studies;
  const auto handle = self->spawn(
    study,
    study_setup{std::move(options), st.options.where,
                history_of(st.options.known.get(), id),
                st.options.draws_at_once_max, st.options.trace},
    (*entry)->handle, st.journal, caf::actor_cast<observer_actor>(self));
  known.handle = handle;
  self->monitor(handle);
  answer_early(st);
  spdlog::info("coordinator: study {} is {}", number_of(id), stored.name);
  // For as long as it takes to do again what it did: others do not wait.
  self->request(handle, caf::infinite, start_atom::value)
    .then(
      [self, id, handle](study_no no) { note_started(self, id, handle, no); },
      [self, id, handle](caf::error& why) {
        note_started(self, id, handle, std::move(why));
      });
  return std::nullopt;
}

/// Whatever goes wrong is of this study alone.
void start(coordinator_self self, study_submission x, std::uint64_t attempt,
           submission_promise promise) {
  if (!is_awaited(self->state, x.stored->id, attempt)) {
    promise.deliver(was_cancelled(x.stored->id));
    return;
  }
  std::optional<error> why;
  stored_study row; // the store has the rest
  row.id = x.stored->id;
  row.name = x.stored->name;
  try {
    why = make_study(self, x, attempt, promise);
  } catch (...) {
    why = error{errc::resource_exhausted, text_of(std::current_exception())};
  }
  if (!why)
    return;
  const auto said = "it cannot start: " + why->message;
  auto& studies = self->state.studies;
  if (const auto i = studies.find(row.id); i != studies.end()) {
    const auto handle = i->second.handle;
    fail_study(self, row, said); // which answers
    if (handle)
      self->send_exit(handle, caf::exit_reason::user_shutdown);
    return;
  }
  fail_study(self, row, said);
  promise.deliver(to_caf_error(*why));
}

/// A study is not taken in. One of before that has not ended has failed then.
void refuse(coordinator_self self, const study_submission& x,
            submission_promise promise, const error& why) {
  if (x.stored && !has_ended(x.stored->state))
    fail_study(self, *x.stored, "it cannot go on: " + why.message);
  promise.deliver(to_caf_error(why));
}

} // namespace

error retired_error() {
  return {errc::invalid_argument,
          "this run ends, as all its studies have: start another one, or a "
          "service that stays (hippo serve)"};
}

void submit(coordinator_self self, study_submission submission,
            submission_promise promise) {
  auto& st = self->state;
  if (st.retired) {
    promise.deliver(to_caf_error(retired_error()));
    return;
  }
  // Since it was read, it may have ended.
  if (st.options.restores && submission.stored
      && !has_ended(submission.stored->state)
      && !st.awaited.contains(submission.stored->id)) {
    promise.deliver(was_cancelled(submission.stored->id));
    return;
  }
  if (submission.stored) // its reader may have had other rules
    if (const auto why = submission.study->restore(
          submission.stored->algorithm, submission.stored->trials_ahead)) {
      refuse(self, submission, promise, *why);
      return;
    }
  const auto& spec = submission.study->spec();
  if (find_workload(st, spec.workload.name) == nullptr) {
    refuse(
      self, submission, promise,
      {errc::unknown_workload, "no workload '" + spec.workload.name + "'"});
    return;
  }
  std::vector<journal_record> records;
  if (!submission.stored) {
    if (const auto room = st.memory.first_bytes_max();
        room && *room < open_trials_bytes_max)
      submission.study->keep_to(*room);
    if (const auto why =
          st.memory.refusal_of_study(submission.study->first_bytes())) {
      promise.deliver(to_caf_error(*why));
      return;
    }
    submission.stored = stored_study{};
    auto& stored = *submission.stored;
    stored.id = st.last_study = study_id{number_of(st.last_study) + 1};
    stored.name = spec.name;
    stored.file = spec.file;
    stored.text = submission.study->text();
    stored.metric = spec.objective.metric;
    stored.direction = spec.objective.direction;
    stored.weight = spec.weight;
    stored.algorithm = submission.study->chosen();
    stored.typed = spec.typed;
    stored.trials_ahead = spec.trials_ahead;
    stored.submitted = seconds_now();
    records.emplace_back(study_saved{stored});
  } else {
    if (submission.stored->submitted > 0)
      submission.age_seconds =
        std::max(0.0, seconds_now() - submission.stored->submitted);
    // The text says them; the row may be damaged.
    const auto before = *submission.stored;
    submission.stored->metric = spec.objective.metric;
    submission.stored->direction = spec.objective.direction;
    if (*submission.stored != before)
      records.emplace_back(study_saved{*submission.stored});
  }
  // Along with what is there already, so that the plan is read after it, and
  // the numbers of the leases of a merger that is yet to come.
  records.emplace_back(lease_epoch_begun{st.last_lease_epoch + 1});
  const auto id = submission.stored->id;
  const auto attempt = st.awaited[id] = ++st.last_submission;
  count_study(st, id, *submission.study);
  // What takes memory is taken before anything is stored.
  const auto kept = std::make_shared<study_submission>(std::move(submission));
  ++st.submissions_under_way;
  self
    ->request(st.journal, caf::infinite, commit_atom::value,
              journal_entry{std::move(records), {}})
    .then(
      [=](std::uint64_t) {
        --self->state.submissions_under_way;
        start(self, std::move(*kept), attempt, promise);
      },
      [self, id, promise](caf::error& err) mutable {
        --self->state.submissions_under_way;
        self->state.awaited.erase(id);
        self->state.memory.remove_study(id);
        promise.deliver(std::move(err));
      });
}

void note_plan_read(coordinator_self self, const std::string& key) {
  auto entry = self->state.reading.extract(key);
  if (!entry)
    return;
  auto& x = entry.mapped();
  if (!*x.failure)
    add_merger(self, key, std::move(*x.options));
  for (const auto& y : x.waiting)
    if (*x.failure)
      y.refuse(**x.failure);
    else
      y.go_on();
}

expected<std::monostate> read_what_was(coordinator_state& st) {
  auto& known = *st.options.known;
  const auto study = known.last_study();
  if (!study)
    return study.failure();
  const auto epoch = known.last_lease_epoch();
  if (!epoch)
    return epoch.failure();
  st.last_study = *study;
  st.last_lease_epoch = *epoch;
  if (!st.options.restores)
    return std::monostate{};
  const auto studies = known.load_studies();
  if (!studies)
    return studies.failure();
  for (const auto& x : *studies)
    if (!has_ended(x.state))
      st.awaited.emplace(x.id, 0);
  return std::monostate{};
}

} // namespace hippo
