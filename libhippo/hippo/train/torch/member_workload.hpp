#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the workload of a member on its device, which is `shareable`.
using member_maker =
  std::function<std::unique_ptr<workload>(const std::string& device)>;

/// Makes a workload that several members train, each on a thread and a device
/// of its own: every one of them has a copy of the state, and computes its
/// parts of each iteration and its share of what is measured. The first one
/// writes states. Bits are those of one member.
/// @param devices by member, a power of two of them
std::unique_ptr<workload>
make_member_workload(const std::vector<std::string>& devices,
                     const member_maker& make);

} // namespace hippo
