#include "hippo/train/process/made_workload.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace hippo {

expected<made_workload> make_workload(const workload_registry& registry,
                                      workload_spec spec,
                                      const std::string& code,
                                      const content_finder& find_initial) {
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
    if (read->initial) {
      auto laid_out = laid_out_state::make(*read->initial, find_initial);
      if (!laid_out)
        return laid_out.failure();
      spec.settings["initial"] = laid_out->path();
      result.initial = std::move(*laid_out);
    }
  }
  auto made = registry.make(spec);
  if (!made)
    return made.failure();
  result.work = std::move(*made);
  return result;
}

expected<made_workload> make_workload(const workload_registry& registry,
                                      workload_spec spec,
                                      const std::string& code,
                                      const local_initial_state& where) {
  namespace fs = std::filesystem;
  return make_workload(registry, std::move(spec), code,
                       [&](const std::string& name,
                           const initial_file& file) -> expected<std::string> {
                         std::error_code unknown;
                         auto path = fs::is_directory(where.path, unknown)
                                       ? where.path + '/' + name
                                       : where.path;
                         if (!where.folder.empty()
                             && !fs::exists(path, unknown))
                           path = where.folder + '/' + file.sha256;
                         return path;
                       });
}

expected<made_workload> make_workload(const workload_registry& registry,
                                      const lease& lease,
                                      checkpoint_store& store) {
  if (lease.code.file.empty())
    return make_workload(registry, lease.workload, std::string{},
                         content_finder{});
  auto code = read_whole(store, lease.code);
  if (!code)
    return error{errc::io_failed,
                 "the study's code cannot be had: " + code.failure().message};
  return make_workload(
    registry, lease.workload, *code,
    [&](const std::string&, const initial_file& file) -> expected<std::string> {
      auto path = store.find_initial(file);
      if (!path)
        return error{errc::io_failed,
                     "the study's initial state cannot be had: "
                       + path.failure().message};
      return path;
    });
}

} // namespace hippo
