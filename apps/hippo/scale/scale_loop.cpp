#include "scale/scale_loop.hpp"

#include <algorithm>
#include <iostream>
#include <set>
#include <thread>
#include <utility>

#include "interrupts.hpp"
#include "outcome.hpp"

namespace hippo {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds glance{50};

double wall_seconds() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

} // namespace

scale_loop::scale_loop(scale_loop_options options, scale_settings settings,
                       const machines& machines, scale_engine& engine,
                       std::function<expected<demand_view>()> demand,
                       journal_file& journal)
  : options_(options), settings_(std::move(settings)), machines_(machines),
    engine_(engine), demand_(std::move(demand)), journal_(journal),
    scaler_(settings_, journal.content()) {}

int scale_loop::run() {
  for (;;) {
    const bool answered = look();
    if (options_.once)
      return answered ? exit_done : exit_failed;
    if (wait())
      break;
  }
  if (options_.end_all_on_exit)
    return end_all() == exit_done ? exit_interrupted : exit_failed;
  const auto left = std::ranges::count_if(listed_, [&](const auto& x) {
    return x.now != listed_trainer::state::ended
           && number_in_fleet(settings_.fleet, x.name);
  });
  std::cerr << "hippo: interrupted; " << left
            << " of the fleet go on, and "
               "hippo scale --down ends them\n";
  return exit_interrupted;
}

bool scale_loop::wait() const {
  const auto deadline = steady::now() + options_.interval;
  while (!interrupt_guard::is_asked() && steady::now() < deadline)
    std::this_thread::sleep_for(glance);
  return interrupt_guard::is_asked();
}

void scale_loop::complain(const std::string& why) {
  if (why != complaint_)
    std::cerr << "hippo: " << why
              << "; nothing is started or ended until that is over\n";
  complaint_ = why;
}

void scale_loop::settle() {
  if (!std::exchange(complaint_, {}).empty())
    std::cerr << "hippo: service and engine answer again\n";
}

bool scale_loop::look() {
  const auto demand = demand_();
  if (!demand) {
    complain("the service does not answer: " + demand.failure().message);
    return false;
  }
  auto listed = engine_.list();
  if (!listed) {
    complain("the engine does not say what runs: " + listed.failure().message);
    return false;
  }
  settle();
  listed_ = std::move(*listed);
  const auto orders = scaler_.observe(wall_seconds(), *demand, listed_);
  for (const auto& note : scaler_.take_notes())
    std::cerr << "hippo: " << note << '\n';
  if (options_.dry_run) {
    for (const auto& x : orders)
      carry_out(x);
    return true;
  }
  // Names are written down before they are given.
  if (auto why = journal_.save(scaler_.journal())) {
    complain(why->message);
    return false;
  }
  for (const auto& x : orders) {
    if (interrupt_guard::is_asked())
      break;
    carry_out(x);
  }
  if (auto why = journal_.save(scaler_.journal()))
    complain(why->message);
  return true;
}

const listed_trainer* scale_loop::find(const std::string& id) const {
  const auto i = std::ranges::find(listed_, id, &listed_trainer::id);
  return i == listed_.end() ? nullptr : &*i;
}

void scale_loop::carry_out(const scale_order& x) {
  const bool is_start = x.what == scale_order::kind::start;
  std::cout << (is_start ? "start " : "end ") << x.name;
  if (!x.group.empty())
    std::cout << " in " << x.group;
  std::cout << ": " << x.why << std::endl;
  if (options_.dry_run)
    return;
  if (is_start)
    start(x);
  else if (const auto* which = find(x.id))
    if (auto why = engine_.end(*which))
      std::cerr << "hippo: " << x.name
                << " was not told to end: " << why->message << '\n';
}

void scale_loop::start(const scale_order& x) {
  const auto group =
    std::ranges::find(machines_.trainers, x.group, &trainer_group::name);
  const auto why = engine_.start(x.name, *group);
  if (!why)
    return;
  const auto now = wall_seconds();
  const bool is_certain = why->code != errc::io_failed;
  scaler_.note_failed_start(x.name, is_certain, now);
  std::cerr << "hippo: " << x.name
            << (is_certain ? " was not started: " : " may not have started: ")
            << why->message;
  if (const auto until = scaler_.paused_until(x.group, now))
    std::cerr << "; the next attempt comes in "
              << static_cast<long>(*until - now + 0.5) << " s";
  std::cerr << '\n';
}

int scale_loop::end_all() {
  // A trainer that leaves in good order takes as long as its notice.
  unsigned notice = 0;
  for (const auto& x : machines_.trainers)
    notice = std::max(notice, x.notice_seconds);
  const auto deadline = steady::now() + std::chrono::seconds{notice + 60};
  std::set<std::string> told;
  for (;;) {
    const auto listed = engine_.list();
    std::size_t left = 0;
    if (!listed)
      complain("the engine does not say what runs: "
               + listed.failure().message);
    else
      for (const auto& x : *listed) {
        if (x.now == listed_trainer::state::ended
            || !number_in_fleet(settings_.fleet, x.name))
          continue;
        ++left;
        if (told.contains(x.id))
          continue;
        std::cout << "end " << x.name << ": the fleet is taken down"
                  << std::endl;
        if (auto why = engine_.end(x))
          complain(x.name + " was not told to end: " + why->message);
        else
          told.insert(x.id);
      }
    if (listed && left == 0)
      return exit_done;
    if (steady::now() >= deadline)
      return fail({errc::io_failed, std::to_string(left)
                                      + " of the fleet have not ended "
                                        "within "
                                      + std::to_string(notice + 60) + " s"},
                  exit_failed);
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(
      options_.interval, std::chrono::seconds{5}));
  }
}

} // namespace hippo
