#include "page.hpp"

#include <iostream>
#include <utility>

#include "child_process.hpp"

namespace hippo {

namespace {

gateway_options options_of(query_sources sources, const std::string& folder) {
  gateway_options result;
  result.sources = std::move(sources);
  result.rpc_host = "unix:" + folder + "/socket";
  result.http_port = 0;
  return result;
}

} // namespace

void show_page(const std::string& address, bool only_print) {
  std::cout << address << std::endl;
  if (!only_print) // a machine without a desktop has no such program
    static_cast<void>(run_program({"xdg-open", address}));
}

own_page::own_page(caf::actor_system& system, query_sources sources)
  : entrance_(system, options_of(std::move(sources), folder_.path())) {}

std::optional<error> own_page::open() {
  return folder_.failure() ? folder_.failure() : entrance_.open();
}

std::string own_page::address() const {
  return "http://127.0.0.1:" + std::to_string(entrance_.http_port()) + "/";
}

} // namespace hippo
