#include "hippo/train/process/made_workload.hpp"

#include <utility>

namespace hippo {

expected<made_workload> make_workload(const workload_registry& registry,
                                      workload_spec spec,
                                      const std::string& code) {
  made_workload result;
  if (!code.empty()) {
    const auto read = study_code_from_json(code);
    if (!read)
      return read.failure();
    if (auto why = check_key(*read, spec))
      return *why;
    auto unpacked = unpacked_code::make(*read);
    if (!unpacked)
      return unpacked.failure();
    spec.settings["folder"] = unpacked->path();
    result.code = std::move(*unpacked);
  }
  auto made = registry.make(spec);
  if (!made)
    return made.failure();
  result.work = std::move(*made);
  return result;
}

expected<made_workload> make_workload(const workload_registry& registry,
                                      const lease& lease,
                                      checkpoint_store& store) {
  if (lease.code.file.empty())
    return make_workload(registry, lease.workload, std::string{});
  auto code = store.read(lease.code);
  if (!code)
    return error{errc::io_failed,
                 "the study's code cannot be had: " + code.failure().message};
  return make_workload(registry, lease.workload, *code);
}

} // namespace hippo
