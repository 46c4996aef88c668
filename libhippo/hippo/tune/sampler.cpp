#include "hippo/tune/sampler.hpp"

#include <cassert>
#include <optional>

#include "hippo/tune/permutation.hpp"
#include "hippo/tune/settings.hpp"

namespace hippo {

namespace {

/// `grid` counts through the space; `random` draws without replacement from a
/// finite space (a pseudo-random permutation of its combinations) and
/// independently from a continuous one. A study with a larger budget goes on
/// where this one ends.
class static_sampler final : public sampler {
public:
  static_sampler(const study_spec& study, bool shuffled)
    : space_(study.space), seed_(study.seed), shuffled_(shuffled) {
    if (const auto size = space_.size(); size && shuffled_)
      order_.emplace(*size, seed_);
  }

  [[nodiscard]] bool is_static() const override { return true; }

  trial_parameters draw(trial_no trial) override {
    if (order_)
      return space_.at((*order_)(trial));
    return shuffled_ ? space_.sample(seed_, trial) : space_.at(trial);
  }

  trial_parameters branch(const fork&) override {
    assert(false && "no algorithm with this sampler forks");
    return {};
  }

private:
  search_space space_;
  std::uint64_t seed_ = 0;
  bool shuffled_ = false; ///< else it counts through
  std::optional<permutation> order_; ///< set if shuffled and finite
};

} // namespace

std::unique_ptr<sampler> make_sampler(const study_spec& study,
                                      const untrained_work*) {
  return std::make_unique<static_sampler>(study,
                                          read_settings(study).random_order);
}

} // namespace hippo
