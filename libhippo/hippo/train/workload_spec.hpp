#pragma once

#include <map>
#include <string>

#include "hippo/core/types.hpp"

namespace hippo {

/// What is trained, as a study names it: equal specs share their training.
struct workload_spec {
  std::string name;
  /// Every option of the workload, nested ones with dots (`data.train`). Those
  /// that the study leaves out are filled in with their defaults, so that equal
  /// meaning is equal spelling.
  std::map<std::string, scalar> options;

  friend bool operator==(const workload_spec&, const workload_spec&) = default;
};

/// The workload key: `name;option=value;...`. Only trials of equal keys share.
std::string key_of(const workload_spec& x);

} // namespace hippo
