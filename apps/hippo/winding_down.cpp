#include "winding_down.hpp"

#include <algorithm>

namespace hippo {

namespace {

bool has_running_leases(service& actors) {
  const auto known = actors.status();
  return std::ranges::any_of(known.mergers, [&](const auto& x) {
    const auto status
      = actors.ask<merger_status>(x.handle, status_atom::value);
    return status && !status->running.empty();
  });
}

} // namespace

winding_down::winding_down(service& actors, double grace_seconds)
  : actors_(actors),
    deadline_(clock::now()
              + std::chrono::duration_cast<clock::duration>(
                std::chrono::duration<double>(grace_seconds))) {
  actors_.halt();
}

bool winding_down::is_over() {
  if (!has_running_leases(actors_))
    return true;
  cut_off_ = clock::now() > deadline_;
  return cut_off_;
}

} // namespace hippo
