#pragma once

#include <memory>
#include <string>

#include "scale/engine.hpp"

namespace hippo {

/// A cluster of Ray, by a program of Python beside this one that answers a line
/// of JSON with a line of JSON: docs/deploy.md.
/// @param machines of `deploy_target::ray`; outlives the engine
/// @param python its interpreter
/// @param address of the cluster, as `ray.init` takes it
std::unique_ptr<scale_engine> ray_engine(const machines& machines,
                                         std::string fleet,
                                         const std::string& python,
                                         const std::string& address);

} // namespace hippo
