#pragma once

#include <random>
#include <string>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/model/workload_spec.hpp"
#include "simulation/scenario.hpp"

namespace hippo::simulation {

/// The workloads that simulated studies name.
std::vector<workload_descriptor> simulated_workloads();

/// A random study: of any algorithm, over a space whose trials share much.
std::string random_study(std::mt19937_64& random, const scenario& scenario,
                         std::uint64_t number);

/// Whether a workload can be trained as its study says that it is to be run.
bool may_run(const workload_spec& spec);

} // namespace hippo::simulation
