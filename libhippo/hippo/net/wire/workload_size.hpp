#pragma once

#include "hippo/model/workload_size.hpp"
#include "workload.capnp.h"

namespace hippo {

/// Writes a size, and reads one; what is no number of a size is unknown.
void put(schema::WorkloadSize::Builder out, const workload_size& size);
workload_size size_in(schema::WorkloadSize::Reader in);

} // namespace hippo
