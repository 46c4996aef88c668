#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hippo/train/torch/training.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A spec of the built-in workload `name` that takes moments: few images,
/// or few and short texts that are made. With `/` and a word behind the name,
/// here and below, it has 4 parts and that `sync`.
/// @param images to train on; 0: the fewer, the larger the network is
workload_spec small_spec(const std::string& name, double images = 0);

/// The device that tests train on: that of HIPPO_TEST_DEVICE, or the CPU.
std::string test_device();

/// How a CPU computes in tests: as HIPPO_TEST_NUMERICS says, or as
/// is the default.
numerics test_numerics();

/// The workload of `spec` on the device of the tests. Throws
/// `std::runtime_error` if it cannot be made.
/// @param members of the devices that compute its parts
std::unique_ptr<workload> make_built_in(const workload_spec& spec,
                                        std::size_t members = 1);

/// The defaults of the built-in workload `name` as constants.
configuration default_configuration(const std::string& name);

/// The configuration at `step` of a trial in which every hyper-parameter
/// changes, the optimiser from sgd to adamw and back.
configuration changing_configuration(const std::string& name, step_t step);

/// Trains from state `from` to `to` under the changing configuration.
void train_changing(workload& work, const std::string& name, step_t from,
                    step_t to);

/// Runs this program again with these arguments and waits for it.
/// @returns whether it exited with 0
bool run_again(const std::vector<std::string>& arguments);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

/// Returns a line `name shape crc32` for each tensor of the model in a saved
/// state, sorted by name.
std::string describe_model(const std::string& state);

} // namespace hippo
