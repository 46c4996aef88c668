#include "folder_service.hpp"

#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "gateway/gateway.hpp"
#include "hippo/store/state_reader.hpp"
#include "object_place.hpp"
#include "private_folder.hpp"
#include "system_config.hpp"

namespace hippo {

struct folder_service::parts {
  private_folder folder;
  system_config config;
  caf::actor_system system{config};
  std::optional<gateway> entrance;
};

folder_service::folder_service(std::unique_ptr<parts> all)
  : parts_(std::move(all)) {}

folder_service::~folder_service() = default;

std::string folder_service::address() const {
  return "unix:" + parts_->folder.path() + "/socket";
}

std::uint16_t folder_service::http_port() const {
  return parts_->entrance->http_port();
}

expected<std::unique_ptr<folder_service>>
folder_service::open(const std::string& state,
                     std::vector<workload_descriptor> workloads,
                     const std::string& http_host) {
  if (auto readable = state_reader::open(state); !readable)
    return readable.failure();
  std::unique_ptr<folder_service> result{
    new folder_service{std::make_unique<parts>()}};
  auto& all = *result->parts_;
  if (all.folder.failure())
    return *all.folder.failure();
  // A gateway's log is for those who run a service.
  spdlog::set_level(spdlog::level::off);
  gateway_options options;
  options.sources.state = state;
  options.sources.log_file = state + "/hippo.log";
  options.sources.workloads = std::move(workloads);
  auto objects = find_object_place(state, {});
  if (!objects)
    return objects.failure();
  options.sources.objects = text_of(*objects);
  options.rpc_host = result->address();
  if (!http_host.empty()) {
    options.http_host = http_host;
    options.http_port = 0;
  }
  all.entrance.emplace(all.system, std::move(options));
  if (auto why = all.entrance->open())
    return *why;
  return result;
}

} // namespace hippo
