#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "hippo/checkpoint/object_store/object_client.hpp"
#include "hippo/checkpoint/object_store/object_remover.hpp"
#include "service.hpp"

namespace hippo {

/// Where checkpoints are kept, as the command line says.
struct object_options {
  std::string checkpoints; ///< `s3://BUCKET/PREFIX`, `folder`, or empty
  std::string endpoint;
  std::string region;

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb);
};

/// Returns the place in an object store that is asked for, or nothing where
/// checkpoints are in the state folder. Nothing said: as before.
/// @returns the place, or `errc::invalid_argument`
expected<std::optional<object_location>>
find_object_place(const std::string& state, const object_options& options);

/// Leaves in the state folder where checkpoints are (`object-store.json`), for
/// all programs that come after.
/// @returns nothing, or `errc::io_failed`
std::optional<error>
leave_object_place(const std::string& state,
                   const std::optional<object_location>& location);

/// Returns the location as text; empty: there is none.
std::string text_of(const std::optional<object_location>& location);

/// Has a service keep checkpoints in a place, and delete what it gives up
/// there.
/// @param checkpoints the folder with a folder for each workload
void keep_in_objects(service_options& to, const object_location& where,
                     const std::string& checkpoints);

/// Deletes checkpoints that a service gives up: in the store, and those of
/// before in the folder.
class object_cleaner {
public:
  /// @param checkpoints the folder with a folder for each workload
  object_cleaner(object_location where, std::string checkpoints);

  /// @param path location of a checkpoint, as of `checkpoint_path`
  void remove(const std::string& path);

private:
  const std::string base_; ///< of the paths
  const std::string checkpoints_;
  object_client client_; ///< of the remover's thread
  object_remover remover_;
};

} // namespace hippo
