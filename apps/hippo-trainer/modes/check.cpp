#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "hippo/check/proof.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/space/trial_defaults.hpp"
#include "modes/inputs.hpp"
#include "modes/modes.hpp"

namespace hippo {

int check_study(trainer_options opts, std::vector<device_entry> devices) {
  auto& device = devices.front();
  const auto study = read_checked(opts.check, device.registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  if (auto why = check_members_of(study->workload, opts.proof.other_members))
    return fail(*why, exit_usage);
  const auto maker = [&](const trained_by& number) {
    return make_for_members(
      opts, *study, std::vector(number.members, device.name), number.threads);
  };
  opts.proof.threads = opts.threads;
  if (study->code.empty() && !opts.proof.other_threads.empty())
    return fail({errc::invalid_argument,
                 "--other-threads is for code that a study brings"},
                exit_usage);
  std::map<std::string, sequence> defaults;
  for (const auto& x : device.registry.descriptors())
    if (x.name == study->workload.name)
      defaults = trial_defaults{x}.kept();
  const auto findings =
    prove(*study, defaults, opts.proof, maker, [](const proof_finding& x) {
      std::cout << proof_text(x) << std::flush;
    });
  if (!findings)
    return fail(findings.failure(), exit_failed);
  std::cout << proof_summary(*findings) << std::flush;
  return holds(*findings) ? exit_done : exit_failed;
}

} // namespace hippo
