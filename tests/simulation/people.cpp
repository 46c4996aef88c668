// Trainers that come and go, and clients that want things.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "hippo/base/length_name.hpp"
#include "hippo/model/workload_descriptor.hpp"

#include "merger.hpp"
#include "simulation/study_texts.hpp"
#include "simulation/world.hpp"
#include "study.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;
using verb = study_command::verb;

namespace {

/// Whether a plan still knows the checkpoint that a lease starts from.
bool has_checkpoint(const search_plan& plan, const lease& x) {
  const auto& first = x.stages.front();
  const auto& node = plan.node(first.node);
  const auto& known
    = plan.node(first.begin > node.begin ? first.node : node.parent)
        .checkpoints;
  const auto i = known.find(first.begin);
  return i != known.end() && i->second.file == x.start.file;
}

} // namespace

// -- trainers -----------------------------------------------------------------

void world::add_trainer(std::uint32_t ranks) {
  auto& x = nodes_[++last_node_];
  x.number = last_node_;
  if (ranks == 0)
    ranks = what_.ranks > 0 && x.number % 3 == 0 ? 2 : 1;
  hash_engine::environment where;
  where.timeline = timeline_;
  where.folder = files_;
  where.gangs = gangs_;
  where.has_poison = what_.poison != 0;
  where.has_flaws = what_.flaws != 0;
  where.has_hangs = what_.hangs != 0;
  where.has_dupes = what_.dupe != 0;
  where.number = x.number;
  where.step = std::chrono::milliseconds{100 + below(1500)};
  where.complain = [this](const std::string& why) { fail(why); };
  where.is_wanted = [this](const lease& work) {
    for (const auto* y : states<merger_state, merger_actor>())
      if (y->core->leases().find(work.number))
        // So many that cannot load may have said that it is bad.
        return what_.sick_load == 0 || has_checkpoint(y->core->plan(), work);
    return false;
  };
  where.note_failure = [this] { note_health(); };
  where.note_fruitless = [this](const lease& work, const stop_point& next) {
    note_fruitless(work, next);
  };
  where.note_report = [this](const lease& work, step_t at) {
    const auto* stage = stage_reaching(work, at);
    std::erase_if(fruitless_, [&](const auto& y) {
      return stage != nullptr && std::get<0>(y.first) == stage->identity
             && std::get<1>(y.first) <= at;
    });
  };
  const auto at_once = static_cast<std::uint32_t>(
    1 + (x.number + what_.seed) % what_.at_once);
  where.at_once = at_once;
  where.ranks = ranks;
  where.die = [this, number = x.number] {
    after(0s, [this, number] {
      if (nodes_.count(number) > 0)
        end_trainer(number);
    });
    // Somebody starts it again.
    after(1s + seconds_below(5), [this] { add_trainer(); });
  };
  // It takes leave, and its process begins again, with nothing of before.
  where.start_anew = [this, number = x.number] {
    tell("trainer " + std::to_string(number) + " starts anew");
    const auto i = nodes_.find(number);
    if (i == nodes_.end())
      return;
    i->second.is_leaving = true;
    after(1s + seconds_below(30), [this, number] {
      if (nodes_.count(number) > 0)
        end_trainer(number);
      add_trainer();
    });
  };
  x.device = std::make_shared<hash_engine>(std::move(where));
  hello self;
  self.host = "host" + std::to_string(x.number);
  self.process_id = x.number;
  self.device = "sim";
  self.at_once = at_once;
  self.ranks = ranks;
  if (x.number % 7 != 0 || is_healing_) // else others cannot reach it
    self.gang = "host" + std::to_string(x.number) + ":1";
  self.workloads["model"];
  self.workloads["command"];
  self.workloads[python_workload];
  limit_time(x.number, self);
  const auto name = "trainer " + std::to_string(x.number);
  x.handle = system_.spawn(
    traced_trainer, registrar_actor{}, self,
    std::static_pointer_cast<engine>(x.device),
    [] { return std::string{"the last words"}; }, core_trace{record_, name});
  note_outside(caf::actor_cast<caf::actor>(x.handle));
  tell(name + " starts");
  connect(x);
}

