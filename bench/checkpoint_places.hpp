#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <capnp/rpc-twoparty.h>

#include "depot/rpc_host.hpp"
#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/depot/depot.hpp"
#include "hippo/checkpoint/depot/depot_client.hpp"

namespace hippo {

/// A folder for checkpoints, and another one behind a depot over loopback,
/// whose ends are both in this process. Gone with it.
class checkpoint_places {
public:
  checkpoint_places()
    : host_([this](kj::AsyncIoContext& io) {
        return depot{root, io.provider->getTimer()}.for_connection("here");
      }),
      client_(address_of(host_)) {}

  ~checkpoint_places() { std::filesystem::remove_all(root); }

  const std::string root = make_root();

private:
  static std::string make_root() {
    auto result
      = (std::filesystem::temp_directory_path() / "hippo_XXXXXX").string();
    if (::mkdtemp(result.data()) == nullptr) {
      std::perror(result.c_str());
      std::exit(1);
    }
    std::filesystem::create_directory(result + "/near");
    std::filesystem::create_directory(result + "/far");
    return result;
  }

  static depot_address address_of(const rpc_host& host) {
    depot_address result;
    result.host = "127.0.0.1";
    result.port = host.port();
    return result;
  }

  rpc_host host_;
  depot_client client_;

public:
  folder_store near{root + "/near"};
  remote_store far{client_, "far"};
};

} // namespace hippo
