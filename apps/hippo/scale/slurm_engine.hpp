#pragma once

#include <memory>
#include <string>

#include "scale/engine.hpp"

namespace hippo {

/// Slurm by its commands: a job for each process, with the name of that.
/// @param machines of `deploy_target::slurm`; outlives the engine
std::unique_ptr<scale_engine> slurm_engine(const machines& machines,
                                           std::string fleet);

} // namespace hippo
