#include <exception>

#include "hippo/train/process/made_workload.hpp"
#include "modes/inputs.hpp"
#include "modes/modes.hpp"

namespace hippo {

int prepare_study(const trainer_options& opts,
                  const workload_registry& registry) {
  const auto study = read_checked(opts.prepare, registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  auto made = make_workload(registry, study->workload, study->code,
                            {study->initial_path, opts.initial_files});
  if (!made)
    return fail(made.failure(), exit_usage);
  try {
    made->work->prepare();
    return exit_done;
  } catch (const std::exception& why) {
    return fail({errc::training_failed, why.what()}, exit_usage);
  }
}

} // namespace hippo