/// Gives a trainer a time limit, at which it leaves and another one comes.
void world::limit_time(std::uint64_t number, hello& self) {
  if (what_.time_limit == 0 || is_healing_)
    return;
  self.seconds_left =
    static_cast<std::uint32_t>(what_.time_limit / 2 + below(what_.time_limit));
  after(std::chrono::seconds{self.seconds_left}, [this, number] {
    const auto i = nodes_.find(number);
    if (i == nodes_.end() || i->second.is_leaving)
      return;
    tell("trainer " + std::to_string(number) + " is at its time limit");
    i->second.is_leaving = true;
    caf::anon_send(i->second.handle, leave_atom::value);
    after(1s + seconds_below(30), [this] { add_trainer(); });
  });
}

/// Lets a trainer look for the service until it finds it.
void world::connect(node& peer) {
  after(seconds_below(3), [this, number = peer.number] {
    const auto i = nodes_.find(number);
    if (i == nodes_.end() || !is_up_)
      return; // it is told of the next one
    auto& y = i->second;
    if (y.link && !y.link->is_lost())
      return;
    connection::environment where;
    where.system = &system_;
    where.timeline = timeline_;
    where.note_actor = [this](const caf::actor& z) { note_outside(z); };
    where.sick = &y.device->sick;
    where.seed = what_.seed + number;
    y.link = connection::make(std::move(where), actors_.pool,
                              caf::actor_cast<trainer_actor>(y.handle));
    caf::anon_send(y.handle, connect_atom::value, y.link->pool());
  });
}

void world::end_trainer(std::uint64_t number) {
  auto x = nodes_.extract(number);
  tell("trainer " + std::to_string(number) + " dies");
  frozen_.erase(x.mapped().handle.id());
  if (x.mapped().link)
    x.mapped().link->lose(seconds_below(2), 0s);
  caf::anon_send_exit(x.mapped().handle, caf::exit_reason::kill);
}

world::node* world::pick_trainer() {
  if (nodes_.empty())
    return nullptr;
  auto i = nodes_.begin();
  std::advance(i, static_cast<std::ptrdiff_t>(faults_() % nodes_.size()));
  return &i->second;
}

// -- clients ------------------------------------------------------------------

void world::submit_study() {
  if (!is_up_ || !is_restored_) {
    after(1s, [this] { submit_study(); });
    return;
  }
  const auto text = random_study(studies_, what_, ++submitted_);
  auto read = admit_study(text, "study", simulated_workloads(), {true, {}});
  if (!read.study) {
    fail(refused_study + to_text(read.errors.at(0)) + "\n" + text);
    return;
  }
  tell("a client submits:\n" + text);
  fruitless_.clear(); // what has failed is tried again
  ++submissions_under_way_;
  const auto client = system_.spawn(
    [this, text, life = life_, x = study_submission{*read.study, {}}](
      caf::event_based_actor* self) {
      self
        ->request(actors_.coordinator, caf::infinite, submit_atom::value, x)
        .then(
          [=, this](study_id id) {
            if (life == life_)
              --submissions_under_way_;
            tell("study " + to_string(id) + " is accepted");
            if (!accepted_.emplace(id, text).second)
              fail("two studies have the id " + to_string(id));
          },
          [=, this](const caf::error& why) {
            if (life == life_)
              --submissions_under_way_;
            tell("a study is not accepted: " + system_.render(why));
          });
    });
  note_outside(client);
}

/// Asks a study for something; whether it did is remembered.
void world::command(study_id id, study_command what) {
  stood_.erase(id); // it need not stand there any more
  if (!is_up_)
    return;
  const auto done = [=, this] {
    tell("study " + to_string(id) + " did " + to_string(what.what));
    ++answered_[id][to_string(what.what)];
  };
  const auto tell_study = [=, this](caf::event_based_actor* self) {
    self->request(actors_.coordinator, caf::infinite, find_atom::value, id)
      .then(
        [=, this](const study_actor& study) {
          self->request(study, caf::infinite, command_atom::value, what)
            .then([=](const command_answer&) { done(); },
                  [=, this](const caf::error& why) {
                    tell("study " + to_string(id) + " did not "
                         + to_string(what.what) + ": "
                         + system_.render(why));
                  });
        },
        [](const caf::error&) {});
  };
  const auto client
    = system_.spawn([=, this](caf::event_based_actor* self) {
        if (what.what != verb::cancel)
          return tell_study(self);
        self
          ->request(actors_.coordinator, caf::infinite, cancel_atom::value, id,
                    what.text)
          .then(
            [=](bool is_done) {
              if (is_done)
                done();
              else
                tell_study(self);
            },
            [](const caf::error&) {});
      });
  note_outside(client);
}

