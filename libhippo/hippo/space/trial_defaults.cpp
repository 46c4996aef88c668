#include "hippo/space/trial_defaults.hpp"

#include <utility>

namespace hippo {

namespace {

form form_of(const scalar& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? form::constant(*number)
                           : form::text(std::get<std::string>(value));
}

/// Whether a configuration has a hyper-parameter that is not 0 throughout.
bool has(const configuration& config, const std::string& name) {
  const auto i = config.find(name);
  return i != config.end() && i->second != form::constant(0);
}

} // namespace

trial_defaults::trial_defaults(const workload_descriptor& workload) {
  for (const auto& x : workload.hyper_parameters) {
    const auto fallback = form_of(x.fallback);
    values_.emplace(x.name, sequence{fallback});
    if (x.left_out)
      optional_.push_back({x.name, fallback, x.only_with});
  }
}

std::map<std::string, sequence> trial_defaults::kept() const {
  auto result = values_;
  for (const auto& x : optional_)
    result.erase(x.name);
  return result;
}

std::vector<segment>
trial_defaults::complete(std::map<std::string, sequence> given,
                         step_t end) const {
  given.insert(values_.begin(), values_.end());
  auto all = join(given, end);
  if (optional_.empty())
    return all;
  std::vector<segment> result;
  for (auto& x : all) {
    for (const auto& each : optional_) {
      const auto i = x.config.find(each.name);
      if (i->second == each.fallback
          || (!each.only_with.empty() && !has(x.config, each.only_with)))
        x.config.erase(i);
    }
    // Segments may have differed in values that make no difference.
    if (result.empty() || result.back().config != x.config)
      result.push_back(std::move(x));
  }
  return result;
}

} // namespace hippo
