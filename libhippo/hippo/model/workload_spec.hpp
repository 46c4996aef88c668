#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// A workload, as a study names it: equal specs share their training.
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
  /// The JSON text of each option that code is given, and of which `options`
  /// does not tell all: `12.0`, `true`, `"12"`, `null`, `[64,64]`. Without it
  /// a number is whole if it has no fraction, and a word is one.
  std::map<std::string, std::string> exact{};

  friend bool operator==(const workload_spec&, const workload_spec&) = default;
};

/// The workload key: `name;option=value;...`, and `;devices=any` at the end if
/// any device may go on with it. Only trials of equal keys share, and specs of
/// which code is not given the same have different keys.
///
/// A value is a number's or a word's text, or a backslash and its JSON text if
/// `exact` has one: `args.width=12`, `args.width=\"12"`. In names and values
/// a backslash stands before `;` and `\`, in names before `=` too, except in
/// those of files.
std::string key_of(const workload_spec& spec);

/// A part of a workload key.
struct key_part {
  std::string name;  ///< of the option; empty: the workload's
  std::string value; ///< as a text
  bool is_json = false; ///< the text is JSON
  friend bool operator==(const key_part&, const key_part&) = default;
};

/// Takes a workload key apart, the inverse of `key_of`.
std::vector<key_part> read_key(const std::string& key);

/// Whether a word is the text of a number, so that only `exact` tells them
/// apart.
bool reads_as_number(const std::string& word);

/// Returns with which of a CPU's instructions it is trained, the option
/// `numerics` of the built-in workloads: `portable`, `native`, or empty where
/// it has no such option.
std::string numerics_of(const workload_spec& spec);

/// The most processes that a trial may be.
inline constexpr std::uint32_t ranks_max = 1024;

/// Returns how many processes train a trial together, the option `ranks` of
/// code in Python that a study brings; 1 unless given.
std::uint32_t ranks_of(const workload_spec& spec);

/// The name of the workload that a key is of.
std::string workload_name_of(const std::string& key);

/// Says in what two workload keys differ, a few words for each option
/// (`version.torch: 2.11.0 and 2.10.0`); empty if they do not, or if they are
/// of different workloads.
std::vector<std::string> key_differences(const std::string& left,
                                         const std::string& right);

} // namespace hippo
