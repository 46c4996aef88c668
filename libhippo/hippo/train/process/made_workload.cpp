#include "hippo/train/process/made_workload.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace hippo {

namespace {

constexpr const char* member_setting = "member";
constexpr const char* members_setting = "members";

} // namespace

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

workload_spec spec_of(const lease& lease) {
  auto result = lease.workload;
  if (lease.gang && ranks_of(result) > 1) {
    result.settings[member_setting] = static_cast<double>(lease.gang->rank);
    result.settings[members_setting] =
      static_cast<double>(lease.gang->members.size());
  }
  return result;
}

rank_member rank_member_of(const workload_spec& spec) {
  const auto number = [&](const char* name, std::uint32_t otherwise) {
    const auto i = spec.settings.find(name);
    return i == spec.settings.end()
             ? otherwise
             : static_cast<std::uint32_t>(std::get<double>(i->second));
  };
  return {number(member_setting, 0), number(members_setting, 1)};
}

expected<made_workload> make_workload(const workload_registry& registry,
                                      const lease& lease,
                                      checkpoint_store& store) {
  if (lease.code.file.empty())
    return make_workload(registry, spec_of(lease), std::string{},
                         content_finder{});
  auto code = read_whole(store, lease.code);
  if (!code)
    return error{errc::io_failed,
                 "the study's code cannot be had: " + code.failure().message};
  return make_workload(
    registry, spec_of(lease), *code,
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
