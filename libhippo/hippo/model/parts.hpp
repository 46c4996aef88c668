#pragma once

#include <string>

#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

/// The option of workloads whose iterations have several parts: each is a share
/// of the batch, and gradients are added up over them in one order. So any
/// number of devices may compute them, with equal bits. It is 1 where a spec
/// leaves it out, so that keys of before there was the option stay.
inline constexpr const char* parts_option = "parts";

/// The most parts; their number divides it.
inline constexpr unsigned parts_max = 64;

/// Returns into how many parts a workload divides its batches, so that as many
/// devices may compute them: its option `parts` if a hyper-parameter may not be
/// below that; 1 for other workloads, whatever they call parts.
unsigned parts_of_batch(const workload_descriptor& known,
                        const workload_spec& spec);

/// Returns the same of the built-in workload that a spec names; 1 if it names
/// none.
unsigned parts_of_batch(const workload_spec& spec);

/// Says why a text is no number of members, of those that compute the parts of
/// a workload together: powers of two are, up to `parts_max`. Empty: it is one.
std::string check_members(const std::string& text);

} // namespace hippo
