#include "system_config.hpp"

namespace hippo {

system_config::system_config() {
  add_error_names(*this);
  // Work stealing polls while there is nothing to do, which costs a trainer
  // beside it a part of its core.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{2});
  set("logger.file-verbosity", caf::atom("quiet"));
  set("logger.console-verbosity", caf::atom("quiet"));
}

} // namespace hippo
