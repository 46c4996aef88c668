#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo::test {

/// A model of training: the state is a hash of everything that was trained, so
/// that a state reached in any other way than alone from step 0 shows.
struct model_state {
  std::uint64_t value = 0;

  /// @param kind of the device, which decides the bits
  void train(const configuration& config, step_t from, step_t to,
             const std::string& kind = "model") {
    for (auto t = from; t < to; ++t)
      for (const auto& [name, shape] : config) {
        auto text = name + '=' + to_text(shape);
        if (kind != "model")
          text.insert(0, kind);
        value = hash_bytes(text.data(), text.size(), value + t);
      }
  }

  [[nodiscard]] metrics evaluate() const {
    return {{"value", static_cast<double>(value >> 12)}};
  }
};

/// A trial as the brute-force model knows it.
struct model_trial {
  trial_id id{};
  study_no study{};
  std::vector<segment> segments;
  step_t asked_to = 0;
  std::map<step_t, metrics> delivered;

  [[nodiscard]] const configuration& at(step_t step) const {
    auto i = segments.size();
    while (segments[--i].begin > step) {
    }
    return segments[i].config;
  }

  /// The state that training this trial alone reaches on a kind of device.
  [[nodiscard]] model_state alone(step_t to,
                                  const std::string& kind = "model") const {
    model_state result;
    for (step_t t = 0; t < to; ++t)
      result.train(at(t), t, t + 1, kind);
    return result;
  }
};

/// Counts the distinct (step, all values up to it) that `trials` ask for.
inline std::uint64_t
distinct_steps(const std::vector<const model_trial*>& trials) {
  std::set<std::pair<step_t, std::string>> seen;
  for (auto* x : trials) {
    std::string prefix;
    for (step_t t = 0; t < x->asked_to; ++t) {
      prefix += to_text(x->at(t)) + '|';
      seen.emplace(t, prefix);
    }
  }
  return seen.size();
}

/// Random segments over few values, so that prefixes coincide often.
template <class Rng>
std::vector<segment> random_segments(Rng& rng, step_t max) {
  std::vector<segment> result;
  for (step_t t = 0; t < max; t += 1 + rng() % 5) {
    configuration x{{"lr", form::constant(rng() % 2 == 0 ? 0.1 : 0.01)},
                    {"batch_size", form::constant(rng() % 4 == 0 ? 128 : 64)}};
    if (result.empty() || result.back().config != x)
      result.push_back({t, x});
  }
  return result;
}

} // namespace hippo::test
