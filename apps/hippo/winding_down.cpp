#include "winding_down.hpp"

#include <algorithm>

namespace hippo {

namespace {

/// How long trainers may take to end their present step.
constexpr auto step_timeout = std::chrono::seconds{10};

bool has_running_leases(service& actors) {
  const auto known = actors.status();
  return std::ranges::any_of(known.mergers, [&](const auto& x) {
    const auto status
      = actors.ask<merger_status>(x.handle, status_atom::value);
    return status && !status->running.empty();
  });
}

} // namespace

winding_down::winding_down(service& actors)
  : actors_(actors), deadline_(clock::now() + step_timeout) {
  actors_.halt();
}

bool winding_down::is_over() {
  return !has_running_leases(actors_) || clock::now() > deadline_;
}

} // namespace hippo
