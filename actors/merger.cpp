#include "merger.hpp"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "fault.hpp"
#include "hippo/checkpoint/foreign_file.hpp"
#include "hippo/model/checkpoint_path.hpp"
#include "hippo/net/wire/codec.hpp"
#include "log_format.hpp"
#include "turn_watch.hpp"

namespace hippo {

namespace {

using merger_self = merger_actor::stateful_pointer<merger_state>;

void dispatch(merger_self self, any_merge_event event);

// -- effects ------------------------------------------------------------------

/// Does what the merger has decided.
struct effect_performer {
  merger_self self;

  merger_state& state() { return self->state; }

  /// The actor of a trainer that has been granted.
  const trainer_actor& handle(trainer_id x) { return state().trainers.at(x); }

  void operator()(merge_effect::send_lease& x) {
    self->send(handle(x.trainer), lease_atom::value, encode(x.work),
               caf::actor_cast<lease_owner_actor>(self));
  }

  void operator()(merge_effect::send_stop& x) {
    self->send(handle(x.trainer), stop_atom::value, encode(x.stop));
  }

  void operator()(merge_effect::send_cancel& x) {
    self->send(handle(x.trainer), cancel_atom::value,
               encode(cancel_request{x.lease}));
  }

  void operator()(merge_effect::send_ack& x) {
    const auto to = state().reply_to.extract(x.to);
    if (to && to.mapped())
      self->send(to.mapped(), ack_atom::value, encode(x.report));
  }

  void operator()(merge_effect::release_trainer& x) {
    state().trainers.erase(x.trainer);
    self->send(state().pool, release_atom::value, x.trainer);
  }

  void operator()(merge_effect::cool_down_trainer& x) {
    self->send(state().pool, cooldown_atom::value, x.trainer,
               static_cast<std::uint64_t>(x.span.count()), x.unable, x.joined);
  }

  void operator()(merge_effect::blame_trainer& x) {
    self->send(state().pool, blame_atom::value, x.trainer, x.why);
  }

  void operator()(merge_effect::note_failure& x) {
    self->send(state().pool, failed_atom::value, x.trainer, x.why);
  }

  void operator()(merge_effect::give_back_stalled& x) {
    state().trainers.erase(x.trainer);
    self->send(state().pool, stalled_atom::value, x.trainer, x.why);
  }

  void operator()(merge_effect::note_alive& x) {
    self->send(state().pool, alive_atom::value, x.trainer);
  }

  void operator()(merge_effect::announce_demand& x) {
    self
      ->request(state().pool, caf::infinite, demand_atom::value,
                caf::actor_cast<merger_actor>(self), x.weight, x.trainers,
                std::move(x.kinds), std::move(x.facts), std::move(x.helpers))
      .then([self = self] { dispatch(self, merge_event::demand_answered{}); },
            [](const caf::error&) {});
  }

  void operator()(merge_effect::commit& x) {
    journal_entry entry;
    entry.records = std::move(x.what.records);
    entry.files = std::move(x.what.files);
    for (auto& [study, news] : x.what.news)
      entry.news.emplace_back(state().studies[study], std::move(news));
    self
      ->request(state().journal, caf::infinite, commit_atom::value,
                std::move(entry))
      .then(
        [self = self, number = x.what.number](std::uint64_t) {
          dispatch(self, merge_event::committed{number});
        },
        [self = self](caf::error& err) {
          if (err != caf::sec::request_receiver_down) // else all of it ends
            spdlog::critical("merger: cannot write the journal: {}",
                             self->system().render(err));
          self->quit(std::move(err));
        });
  }

  void operator()(merge_effect::offer_capacity& x) {
    self->send(state().studies[x.study], capacity_atom::value, x.trials);
  }

  void operator()(merge_effect::notify_quiesced& x) {
    self->send(state().studies[x.study], quiesced_atom::value);
  }

  void operator()(merge_effect::notify_spent& x) {
    self->send(state().studies[x.study], spent_atom::value, x.what, x.raises);
  }

  void operator()(merge_effect::retired& x) {
    if (auto promise = std::exchange(state().retiring, std::nullopt))
      promise->deliver(x.trained_steps);
  }

