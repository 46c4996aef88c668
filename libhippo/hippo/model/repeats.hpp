#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/model/goals.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// The most seeds of a trial.
inline constexpr std::uint32_t repeats_max = 32;

/// How the results of a trial's seeds become one.
enum class repeat_summary : std::uint8_t {
  mean,
  median,
  worst, ///< of a metric that is neither goal nor constraint: the mean
};

/// How often the trials of a study are trained, each time with another seed.
struct repeat_spec {
  std::uint32_t seeds = 1;
  repeat_summary summary = repeat_summary::mean;
  friend bool operator==(const repeat_spec&, const repeat_spec&) = default;
};

/// The same with all that it takes to train them and to sum up the results.
struct repeat_plan {
  repeat_spec spec;
  std::uint64_t first_seed = 0; ///< that of the workload; the others follow it
  goals wanted;                 ///< of the study

  [[nodiscard]] bool is_one() const noexcept { return spec.seeds == 1; }
};

/// Returns the segments of a trial for one of its seeds. Those of the first
/// seed are what they were, so that training with it is shared with studies
/// without repeats.
/// @param index of the seed, from 0
std::vector<segment> with_seed(std::vector<segment> segments,
                               const repeat_plan& plan, std::uint32_t index);

/// Moves the seed that `with_seed` has put into the stages of a lease to its
/// workload, which has the option `seed`: trainers know no other.
void take_seed(lease& work);

/// A failure, and the seed whose training has failed.
struct seed_failure {
  std::string seed; ///< "seed 4"
  std::string message;
};

/// Joins both to one message: "seed 4: the message".
std::string to_text(const seed_failure& failure);
/// Reads what `to_text` has made; another message has no seed.
seed_failure seed_failure_from(const std::string& message);

/// The name of the standard deviation of a metric over seeds.
std::string spread_of(const std::string& metric);

/// Sums up the measurements of the seeds of a trial at one step: the metrics
/// that all of them measured, and of each goal and constraint, as further
/// metrics, the sample standard deviation (`spread_of`) and the values
/// (`NAME.seedN`). A number that is not finite becomes NaN.
/// @param by_seed one for each seed, in their order
/// @complexity O(metrics x seeds x log(seeds))
metrics summarize(const repeat_plan& plan, const std::vector<metrics>& by_seed);

} // namespace hippo
