#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "service.hpp"

namespace hippo {

/// The studies of before, which go on while clients are served already. One
/// that cannot start has failed; others do not wait for it.
class returning_studies {
public:
  using teller = std::function<void(const std::string&)>;

  /// @param say tells people what becomes of them
  returning_studies(service& svc, std::vector<study_submission> xs, teller say)
    : svc_(svc), say_(std::move(say)), left_(xs.size()) {
    svc_.begin_all(std::move(xs));
    look();
  }

  void note(const study_start& x) {
    say_(x.name
         + (x.failure ? " has failed: " + x.failure->message : " goes on"));
    --left_;
    look();
  }

  /// Lets training begin once all are there, or have taken too long.
  void look() {
    if (gone_ || (left_ > 0 && clock::now() - begun_ < gathering_max))
      return;
    gone_ = true;
    svc_.go();
  }

private:
  using clock = std::chrono::steady_clock;

  /// So long they may take until all of them begin together, and what they
  /// have in common is known. Later ones join in.
  static constexpr std::chrono::seconds gathering_max{5};

  service& svc_;
  teller say_;
  std::size_t left_;
  bool gone_ = false;
  clock::time_point begun_ = clock::now();
};

} // namespace hippo
