// Serves the depot of a folder on a port that it prints, until its input ends.
//   transfer_depot ROOT

#include <iostream>
#include <string>

#include "depot/rpc_host.hpp"
#include "hippo/checkpoint/depot/depot.hpp"

int main(int, char** argv) {
  const hippo::rpc_host host{[&](kj::AsyncIoContext& io) {
    return hippo::depot{argv[1], io.provider->getTimer()}.for_connection(
      "here");
  }};
  std::cout << host.port() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}
