#include "graceful_shutdown.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <spdlog/spdlog.h>

namespace hippo {

namespace {

/// How long jobs may take to hear that the service has ended.
constexpr std::chrono::seconds thinking_patience{2};

bool has_running_leases(service& actors) {
  const auto known = actors.status();
  return std::ranges::any_of(known.mergers, [&](const auto& x) {
    const auto status = actors.ask<merger_status>(x.handle, status_atom::value);
    return status && !status->running.empty();
  });
}

} // namespace

int end_thinking(thinking_pool& where, int code) {
  if (where.close(thinking_patience))
    return code;
  spdlog::shutdown();
  std::cout.flush();
  std::_Exit(code);
}

graceful_shutdown::graceful_shutdown(service& actors, double grace_seconds)
  : actors_(actors),
    deadline_(clock::now()
              + std::chrono::duration_cast<clock::duration>(
                std::chrono::duration<double>(grace_seconds))) {
  actors_.halt();
}

bool graceful_shutdown::is_over() {
  if (!has_running_leases(actors_))
    return true;
  cut_off_ = clock::now() > deadline_;
  return cut_off_;
}

} // namespace hippo
