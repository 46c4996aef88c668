// What goes wrong, and for how long.

#include <algorithm>
#include <exception>
#include <new>

#include "fault.hpp"
#include "merger.hpp"
#include "simulation/world.hpp"
#include "study.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;

/// Draws the order in which the faults come.
void world::plan_faults() {
  for (const auto& x : scenario::fields())
    if (x.is_fault && x.value != &scenario::messages
        && x.value != &scenario::budget && x.value != &scenario::poison
        && x.value != &scenario::settings && x.value != &scenario::flaws
        && x.value != &scenario::hangs && x.value != &scenario::think
        && x.value != &scenario::memory && x.value != &scenario::parts
        && x.value != &scenario::ranks)
      for (std::uint64_t i = 0; i < what_.*x.value; ++i)
        planned_.push_back(x);
  std::shuffle(planned_.begin(), planned_.end(), faults_);
  next_fault_ = faults_() % 100;
}

/// Makes a trainer sick for a while.
void world::ail(bool ailments::*what) {
  auto* const x = pick_trainer();
  if (!x)
    return;
  x->device->sick.*what = true;
  x->device->freeze(x->is_hung);
  note_health();
  after(seconds_below(90), [this, what, number = x->number] {
    const auto i = nodes_.find(number);
    if (i == nodes_.end())
      return;
    i->second.device->sick.*what = false;
    i->second.device->freeze(i->second.is_hung);
  });
}

/// Lets a study's actor end, or a merger with a study that has given it orders,
/// as they do when an allocation fails.
void world::run_out_of_memory() {
  struct victim {
    caf::strong_actor_ptr who;
    study_id study;
  };
  std::vector<victim> all;
  for (const auto& [id, x] : inside_) {
    auto* const y = caf::actor_cast<caf::abstract_actor*>(x);
    if (y->getf(caf::abstract_actor::is_terminated_flag))
      continue;
    using one = study_actor::stateful_base<study_state>;
    using many = merger_actor::stateful_base<merger_state>;
    if (auto* const z = dynamic_cast<one*>(y); z && z->state.mind)
      all.push_back({x, z->state.told.id()});
    if (auto* const z = dynamic_cast<many*>(y); z && z->state.core) {
      const auto& studies = z->state.core->studies();
      for (const auto no : studies.ids())
        if (!studies.has_left(no))
          all.push_back({x, studies.stored_id(no)});
    }
  }
  if (all.empty() || !is_up_)
    return;
  const auto& [who, study] = all[faults_() % all.size()];
  tell("memory runs out in actor " + std::to_string(who->id())
       + " for study " + to_string(study));
  out_of_memory_.insert(study);
  stood_.clear();
  end(who, fault_of(std::make_exception_ptr(std::bad_alloc{}), study));
}

void world::inject(scenario::field field) {
  using s = scenario;
  const auto is = [&](std::uint64_t s::*value) { return field.value == value; };
  tell(std::string{"fault: "} + field.name + ", " + field.meaning);
  const auto span = seconds_below(40);
  if (is(&s::crash) || is(&s::power_cut)) {
    const auto end = [this, power = is(&s::power_cut)] {
      if (is_up_)
        kill(power);
      boot_later(seconds_below(20));
    };
    if (below(3) == 0)
      after(0s, end); // when nothing is under way
    else
      end();
  } else if (is(&s::death)) {
    if (auto* y = pick_trainer())
      end_trainer(y->number);
    // Somebody starts it again.
    after(span, [this] {
      if (!is_healing_ || nodes_.empty())
        add_trainer();
    });
  } else if (is(&s::leave)) {
    if (auto* y = pick_trainer()) {
      y->is_leaving = true;
      caf::anon_send(y->handle, leave_atom::value);
    }
    after(span, [this] { add_trainer(); });
  } else if (is(&s::join)) {
    add_trainer();
  } else if (is(&s::hang)) {
    if (auto* y = pick_trainer()) {
      y->is_hung = true;
      y->device->freeze(true);
      note_health();
      frozen_.insert(y->handle.id());
      after(span, [this, number = y->number] {
        const auto i = nodes_.find(number);
        if (i == nodes_.end())
          return;
        i->second.is_hung = false;
        i->second.device->freeze(false);
        frozen_.erase(i->second.handle.id());
      });
    }
  } else if (is(&s::stuck)) {
    ail(&ailments::is_stuck);
  } else if (is(&s::slow)) {
    ail(&ailments::is_slow);
  } else if (is(&s::repeat)) {
    ail(&ailments::repeats);
  } else if (is(&s::late)) {
    ail(&ailments::is_late);
  } else if (is(&s::nonsense)) {
    ail(&ailments::talks_nonsense);
  } else if (is(&s::nan)) {
    ail(&ailments::measures_nan);
  } else if (is(&s::sick_load)) {
    ail(&ailments::cannot_load);
  } else if (is(&s::sick_start)) {
    ail(&ailments::cannot_start);
  } else if (is(&s::sick_train)) {
    ail(&ailments::cannot_train);
  } else if (is(&s::io_failed)) {
    ail(&ailments::cannot_save);
  } else if (is(&s::hand_back)) {
    ail(&ailments::hands_back);
  } else if (is(&s::do_nothing)) {
    ail(&ailments::does_nothing);
  } else if (is(&s::say_idle)) {
    ail(&ailments::says_idle);
  } else if (is(&s::move)) {
    ail(&ailments::moves);
  } else if (is(&s::resend)) {
    ail(&ailments::resends);
  } else if (is(&s::dupe)) {
    ail(&ailments::dupes);
  } else if (is(&s::cut)) {
    if (auto* y = pick_trainer(); y && y->link) {
      y->link->lose(seconds_below(20), seconds_below(20));
      connect(*y);
    }
  } else if (is(&s::delay)) {
    if (auto* y = pick_trainer(); y && y->link) {
      y->link->delay(true);
      after(span, [link = y->link] { link->delay(false); });
    }
  } else if (is(&s::disk_slow)) {
    if (is_up_) {
      const auto id = actors_.journal.id();
      frozen_.insert(id);
      after(span, [this, id] { frozen_.erase(id); });
    }
  } else if (is(&s::disk_full)) {
    disk_.is_full = may_end_ = true;
    after(span, [this] { disk_.is_full = false; });
  } else if (is(&s::read_only)) {
    disk_.is_read_only = disk_.sync_fails = may_end_ = true;
    after(span, [this] { disk_.is_read_only = disk_.sync_fails = false; });
  } else if (is(&s::command)) {
    command_study();
  } else if (is(&s::submit)) {
    submit_study();
  } else if (is(&s::short_memory)) {
    if (faults_() % 2 == 0)
      submit_study();
    memory_left_ = 1 + faults_() % 60;
  } else if (is(&s::actor_death) && is_up_ && !inside_.empty()) {
    auto i = inside_.begin();
    std::advance(i, static_cast<std::ptrdiff_t>(faults_() % inside_.size()));
    may_end_ = true;
    end(i->second, caf::make_error(caf::sec::runtime_error));
  }
}

} // namespace hippo::simulation
