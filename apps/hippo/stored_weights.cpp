#include "stored_weights.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "child_process.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/object_store/object_client.hpp"
#include "hippo/model/checkpoint_path.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/net/wire/codec.hpp"
#include "private_folder.hpp"

namespace hippo {

namespace {

/// Copies a file of the checkpoint folder into a folder.
/// @param bytes that it should have
/// @returns the file, which is yet to be committed
expected<checkpoint_writer> copy_file(study_handle& study,
                                      const std::string& name,
                                      std::uint64_t bytes,
                                      const std::string& folder) {
  auto file = checkpoint_writer::open(folder, name);
  while (file && file->written().bytes <= bytes) {
    const auto part = study.checkpoint_part(name, file->written().bytes);
    if (!part)
      return part.failure();
    if (part->empty())
      break;
    if (auto why = file->append(part->data(), part->size()))
      return *why;
  }
  return file;
}

/// Gives a file its name if it is the checkpoint that it should be.
std::optional<error> commit_if_whole(checkpoint_writer& file,
                                     const checkpoint& x) {
  const auto written = file.written();
  if (written.bytes != x.bytes || written.digest != x.digest)
    return error{errc::bad_checkpoint, "checkpoint " + x.file + " is damaged"};
  return file.commit(durability::cached);
}

/// Copies a checkpoint of a study into a folder.
/// @returns `errc::bad_checkpoint` if it is gone or not what it should be
std::optional<error> fetch(study_handle& study, const checkpoint& x,
                           const std::string& folder) {
  auto file = copy_file(study, x.file, x.bytes, folder);
  if (!file)
    return file.failure();
  return commit_if_whole(*file, x);
}

/// Copies the files of a study's initial state into a folder of such files.
/// Their content is checked later, by `laid_out_state::make`.
std::optional<error> fetch_initial(study_handle& study, const std::string& code,
                                   const std::string& folder) {
  const auto read = study_code_from_json(code);
  if (!read || !read->initial)
    return read ? std::nullopt : std::optional{read.failure()};
  std::filesystem::create_directory(folder);
  for (const auto& [name, file] : read->initial->files) {
    auto copy = copy_file(study, file.sha256, file.bytes, folder);
    if (!copy)
      return error{errc::io_failed,
                   "the file '" + name
                     + "' of the initial state: " + copy.failure().message};
    if (auto why = copy->commit(durability::cached))
      return why;
  }
  return std::nullopt;
}

/// Reads a checkpoint into a folder: from the object store, with this program's
/// own credentials, or else from what the service has.
/// @param folder where it is, `LOCATION/WORKLOAD`
/// @returns as `fetch`, or `errc::io_failed`
std::optional<error> fetch_object(study_handle& study, const checkpoint& x,
                                  const std::string& from,
                                  const std::string& folder) {
  const auto slash = from.rfind('/');
  auto where = parse_location(from.substr(0, slash));
  if (!where)
    return where.failure();
  object_client objects{std::move(*where)};
  const auto name = from.substr(slash + 1) + '/' + stored_name(from, x);
  auto file = checkpoint_writer::open(folder, x.file);
  if (!file)
    return file.failure();
  const auto is_there =
    objects.read(name, 0, x.bytes, [&](const char* data, std::size_t size) {
      return file->append(data, size);
    });
  if (!is_there)
    return is_there.failure();
  if (!*is_there) // it may have been written before there was a store
    return fetch(study, x, folder);
  return commit_if_whole(*file, x);
}

/// Has a trainer carry out a recipe.
std::optional<error> run_recipe(const std::string& recipe,
                                const std::string& kind,
                                const std::string& path,
                                const weights_options& how) {
  std::vector<std::string> command{how.common.program()};
  for (const auto& x : how.common.libraries)
    command.insert(command.end(), {"--workload", x});
  command.insert(command.end(),
                 {"--device", how.device, "--threads",
                  std::to_string(how.threads), "--export", path, "--recipe",
                  recipe, "--kind", kind});
  const auto said = run_program(command);
  if (!said)
    return said.failure();
  if (said->exit_code != 0)
    return error{errc::training_failed, "the export failed: " + said->err};
  return std::nullopt;
}

/// Exports with what is in `folder`, which is empty, and beside it.
/// @returns `errc::bad_checkpoint` if the checkpoint `start` cannot be used
std::optional<error> export_in(const std::string& folder, study_handle& study,
                               const weights_summary& what, lease recipe,
                               const std::string& path,
                               const weights_options& how) {
  std::vector<checkpoint> files;
  if (!recipe.start.file.empty())
    files.push_back(recipe.start);
  for (const auto& x : recipe.start.part_files)
    files.push_back({x.file, x.bytes, x.digest});
  for (const auto& x : files)
    if (auto why = is_in_object_store(recipe.folder)
                     ? fetch_object(study, x, recipe.folder, folder)
                     : fetch(study, x, folder))
      return why;
  recipe.folder = folder;
  if (!what.code.empty()) {
    if (auto why = fetch_initial(study, what.code, initial_folder_of(folder)))
      return why;
    auto code = write_checkpoint(folder, code_file_name, what.code,
                                 durability::cached);
    if (!code)
      return code.failure();
    recipe.code = std::move(*code);
  }
  constexpr const char* name = "recipe";
  const auto message = encode(recipe);
  const auto bytes = message.words().asChars();
  if (const auto left = write_checkpoint(
        folder, name, {bytes.begin(), bytes.size()}, durability::cached);
      !left)
    return left.failure();
  return run_recipe(folder + '/' + name, what.kind, path, how);
}

} // namespace

void weights_options::add_to(CLI::App& verb) {
  common.add_to(verb);
  verb
    .add_option("--device", device,
                "Where what was not kept is trained again: cpu, cuda:0")
    ->capture_default_str();
  verb.add_option("--threads", threads, "Threads of a CPU for that")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
}

std::optional<error> export_weights(study_handle& study,
                                    const weights_request& request,
                                    const weights_options& how) {
  std::vector<std::string> damaged;
  for (;;) {
    const auto what = study.weights(request.trial, request.step, damaged);
    if (!what)
      return what.failure();
    auto recipe = decode(wire<schema::Lease>::of_bytes(what->recipe));
    if (!recipe)
      return recipe.failure();
    const auto start = recipe->start.file;
    const private_folder folder;
    if (folder.failure())
      return folder.failure();
    const auto states = folder.path() + "/states";
    std::filesystem::create_directory(states);
    auto why =
      export_in(states, study, *what, std::move(*recipe), request.path, how);
    // It goes on from the checkpoint before.
    if (!why || why->code != errc::bad_checkpoint
        || std::ranges::find(damaged, start) != damaged.end())
      return why;
    damaged.push_back(start);
  }
}

} // namespace hippo
