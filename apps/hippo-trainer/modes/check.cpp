#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/check/proof.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/space/trial_defaults.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "modes/inputs.hpp"
#include "modes/modes.hpp"

namespace hippo {

namespace {

/// Says why so many members cannot train a workload together.
std::optional<error> check_members_of(const workload_spec& workload,
                                      const std::vector<unsigned>& members) {
  const auto most = parts_of_batch(workload);
  for (const auto x : members)
    if (x > most)
      return error{errc::invalid_argument,
                   "--members " + std::to_string(x) + ": at most "
                     + std::to_string(most) + " can train '" + workload.name
                     + "' of this study together; workloads of images or BERT "
                       "with parts: "
                     + std::to_string(x) + " have work for so many"};
  return std::nullopt;
}

} // namespace

int check_study(trainer_options opts, std::vector<device_entry> devices) {
  auto& device = devices.front();
  const auto study = read_checked(opts.check, device.registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  if (auto why = check_members_of(study->workload, opts.proof.other_members))
    return fail(*why, exit_usage);
  const auto maker = [&](const trained_by& number) -> expected<made_workload> {
    workload_registry registry;
    auto with = opts;
    with.members = number.members;
    if (auto why = add_workloads(with, device.name, number.threads, registry,
                                 number.members > 1
                                   ? std::vector(number.members, device.name)
                                   : std::vector<std::string>{}))
      return *why;
    return make_workload(registry, study->workload, study->code,
                         {study->initial_path});
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
