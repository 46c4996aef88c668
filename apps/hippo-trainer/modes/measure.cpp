#include <chrono>
#include <iostream>
#include <string>

#include "hippo/check/measure.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "modes/inputs.hpp"
#include "modes/modes.hpp"

namespace hippo {

int measure_study(const trainer_options& opts, const device_entry& device) {
  const auto study = read_checked(opts.measure, device.registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  auto made = make_workload(device.registry, study->workload, study->code,
                            {study->initial_path});
  if (!made)
    return fail(made.failure(), exit_usage);
  workload_descriptor descriptor;
  for (auto& x : device.registry.descriptors())
    if (x.name == study->workload.name)
      descriptor = x;
  const auto now = [] {
    return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
  };
  bool told = false;
  const auto tell = [&](const std::string& what) {
    if (!opts.repeat || !told)
      std::cerr << "measures " << what << '\n';
    told = true;
  };
  const auto once = [&] {
    return measure(*study, descriptor, opts.proof.steps, *made->work, now,
                   tell);
  };
  auto found = once();
  while (found && opts.repeat)
    found = once();
  if (!found)
    return fail(found.failure(), exit_failed);
  std::cout << profile_text(*found, descriptor, device.info.kind)
            << std::flush;
  return exit_done;
}

} // namespace hippo
