#include "object_place.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "hippo/net/keys/private_file.hpp"

namespace hippo {

namespace {

constexpr const char* in_folder = "folder";

std::string path_of(const std::string& state) {
  return state + "/object-store.json";
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Reads where the folder's checkpoints have been.
expected<std::optional<object_location>> read_place(const std::string& state) {
  using place = std::optional<object_location>;
  const auto path = path_of(state);
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return place{};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto x = nlohmann::json::parse(text, nullptr, false);
  const auto wrong = [&path](const std::string& why) {
    return error{errc::invalid_argument, path + ": " + why};
  };
  if (!x.is_object() || !x.contains("location")
      || !x["location"].is_string())
    return wrong("it must hold {\"location\": \"s3+https://...\"}");
  auto result = parse_location(x["location"].get<std::string>());
  if (!result)
    return wrong(result.failure().message);
  return place{std::move(*result)};
}

/// A remover tries again by itself.
object_client_options for_remover() {
  object_client_options result;
  result.attempts_max = 1;
  return result;
}

} // namespace

void object_options::add_to(CLI::App& verb) {
  auto* const place = verb.add_option(
    "--checkpoints", checkpoints,
    "Where trainers keep checkpoints: s3://BUCKET/PREFIX, to which they have "
    "credentials of their own, or folder: the state folder. Remembered there");
  verb
    .add_option("--s3-endpoint", endpoint,
                "The store's address, https://HOST[:PORT], if it is not "
                "Amazon's")
    ->needs(place);
  verb
    .add_option("--s3-region", region,
                "The bucket's region (default: AWS_REGION, else us-east-1)")
    ->needs(place);
}

expected<std::optional<object_location>>
find_object_place(const std::string& state, const object_options& options) {
  using place = std::optional<object_location>;
  if (options.checkpoints.empty())
    return read_place(state);
  if (options.checkpoints == in_folder)
    return place{};
  auto region = options.region;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"})
    if (region.empty())
      region = variable(name);
  auto result = parse_s3_url(options.checkpoints, options.endpoint, region);
  if (!result)
    return error{result.failure().code,
                 "--checkpoints: " + result.failure().message};
  return place{std::move(*result)};
}

std::optional<error>
leave_object_place(const std::string& state,
                   const std::optional<object_location>& location) {
  if (!location) {
    std::error_code failed;
    std::filesystem::remove(path_of(state), failed);
    if (failed)
      return error{errc::io_failed, path_of(state) + ": " + failed.message()};
    return std::nullopt;
  }
  const nlohmann::ordered_json text{{"location", to_text(*location)}};
  return write_private_file(path_of(state), text.dump(1) + '\n', true);
}

std::string text_of(const std::optional<object_location>& location) {
  return location ? to_text(*location) : std::string{};
}

void keep_in_objects(service_options& to, const object_location& where,
                     const std::string& checkpoints) {
  to.coordinator.objects = to_text(where);
  to.remove_elsewhere
    = [cleaner = std::make_shared<object_cleaner>(where, checkpoints)](
        const std::string& path) { cleaner->remove(path); };
}

object_cleaner::object_cleaner(object_location where, std::string checkpoints)
  : base_(to_text(where) + '/'),
    checkpoints_(std::move(checkpoints)),
    client_(std::move(where), for_remover()),
    remover_([this](const std::string& name) { return client_.remove(name); },
             [](const std::string& why) {
               spdlog::warn("serve: {}; it is tried again", why);
             }) {}

void object_cleaner::remove(const std::string& path) {
  if (!path.starts_with(base_))
    return;
  const auto name = path.substr(base_.size());
  std::error_code ignored; // it may have been written before there was a store
  std::filesystem::remove(checkpoints_ + '/' + name.substr(0, name.rfind('.')),
                          ignored);
  remover_.remove(name);
}

} // namespace hippo
