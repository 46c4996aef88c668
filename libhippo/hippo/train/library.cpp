#include "hippo/train/library.hpp"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

/// The version of a library's workloads: a digest of the file, since any change
/// of it may change what they give.
expected<std::string> version_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in)
    return {errc::io_failed, "cannot read the file"};
  return "library " + hash_text(bytes);
}

} // namespace

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
  const auto version = version_of(file);
  if (!version)
    return refuse(version.failure().code, ": " + version.failure().message);
  workload_registry own;
  try {
    add(own);
  } catch (const std::exception& e) {
    // It stays loaded: what it threw is of its code.
    return error{errc::training_failed, path + " failed: " + e.what()};
  }
  registry.add(std::move(own), *version);
  return std::nullopt;
}

} // namespace hippo
