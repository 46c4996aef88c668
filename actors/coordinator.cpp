#include "coordinator.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "checkpoint_space.hpp"
#include "fault.hpp"
#include "hippo/service/study/waiting.hpp"
#include "memory_space.hpp"
#include "submission.hpp"
#include "supervision.hpp"
#include "turn_watch.hpp"

namespace hippo {

namespace {

/// How often idle mergers are looked for, and the space for checkpoints is
/// divided.
constexpr auto look_interval = std::chrono::seconds(10);

void retire(coordinator_self self, const std::string& key) {
  auto& entry = self->state.mergers.at(key);
  entry.retiring = true;
  self->request(entry.handle, caf::infinite, retire_atom::value)
    .then(
      [self, handle = entry.handle](std::uint64_t) {
        self->send_exit(handle, caf::exit_reason::user_shutdown);
      },
      [](const caf::error&) {}); // it is down: the down handler knows
}

void retire_idle(coordinator_self self, std::chrono::seconds idle_max) {
  auto& st = self->state;
  const auto now = self->clock().now();
  for (auto& [key, x] : st.mergers)
    if (x.live_studies == 0 && !x.retiring && x.waiting.empty()
        && now - x.idle_since >= idle_max)
      retire(self, key);
}

void note_end(coordinator_self self, study_id id) {
  auto& st = self->state;
  const auto i = st.studies.find(id);
  if (i == st.studies.end() || std::exchange(i->second.ended, true))
    return;
  st.memory.remove_study(id);
  auto& x = i->second;
  const auto key = x.workload_key;
  // There is none if it has died meanwhile.
  if (const auto merger = st.mergers.find(key); merger != st.mergers.end()) {
    --merger->second.live_studies;
    merger->second.idle_since = self->clock().now();
  }
  if (st.options.keep_ended)
    return;
  st.studies.erase(id);
  note_let_go(self);
}

/// Lets go of a study that has ended, unless it is kept. One that was told to
/// go on since then does, and has not ended.
/// @param ended called once nothing can let it go on any more
template <class F>
void let_go(coordinator_self self, study_id id, F ended) {
  auto& st = self->state;
  const auto i = st.studies.find(id);
  if (i == st.studies.end())
    return;
  const auto end = [self, id, ended] {
    note_end(self, id);
    ended();
  };
  if (st.options.keep_ended) {
    end();
    return;
  }
  self->request(i->second.handle, caf::infinite, retire_atom::value)
    .then(
      [end](bool goes) {
        if (goes)
          end();
      },
      [](const caf::error&) {}); // it is down: the down handler knows
}

caf::error not_running(study_id study) {
  return caf::make_error(errc::unknown_study, "study " + to_string(study)
                                                + " is not running");
}

using command_promise = caf::typed_response_promise<command_answer>;

/// A study that is kept goes on again after its end.
void note_return(coordinator_state& st, study_id id) {
  const auto i = st.studies.find(id);
  if (i == st.studies.end() || !std::exchange(i->second.ended, false))
    return;
  if (const auto merger = st.mergers.find(i->second.workload_key);
      merger != st.mergers.end())
    ++merger->second.live_studies;
}

/// Whether no study is at work, or to come.
bool is_idle(const coordinator_state& st) {
  return st.awaited.empty() && st.submissions_under_way == 0
         && st.reopening.empty()
         && std::ranges::all_of(st.studies, [](const auto& x) {
              return x.second.ended;
            });
}

/// Gives a command to a study in memory.
void command_open(coordinator_self self, study_id id,
                  const study_command& what, command_promise promise) {
  const auto i = self->state.studies.find(id);
  if (i == self->state.studies.end()) {
    self->state.reopening.erase(id);
    promise.deliver(not_running(id));
    return;
  }
  self->request(i->second.handle, caf::infinite, command_atom::value, what)
    .then(
      [self, id, promise](command_answer& x) mutable {
        self->state.reopening.erase(id);
        note_return(self->state, id);
        promise.deliver(std::move(x));
      },
      [self, id, promise](caf::error& why) mutable {
        if (self->state.reopening.erase(id) > 0)
          let_go(self, id, [] {}); // it was opened for nothing else
        promise.deliver(std::move(why));
      });
}

/// Makes the actor of a study that has ended, for a command.
void reopen(coordinator_self self, const study_submission& x,
            const study_command& what, command_promise promise) {
  auto& st = self->state;
  const auto id = x.stored->id;
  if (st.retired) {
    promise.deliver(to_caf_error(retired_error()));
    return;
  }
  if (st.studies.count(id) > 0) {
    command_open(self, id, what, promise);
    return;
  }
  if (!st.reopening.insert(id).second) {
    promise.deliver(caf::make_error(
      errc::in_use, "study " + to_string(id)
                      + " is being opened for another command"));
    return;
  }
  self
    ->request(caf::actor_cast<coordinator_actor>(self), caf::infinite,
              submit_atom::value, x)
    .then(
      [self, what, promise](study_id opened) {
        command_open(self, opened, what, promise);
      },
      [self, id, promise](caf::error& why) mutable {
        self->state.reopening.erase(id);
        promise.deliver(std::move(why));
      });
}

coordinator_status status_of(const coordinator_state& st) {
  coordinator_status result;
  for (const auto& [id, x] : st.studies)
    result.studies.push_back(
      {id, x.name, x.workload_key, x.handle, x.no, x.ended});
  for (const auto& [key, x] : st.mergers)
    result.mergers.push_back({key, x.handle});
  result.absent = st.unreadable;
  for (const auto& kvp : st.awaited)
    result.absent.emplace(kvp.first, being_read_text);
  result.memory_bytes_max = st.options.memory_bytes_max;
  return result;
}

} // namespace

void answer_early(coordinator_state& st) {
  std::erase_if(st.asked_early, [&](auto& x) {
    auto& [id, promise] = x;
    if (const auto i = st.studies.find(id); i != st.studies.end())
      promise.deliver(i->second.handle);
    else if (st.going && st.reading.empty() && !st.awaited.contains(id))
      promise.deliver(not_running(id));
    else
      return false;
    return true;
  });
}

coordinator_state::~coordinator_state() {
  // Mergers first: none is to take its studies for gone and cancel what runs.
  for (const auto& [key, x] : mergers)
    caf::anon_send_exit(x.handle, caf::exit_reason::user_shutdown);
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
  if (state.options.known)
    if (auto read = read_what_was(state); !read)
      self->quit(to_caf_error(read.failure()));
  self->set_down_handler(
    [self](const caf::down_msg& msg) { note_down(self, msg); });
  if (!state.options.keep_ended || limits_space(state))
    self->delayed_send(self, look_interval, tick_atom::value);
  state.memory = memory_shares{state.options.memory_bytes_max};
  if (state.memory.is_limited())
    look_at_memory_later(self);
  return watched<coordinator_actor::behavior_type>("coordinator", {
    [self](notify_atom, const trial_event& x) {
      self->send(self->state.observer, notify_atom::value, x);
    },
    [self](notify_atom, const study_end& x) {
      if (self->state.reopening.count(x.id) > 0)
        return; // as it says when it starts, before it hears the command
      let_go(self, x.id, [self, x] {
        spdlog::info("coordinator: study {} ({}) has ended: {}",
                     number_of(x.id), x.name, to_string(x.state));
        self->send(self->state.observer, notify_atom::value, x);
      });
    },
    [self](submit_atom,
           const study_submission& x) -> caf::result<study_id> {
      auto promise = self->make_response_promise<study_id>();
      try {
        submit(self, x, promise);
      } catch (...) { // memory may be short: no more of it is to be taken
        promise.deliver(caf::make_error(errc::resource_exhausted,
                                        text_of(std::current_exception())));
      }
      return promise;
    },
    [self](command_atom, const study_submission& x,
           const study_command& what) -> caf::result<command_answer> {
      auto promise = self->make_response_promise<command_answer>();
      reopen(self, x, what, promise);
      return promise;
    },
    [self](find_atom, study_id id) -> caf::result<study_actor> {
      auto promise = self->make_response_promise<study_actor>();
      self->state.asked_early.emplace_back(id, promise);
      answer_early(self->state);
      return promise;
    },
    [self](cancel_atom, study_id id,
           const std::string& why) -> caf::result<bool> {
      auto promise = self->make_response_promise<bool>();
      cancel_early(self, id, why, promise);
      return promise;
    },
    [self](failed_atom, study_id id, const std::string& why) {
      stored_study row; // the store has the rest
      row.id = id;
      fail_study(self, std::move(row), why);
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
    [self](retire_atom) {
      return self->state.retired = is_idle(self->state);
    },
    [self](tick_atom) {
      if (!self->state.options.keep_ended)
        retire_idle(self, self->state.options.idle_merger_max);
      if (limits_space(self->state))
        divide_space(self);
      self->delayed_send(self, look_interval, tick_atom::value);
    },
    [self](memory_atom) {
      if (self->state.memory.is_full())
        retire_idle(self, std::chrono::seconds(0));
      look_at_memory(self);
    },
    [self](thought_atom, const std::string& key) {
      note_plan_read(self, key);
      answer_early(self->state);
    },
    [self](status_atom) { return status_of(self->state); },
  });
}

} // namespace hippo
