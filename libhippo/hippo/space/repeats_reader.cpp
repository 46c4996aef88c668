#include "hippo/space/repeats_reader.hpp"

#include <cstddef>
#include <string>
#include <variant>

#include "hippo/base/limits.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/model/workload_seed.hpp"
#include "hippo/space/value_reader.hpp"

namespace hippo {

namespace {

/// The largest seed of a workload.
constexpr std::uint64_t last_seed = 999'999'999'999;

/// The longest end of the name of a metric by seed.
constexpr std::size_t seed_suffix_bytes = 24;

repeat_summary read_summary(const document& x, const value_reader& values) {
  const auto name = values.word(x);
  if (name == "median")
    return repeat_summary::median;
  if (name == "worst")
    return repeat_summary::worst;
  if (name && name != "mean")
    values.notes().error(
      x, unknown_text("summary", *name, {"mean", "median", "worst"}));
  return repeat_summary::mean;
}

/// Says why a study cannot have so many seeds; empty: it can.
std::string refusal_of(const repeat_plan& plan, const study_spec& study) {
  const auto& options = study.workload.options;
  const auto seeds = std::to_string(plan.spec.seeds);
  if (!study.workload.name.empty() && options.count(seed_option) == 0)
    return "workload " + study.workload.name
           + " has no option 'seed', so each training would be the same";
  if (plan.first_seed + plan.spec.seeds - 1 > last_seed)
    return "the seeds from " + std::to_string(plan.first_seed)
           + " on must not go beyond " + std::to_string(last_seed) + ", found "
           + seeds + " seeds";
  std::size_t bytes = 0;
  for (const auto& x : plan.wanted.metrics)
    bytes += x.metric.size() + seed_suffix_bytes;
  for (const auto& x : plan.wanted.constraints)
    bytes += x.metric.size() + seed_suffix_bytes;
  if (bytes * (plan.spec.seeds + 2) > max_metrics_bytes / 2)
    return "the names of the metrics are too long to be told for each of "
           + seeds + " seeds";
  return {};
}

} // namespace

repeat_spec read_repeats(const document& repeats, const study_spec& study,
                         diagnostics& notes) {
  const value_reader values{notes};
  auto plan = repeats_of(study);
  const auto* seeds = &repeats;
  if (repeats.type != document::kind::leaf) {
    if (!values.is_map(repeats, "'seeds' and 'summary'"))
      return {};
    values.known_keys(repeats, "key", {"seeds", "summary"});
    seeds = values.required(repeats, "seeds");
    if (const auto* summary = repeats.find("summary"))
      plan.spec.summary = read_summary(*summary, values);
  }
  if (seeds == nullptr)
    return {};
  const auto count = values.whole(*seeds, 1, repeats_max);
  if (!count)
    return {};
  plan.spec.seeds = static_cast<std::uint32_t>(*count);
  if (plan.is_one())
    return plan.spec;
  if (const auto why = refusal_of(plan, study); !why.empty())
    notes.error(*seeds, why);
  return plan.spec;
}

repeat_plan repeats_of(const study_spec& study) {
  repeat_plan result;
  result.spec = study.repeats;
  if (const auto i = study.workload.options.find(seed_option);
      i != study.workload.options.end())
    if (const auto* seed = std::get_if<double>(&i->second))
      result.first_seed = static_cast<std::uint64_t>(*seed);
  result.wanted = study.objective.all();
  return result;
}

} // namespace hippo
