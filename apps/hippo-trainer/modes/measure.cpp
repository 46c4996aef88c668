#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "hippo/check/measure.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "modes/inputs.hpp"
#include "modes/modes.hpp"

namespace hippo {

namespace {

/// Returns the devices of so many members: a CPU, whose threads they are, or
/// consecutive GPUs of one kind.
expected<std::vector<std::string>>
devices_of(const device_entry& first, unsigned members, unsigned threads) {
  std::vector<std::string> result(members, first.name);
  if (first.name == "cpu")
    return result;
  const auto digits = first.name.find(':') + 1;
  const auto number = std::stoul(first.name.substr(digits));
  for (unsigned i = 1; i < members; ++i) {
    result[i] = first.name.substr(0, digits) + std::to_string(number + i);
    const auto other = prepare_device(result[i], threads, first.numerics);
    const auto refused = [&](const std::string& why) {
      return error{errc::invalid_argument,
                   "--members " + std::to_string(members) + ": " + why};
    };
    if (!other)
      return refused(other.failure().message);
    if (other->kind != first.info.kind)
      return refused(result[i] + " is of another kind, '" + other->kind + '\'');
  }
  return result;
}

} // namespace

int measure_study(const trainer_options& opts, const device_entry& device) {
  const auto study = read_checked(opts.measure, device.registry);
  if (!study)
    return fail(study.failure(), exit_usage);
  const auto& members = opts.proof.other_members;
  if (auto why = check_members_of(study->workload, members))
    return fail(*why, exit_usage);
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
  for (const auto number : members) {
    const auto devices = devices_of(device, number, opts.threads);
    if (!devices)
      return fail(devices.failure(), exit_usage);
    const auto joined = make_for_members(opts, *study, *devices, opts.threads);
    if (!joined)
      return fail(joined.failure(), exit_usage);
    const auto takes =
      measure_first_step(*study, descriptor, opts.proof.steps, *joined->work,
                         now, tell, std::to_string(number) + " members");
    if (!takes)
      return fail(takes.failure(), exit_failed);
    found->members[number] = found->first_seconds / *takes;
  }
  std::cout << profile_text(*found, descriptor, device.info.kind)
            << std::flush;
  return exit_done;
}

} // namespace hippo