  void operator()(merge_effect::restore_code& x) {
    journal_entry entry;
    entry.code = std::move(x.code);
    self
      ->request(state().journal, caf::infinite, commit_atom::value,
                std::move(entry))
      .then([](std::uint64_t) {}, [](const caf::error&) {});
  }

  void operator()(merge_effect::log_line& x) {
    spdlog::log(severity_of(x.severity), "merger: {}", x.text);
  }
};

/// A plan of less stays in memory, whether somebody looks at it or not.
constexpr std::uint64_t cold_bytes_kept = 16 << 20;

/// What nobody has waited for leaves memory after about so long.
constexpr std::chrono::seconds cold_kept{1};

/// Tells the core what has happened, and does what it has decided.
void dispatch(merger_self self, any_merge_event event) {
  auto& st = self->state;
  const auto now = self->clock().now();
  if (auto* cold = st.core->cold();
      cold != nullptr && cold->file_bytes() > cold_bytes_kept
      && now >= st.cold_since + cold_kept) {
    cold->let_go();
    st.cold_since = now;
  }
  auto effects = st.trace.apply(*st.core, std::move(event), now);
  effect_performer performer{self};
  for (auto& x : effects)
    std::visit(performer, x);
}

// -- events -------------------------------------------------------------------

/// The same for what a study wants. If something is thrown, whoever watches the
/// merger is told which study that was: `in_hand` stays as it is then.
void dispatch_for(merger_self self, study_id study, any_merge_event event) {
  self->state.in_hand = study;
  dispatch(self, std::move(event));
  self->state.in_hand.reset();
}

void dispatch_for(merger_self self, study_no study, any_merge_event event) {
  const auto& known = self->state.core->studies();
  if (known.has(study))
    dispatch_for(self, known.stored_id(study), std::move(event));
  else
    dispatch(self, std::move(event)); // it is refused
}

/// A study's actor has ended.
void note_study_gone(merger_self self, const caf::actor_addr& who) {
  const auto& all = self->state.studies;
  for (const auto no : all.ids())
    if (all[no].address() == who)
      dispatch(self, merge_event::study_left{no});
}

/// Remembers whom to send the acknowledgement of a report.
reply_address address_of(merger_state& st, trainer_actor from) {
  const reply_address result{++st.replies};
  st.reply_to.emplace(result, std::move(from));
  return result;
}

/// The trainer that has sent the present message.
trainer_actor sender_of(merger_self self) {
  return caf::actor_cast<trainer_actor>(self->current_sender());
}

/// Whether a report is the first of its state, and says that it has left a
/// checkpoint there which is not. Such a report is worth nothing: neither is
/// what was measured, which studies would be told for good.
bool lacks_its_file(const merger_state& st, const running_lease& lease,
                    const stop_report& x) {
  const auto& progress = lease.progress;
  const bool is_new = x.at > progress.reached
                      || (x.at == progress.reached && !progress.has_reported);
  return is_new && x.saved && !st.folder.empty()
         && !is_foreign_file_of(checkpoint_path(st.folder, *x.saved),
                                x.saved->bytes);
}

void take_report(merger_self self, stop_report x) {
  auto& st = self->state;
  const auto* lease = st.core->leases().find(x.lease);
  if (lease && lacks_its_file(st, *lease, x)) {
    dispatch(self, merge_event::malformed{
                     lease->trainer, "it says that it has left " + x.saved->file
                                       + ", which is not there"});
    return;
  }
  auto from = lease ? st.trainers.at(lease->trainer) : sender_of(self);
  dispatch(self, merge_event::reported{std::move(x),
                                    address_of(st, std::move(from))});
}

/// A trainer that speaks nonsense gets no further than its present step.
void distrust(merger_self self, const error& why) {
  const auto sender = sender_of(self);
  for (const auto& [id, handle] : self->state.trainers)
    if (sender == handle) {
      dispatch(self, merge_event::malformed{id, why.message});
      return;
    }
}

} // namespace

merger_actor::behavior_type merger(merger_self self, merger_options options,
                                   pool_actor pool, journal_actor journal) {
  self->set_exception_handler([self](std::exception_ptr& x) {
    return fault_of(x, self->state.in_hand);
  });
  self->set_down_handler([self](const caf::down_msg& msg) {
    note_study_gone(self, msg.source);
  });
  auto& state = self->state;
  state.pool = std::move(pool);
  state.journal = std::move(journal);
  // Trainers leave their checkpoints in a folder that can be looked into.
  if (!options.folder_token.empty() && is_on_own_disk(options.folder))
    state.folder = options.folder;
  const workload_need need{
    key_of(options.workload), options.workload.name, options.workload_version,
    numerics_of(options.workload), ranks_of(options.workload)};
  const auto now = self->clock().now();
  state.trace = core_trace{options.trace, "merger " + need.key};
  state.trace.begin(options, now);
  state.core = std::make_unique<merge_core>(std::move(options), now);
  self->send(state.pool, introduce_atom::value,
             caf::actor_cast<merger_actor>(self), need);
  return watched<merger_actor::behavior_type>(
    "merger",
    {
      [self](report_atom, const stop_report_wire& msg) {
        if (auto x = decode(msg))
          take_report(self, std::move(*x));
        else
          distrust(self, x.failure());
      },
      [self](ended_atom, const lease_end_wire& msg) {
        if (auto x = decode(msg))
          dispatch(self, merge_event::lease_ended{std::move(*x)});
        else
          distrust(self, x.failure());
      },
      [self](register_atom, const study_registration& x,
             const trial_owner_actor& owner) {
        const auto result = self->state.studies.add(owner);
        if (owner)
          self->monitor(owner);
        dispatch_for(self, x.id, merge_event::study_added{x});
        return result;
      },
      // They may be large, and their study has no use for them any more.
      [self](order_atom, study_no study, study_orders& x) {
        dispatch_for(self, study,
                     merge_event::orders_given{study, std::move(x)});
      },
      [self](weight_atom, study_no study, double weight) {
        dispatch_for(self, study, merge_event::weight_set{study, weight});
      },
      [self](raise_atom, study_no study, double device_seconds, double cost) {
        dispatch_for(self, study,
                     merge_event::budget_raised{study, device_seconds, cost});
      },
      [self](go_atom) { dispatch(self, merge_event::started{}); },
      [self](halt_atom) { dispatch(self, merge_event::halted{}); },
      [self](pause_atom, study_no study, bool paused) {
        dispatch_for(self, study, merge_event::paused_set{study, paused});
      },
      [self](budget_atom, std::uint64_t bytes) {
        dispatch(self, merge_event::budget_set{bytes});
      },
      [self](retire_atom) -> caf::result<std::uint64_t> {
        auto promise = self->make_response_promise<std::uint64_t>();
        self->state.retiring = promise;
        dispatch(self, merge_event::retiring{});
        return promise;
      },
      [self](grant_atom, const trainer_actor& handle, const trainer_grant& x) {
        self->state.trainers.insert_or_assign(x.trainer, handle);
        dispatch(self, x);
      },
      [self](back_atom, const std::string& name) {
        dispatch(self, merge_event::trainer_back{name});
      },
      [self](lost_atom, trainer_id trainer, const std::string& why) {
        dispatch(self, merge_event::lost{trainer, why});
        self->state.trainers.erase(trainer);
      },
      [self](able_atom, const trainer_kinds& x) {
        dispatch(self, merge_event::able_trainers{x});
      },
      [self](heartbeat_atom, trainer_id trainer, lease_id lease, step_t at) {
        dispatch(self, merge_event::heartbeat{trainer, lease, at});
      },
      [self](resent_atom, const stop_report& x, const trainer_actor& from) {
        dispatch(self, merge_event::resent{x, address_of(self->state, from)});
      },
      [self](yield_atom, trainer_id trainer) {
        dispatch(self, merge_event::yield_asked{trainer});
      },
      [self](status_atom) { return self->state.core->status(); },
      [self](overview_atom) {
        dispatch(self, merge_event::time_passed{});
        return self->state.core->overview();
      },
    });
}

} // namespace hippo
