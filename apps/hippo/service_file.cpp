#include "service_file.hpp"

#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "hippo/net/keys/private_file.hpp"

namespace hippo {

service_file::service_file(const std::string& state)
  : path_(state + "/service.json") {
  std::error_code ignored; // a service of before may have been killed
  std::filesystem::remove(path_, ignored);
}

service_file::~service_file() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::optional<error> service_file::write(const endpoint& trainers,
                                         const endpoint& clients,
                                         const endpoint& http, bool tls,
                                         const std::string& people) {
  nlohmann::ordered_json text{{"pid", ::getpid()},
                              {"trainers", to_text(trainers)},
                              {"clients", to_text(clients)},
                              {"http", to_text(http)},
                              {"tls", tls}};
  if (!people.empty())
    text["people"] = people;
  return write_private_file(path_, text.dump(1) + '\n', true);
}

} // namespace hippo