/// A client wants a study that has ended to go on.
void world::reopen(study_id id, const study_command& what) {
  if (!is_up_ || !is_restored_)
    return;
  auto stored = store_->load_study(id);
  if (!stored)
    return; // the disk is as it is
  stood_.erase(id);
  auto read = admit_study(stored->text, "study", simulated_workloads(),
                          {true, stored->algorithm});
  ended_.erase(id); // until it is said that it has not gone on
  const auto client =
    system_.spawn([=, this, x = study_submission{*read.study, *stored}](
                    caf::event_based_actor* self) {
      self
        ->request(actors_.coordinator, caf::infinite, command_atom::value, x,
                  what)
        .then(
          [=, this, life = life_](const command_answer& done) {
            ++answered_[id][to_string(what.what)];
            // It stays as it was: nobody says again that it ended.
            if (done.has_ended) {
              if (life == life_)
                ended_.insert(id);
              return;
            }
            tell("study " + to_string(id) + " goes on with "
                 + std::to_string(done.retried) + " trials again, and "
                 + std::to_string(done.trials) + " in all");
          },
          [=, this, life = life_](const caf::error& why) {
            tell("study " + to_string(id)
                 + " does not go on: " + system_.render(why));
            if (life == life_)
              ended_.insert(id);
          });
    });
  note_outside(client);
}

/// Returns the values of a combination of a study's space.
std::string world::some_values(const std::string& study) {
  const auto read =
    admit_study(study, "study", simulated_workloads(), {true, {}});
  const auto& space = read.study->spec().space;
  return space.sample(faults_(), 0).shown.dump();
}

/// Returns trials for a study: of its space, outside of it, or forks, also of
/// trials that are not there.
std::string world::some_trials(const std::string& study) {
  const auto values = some_values(study);
  switch (faults_() % 3) {
    case 0: return R"({"trials": [)" + values + "]}";
    case 1: return R"({"outside": [)" + values + "]}";
    default: break;
  }
  auto changes = nlohmann::ordered_json::parse(values);
  changes.erase(length_name);
  return nlohmann::ordered_json{
    {"forks",
     {{{"trial", faults_() % 6}, {"at", 1 + faults_() % 8},
       {"params", std::move(changes)}}}}}.dump();
}

/// Returns a space for a study: wider or narrower than that of some, and one
/// that has no end.
std::string world::some_space() {
  static const std::vector<std::string> rates{
    "{choice: [0.1, 0.2, 0.3]}",
    "{choice: [0.2, {multistep: {initial: 0.1, milestones: [3], gamma: 0.1}}]}",
    "{choice: [0.1, {reduce_on_plateau: {initial: 0.1, patience: 1}}]}",
    "{uniform: [0.05, 0.3]}", "0.1"};
  return "{space: {lr: " + rates[faults_() % rates.size()]
         + (faults_() % 3 == 0 ? "" : ", batch_size: {choice: [64, 128, 32]}")
         + "}}";
}

