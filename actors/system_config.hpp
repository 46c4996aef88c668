#pragma once

#include <chrono>

#include "caf/all.hpp"
#include "caf/io/all.hpp"

#include "messages.hpp"

namespace hippo {

/// How every Hippo process sets up CAF.
struct system_config : caf::actor_system_config {
  system_config() {
    hippo::add_message_types(*this);
    load<caf::io::middleman>();
    // Work stealing polls while there is nothing to do, which costs a trainer
    // beside it a part of its core.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
    // A peer that hangs or is cut off is noticed by these alone.
    set("middleman.heartbeat-interval",
        caf::timespan{std::chrono::seconds(1)});
    set("middleman.connection-timeout",
        caf::timespan{std::chrono::seconds(10)});
    set("logger.file-verbosity", caf::atom("quiet"));
    set("logger.console-verbosity", caf::atom("quiet"));
  }
};

} // namespace hippo
