#include <iostream>
#include <memory>
#include <string>

#include "hippo/store/state_copy.hpp"
#include "outcome.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct copy_arguments {
  std::string state = "hippo-state";
  std::string backup;
};

/// Copies a state, and says what that came to.
/// @returns the exit code
int copy(const std::string& from, const std::string& to, copy_target target) {
  const auto done = copy_state(from, to, target);
  if (!done)
    return fail(done.failure(),
                done.failure().code == errc::io_failed ? exit_failed
                                                       : exit_bad_input);
  std::cout << to << ": " << done->studies << " studies, "
            << done->copied + done->there << " checkpoints (" << done->copied
            << " copied, " << (done->copied_bytes + 500'000) / 1'000'000
            << " MB; " << done->removed << " removed)\n";
  if (done->missing > 0)
    std::cout << done->missing
              << " checkpoints are missing or damaged in " << from
              << ": what needs them is trained again from those before\n";
  return exit_done;
}

} // namespace

void add_backup(verb_table& verbs) {
  const auto x = std::make_shared<copy_arguments>();
  auto* verb = verbs.add(
    local_group, "backup",
    "Copy a state folder, also while a service works in it",
    "hippo backup --state /data/hippo /backup/hippo",
    [x] { return copy(x->state, x->backup, copy_target::older); });
  verb->add_option("--state", x->state, "State folder")->capture_default_str();
  verb->add_option("OUT", x->backup,
                   "Folder for the copy; of an earlier one only what is new "
                   "is copied")
    ->required();
}

void add_restore(verb_table& verbs) {
  const auto x = std::make_shared<copy_arguments>();
  auto* verb = verbs.add(
    local_group, "restore", "Make a state folder of a backup",
    "hippo restore /backup/hippo --state /data/hippo",
    [x] { return copy(x->backup, x->state, copy_target::fresh); });
  verb->add_option("BACKUP", x->backup, "Folder that `hippo backup` has made")
    ->required();
  verb->add_option("--state", x->state,
                   "State folder to make; must hold no state yet")
    ->capture_default_str();
}

} // namespace hippo
