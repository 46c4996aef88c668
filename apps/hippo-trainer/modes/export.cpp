#include <exception>
#include <optional>
#include <string>

#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/run.hpp"
#include "modes/inputs.hpp"
#include "modes/modes.hpp"

namespace hippo {

int export_weights(const trainer_options& opts,
                   const workload_registry& registry,
                   const std::string& device) {
  const auto recipe = read_recipe(opts.recipe);
  if (!recipe)
    return fail(recipe.failure(), exit_usage);
  const auto kept = recipe->stages.front().begin;
  const auto wanted = recipe->stops.back().at;
  if (opts.kind == mixed_devices && kept != wanted)
    return fail({errc::invalid_argument,
                 "the state of step " + std::to_string(wanted)
                   + " was not kept, and devices of several kinds have trained "
                     "it (devices: any): no device gives it again bit for bit"},
                exit_failed);
  if (!opts.kind.empty() && device != opts.kind && kept != wanted)
    return fail(
      {errc::invalid_argument,
       "the state of step " + std::to_string(wanted)
         + " was not kept, and would have to be trained again from step "
         + std::to_string(kept) + " by a device of the kind that trained it, "
         + opts.kind + "; this is " + device
         + ", which gives other weights. --device and --threads choose"},
      exit_usage);
  folder_store store{recipe->folder};
  auto made = make_workload(registry, *recipe, store);
  if (!made)
    return fail(made.failure(), exit_failed);
  lease_control control{recipe->stops};
  lease_progress progress;
  std::optional<checkpoint> present;
  recent_states none{0};
  part_tables tables;
  parted_store states{*recipe, store, tables};
  const auto end = run(
    *made->work, present, none, *recipe, states, device, control, progress,
    [] { return 0; }, [](const stop_report&) {});
  if (end.failure)
    return fail(*end.failure, exit_failed);
  try {
    made->work->export_weights(opts.weights);
  } catch (const std::exception& e) {
    return fail({errc::io_failed, e.what()}, exit_failed);
  }
  return exit_done;
}

} // namespace hippo
