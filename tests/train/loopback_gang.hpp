#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hippo/train/gang/connected_gang.hpp"

namespace hippo {

/// Ports of members of a gang on this machine, and their places.
struct loopback_gang {
  explicit loopback_gang(std::size_t size, bool encrypted = false,
                         gang_limits limits = {})
    : places(size) {
    std::vector<std::string> members;
    for (std::size_t rank = 0; rank < size; ++rank) {
      auto port = gang_port::listen({"127.0.0.1", 0}, encrypted, limits);
      if (!port)
        throw std::runtime_error(port.failure().message);
      members.push_back((*port)->address());
      ports.push_back(std::move(*port));
    }
    for (std::size_t rank = 0; rank < size; ++rank)
      places[rank] = {lease_id{7}, members, static_cast<std::uint32_t>(rank),
                      "s3cret"};
  }

  /// Brings one member together with the others.
  [[nodiscard]] expected<std::unique_ptr<connected_gang>> join(
    std::size_t rank,
    member_connection::cancel_test is_cancelled = [] { return false; }) {
    return connected_gang::join(*ports.at(rank), places.at(rank),
                                std::move(is_cancelled));
  }

  /// Calls `work(member)` for each of them on a thread of its own, once all are
  /// there. @returns what they have thrown, by rank; empty: nothing
  std::vector<std::string>
  run(const std::function<void(connected_gang&)>& work) {
    std::vector<std::string> failures(places.size());
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < places.size(); ++rank)
      threads.emplace_back([&, rank] {
        auto member = join(rank);
        if (!member) {
          failures[rank] = member.failure().message;
          return;
        }
        std::optional<error> failure;
        try {
          work(**member);
        } catch (const gang_lost& e) {
          failure = error{errc::gang_lost, e.what()};
        } catch (const std::exception& e) {
          failure = error{errc::training_failed, e.what()};
        }
        if (failure)
          failures[rank] = failure->message;
        (*member)->finish(failure);
      });
    threads.clear();
    return failures;
  }

  std::vector<std::shared_ptr<gang_port>> ports;
  std::vector<gang_place> places;
};

} // namespace hippo
