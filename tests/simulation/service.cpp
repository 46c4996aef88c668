// The lives of the simulated service.

#include <algorithm>
#include <filesystem>

#include "journal.hpp"
#include "simulation/study_texts.hpp"
#include "simulation/world.hpp"
#include "study.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;

/// Starts a service on what the one before has left, as `hippo serve` does.
void world::boot() {
  auto store = state_writer::open(folder_ + "/state");
  if (!store) {
    if (!may_end_)
      fail("the service cannot start: " + store.failure().message);
    tell("the service cannot start: " + store.failure().message);
    boot_later(2s);
    return;
  }
  store_ = std::move(*store);
  check_kept(*store_);
  if (!violation_.empty())
    return;
  service_options options;
  options.store = store_;
  options.trace = record_;
  options.store_retry = 1s;
  options.detached = false;
  options.coordinator.workloads = simulated_workloads();
  options.coordinator.merge = what_.merge != 0;
  options.coordinator.gang_key = "of this life";
  options.coordinator.keep_ended = false;
  options.coordinator.restores = true;
  thinking_ = std::make_shared<slow_thinking>(
    slow_thinking::surroundings{
      [this] { return slow_thinking::duration{timeline_->now()}; },
      [this](auto delay, auto f) {
        after(std::chrono::duration_cast<duration>(delay), std::move(f));
      },
      [this](const std::string& why) { fail(why); }},
    random_(), std::chrono::seconds{what_.think});
  options.coordinator.where = thinking_;
  options.coordinator.draws_at_once_max = 0; // so that all of it is a job
  options.coordinator.stall_max = 40s;
  if (what_.hangs != 0)
    options.coordinator.unmeasured_stall_max = 80s;
  options.pool.held = std::make_shared<byte_ledger>("trainers", pool_room);
  options.coordinator.unpacked_nodes_max = what_.seed % 3;
  if (what_.seed % 4 == 0) // which changes nothing but where things lie
    options.coordinator.cold_folder = std::filesystem::temp_directory_path();
  if (what_.memory > 0)
    options.coordinator.memory_bytes_max = what_.memory << 10;
  if (what_.budget > 0)
    options.coordinator.checkpoint_bytes_max = what_.budget;
  observer_ = system_.spawn([this, life = life_ + 1](
                              caf::event_based_actor* self) -> caf::behavior {
    self->set_down_handler([this, life](const caf::down_msg& x) {
      if (life != life_ || !is_up_)
        return;
      const auto why = system_.render(x.reason);
      tell("the service ends by itself: " + why);
      if (!may_end_)
        fail("the service ends by itself: " + why);
      kill(false);
      boot_later(1s);
    });
    return {
      [](notify_atom, const trial_event&) {},
      [this](notify_atom, const study_end& x) {
        tell("study " + to_string(x.id) + " has ended: "
             + to_string(x.state));
        ended_.insert(x.id);
      },
    };
  });
  note_outside(observer_);
  auto actors = spawn_service(system_, std::move(options),
                              caf::actor_cast<observer_actor>(observer_));
  if (!actors) {
    if (!may_end_)
      fail("the service cannot read: " + actors.failure().message);
    store_.reset();
    boot_later(2s);
    return;
  }
  actors_ = *actors;
  ++life_;
  submissions_under_way_ = 0; // their answers never come
  fruitless_.clear(); // attempts are not stored
  is_up_ = true;
  is_restored_ = false;
  tell("the service starts, life " + std::to_string(life_));
  for (const auto& x : {caf::actor_cast<caf::strong_actor_ptr>(actors_.journal),
                        caf::actor_cast<caf::strong_actor_ptr>(actors_.pool),
                        caf::actor_cast<caf::strong_actor_ptr>(
                          actors_.coordinator)})
    inside_.emplace(x->id(), x);
  // As `hippo serve` does: without one of these it cannot go on.
  auto* const watcher = static_cast<caf::event_based_actor*>(
    caf::actor_cast<caf::abstract_actor*>(observer_));
  watcher->monitor(actors_.coordinator);
  watcher->monitor(actors_.pool);
  watcher->monitor(actors_.journal);
  const auto all = store_->load_studies();
  if (!all)
    return fail("the studies cannot be read: " + all.failure().message);
  const auto outdated = store_->load_outdated();
  if (!outdated)
    return fail("events cannot be read: " + outdated.failure().message);
  std::vector<stored_study> studies;
  for (const auto& x : *all)
    if (has_ended(x.state) && !outdated->contains(x.id)) {
      ended_.insert(x.id); // perhaps nobody was told
    } else {
      auto study = store_->load_study(x.id);
      if (!study)
        return fail("a study cannot be read: " + study.failure().message);
      studies.push_back(std::move(*study));
    }
  for (auto& [number, x] : nodes_)
    connect(x);
  restore(std::move(studies), 0);
}

