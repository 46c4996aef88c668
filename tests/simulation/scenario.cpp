#include "simulation/scenario.hpp"

#include <algorithm>
#include <array>

namespace hippo::simulation {

const std::vector<scenario::field>& scenario::fields() {
  using s = scenario;
  static const std::vector<field> result{
    {"studies", &s::studies, "studies at the begin", false},
    {"trainers", &s::trainers, "trainers at the begin", false},
    {"trials", &s::trials, "trials of a study, at most", false},
    {"steps", &s::steps, "steps of a trial", false},
    {"workloads", &s::workloads, "workload keys that studies are of", false},
    {"at_once", &s::at_once, "leases of a trainer at once, at most", false},
    {"merge", &s::merge, "0: every trial is trained alone", false},
    {"shuffle", &s::shuffle, "0: messages come as they were sent", false},
    {"messages", &s::messages, "1: the trace shows each message", true},
    {"budget", &s::budget, "checkpoints that are kept; 0: all", true},
    {"crash", &s::crash, "the service is killed between two messages", true},
    {"power_cut", &s::power_cut, "and what was not synced is lost", true},
    {"death", &s::death, "a trainer is killed", true},
    {"leave", &s::leave, "a trainer ends in good order", true},
    {"join", &s::join, "one more trainer", true},
    {"hang", &s::hang, "a trainer stands still for a while", true},
    {"stuck", &s::stuck, "a trainer trains nothing, but says it lives", true},
    {"slow", &s::slow, "a trainer takes ten times as long", true},
    {"cut", &s::cut, "a connection is lost and made again", true},
    {"delay", &s::delay, "messages wait for seconds", true},
    {"disk_slow", &s::disk_slow, "the journal waits for seconds", true},
    {"disk_full", &s::disk_full, "the disk is full for a while", true},
    {"read_only", &s::read_only, "the disk takes nothing for a while", true},
    {"command", &s::command, "pause, resume, retry, stop, cancel, weight",
     true},
    {"submit", &s::submit, "one more study", true},
    {"repeat", &s::repeat, "a trainer sends reports twice", true},
    {"late", &s::late, "a trainer sends reports long after", true},
    {"nonsense", &s::nonsense, "a trainer sends what cannot be", true},
    {"nan", &s::nan, "a trainer measures what is not finite", true},
    {"sick_load", &s::sick_load, "a trainer can load no checkpoint", true},
    {"sick_train", &s::sick_train, "a trainer can train nothing", true},
    {"io_failed", &s::io_failed, "a trainer can save nothing", true},
    {"actor_death", &s::actor_death, "an actor of the service throws", true},
    {"poison", &s::poison, "some configurations always fail", true},
    {"settings", &s::settings, "studies differ in how a key is run", true},
    {"flaws", &s::flaws, "some states fail in some call, in some way", true},
    {"think", &s::think, "seconds that every third study takes to decide",
     true},
    {"sick_start", &s::sick_start, "a trainer can start no workload", true},
    {"hangs", &s::hangs, "some states never return from some call", true},
    {"hand_back", &s::hand_back, "a trainer hands leases back unasked", true},
    {"do_nothing", &s::do_nothing, "a trainer says it is done, and is not",
     true},
    {"say_idle", &s::say_idle, "a trainer says it is idle, and has a lease",
     true},
    {"move", &s::move, "a trainer gets on in heartbeats alone", true},
    {"resend", &s::resend, "a trainer sends what nobody knows", true},
    {"dupe", &s::dupe, "a trainer saves what is not there", true},
    {"short_memory", &s::short_memory,
     "memory runs out in a study or its merger while it starts", true},
    {"memory", &s::memory, "KiB that studies may take; 0: no limit", true},
    {"parts", &s::parts, "parts of a step, for gangs; 0: none", true},
    {"ranks", &s::ranks, "ranks of trials, at most; 0: one", true},
    {"time_limit", &s::time_limit, "seconds that trainers stay; 0: no limit",
     true},
  };
  return result;
}

/// Kinds of faults that came after the others: seeds keep what they had.
constexpr std::array lies{&scenario::hand_back, &scenario::do_nothing,
                          &scenario::say_idle,  &scenario::move,
                          &scenario::resend,    &scenario::dupe};

scenario scenario::draw(std::uint64_t seed) {
  scenario x;
  x.seed = seed;
  std::mt19937_64 random{seed * 0x9e3779b97f4a7c15u + 1};
  const auto below = [&](std::uint64_t n) { return random() % n; };
  // The first hundreds are small: what they find is easy to read.
  const auto size = std::min<std::uint64_t>(seed / 200 + 1, 4);
  x.studies = 1 + below(size);
  x.trainers = 1 + below(size);
  x.trials = 3 + below(3 * size);
  x.steps = 3 + below(3 * size);
  x.workloads = 1 + below(2);
  x.at_once = 1 + below(4);
  x.merge = below(6) == 0 ? 0 : 1;
  x.shuffle = below(4) == 0 ? 0 : 1;
  x.budget = below(6) == 0 ? 1 + below(6) : 0;
  x.poison = below(6) == 0;
  // Every kind of fault in some seeds, all of them in none: each hides others.
  for (const auto& field : fields())
    if (field.is_fault && field.value != &scenario::budget
        && field.value != &scenario::messages
        && field.value != &scenario::poison
        && field.value != &scenario::settings && field.value != &scenario::flaws
        && field.value != &scenario::think
        && field.value != &scenario::sick_start
        && field.value != &scenario::hangs
        && field.value != &scenario::short_memory
        && field.value != &scenario::memory
        && field.value != &scenario::time_limit
        && field.value != &scenario::parts && field.value != &scenario::ranks
        && std::ranges::find(lies, field.value) == lies.end() && below(5) == 0)
      x.*field.value = 1 + below(2 * size);
  // Only if it is set: what the others end with is not told apart from it yet.
  x.actor_death = 0;
  x.settings = below(4) == 0;
  x.flaws = below(4) == 0;
  x.think = below(4) == 0 ? 1 + below(30) : 0;
  x.sick_start = below(8) == 0 ? 1 + below(2 * size) : 0;
  x.hangs = below(4) == 0;
  for (const auto lie : lies)
    x.*lie = below(8) == 0 ? 1 + below(2 * size) : 0;
  x.short_memory = below(6) == 0 ? 1 + below(2 * size) : 0;
  x.memory = below(8) == 0 ? 300 + below(1500) : 0;
  x.time_limit = below(8) == 0 ? 20 + below(100) : 0;
  x.parts = below(3) == 0 ? 2u << below(3) : 0;
  x.ranks = below(4) == 0 ? 2u << below(2) : 0;
  return x;
}

std::optional<std::string> scenario::set(const std::string& text) {
  const auto at = text.find('=');
  const auto name = text.substr(0, at);
  const auto i = std::find_if(fields().begin(), fields().end(),
                              [&](const auto& y) { return name == y.name; });
  if (i == fields().end())
    return "there is no '" + name + "'";
  const auto value = at == std::string::npos ? "1" : text.substr(at + 1);
  if (value.empty()
      || value.find_first_not_of("0123456789") != std::string::npos)
    return name + " must be a number";
  this->*i->value = std::stoull(value);
  return std::nullopt;
}

std::string scenario::options() const {
  std::string result = "--seed " + std::to_string(seed);
  const auto drawn = draw(seed);
  for (const auto& x : fields())
    if (this->*x.value != drawn.*x.value)
      result += std::string{" --set "} + x.name + '='
                + std::to_string(this->*x.value);
  return result;
}

} // namespace hippo::simulation
