#include "simulation/world.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "hippo/search/think/work_meter.hpp"
#include "simulation/study_texts.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;

namespace {

/// More messages than any scenario needs: beyond them something goes in rings.
constexpr std::uint64_t messages_max = 2'000'000;

/// So long everything may take once nothing fails any more.
constexpr auto healthy_max = std::chrono::hours{4};

} // namespace

world::config::config() {
  hippo::add_error_names(*this);
  set("scheduler.policy", caf::atom("testing"));
  set("logger.file-verbosity", caf::atom("quiet"));
  set("logger.console-verbosity", caf::atom("quiet"));
}

world::world(scenario what, memory_disk& disk, std::string folder,
             std::function<void(const std::string&)> trace)
  : what_(what),
    disk_(disk),
    folder_(std::move(folder)),
    trace_(std::move(trace)),
    random_(what.seed * 2 + 1),
    faults_(what.seed * 3 + 2),
    studies_(what.seed * 5 + 3),
    scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(
      system_.scheduler())),
    begin_(scheduler_.clock().now()) {
  disk_.clear();
  std::filesystem::create_directories(folder_);
}

world::~world() {
  // `~actor_system` waits for every actor.
  for (auto& [number, x] : nodes_) {
    if (x.link)
      x.link->lose(0s, 0s);
    caf::anon_send_exit(x.handle, caf::exit_reason::kill);
  }
  caf::anon_send_exit(observer_, caf::exit_reason::kill);
  nodes_.clear();
  kill(false);
  scheduler_.run();
  *timeline_ = {}; // what would have happened holds actors
  scheduler_.run();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

outcome world::run() {
  plan_faults();
  boot();
  for (std::uint64_t i = 0; i < what_.trainers + what_.ranks; ++i)
    add_trainer();
  for (std::uint64_t i = 0; i < what_.studies; ++i)
    after(seconds_below(5), [this] { submit_study(); });
  drive_clients();
  check_returns();
  check_collected();
  // With faults, until none is left or nothing is left to do.
  while (violation_.empty() && !planned_.empty()
         && timeline_->now() < std::chrono::hours{1}) {
    if (messages_ >= next_fault_) {
      const auto next = planned_.back();
      planned_.pop_back();
      next_fault_ = messages_ + below(150 * what_.studies);
      inject(next);
    }
    if (!step())
      break;
  }
  const auto healthy = timeline_->now();
  if (violation_.empty())
    heal();
  while (violation_.empty() && !all_ended())
    if (!step())
      fail("nothing happens any more, and studies have not ended");
    else if (timeline_->now() - healthy > healthy_max)
      fail("studies have not ended long after all faults have");
  // Measurements of studies that have ended are on their way still.
  while (violation_.empty() && !is_quiet() && step()) {
  }
  if (violation_.empty())
    check_store();
  outcome result;
  result.violation = violation_;
  result.messages = messages_;
  result.studies = accepted_.size();
  result.results = compared_;
  result.lives = life_;
  for (const auto& [number, x] : nodes_)
    result.trained += x.device->trained;
  result.seconds
    = std::chrono::duration<double>(timeline_->now()).count();
  return result;
}

// -- time and messages --------------------------------------------------------

/// Delivers a message, or lets time pass if there is none. @returns whether
/// anything is left that can happen
bool world::step() {
  auto& jobs = scheduler_.jobs;
  std::vector<std::size_t> ready;
  ready.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (frozen_.empty() || frozen_.count(actor_of(i)->id()) == 0)
      ready.push_back(i);
  if (ready.empty())
    return advance();
  if (++messages_ > messages_max) {
    fail("there is no end of messages");
    return false;
  }
  deliver(ready[what_.shuffle != 0 ? below(ready.size()) : 0]);
  if (what_.resend > 0 && messages_ % 64 == 0)
    check_held();
  if (memory_left_ > 0 && --memory_left_ == 0)
    run_out_of_memory();
  return true;
}

caf::scheduled_actor* world::actor_of(std::size_t job) const {
  return static_cast<caf::scheduled_actor*>(
    dynamic_cast<caf::scheduled_actor*>(scheduler_.jobs[job]));
}

void world::deliver(std::size_t job) {
  auto& jobs = scheduler_.jobs;
  auto* const x = actor_of(job);
  if (outside_.count(x->id()) == 0)
    inside_.try_emplace(x->id(), caf::strong_actor_ptr{x->ctrl()});
  if (what_.messages != 0)
    tell_message(*x);
  note_grant(*x);
  const std::string name = x->name();
  // What comes first stays first for everybody else.
  const auto at = jobs.begin() + static_cast<std::ptrdiff_t>(job);
  std::rotate(jobs.begin(), at, at + 1);
  const auto before = work_meter::spent();
  scheduler_.run_once();
  if (work_meter::spent() != before)
    fail(std::string{"an actor decides where others wait: "} + name);
}

/// A trainer that is granted once more is kept from nobody since before.
void world::note_grant(caf::scheduled_actor& to) {
  const auto* x = to.mailbox().peek();
  if (x == nullptr || x->content().size() != 3
      || !x->content().match_element<trainer_grant>(2))
    return;
  const auto granted = x->content().get_as<trainer_grant>(2).trainer;
  std::erase_if(kept_from_others_, [granted](const auto& kept) {
    return kept.first.second == granted;
  });
}

void world::tell_message(caf::scheduled_actor& to) {
  std::string text = "  " + std::string{to.name()} + ' '
                     + std::to_string(to.id()) + ':';
  if (const auto* x = to.mailbox().peek()) {
    const auto& y = x->content();
    if (y.size() > 0 && y.match_element<caf::atom_value>(0))
      text += ' ' + to_string(y.get_as<caf::atom_value>(0));
    else if (y.size() == 0)
      text += " (empty)";
    else
      text += " ?";
    if (x->sender)
      text += " from " + std::to_string(x->sender->id());
  }
  tell(text);
}

/// Goes on to the next thing that happens by itself.
bool world::advance() {
  const auto& timeouts = scheduler_.clock().schedule();
  const auto event = timeline_->next_time();
  std::optional<duration> timeout;
  if (!timeouts.empty())
    timeout = std::max<duration>(timeouts.begin()->first - begin_,
                                 timeline_->now());
  if (!event && !timeout)
    return false;
  const auto next = std::min(event.value_or(duration::max()),
                             timeout.value_or(duration::max()));
  if (timeout && *timeout <= next) {
    timeline_->advance_to(next);
    scheduler_.clock().advance_time(next
                                    - (scheduler_.clock().now() - begin_));
  } else {
    scheduler_.clock().advance_time(next
                                    - (scheduler_.clock().now() - begin_));
    timeline_->run_next();
  }
  return true;
}

void world::after(duration delay, std::function<void()> what) {
  timeline_->schedule_at(timeline_->now() + delay, std::move(what));
}

world::duration world::seconds_below(std::uint64_t count) {
  return std::chrono::milliseconds{below(count * 1000)};
}

void world::tell(const std::string& what) const {
  if (!trace_)
    return;
  const auto now = std::chrono::duration<double>(timeline_->now()).count();
  char begin[32];
  std::snprintf(begin, sizeof begin, "%10.3f ", now);
  trace_(begin + what);
}

void world::fail(const std::string& why) {
  if (violation_.empty()) {
    violation_ = why;
    tell("VIOLATION: " + why);
  }
}

} // namespace hippo::simulation
