#include "hippo/train/library.hpp"

#include <dlfcn.h>

#include <exception>
#include <filesystem>

namespace hippo {

std::optional<error> load_workloads(const std::string& path,
                                    workload_registry& registry) {
  // A name without a slash would make the loader search its own folders.
  std::error_code unknown;
  const auto file = std::filesystem::absolute(path, unknown);
  if (unknown || !std::filesystem::exists(file, unknown))
    return error{errc::io_failed, "no workload library at " + path};
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return error{errc::io_failed,
                 "cannot load workload library " + path + ": " + ::dlerror()};
  const auto refuse = [&](errc code, const std::string& why) {
    ::dlclose(library);
    return error{code, path + why};
  };
  const auto abi =
    reinterpret_cast<int (*)()>(::dlsym(library, "hippo_workload_abi"));
  const auto add = reinterpret_cast<void (*)(workload_registry&)>(
    ::dlsym(library, "hippo_add_workloads"));
  if (abi == nullptr || add == nullptr)
    return refuse(errc::invalid_argument,
                  " is no workload library: HIPPO_WORKLOADS is not in it");
  if (const auto version = abi(); version != HIPPO_WORKLOAD_ABI)
    return refuse(errc::incompatible_version,
                  " was built for workload interface " + std::to_string(version)
                    + ", this is " + std::to_string(HIPPO_WORKLOAD_ABI)
                    + ": build it again with this Hippo's headers");
  try {
    add(registry);
  } catch (const std::exception& e) {
    // It stays loaded: the registry may hold some of its code by now.
    return error{errc::training_failed, path + " failed: " + e.what()};
  }
  return std::nullopt;
}

} // namespace hippo
