#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/space/document.hpp"
#include "hippo/space/study.hpp"
#include "hippo/space/value_range.hpp"

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
  // Set in the root alone:
  step_t max_steps = 1;      ///< of a trial
  bool typed = false;        ///< see `study_spec`
  bool has_products = false; ///< anywhere
  bool is_bound = false;     ///< whether all know of what they are made
  /// The number of combinations; 0: infinite, or above 2^63.
  std::uint64_t size = 0;
};

using space_node = search_space::node;

/// Sets `size` from the sizes of the parts.
void set_size(space_node& x);

/// Decides a choice or a range: which alternative or point it is. For a
/// continuous range: how far it lies from its low (0) to its high (2^53) end.
using decider = std::function<std::uint64_t(const space_node&)>;

inline constexpr std::uint64_t decider_high = space_leaf::high_end;

/// Returns the value of `x` with every choice and range decided, asked for in a
/// fixed order.
/// @param brought if not null, gets the spaces that come with what was chosen
nlohmann::ordered_json decide(const space_node& x, const decider& pick,
                              std::vector<const space_node*>* brought);

/// Adds the hyper-parameters of a space with every choice and range decided,
/// each followed by those it brings.
/// @param nodes if not null, gets those of all that are added, by name
void decide_space(const space_node& space, const decider& pick,
                  nlohmann::ordered_json& to,
                  std::map<std::string, const space_node*>* nodes = nullptr);

/// Returns how many ways there are to decide `x` alone; 0: continuous.
std::uint64_t ways(const space_node& x);

/// Returns a decision on `x` that depends on nothing but the arguments.
std::uint64_t draw_decision(const space_node& x, std::uint64_t seed,
                            std::uint64_t draw);

} // namespace hippo
