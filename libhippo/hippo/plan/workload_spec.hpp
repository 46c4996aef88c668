#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hippo/core/types.hpp"

namespace hippo {

/// What is trained, as a study names it: equal specs share their training.
struct workload_spec {
  std::string name;
  /// Every option of the workload, nested ones with dots (`data.train`). Those
  /// that the study leaves out are filled in with their defaults, so that equal
  /// meaning is equal spelling.
  std::map<std::string, scalar> options;
  /// How it is run, where that decides no result: it is no part of the key.
  std::map<std::string, scalar> settings{};
  /// Whether devices of several kinds may train one trial one after another, so
  /// that its bits are nobody's alone: such training is shared with its like.
  bool any_device = false;

  friend bool operator==(const workload_spec&, const workload_spec&) = default;
};

/// The workload key: `name;option=value;...`, and `;devices=any` at the end if
/// any device may go on with it. Only trials of equal keys share.
std::string key_of(const workload_spec& x);

/// The most lanes that a workload may have.
inline constexpr std::uint32_t lanes_max = 64;

/// Returns how many lanes one launch trains (`laned_workload`): the option
/// `lanes`, or 1 without it. REQUIRES: it is from 1 to `lanes_max`, if it is
/// there.
std::uint32_t lanes_of(const workload_spec& x);

/// Returns with which of a CPU's instructions it is trained, the option
/// `numerics` of the built-in workloads: `portable`, `native`, or empty where
/// it has no such option.
std::string numerics_of(const workload_spec& x);

/// The name of the workload that a key is of.
std::string workload_name_of(const std::string& key);

/// Says in what two workload keys differ, a few words for each option
/// (`version.torch: 2.11.0 and 2.10.0`); empty if they do not, or if they are
/// of different workloads.
std::vector<std::string> key_differences(const std::string& x,
                                         const std::string& y);

} // namespace hippo
