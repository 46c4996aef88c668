#include "hippo/search/algorithm/algorithm.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "hippo/search/algorithm/asha.hpp"
#include "hippo/search/algorithm/client_algorithm.hpp"
#include "hippo/search/algorithm/dehb.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/median_stopping.hpp"
#include "hippo/search/algorithm/no_pruning.hpp"
#include "hippo/search/algorithm/pbt.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/algorithm/sha.hpp"
#include "hippo/search/algorithm/sub_sampling.hpp"
#include "hippo/search/settings.hpp"

namespace hippo {

namespace {

std::unique_ptr<algorithm> make_asha(const tune_settings& x,
                                     const trial_states* states,
                                     const trial_outcomes* outcomes) {
  auto rungs = rung_steps(x.min, x.max, x.eta);
  if (x.may_resume)
    return std::make_unique<asha_promotion>(x.trials, std::move(rungs), x.eta,
                                            x.better, x.concurrent, states,
                                            outcomes);
  return std::make_unique<asha_stopping>(x.trials, std::move(rungs), x.eta,
                                         x.better, x.concurrent, outcomes);
}

std::vector<step_t> with_lengths(const std::vector<step_t>& rungs,
                                 const std::vector<step_t>& lengths) {
  std::vector<step_t> result;
  std::ranges::set_union(rungs, lengths, std::back_inserter(result));
  return result;
}

std::unique_ptr<algorithm> make_hyperband(const tune_settings& x,
                                          const trial_states* states,
                                          const trial_outcomes* outcomes) {
  auto round = hyperband_brackets(x.min, x.max, x.eta);
  round.resize(x.brackets);
  hyperband::make_rule rule;
  if (x.rule == bracket_rule::sub_sampling)
    rule = [better = x.better](std::uint64_t trials,
                               const std::vector<step_t>& rungs, trial_no) {
      return std::make_unique<sub_sampling>(trials, rungs, better);
    };
  else
    rule = [better = x.better, eta = x.eta, states,
            outcomes](std::uint64_t trials, const std::vector<step_t>& rungs,
                      trial_no first) {
      return std::make_unique<sha>(trials, rungs, eta, better, states, first,
                                   outcomes);
    };
  return std::make_unique<hyperband>(x.trials, std::move(round), x.in_turn,
                                     std::move(rule));
}

} // namespace

std::unique_ptr<algorithm> make_algorithm(const study_spec& study,
                                          const trial_states* states,
                                          const trial_outcomes* outcomes) {
  const auto x = read_settings(study);
  switch (x.kind) {
    case algorithm_kind::grid:
    case algorithm_kind::random:
    case algorithm_kind::tpe:
    case algorithm_kind::gp:
    case algorithm_kind::nsga2:
      return std::make_unique<no_pruning>(x.trials, x.lengths, x.concurrent,
                                          states);
    case algorithm_kind::sha:
      return std::make_unique<sha>(x.trials,
                                   rung_steps(x.min, x.max, x.eta), x.eta,
                                   x.better, states, 0, outcomes);
    case algorithm_kind::asha:
      return make_asha(x, states, outcomes);
    case algorithm_kind::hyperband:
      return make_hyperband(x, states, outcomes);
    case algorithm_kind::dehb:
      return std::make_unique<dehb>(x.trials, rung_steps(x.min, x.max, x.eta),
                                    x.eta, x.promotes_always, x.better,
                                    x.concurrent, study.seed);
    case algorithm_kind::median:
      return std::make_unique<median_stopping>(x.trials, x.max, x.grace,
                                               x.min_others, x.better,
                                               x.concurrent);
    case algorithm_kind::pbt:
      return std::make_unique<pbt>(x.trials, x.max, x.interval, x.replaced,
                                   x.better, study.seed);
    case algorithm_kind::client:
      return std::make_unique<client_algorithm>(
        x.trials,
        measuring{study.objective.every,
                  with_lengths(interval_steps(x.interval, x.max), x.lengths)},
        x.concurrent, states);
  }
  assert(false && "an algorithm without an implementation");
  return nullptr;
}

algorithm_check check_algorithm(const study_spec& study, bool has_clients) {
  algorithm_check result;
  const auto x = read_settings(study, &result);
  if (x.kind == algorithm_kind::client && !has_clients)
    result.errors.push_back(
      {"algorithm", "client: decisions come from a client of a service;"
                    " `hippo run` has none"});
  return result;
}

} // namespace hippo
