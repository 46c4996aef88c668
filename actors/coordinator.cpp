#include "coordinator.hpp"

#include <chrono>
#include <utility>

#include <malloc.h>

#include <spdlog/spdlog.h>

#include "checkpoint_space.hpp"
#include "hippo/service/study/waiting.hpp"
#include "submission.hpp"
#include "supervision.hpp"
#include "turn_watch.hpp"

namespace hippo {

namespace {

/// How often idle mergers are looked for, and the space for checkpoints is
/// divided.
constexpr auto look_interval = std::chrono::seconds(10);

/// How often it is looked what studies and plans take in memory.
constexpr auto memory_interval = std::chrono::seconds(1);

// -- effects: see also submission.hpp and supervision.hpp ---------------------

void carry_out(coordinator_self self,
               coordinator_effect::accept_submission& what) {
  take_promise(self->state.submitters, what.request).deliver(what.id);
}

void carry_out(coordinator_self self,
               coordinator_effect::refuse_submission& what) {
  self->state.submissions.erase(what.request);
  take_promise(self->state.submitters, what.request)
    .deliver(to_caf_error(what.why));
}

void carry_out(coordinator_self self,
               coordinator_effect::refuse_unstored& what) {
  self->state.submissions.erase(what.request);
  take_promise(self->state.submitters, what.request)
    .deliver(self->state.reason);
}

void carry_out(coordinator_self self, coordinator_effect::start_merger& what) {
  self->send(self->state.mergers.at(what.key), go_atom::value);
}

void carry_out(coordinator_self self, coordinator_effect::halt_merger& what) {
  self->send(self->state.mergers.at(what.key), halt_atom::value);
}

void carry_out(coordinator_self self, coordinator_effect::retire_merger& what) {
  const auto handle = self->state.mergers.at(what.key);
  self->request(handle, caf::infinite, retire_atom::value)
    .then(
      [self, handle](std::uint64_t) {
        self->send_exit(handle, caf::exit_reason::user_shutdown);
      },
      [](const caf::error&) {}); // it is down: the down handler knows
}

void carry_out(coordinator_self self, coordinator_effect::exit_study& what) {
  if (const auto& handle = self->state.studies.at(what.id).handle)
    self->send_exit(handle, caf::exit_reason::user_shutdown);
}

void carry_out(coordinator_self self, coordinator_effect::drop_study& what) {
  self->state.studies.erase(what.id);
}

void carry_out(coordinator_self self, coordinator_effect::retire_study& what) {
  self
    ->request(self->state.studies.at(what.id).handle, caf::infinite,
              retire_atom::value)
    .then(
      [self, what](bool goes) {
        if (goes)
          tell(self, coordinator_event::study_retired{what.id, what.end});
        else
          tell(self, coordinator_event::study_stays{what.id});
      },
      [](const caf::error&) {}); // it is down: the down handler knows
}

void carry_out(coordinator_self self, coordinator_effect::tell_end& what) {
  spdlog::info("coordinator: study {} ({}) has ended: {}",
               number_of(what.end.id), what.end.name,
               to_string(what.end.state));
  self->send(self->state.observer, notify_atom::value, what.end);
}

void carry_out(coordinator_self self, coordinator_effect::command_study& what) {
  auto& st = self->state;
  const auto command = st.commands.extract(what.request).mapped().second;
  self
    ->request(st.studies.at(what.id).handle, caf::infinite, command_atom::value,
              command)
    .then(
      [self, what](command_answer& x) {
        tell(self, coordinator_event::command_answered{what.id, x.has_ended});
        take_promise(self->state.commanders, what.request)
          .deliver(std::move(x));
      },
      [self, what](caf::error& why) {
        tell(self, coordinator_event::command_answered{what.id, true});
        take_promise(self->state.commanders, what.request)
          .deliver(std::move(why));
      });
}

void refuse_reopening(coordinator_self self,
                      const coordinator_effect::reopen_study& what,
                      caf::error why) {
  self->state.commands.erase(what.request);
  take_promise(self->state.commanders, what.request).deliver(std::move(why));
  tell(self, coordinator_event::not_reopened{what.id});
}

/// Submits the study of a command as it is stored by now: another command may
/// have changed its row since the caller has read it.
void submit_stored(coordinator_self self,
                   const coordinator_effect::reopen_study& what) {
  auto& st = self->state;
  auto& study = st.commands.at(what.request).first;
  if (auto* known = st.options.known.get()) {
    auto row = known->load_study(what.id);
    if (!row)
      return refuse_reopening(self, what, to_caf_error(row.failure()));
    study.stored = std::move(*row);
  }
  self
    ->request(caf::actor_cast<coordinator_actor>(self), caf::infinite,
              submit_atom::value, study)
    .then(
      [self, what](study_id opened) {
        tell(self, coordinator_event::reopened{what.request, opened});
      },
      [self, what](caf::error& why) {
        refuse_reopening(self, what, std::move(why));
      });
}

void carry_out(coordinator_self self, coordinator_effect::reopen_study& what) {
  // The records of its last actor come first.
  after_journal(self, [self, what] { submit_stored(self, what); });
}

void carry_out(coordinator_self self,
               coordinator_effect::refuse_command& what) {
  self->state.commands.erase(what.request);
  take_promise(self->state.commanders, what.request)
    .deliver(to_caf_error(what.why));
}

void carry_out(coordinator_self self,
               coordinator_effect::answer_question& what) {
  auto& st = self->state;
  auto promise = take_promise(st.askers, what.request);
  const auto i = st.studies.find(what.id);
  if (what.is_there && i != st.studies.end() && i->second.handle)
    promise.deliver(i->second.handle);
  else
    promise.deliver(caf::make_error(
      errc::unknown_study, "study " + to_string(what.id) + " is not running"));
}

void carry_out(coordinator_self self, coordinator_effect::refuse_cancel& what) {
  take_promise(self->state.cancellers, what.request).deliver(false);
}

void carry_out(coordinator_self self,
               coordinator_effect::answer_retirement& what) {
  take_promise(self->state.retirers, what.request).deliver(what.is_idle);
}

void carry_out(coordinator_self self, coordinator_effect::divide_space&) {
  divide_space(self);
}

void carry_out(coordinator_self, coordinator_effect::trim_memory&) {
  ::malloc_trim(0); // else the allocator keeps it
}

void carry_out(coordinator_self self, coordinator_effect::look_after&) {
  self->delayed_send(self, memory_interval, memory_atom::value);
}

void carry_out(coordinator_self self, coordinator_effect::tell_room& what) {
  self->send(self->state.studies.at(what.id).handle, memory_atom::value,
             what.why);
}

void carry_out(coordinator_self self,
               coordinator_effect::ask_study_memory& what) {
  self
    ->request(self->state.studies.at(what.id).handle, caf::infinite,
              status_atom::value)
    .then(
      [self, id = what.id](const study_status& y) {
        tell(self, coordinator_event::study_measured{id, y.memory_bytes});
      },
      [](const caf::error&) {}); // it is down: the down handler knows
}

void carry_out(coordinator_self self,
               coordinator_effect::ask_merger_memory& what) {
  self
    ->request(self->state.mergers.at(what.key), caf::infinite,
              status_atom::value)
    .then(
      [self, key = what.key](const merger_status& y) {
        tell(self,
             coordinator_event::plan_measured{key, y.memory_bytes, y.segments});
      },
      [](const caf::error&) {});
}

void carry_out(coordinator_self self, coordinator_effect::quit&) {
  self->quit(self->state.reason);
}

void carry_out(coordinator_self, coordinator_effect::log_line& line) {
  const auto severity = line.severity == log_level::info ? spdlog::level::info
                        : line.severity == log_level::warning
                          ? spdlog::level::warn
                          : spdlog::level::err;
  spdlog::log(severity, "coordinator: {}", line.text);
}

coordinator_status status_of(const coordinator_state& st) {
  coordinator_status result;
  for (const auto& [id, x] : st.core->studies())
    result.studies.push_back({id, x.name, x.workload_key,
                              st.studies.at(id).handle, x.number, x.ended});
  for (const auto& [key, x] : st.mergers)
    result.mergers.push_back({key, x});
  result.absent = st.core->unreadable();
  for (const auto id : st.core->awaited())
    result.absent.emplace(id, being_read_text);
  result.memory_bytes_max = st.options.memory_bytes_max;
  return result;
}

/// Reads the knowledge of the coordinator when it begins. @returns it, or why
/// it cannot be read
expected<coordinator_begin> begin_of(const coordinator_state& st) {
  const auto& options = st.options;
  coordinator_begin result;
  result.keep_ended = options.keep_ended;
  result.restores = options.restores;
  result.has_store = options.known != nullptr;
  result.limits_space = limits_space(st);
  result.memory_bytes_max = options.memory_bytes_max;
  result.idle_merger_max = options.idle_merger_max;
  if (options.known)
    if (auto read = read_what_was(*options.known, result); !read)
      return read.failure();
  return result;
}

} // namespace

void tell(coordinator_self self, any_coordinator_event event,
          caf::error reason) {
  auto& st = self->state;
  st.events.emplace_back(std::move(event), std::move(reason));
  if (std::exchange(st.is_telling, true))
    return;
  while (!st.events.empty()) {
    auto next = std::move(st.events.front());
    st.events.pop_front();
    st.reason = std::move(next.second);
    auto effects =
      st.trace.apply(*st.core, std::move(next.first), self->clock().now());
    for (auto& x : effects)
      std::visit([&](auto& what) { carry_out(self, what); }, x);
  }
  st.is_telling = false;
}

coordinator_state::~coordinator_state() {
  // Mergers first: none is to take its studies for gone and cancel what runs.
  for (const auto& [key, x] : mergers)
    caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
  for (const auto& [id, x] : studies)
    caf::anon_send_exit(x.handle, caf::exit_reason::user_shutdown);
}

coordinator_actor::behavior_type
coordinator(coordinator_self self, coordinator_options options, pool_actor pool,
            journal_actor journal, observer_actor observer) {
  auto& state = self->state;
  state.options = std::move(options);
  state.pool = std::move(pool);
  state.journal = std::move(journal);
  state.observer = std::move(observer);
  auto known = begin_of(state);
  if (!known) {
    self->quit(to_caf_error(known.failure()));
    known = coordinator_begin{};
  }
  const auto begun = self->clock().now();
  state.trace = core_trace{state.options.trace, "coordinator"};
  state.trace.begin(*known, begun);
  state.core.emplace(std::move(*known), begun);
  self->set_down_handler(
    [self](const caf::down_msg& msg) { note_down(self, msg); });
  if (!state.options.keep_ended || limits_space(state))
    self->delayed_send(self, look_interval, tick_atom::value);
  tell(self, coordinator_event::begun{});
  return watched<coordinator_actor::behavior_type>(
    "coordinator",
    {
      [self](notify_atom, const trial_event& x) {
        self->send(self->state.observer, notify_atom::value, x);
      },
      [self](notify_atom, const study_end& x) {
        tell(self, coordinator_event::study_ended{x});
      },
      [self](submit_atom, const study_submission& x) -> caf::result<study_id> {
        auto promise = self->make_response_promise<study_id>();
        submit(self, x, promise);
        return promise;
      },
      [self](command_atom, const study_submission& x,
             const study_command& what) -> caf::result<command_answer> {
        auto promise = self->make_response_promise<command_answer>();
        auto& st = self->state;
        const auto request = ++st.last_request;
        st.commands.emplace(request, std::pair{x, what});
        st.commanders.emplace(request, promise);
        tell(self, coordinator_event::commanded{request, x.stored->id});
        return promise;
      },
      [self](find_atom, study_id id) -> caf::result<study_actor> {
        auto promise = self->make_response_promise<study_actor>();
        const auto request = ++self->state.last_request;
        self->state.askers.emplace(request, promise);
        tell(self, coordinator_event::asked{request, id});
        return promise;
      },
      [self](cancel_atom, study_id id,
             const std::string& why) -> caf::result<bool> {
        auto promise = self->make_response_promise<bool>();
        const auto request = ++self->state.last_request;
        self->state.cancellers.emplace(request, promise);
        tell(self, coordinator_event::cancel_asked{request, id, why});
        return promise;
      },
      [self](failed_atom, study_id id, const std::string& why) {
        tell(self, coordinator_event::restore_failed{id, why});
      },
      [self](depot_atom, std::uint16_t port) {
        self->state.options.depot_port = port;
      },
      [self](go_atom) { tell(self, coordinator_event::going{}); },
      [self](halt_atom) { tell(self, coordinator_event::halted{}); },
      [self](retire_atom) -> caf::result<bool> {
        auto promise = self->make_response_promise<bool>();
        const auto request = ++self->state.last_request;
        self->state.retirers.emplace(request, promise);
        tell(self, coordinator_event::retirement_asked{request});
        return promise;
      },
      [self](tick_atom) {
        tell(self, coordinator_event::ticked{});
        self->delayed_send(self, look_interval, tick_atom::value);
      },
      [self](memory_atom) { tell(self, coordinator_event::memory_due{}); },
      [self](thought_atom, const std::string& key) {
        note_plan_read(self, key);
      },
      [self](status_atom) { return status_of(self->state); },
    });
}

} // namespace hippo
