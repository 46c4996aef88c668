#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "hippo/checkpoint/object_store/object_client.hpp"
#include "hippo/model/checkpoint_path.hpp"
#include "hippo/store/state_copy.hpp"
#include "object_place.hpp"
#include "outcome.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct copy_arguments {
  std::string state = "hippo-state";
  std::string backup;
  bool trusts = false; ///< what an earlier copy has
};

/// Finds checkpoints in an object store, by their names, which hold their
/// digests, and their sizes.
class object_finder {
public:
  explicit object_finder(object_location where) : client_(std::move(where)) {}

  expected<bool> find(const std::string& folder, const checkpoint& checkpoint) {
    if (looked_.insert(folder).second) {
      auto listed = client_.list(folder + '/');
      if (!listed)
        return listed.failure();
      for (auto& y : *listed)
        bytes_.emplace(std::move(y.key), y.bytes);
    }
    const auto place = to_text(client_.where());
    const auto i = bytes_.find(
      key_of(client_.where(), folder + '/' + stored_name(place, checkpoint)));
    return i != bytes_.end() && i->second == checkpoint.bytes;
  }

private:
  object_client client_;
  std::set<std::string> looked_; ///< folders of workloads
  std::map<std::string, std::uint64_t> bytes_; ///< by key
};

/// Copies a state, and says what that came to.
/// @returns the exit code
int copy(const std::string& from, const std::string& to, copy_target target,
         copy_check check = copy_check::contents) {
  const auto place = find_object_place(from, {});
  if (!place)
    return fail(place.failure(), exit_bad_input);
  checkpoint_finder elsewhere;
  if (*place)
    elsewhere = [finder = std::make_shared<object_finder>(**place)](
                  const std::string& folder, const checkpoint& x) {
      return finder->find(folder, x);
    };
  const auto done = copy_state(from, to, target, std::move(elsewhere), check);
  if (!done)
    return fail(done.failure(),
                done.failure().code == errc::io_failed ? exit_failed
                                                       : exit_bad_input);
  std::cout << to << ": " << done->studies << " studies, "
            << done->copied + done->there << " checkpoints (" << done->copied
            << " copied, " << (done->copied_bytes + 500'000) / 1'000'000
            << " MB; " << done->removed << " removed)\n";
  if (auto why = leave_object_place(to, *place))
    return fail(*why, exit_failed);
  if (*place)
    std::cout << done->elsewhere << " checkpoints are in " << to_text(**place)
              << " and stay there: the copy names that place\n";
  if (done->mended > 0)
    std::cout << done->mended << " checkpoints were damaged in " << to
              << " and have been copied again: look after its disk\n";
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
    [x] {
      return copy(x->state, x->backup, copy_target::older,
                  x->trusts ? copy_check::sizes : copy_check::contents);
    });
  verb->add_option("--state", x->state, "State folder")->capture_default_str();
  verb->add_option("OUT", x->backup,
                   "Folder for the copy; of an earlier one only what is new "
                   "is copied")
    ->required();
  verb->add_flag("--trust", x->trusts,
                 "Do not read again what an earlier copy has: quicker, but "
                 "what has rotted there is not noticed");
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
