#pragma once

#include "hippo/model/records.hpp"
#include "service.capnp.h"

namespace hippo {

/// Returns the command that a change of a study is.
study_command steering_of(schema::Steering::Reader change);

} // namespace hippo
