#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hippo/model/workload_spec.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/random.hpp"

// The common part of the epochs of all built-in workloads.

namespace hippo {

/// Returns an option or a hyper-parameter that is an integer of at least 0.
std::uint64_t whole(const scalar& value);

/// Returns an option that is an integer, or a word.
std::int64_t count_of(const workload_spec& spec, const std::string& option);
const std::string& word_of(const workload_spec& spec,
                           const std::string& option);

/// Returns the value at a step of a hyper-parameter that is a number.
double number_at(const configuration& config, const std::string& name,
                 step_t at);

/// The hyper-parameters of an update at a step.
update_rule update_rule_at(const configuration& config, step_t at);

/// The hyper-parameters of one epoch of batches.
struct epoch_values {
  update_rule rule;
  std::uint64_t batch_size = 0;
  double dropout = 0;
};

epoch_values epoch_values_at(const configuration& config, step_t at);

/// Throws `std::invalid_argument` if batches at a step are larger than the
/// training data.
/// @param size of these, in examples
void check_batch_size(const configuration& config, step_t at,
                      std::size_t size);

/// Returns the options that decide a workload's data, as one text: equal texts,
/// equal data for workloads of one kind.
std::string data_key(const workload_spec& spec);

/// Returns the numbers below `size`, all orders being equally likely.
std::vector<std::uint32_t> random_order(std::size_t size,
                                        random_numbers numbers);

/// Returns the order in which epoch `step` goes through `size` examples.
std::vector<std::uint32_t> epoch_order(std::uint64_t seed, step_t step,
                                       std::size_t size);

} // namespace hippo
