// Serves the depot of a folder on a port that it prints, until its input ends.
//   transfer_depot ROOT

#include <iostream>
#include <string>

#include "hippo/checkpoint/transfer/depot.hpp"
#include "transfer/rpc_host.hpp"

int main(int, char** argv) {
  const hippo::rpc_host host{[&](kj::AsyncIoContext& io) {
    return hippo::depot{argv[1], io.provider->getTimer()}
      .for_connection("here");
  }};
  std::cout << host.port() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}
