#include "submission.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "fault.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/service/merge/other_steps.hpp"
#include "hippo/space/own_workload.hpp"
#include "merger.hpp"
#include "study.hpp"

namespace hippo {

namespace {

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

/// Whether the initial state of a workload is there for its trainers.
std::optional<error> check_initial(const std::string& folder,
                                   const std::string& code) {
  if (code.empty())
    return std::nullopt;
  const auto read = study_code_from_json(code);
  if (!read)
    return read.failure();
  return read->initial
           ? check_initial_state(*read->initial, initial_folder_of(folder))
           : std::nullopt;
}

/// Says what of a plan cannot be read.
void tell_damage(const std::string& key, const stored_plan& part) {
  for (const auto& what : part.damage)
    spdlog::error("coordinator: of {} is damaged, and left out: {}", key, what);
  if (part.damages > part.damage.size())
    spdlog::error("coordinator: of {} {} more are damaged, and left out", key,
                  part.damages - part.damage.size());
}

expected<merger_options> options_for(const coordinator_state& st,
                                     const study_spec& study,
                                     std::uint64_t lease_epoch) {
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
  result.first_lease = lease_id{lease_epoch * leases_per_epoch};
  result.trace = st.options.trace;
  result.folder_token = st.options.folder_token;
  result.depot_port = st.options.depot_port;
  if (st.options.gangs)
    result.parts = parts_of_batch(known, workload);
  result.gang_key = st.options.gang_key;
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
  if (auto why = check_initial(from.folder, from.code))
    return why;
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

/// Reads the plan in its own time, unless there is no store.
void begin_reading(coordinator_self self, const study_spec& study,
                   const coordinator_effect::read_plan& what) {
  auto& st = self->state;
  auto options = options_for(st, study, what.lease_epoch);
  if (!options) {
    tell(self, coordinator_event::plan_read{what.key, options.failure()});
    return;
  }
  auto& entry = st.reading[what.key];
  entry.options = std::make_shared<merger_options>(std::move(*options));
  entry.failure = std::make_shared<std::optional<error>>();
  if (!st.options.known) {
    note_plan_read(self, what.key);
    return;
  }
  const plan_source from{st.options.known->path(),
                         st.options.checkpoints + '/' + hash_text(what.key),
                         what.key, study.code, st.options.workloads};
  entry.place = thinking_place{st.options.where, job_kind::decision};
  entry.place.post([from, options = entry.options, failure = entry.failure,
                    to = coordinator_actor{self}](const job_turn&) {
    try {
      *failure = read_plan(from, *options);
    } catch (const std::exception& why) {
      *failure = error{errc::io_failed, why.what()};
    }
    caf::anon_send(to, thought_atom::value, from.key);
  });
}

/// Makes a study's actor of its submission.
void make_study(coordinator_self self, study_submission& x,
                const coordinator_effect::spawn_study& what) {
  auto& st = self->state;
  const auto& spec = x.study->spec();
  study_options options{spec,
                        x.study->search(),
                        *find_workload(st, spec.workload.name),
                        *x.stored,
                        {}};
  if (spec.budget.deadline)
    options.deadline_left
      = seconds_until(*spec.budget.deadline, x.age_seconds, seconds_now());
  auto& made = st.studies[what.id];
  made = {};
  made.study = std::make_shared<accepted_study>(*x.study);
  made.handle = self->spawn(
    study,
    study_setup{std::move(options), st.options.where,
                history_of(st.options.known.get(), what.id),
                st.options.draws_at_once_max, st.options.trace},
    st.mergers.at(what.key), st.journal, caf::actor_cast<observer_actor>(self));
  self->monitor(made.handle);
}

/// The row of a new study.
stored_study new_row(study_id id, const accepted_study& study) {
  const auto& spec = study.spec();
  stored_study result;
  result.id = id;
  result.name = spec.name;
  result.file = spec.file;
  result.text = study.text();
  result.metric = spec.objective.metric;
  result.direction = spec.objective.direction;
  result.weight = spec.weight;
  result.algorithm = study.chosen();
  result.typed = spec.typed;
  result.trials_ahead = spec.trials_ahead;
  result.tags = spec.tags;
  result.submitted = seconds_now();
  return result;
}

/// Completes the row of a submission. @returns what of it is to be stored
std::vector<journal_record>
complete_row(study_submission& x,
             const coordinator_effect::store_submission& to) {
  std::vector<journal_record> result;
  const auto& spec = x.study->spec();
  if (to.is_new) {
    x.stored = new_row(to.id, *x.study);
    result.emplace_back(study_saved{*x.stored, spec.notify});
  } else {
    if (x.stored->submitted > 0)
      x.age_seconds = std::max(0.0, seconds_now() - x.stored->submitted);
    // The text says them; the row may be damaged.
    const auto before = *x.stored;
    x.stored->metric = spec.objective.metric;
    x.stored->direction = spec.objective.direction;
    if (*x.stored != before)
      result.emplace_back(study_saved{*x.stored});
  }
  // Along with what is there already: the numbers of the leases of a merger
  // that is yet to come.
  result.emplace_back(lease_epoch_begun{to.lease_epoch});
  return result;
}

/// The event of a submission.
coordinator_event::submitted event_of(const coordinator_state& st,
                                      study_submission& submission) {
  coordinator_event::submitted event;
  const auto& spec = submission.study->spec();
  event.name = submission.stored ? submission.stored->name : spec.name;
  if (const auto& stored = submission.stored) {
    event.stored = stored->id;
    event.has_ended = has_ended(stored->state);
    // Its reader may have had other rules.
    event.refusal =
      submission.study->restore(stored->algorithm, stored->trials_ahead);
  }
  if (!event.refusal && find_workload(st, spec.workload.name) == nullptr)
    event.refusal =
      error{errc::unknown_workload, "no workload '" + spec.workload.name + "'"};
  if (!event.refusal && !submission.stored)
    if (const auto room = st.core->first_bytes_max();
        room && *room < open_trials_bytes_max)
      submission.study->keep_to(*room);
  event.workload_key = key_of(spec.workload);
  event.first_bytes = submission.study->first_bytes();
  event.by_client = spec.algorithm.name == "client";
  return event;
}

} // namespace

void submit(coordinator_self self, study_submission submission,
            submission_promise promise) {
  auto& st = self->state;
  coordinator_event::submitted event;
  try {
    event = event_of(st, submission);
    event.request = ++st.last_request;
    // Memory is allocated before anything is stored.
    st.submissions.emplace(event.request, std::move(submission));
    st.submitters.emplace(event.request, promise);
  } catch (...) { // memory may be short: no more of it is to be taken
    st.submissions.erase(event.request);
    promise.deliver(caf::make_error(errc::resource_exhausted,
                                    text_of(std::current_exception())));
    return;
  }
  tell(self, std::move(event));
}

void carry_out(coordinator_self self,
               coordinator_effect::store_submission& what) {
  journal_entry entry;
  try {
    entry.records =
      complete_row(self->state.submissions.at(what.request), what);
  } catch (...) {
    tell(self, coordinator_event::unstored{what.request},
         caf::make_error(errc::resource_exhausted,
                         text_of(std::current_exception())));
    return;
  }
  self
    ->request(self->state.journal, caf::infinite, commit_atom::value,
              std::move(entry))
    .then([self, request = what.request](
            std::uint64_t) { tell(self, coordinator_event::stored{request}); },
          [self, request = what.request](caf::error& err) {
            tell(self, coordinator_event::unstored{request}, std::move(err));
          });
}

void carry_out(coordinator_self self, coordinator_effect::read_plan& what) {
  try {
    begin_reading(self, self->state.submissions.at(what.request).study->spec(),
                  what);
  } catch (...) { // memory may be short: whatever goes wrong is of this one
    self->state.reading.erase(what.key);
    tell(self, coordinator_event::plan_read{
                 what.key, error{errc::resource_exhausted,
                                 text_of(std::current_exception())}});
  }
}

void note_plan_read(coordinator_self self, const std::string& key) {
  auto& st = self->state;
  const auto i = st.reading.find(key);
  if (i == st.reading.end())
    return;
  const auto failure = *i->second.failure;
  if (failure)
    st.reading.erase(i);
  tell(self, coordinator_event::plan_read{key, failure});
}

void carry_out(coordinator_self self, coordinator_effect::make_merger& what) {
  auto& st = self->state;
  const auto read = st.reading.extract(what.key);
  auto& made = st.mergers[what.key];
  made =
    self->spawn(merger, std::move(*read.mapped().options), st.pool, st.journal);
  self->monitor(made);
}

void carry_out(coordinator_self self, coordinator_effect::spawn_study& what) {
  auto submission = self->state.submissions.extract(what.request);
  try {
    make_study(self, submission.mapped(), what);
  } catch (...) {
    tell(self, coordinator_event::not_spawned{
                 what.id, what.request, text_of(std::current_exception())});
  }
}

void carry_out(coordinator_self self, coordinator_effect::start_study& what) {
  const auto& handle = self->state.studies.at(what.id).handle;
  if (!handle)
    return; // as the core is about to hear
  // For as long as it takes to do again what it did: others do not wait.
  self->request(handle, caf::infinite, start_atom::value)
    .then(
      [self, what](study_no no) {
        tell(self, coordinator_event::started{what.id, what.request, no});
      },
      [self, what](caf::error& why) {
        if (why == errc::malformed_message || why == errc::io_failed
            || why == caf::sec::request_timeout)
          tell(self, coordinator_event::not_started{what.id, what.request,
                                                    reason_of(self, why)});
        // Else an actor has died: what comes of it follows from that.
      });
}

expected<std::monostate> read_what_was(state_reader& known,
                                       coordinator_begin& to) {
  const auto study = known.last_study();
  if (!study)
    return study.failure();
  const auto epoch = known.last_lease_epoch();
  if (!epoch)
    return epoch.failure();
  to.last_study = *study;
  to.last_lease_epoch = *epoch;
  if (!to.restores)
    return std::monostate{};
  const auto studies = known.load_studies();
  if (!studies)
    return studies.failure();
  for (const auto& x : *studies)
    if (!has_ended(x.state))
      to.awaited.insert(x.id);
  return std::monostate{};
}

} // namespace hippo
