#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/space/study.hpp"
#include "hippo/space/value_range.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// A part of a search space: a sum (choice) or product (list, map, space) of
/// its children, down to literals and ranges.
struct search_space::node {
  enum class kind {
    literal,
    list,
    map,
    choice,
    range,
    product, ///< of its children, some of which name other values
    space, ///< a map from hyper-parameters to their values
  };

  kind type = kind::literal;
  mark where;
  std::string path;
  nlohmann::ordered_json literal;
  std::vector<std::string> keys; ///< of a map or space
  std::vector<node> children;    ///< items, values or alternatives
  /// Of a choice: the spaces that its alternatives bring with them.
  std::vector<node> brought;
  value_range range;
  /// Of a list of numbers from 0 to 1: they are turned into shares of 1, such
  /// that all shares are equally likely.
  bool is_simplex = false;
  /// Of what stands among hyper-parameters: whether it is none, but what others
  /// are made of.
  bool is_hidden = false;
  // Set in the root alone:
  step_t max_steps = 1;      ///< of a trial
  /// Whether `max_steps` is known; else it stands for what is.
  bool has_length = true;
  /// Decides how long a trial is; null: `max_steps`.
  std::shared_ptr<const node> lengths;
  bool typed = false;        ///< see `study_spec`
  bool has_products = false; ///< anywhere
  /// Whether there may be percentages of a trial's length, anywhere.
  bool has_percentages = false;
  std::vector<std::string> hidden; ///< the names of what is, anywhere
  nlohmann::ordered_json source;   ///< the map that it was read from
  bool is_bound = false;     ///< whether all know of what they are made
  /// The number of combinations; 0: infinite, or above 2^63.
  std::uint64_t size = 0;
};

using space_node = search_space::node;

/// Sets `size` from the sizes of the parts.
void set_size(space_node& node);

/// Decides a choice or a range: which alternative or point it is. For a
/// continuous range: how far it lies from its low (0) to its high (2^53) end.
using decider = std::function<std::uint64_t(const space_node&)>;

inline constexpr std::uint64_t decider_high = space_leaf::high_end;

/// Returns the value of `node` with every choice and range decided, asked for
/// in a fixed order.
/// @param brought if not null, gets the spaces that come with what was chosen
nlohmann::ordered_json decide(const space_node& node, const decider& pick,
                              std::vector<const space_node*>* brought);

/// Adds the hyper-parameters of a space with every choice and range decided,
/// each followed by those it brings.
/// @param nodes if not null, gets those of all that are added, by name
void decide_space(const space_node& space, const decider& pick,
                  nlohmann::ordered_json& to,
                  std::map<std::string, const space_node*>* nodes = nullptr);

/// Adds the numbers that a part with nothing but numbers may be decided to.
/// REQUIRES: it is finite
void add_numbers(const space_node& node, std::set<step_t>& to);

/// Returns how many ways there are to decide `node` alone; 0: continuous.
std::uint64_t ways(const space_node& node);

/// Returns a decision on `node` that depends on nothing but the arguments.
std::uint64_t draw_decision(const space_node& node, std::uint64_t seed,
                            std::uint64_t draw);

} // namespace hippo
