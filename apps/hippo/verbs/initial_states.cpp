#include "verbs/initial_states.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/object_store/object_client.hpp"
#include "hippo/model/code/study_code.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const set = std::getenv(name);
  return set != nullptr ? set : "";
}

/// Copies an object to a file of any name.
std::optional<error> copy_object(object_client& objects,
                                 const std::string& name, std::uint64_t bytes,
                                 const fs::path& path) {
  constexpr auto copy = "copy"; // until it has its name
  const auto folder = path.parent_path();
  fs::create_directories(folder);
  auto file = checkpoint_writer::open(folder.string(), copy);
  if (!file)
    return file.failure();
  const auto is_there =
    objects.read(name, 0, bytes, [&](const char* data, std::size_t size) {
      return file->append(data, size);
    });
  if (!is_there)
    return is_there.failure();
  if (!*is_there || file->written().bytes != bytes)
    return error{errc::io_failed, name + " changes while it is read"};
  if (auto why = file->commit(durability::cached))
    return why;
  fs::rename(folder / copy, path);
  return std::nullopt;
}

} // namespace

expected<std::string> fetched_states::fetch(const initial_source& what) {
  if (folder_.failure())
    return *folder_.failure();
  ++states_;
  return what.path.empty() ? write_trained(what) : copy_objects(what.path);
}

expected<std::string>
fetched_states::write_trained(const initial_source& what) {
  if (!connection_) {
    auto made = connect(where_);
    if (!made)
      return made.failure();
    connection_ = std::move(*made);
  }
  auto study = connection_->service.study(what.study);
  if (!study)
    return study.failure();
  const auto trials = study->trials(what.trial);
  if (!trials)
    return trials.failure();
  if (trials->empty() || trials->front().trial != what.trial)
    return {errc::invalid_argument, "study " + what.study + " has no trial "
                                      + std::to_string(what.trial)};
  auto path = folder_.path() + "/trained-" + std::to_string(states_) + ".pt";
  if (auto why = export_weights(*study, {what.trial, what.step, path}, how_))
    return *why;
  return path;
}

expected<std::string> fetched_states::copy_objects(const std::string& url) {
  const auto slash = url.rfind('/');
  const auto name = url.substr(slash + 1);
  auto endpoint = variable("AWS_ENDPOINT_URL_S3");
  if (endpoint.empty())
    endpoint = variable("AWS_ENDPOINT_URL");
  auto where =
    parse_s3_url(url.substr(0, slash), endpoint, variable("AWS_REGION"));
  if (!where)
    return where.failure();
  const auto key = key_of(*where, name);
  object_client objects{std::move(*where)};
  const auto listed = objects.list(name);
  if (!listed)
    return listed.failure();
  std::uint64_t left = initial_bytes_max;
  const auto to = fs::path{folder_.path()} / std::to_string(states_);
  std::string result;
  for (const auto& x : *listed) {
    const bool is_one = x.key == key;
    const bool is_below = x.key.starts_with(key + '/');
    if (!is_one && !is_below)
      continue;
    const auto below = is_one ? name : x.key.substr(key.size() + 1);
    if (!is_code_path(below)) // of a folder, with nothing in it
      continue;
    if (x.bytes > left)
      return {errc::invalid_argument,
              url + " has more than " + std::to_string(initial_bytes_max)
                + " bytes, the most that an initial state may have"};
    left -= x.bytes;
    if (auto why = copy_object(objects, is_one ? name : name + '/' + below,
                               x.bytes, to / below))
      return *why;
    result = is_one ? to / below : to;
  }
  if (result.empty())
    return {errc::invalid_argument,
            "there is no object " + url + ", and none below it"};
  return result;
}

std::optional<error> send_initial_state(client& service,
                                        const std::string& text) {
  const auto state = initial_state_in(text);
  if (!state)
    return std::nullopt;
  for (const auto& [name, file] : state->files) {
    const auto path = source_path(*state, name);
    std::ifstream in{path, std::ios::binary};
    const auto read = [&](char* buffer,
                          std::size_t size) -> expected<std::size_t> {
      in.read(buffer, static_cast<std::streamsize>(size));
      if (in.bad() || !in.is_open())
        return error{errc::io_failed, "cannot read it any more"};
      return static_cast<std::size_t>(in.gcount());
    };
    if (auto why = service.send_initial(file.sha256, file.bytes, read))
      return error{why->code, path + ": " + why->message};
  }
  return std::nullopt;
}

} // namespace hippo