void world::boot_later(duration delay) {
  after(delay, [this] {
    if (!is_up_)
      boot();
  });
}

/// Goes on with the studies from the `next` one on, then lets them train.
void world::restore(std::vector<stored_study> studies, std::size_t next) {
  if (next == studies.size())
    return go();
  const auto id = studies[next].id;
  auto read = admit_study(studies[next].text, "study", simulated_workloads(),
                          {true, studies[next].algorithm});
  if (!read.study)
    return fail("study " + to_string(id)
                + " was accepted and cannot be read any more");
  const auto client = system_.spawn(
    [this, studies, next, id, life = life_,
     x = study_submission{*read.study, studies[next]}](
      caf::event_based_actor* self) {
      self
        ->request(actors_.coordinator, caf::infinite, submit_atom::value, x)
        .then(
          [=, this](study_id now) {
            if (life != life_)
              return;
            if (now != id)
              fail("a study has another id after a restart");
            restore(studies, next + 1);
          },
          [=, this](const caf::error& why) {
            if (life != life_ || !is_up_)
              return;
            if (out_of_memory_.count(id) > 0 || why == errc::cancelled)
              return restore(studies, next + 1); // it alone
            tell("study " + to_string(id) + " cannot go on: "
                 + system_.render(why));
            if (!may_end_)
              fail("study " + to_string(id) + " cannot go on: "
                   + system_.render(why));
            kill(false);
            boot_later(1s);
          });
    });
  note_outside(client);
}

void world::go() {
  check_standing();
  is_restored_ = true;
  caf::anon_send(actors_.coordinator, go_atom::value);
}

/// Ends an actor before it has another message.
void world::end(const caf::strong_actor_ptr& actor, caf::error why) {
  actor->enqueue(
    nullptr, caf::make_message_id(caf::message_priority::high),
    caf::make_message(caf::exit_msg{actor->address(), std::move(why)}),
    nullptr);
}

/// Ends the service between two messages, with all that its actors have not
/// stored yet.
void world::kill(bool power) {
  note_told();
  note_standing();
  if (power)
    disk_.freeze(faults_);
  else
    disk_.freeze();
  is_up_ = false;
  caf::anon_send_exit(observer_, caf::exit_reason::kill);
  auto& jobs = scheduler_.jobs;
  // Those that were made just now have not had a message yet.
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (auto* x = actor_of(i); outside_.count(x->id()) == 0)
      inside_.try_emplace(x->id(), caf::strong_actor_ptr{x->ctrl()});
  for (const auto& [id, x] : inside_)
    end(x, caf::exit_reason::kill);
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < jobs.size() && !found; ++i)
      if (outside_.count(actor_of(i)->id()) == 0) {
        deliver(i);
        found = true;
      }
  }
  inside_.clear();
  frozen_.clear();
  for (const auto& [number, x] : nodes_)
    if (x.is_hung)
      frozen_.insert(x.handle.id());
  actors_ = {};
  store_.reset();
  if (const auto gone = std::exchange(thinking_, nullptr))
    gone->end();
  for (auto& [number, x] : nodes_)
    if (x.link) {
      x.link->lose(0s, seconds_below(3));
      x.link.reset();
    }
  disk_.thaw();
}

/// The decisions of the studies that live and have caught up.
std::vector<const study_core*> world::cores() const {
  std::vector<const study_core*> result;
  for (const auto* x : states<study_state, study_actor>())
    if (x->mind && x->mind->has_caught_up)
      result.push_back(x->mind->core.get());
  return result;
}

