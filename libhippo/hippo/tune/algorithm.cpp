#include "hippo/tune/algorithm.hpp"

#include <cassert>
#include <utility>

#include "hippo/tune/asha.hpp"
#include "hippo/tune/full_training.hpp"
#include "hippo/tune/rungs.hpp"
#include "hippo/tune/settings.hpp"
#include "hippo/tune/sha.hpp"

namespace hippo {

std::unique_ptr<algorithm> make_algorithm(const study_spec& study,
                                          const untrained_work*) {
  const auto x = read_settings(study);
  auto rungs = rung_steps(x.min, x.max, x.eta);
  switch (x.kind) {
    case algorithm_kind::grid:
    case algorithm_kind::random:
      return std::make_unique<full_training>(x.trials, x.max);
    case algorithm_kind::sha:
      return std::make_unique<sha>(x.trials, std::move(rungs), x.eta, x.better);
    case algorithm_kind::asha:
      if (x.may_resume)
        return std::make_unique<asha_promotion>(x.trials, std::move(rungs),
                                                x.eta, x.better, x.concurrent);
      return std::make_unique<asha_stopping>(x.trials, std::move(rungs), x.eta,
                                             x.better, x.concurrent);
  }
  assert(false && "an algorithm without an implementation");
  return nullptr;
}

algorithm_check check_algorithm(const study_spec& study) {
  algorithm_check result;
  read_settings(study, &result);
  return result;
}

} // namespace hippo
