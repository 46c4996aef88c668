#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/surrogate/counter_rng.hpp"
#include "hippo/search/trial_outcomes.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Reads a study, or says what is wrong with it and ends the program.
inline study_spec spec_of(const std::string& text) {
  auto read = read_study(text, "study.yaml", built_in_workloads());
  if (!read.study) {
    std::fprintf(stderr, "%s\n", to_text(read.errors.front()).c_str());
    std::exit(1);
  }
  return std::move(*read.study);
}

/// The sampler that a study names, told values which mean nothing.
struct told_sampler {
  explicit told_sampler(study_spec study)
    : space(study.space), step(study.max_steps), wanted(study.objective.all()) {
    study.seed = 1;
    sampler = make_sampler(study, read_search(study),
                           {.outcomes = wanted.is_one() ? nullptr : &outcomes});
  }

  search_space space;
  step_t step; ///< of all results
  goals wanted;
  trial_outcomes outcomes{wanted};
  std::unique_ptr<hippo::sampler> sampler;

  static double result_of(trial_no trial) {
    const auto draw = hash_bytes(&trial, sizeof(trial));
    return static_cast<double>(draw >> 11) * 0x1p-53;
  }

  void tell(trial_no trial) {
    const auto value = result_of(trial);
    if (!wanted.is_one()) {
      metrics all{{wanted.metrics.front().metric, value}};
      for (const auto& x : wanted.constraints)
        all[x.metric] = result_of(trial + past_trials_begin);
      outcomes.add(trial, step, all);
    }
    sampler->on_result(trial, step, value);
  }

  /// Gives it results from elsewhere, of random combinations.
  void import(trial_no results) {
    for (trial_no i = 0; i < results; ++i) {
      counter_rng draw{{i}};
      leaf_decisions values;
      space.walk([&](const space_leaf& leaf) {
        values.push_back(draw.decision(leaf.ways()));
        return values.back();
      });
      sampler->learn(past_trials_begin + i, values, step, result_of(i));
    }
  }

  /// Draws so many trials and then tells their results: all of them are random
  /// ones, and cheap.
  void fill(trial_no trials) {
    for (trial_no i = 0; i < trials; ++i)
      sampler->draw(i);
    for (trial_no i = 0; i < trials; ++i)
      tell(i);
  }

  void suggest(trial_no trial) {
    sampler->draw(trial);
    tell(trial);
  }
};

} // namespace hippo