/// Remembers what the studies that live have been told.
void world::note_told() {
  for (const auto* core : cores()) {
    auto& heard = heard_[core->stored().id];
    heard.clear();
    for (trial_no no = 0; no < core->trials().size(); ++no)
      for (const auto& y : core->trials().results_of(no))
        heard.push_back({no, y.step, y.values});
  }
}

std::map<study_id, world::standing> world::standings() const {
  std::map<study_id, standing> result;
  for (const auto* core : cores()) {
    auto& y = result[core->stored().id];
    y.phase = core->stored().state;
    y.weight = core->stored().weight;
    for (trial_no no = 0; no < core->trials().size(); ++no) {
      const auto& trial = core->trials()[no];
      y.results += trial.results.size();
      y.trials.emplace_back(trial.state, trial.asked_to, trial.failure);
    }
  }
  return result;
}

std::string world::text_of(const standing& place) {
  auto result = std::string{to_string(place.phase)} + ", weight "
                + std::to_string(place.weight) + ", trials";
  for (const auto& [state, asked, why] : place.trials)
    result += std::string{" "} + to_string(state) + '/'
              + std::to_string(asked) + (why.empty() ? "" : " (" + why + ')');
  return result;
}

/// Whether nothing is under way: neither a message, nor a record that the
/// journal is going to write once it can.
bool world::is_quiet() const {
  if (!is_up_)
    return false; // it is about to start
  const auto journals = states<journal_state, journal_actor>();
  const auto has_written = [](const auto* x) { return x->unwritten.empty(); };
  return std::all_of(journals.begin(), journals.end(), has_written)
         && scheduler_.jobs.empty() && frozen_.empty() && is_restored_
         && thinking_->is_idle() && !disk_.is_full && !disk_.is_read_only;
}

/// Remembers where the studies stand, if nothing is under way.
void world::note_standing() {
  stood_.clear();
  if (is_quiet())
    stood_ = standings();
}

/// A study that has received the same again is where it was.
void world::check_standing() {
  const auto now = standings();
  for (const auto& [id, before] : stood_)
    if (const auto i = now.find(id);
        i != now.end() && i->second.results == before.results
        && i->second != before
        // One that is to stop ends with what runs, and nothing runs any more.
        && before.phase != study_phase::stopping)
      fail("study " + to_string(id)
           + " is another one after a restart than before: "
           + text_of(before) + ", now " + text_of(i->second));
  stood_.clear();
}

/// What anybody was told is in the store.
void world::check_kept(state_reader& store) {
  for (const auto& [id, text] : accepted_) {
    const auto study = store.load_study(id);
    if (!study)
      return fail("study " + to_string(id)
                  + " was accepted and is not there: "
                  + study.failure().message);
    if (study->text != text)
      return fail("study " + to_string(id) + " has another text");
    if (ended_.count(id) > 0 && !has_ended(study->state))
      return fail("study " + to_string(id)
                  + " was said to have ended, but has not");
  }
  for (const auto& [id, heard] : heard_) {
    const auto events = store.load_events(id, 0, 1'000'000);
    if (!events)
      return fail("events cannot be read: " + events.failure().message);
    std::map<std::pair<std::uint64_t, step_t>, metrics> stored;
    std::map<std::string, std::uint64_t> commands;
    for (const auto& x : *events)
      if (const auto* y = std::get_if<trial_measured>(&x.what))
        stored[{y->trial, y->at}] = y->values;
      else if (const auto* z = std::get_if<study_command>(&x.what))
        ++commands[to_string(z->what)];
    for (const auto& x : heard) {
      const auto i = stored.find({x.trial, x.at});
      if (commands.count("tell") == 0
          && (i == stored.end() || i->second != x.values))
        return fail("study " + to_string(id) + " was told of trial "
                    + std::to_string(x.trial) + " at step "
                    + std::to_string(x.at)
                    + ", and the store does not know it");
    }
    for (const auto& [verb, count] : answered_[id])
      if (commands[verb] < count)
        return fail("a command of study " + to_string(id) + ", " + verb
                    + ", was carried out and is not stored");
  }
}

} // namespace hippo::simulation