/// A client wants something of a study, sensible or not.
void world::command_study() {
  if (accepted_.empty())
    return;
  auto i = accepted_.begin();
  std::advance(i, static_cast<std::ptrdiff_t>(faults_() % accepted_.size()));
  study_command x;
  switch (faults_() % 16) {
    case 0: x.what = verb::stop; break;
    case 1: x.what = verb::cancel; x.text = "enough"; break;
    case 2:
    case 3: x.what = verb::weight; x.text = "2.5"; break;
    case 4:
    case 5: x.what = verb::resume; break;
    case 6: x.what = verb::retry; break;
    case 7:
      x.what = verb::extend;
      switch (faults_() % 5) {
        case 0:
          x.text = R"({"trials": 1, "seconds": 30})";
          break;
        case 1:
          x.text = R"({"trials": 1, "steps": 11})";
          break;
        case 2:
          x.text = R"({"steps": )" + std::to_string(3 + faults_() % 20) + "}";
          break;
        case 3:
          x.text = R"({"budget_steps": 10})";
          break;
        default:
          x.text = R"({"trials": 2})";
          break;
      }
      break;
    case 8:
      x.what = verb::enqueue;
      x.text = some_trials(i->second);
      break;
    case 9:
      x.what = verb::tell_past;
      x.text = R"({"results": [{"params": )" + some_values(i->second)
               + R"(, "step": 1, "metrics": {"value": 0.5}}]})";
      break;
    case 10:
      x.what = verb::note;
      x.text = R"({"note": "seen", "add_tags": ["some"]})";
      break;
    case 11:
    case 12:
      x.what = faults_() % 2 == 0 ? verb::remove : verb::restore;
      if (faults_() % 4 > 0)
        x.text = R"({"trials": [)" + std::to_string(faults_() % 6) + "]}";
      break;
    case 13:
      x.what = verb::set_space;
      x.text = some_space();
      break;
    default: x.what = verb::pause; break;
  }
  tell("a client wants study " + to_string(i->first) + " to "
       + to_string(x.what));
  if (is_for_ended(x.what))
    fruitless_.clear();
  if (is_for_ended(x.what) && ended_.count(i->first) > 0)
    reopen(i->first, x);
  else
    command(i->first, std::move(x));
}

/// The clients of studies that do what they are told ask for trials, train
/// them and end them, for as long as the simulation runs.
void world::drive_clients() {
  after(1s, [this] {
    for (const auto* x : states<study_state, study_actor>()) {
      if (!x->mind || !x->mind->has_caught_up || x->is_thinking)
        continue; // it waits for its answers
      const auto& core = *x->mind->core;
      const auto id = core.stored().id;
      if (core.spec().algorithm.name != "client"
          || has_ended(core.stored().state))
        continue;
      const auto size = core.trials().size();
      const auto most = core.spec().budget.trials.value_or(3);
      study_command next;
      if (size < most && below(2) == 0) {
        next.what = verb::ask;
      } else if (size == 0) {
        continue;
      } else {
        next.trial = below(size);
        const auto& trial = core.trials()[next.trial];
        bool all_ended = true;
        for (trial_no no = 0; no < size; ++no)
          all_ended = all_ended && has_ended(core.trials()[no].state);
        if (all_ended && size >= most) {
          next.what = verb::close;
        } else if (has_ended(trial.state)) {
          continue;
        } else if (trial.asked_to < core.spec().max_steps) {
          next.what = verb::train;
          next.at = trial.asked_to + 1
                    + below(core.spec().max_steps - trial.asked_to);
        } else if (trial.acked >= trial.asked_to) {
          next.what = verb::tell;
          next.text = R"({"state": "COMPLETE"})";
        } else {
          continue;
        }
      }
      command(id, std::move(next));
    }
    drive_clients();
  });
}

// -- faults are over ----------------------------------------------------------

/// Everything works from now on.
void world::heal() {
  tell("all faults are over");
  is_healing_ = true;
  disk_.is_full = disk_.is_read_only = disk_.sync_fails = false;
  frozen_.clear();
  for (auto& [number, x] : nodes_) {
    x.device->sick = {};
    x.is_hung = false;
    x.device->freeze(false);
    if (x.link)
      x.link->delay(false);
  }
  if (std::ranges::all_of(
        nodes_, [](const auto& x) { return x.second.is_leaving; }))
    add_trainer();
  for (std::uint64_t i = 0; i < what_.ranks; ++i) // they suffice
    add_trainer(1);
  if (!is_up_)
    boot_later(0s);
  // By then it has ended, if one of its actors was just ended.
  after(1s, [this] { may_end_ = false; });
  // A pause is no fault, but nothing ends in it.
  const auto look = [this](auto again) -> void {
    for (const auto* x : cores())
      if (const auto& stored = x->stored();
          stored.state == study_phase::paused)
        command(stored.id, {verb::resume, 0, 0, "", 0});
    after(20s, [=] { again(again); });
  };
  look(look);
}

} // namespace hippo::simulation
