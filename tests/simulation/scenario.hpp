#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hippo::simulation {

/// What one seed simulates: how large it is, which faults come, and what must
/// hold. All of it is drawn from the seed; each number may be set instead, so
/// that a failure can be made smaller without another one taking its place.
struct scenario {
  std::uint64_t seed = 1;

  // How large it is.
  std::uint64_t studies = 1;
  std::uint64_t trainers = 1;
  std::uint64_t trials = 6;    ///< of a study, at most
  std::uint64_t steps = 6;     ///< of a trial
  std::uint64_t workloads = 1; ///< keys that studies are of
  std::uint64_t at_once = 1;   ///< leases of a trainer, at most
  std::uint64_t merge = 1;     ///< 0: every trial is trained alone
  std::uint64_t shuffle = 1;   ///< 0: messages come in the order of sending
  std::uint64_t budget = 0;    ///< checkpoints that are kept; 0: all

  // How often each fault comes.
  std::uint64_t crash = 0;      ///< of the service, between two messages
  std::uint64_t power_cut = 0;  ///< the same, and what was not synced is lost
  std::uint64_t death = 0;      ///< of a trainer
  std::uint64_t leave = 0;      ///< a trainer ends in good order
  std::uint64_t join = 0;       ///< one more trainer
  std::uint64_t hang = 0;       ///< a trainer stands still for a while
  std::uint64_t stuck = 0;      ///< a trainer trains nothing, but says it lives
  std::uint64_t slow = 0;       ///< a trainer takes ten times as long
  std::uint64_t cut = 0;        ///< a connection is lost and made again
  std::uint64_t delay = 0;      ///< messages wait for seconds
  std::uint64_t disk_slow = 0;  ///< the journal waits for seconds
  std::uint64_t disk_full = 0;  ///< what is written fails for a while
  std::uint64_t read_only = 0;  ///< the same, another way
  std::uint64_t command = 0;    ///< pause, resume, retry, stop, cancel, weight
  std::uint64_t submit = 0;     ///< one more study
  std::uint64_t repeat = 0;     ///< a trainer sends reports twice
  std::uint64_t late = 0;       ///< and long after their leases
  std::uint64_t nonsense = 0;   ///< what it sends cannot be
  std::uint64_t nan = 0;        ///< it measures what is not finite
  std::uint64_t sick_load = 0;  ///< it can load no checkpoint
  std::uint64_t sick_train = 0; ///< it can train nothing
  std::uint64_t io_failed = 0;  ///< it can save nothing
  std::uint64_t actor_death = 0; ///< an actor of the service throws
  std::uint64_t poison = 0; ///< 1: some configurations fail wherever trained
  /// 1: studies of a key say differently how it is run, some as it cannot be
  std::uint64_t settings = 0;
  std::uint64_t flaws = 0; ///< 1: training fails in any of its calls
  std::uint64_t sick_start = 0; ///< a trainer can start no workload
  std::uint64_t hangs = 0; ///< 1: training never returns from some calls

  std::uint64_t hand_back = 0;  ///< a trainer hands leases back unasked
  std::uint64_t do_nothing = 0; ///< a trainer says it is done, and is not
  std::uint64_t say_idle = 0;   ///< a trainer says it is idle, and has a lease
  std::uint64_t move = 0;       ///< a trainer gets on in heartbeats alone
  std::uint64_t resend = 0;     ///< a trainer sends what nobody knows
  std::uint64_t dupe = 0;       ///< a trainer saves what is not there

  std::uint64_t think = 0; ///< seconds that slow studies take to decide

  /// Memory runs out in an actor of a study or in its merger while they start.
  std::uint64_t short_memory = 0;
  std::uint64_t memory = 0; ///< KiB that studies may take; 0: no limit

  std::uint64_t parts = 0; ///< of each step, which trainers share; 0: none

  std::uint64_t ranks = 0; ///< of trials, at most; 0: one, or parts

  std::uint64_t time_limit = 0; ///< seconds that trainers stay; 0: no limit

  std::uint64_t messages = 0; ///< whether the trace shows each

  /// All of it by name, with the meaning for the help.
  struct field {
    const char* name;
    std::uint64_t scenario::*value;
    const char* meaning;
    bool is_fault;
  };
  static const std::vector<field>& fields();

  /// What a seed stands for. Small seeds are small.
  static scenario draw(std::uint64_t seed);

  /// Takes `name=value`. @returns what is wrong with it, if anything is
  std::optional<std::string> set(const std::string& text);

  /// What differs from the draw of its seed, as options of the program.
  [[nodiscard]] std::string options() const;
};

/// Scenarios that still fail `fails`, made smaller step by step.
template <class F>
scenario shrunk(scenario original, const F& fails) {
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (const auto& field : scenario::fields()) {
      const auto least = field.is_fault ? 0u : 1u;
      for (auto now = original.*field.value; now > least;) {
        auto next = original;
        next.*field.value = field.is_fault && now > 1 ? now / 2 : least;
        if (std::string{field.name} == "trials"
            || std::string{field.name} == "steps")
          next.*field.value = now - 1;
        if (next.*field.value < least || !fails(next))
          break;
        original = next;
        now = original.*field.value;
        is_smaller = true;
      }
    }
  }
  return original;
}

} // namespace hippo::simulation
