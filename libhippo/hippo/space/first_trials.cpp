#include "hippo/space/first_trials.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "hippo/base/length_name.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
#include "hippo/space/product.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using node_kind = space_node::kind;

bool is_same(const json& left, const json& right) {
  if (!left.is_number() || !right.is_number())
    return left == right;
  return canonical(left.get<double>()) == canonical(right.get<double>());
}

/// Returns the decision on a range that gives a number, if one does.
std::optional<std::uint64_t> decision_for(const space_node& x,
                                          const json& number) {
  const auto nearest = space_leaf{x}.nearest(number);
  if (!nearest)
    return std::nullopt;
  const auto value = decide(
    x, [&](const space_node&) { return *nearest; }, nullptr);
  // The decisions on a range lie as close as doubles do at its larger end.
  const bool is_dense = x.range.points == 0 && x.range.step == 0
                        && !rule_of(x.range.scale).is_whole;
  const auto wanted = number.get<double>();
  return is_same(value, number)
             || (is_dense && wanted >= x.range.low && wanted <= x.range.high)
           ? nearest
           : std::nullopt;
}

/// Says which values a choice or a range has.
std::string values_of(const space_node& x) {
  if (x.type == node_kind::range)
    return (x.range.points == 0
              ? std::string{"must be "}
              : "must be one of the " + std::to_string(x.range.points)
                  + " values ")
           + "from " + to_text(x.range.low) + " to " + to_text(x.range.high);
  std::vector<std::string> all;
  for (const auto& child : x.children)
    if (child.type == node_kind::literal)
      all.push_back(child.literal.is_string() ? child.literal.get<std::string>()
                                              : child.literal.dump());
  if (x.type == node_kind::choice && all.size() == x.children.size())
    return "must be one of " + list_of(all);
  return "must be a value that the space has for it";
}

/// Finds the decisions that make the values of one trial.
class first_trial {
public:
  first_trial(const document& given, diagnostics& notes)
    : given_(&given), notes_(&notes) {}

  leaf_decisions read(const space_node& root) {
    // As study files write it, or as trials show it.
    if (root.lengths != nullptr)
      read_value(given_->find(length_name) ? length_name : "max_steps",
                 *root.lengths);
    read_space(root);
    for (const auto& entry : given_->entries)
      if (!names_.contains(entry.key))
        notes_->error(
          entry.where, entry.value.path,
          "the space has no hyper-parameter '" + entry.key
            + "' beside these values"
            + did_you_mean(entry.key, {names_.begin(), names_.end()}));
    return std::move(result_);
  }

  /// Finds the decisions that make the value of one hyper-parameter.
  /// @returns them by leaf; errors are noted
  std::vector<std::pair<const space_node*, std::uint64_t>>
  read_one(const space_node& x, const document& value) {
    spaces brought;
    is_alone_ = true;
    if (x.is_hidden || is_made_of_others(x))
      notes_->error(value, "cannot be given: it follows from others");
    else if (!take(x, value, brought))
      notes_->error(value, values_of(x) + ", found " + value.found());
    else {
      std::vector<std::pair<const space_node*, std::uint64_t>> result;
      for (std::size_t i = 0; i < leaves_.size(); ++i)
        result.emplace_back(leaves_[i], result_[i]);
      return result;
    }
    return {};
  }

private:
  using spaces = std::vector<const space_node*>;

  void read_space(const space_node& space) {
    for (std::size_t i = 0; i < space.children.size(); ++i)
      for (const auto* inner : read_value(space.keys[i], space.children[i]))
        read_space(*inner);
  }

  /// Reads one hyper-parameter. @returns the spaces that its value brings
  spaces read_value(const std::string& name, const space_node& x) {
    spaces brought;
    names_.insert(name);
    const auto* value = given_->find(name);
    if (x.is_hidden)
      notes_->error(*given_, "'" + name
                               + "' is a simplex, whose shares cannot "
                                 "be given");
    else if (is_made_of_others(x) && (value != nullptr || x.size != 1))
      notes_->error(value == nullptr ? *given_ : *value,
                    "'" + name + "' follows from other hyper-parameters, and "
                      + (x.size == 1 ? "is left out" : "cannot be given"));
    else if (value == nullptr && x.size != 1)
      notes_->error(*given_, "'" + name + "' is missing: it " + values_of(x));
    else if (value == nullptr)
      take_only(x, brought);
    else if (!take(x, *value, brought)) {
      notes_->error(*value, values_of(x) + ", found " + value->found());
      brought.clear();
    }
    return brought;
  }

  /// Decides what leaves nothing to choose.
  void take_only(const space_node& x, spaces& brought) {
    if (x.type == node_kind::choice || x.type == node_kind::range)
      decide_as(x, 0);
    if (x.type == node_kind::choice)
      brought.push_back(x.brought.data());
    for (const auto& child : x.children)
      take_only(child, brought);
  }

  /// Decides `x` such that it is `value`. @returns false, with part of it
  /// decided, if it cannot be
  bool take(const space_node& x, const document& value, spaces& brought) {
    switch (x.type) {
      case node_kind::literal:
        return is_literal(x.literal, value);
      case node_kind::range:
        return take_point(x, value);
      case node_kind::choice:
        for (std::size_t i = 0; i < x.children.size(); ++i) {
          if (!has_all(x.brought[i]))
            continue;
          const auto decided = result_.size(), known = brought.size();
          decide_as(x, i);
          brought.push_back(&x.brought[i]);
          if (take(x.children[i], value, brought))
            return true;
          result_.resize(decided);
          leaves_.resize(decided);
          brought.resize(known);
        }
        return false;
      case node_kind::list:
        return value.type == document::kind::list
               && value.items.size() == x.children.size()
               && std::equal(x.children.begin(), x.children.end(),
                             value.items.begin(),
                             [&](const auto& child, const auto& item) {
                               return take(child, item, brought);
                             });
      case node_kind::map:
        return take_map(x, value, brought);
      case node_kind::product:
      case node_kind::space:
        return false;
    }
    return false;
  }

  bool take_map(const space_node& x, const document& value, spaces& brought) {
    if (value.type != document::kind::map
        || value.entries.size() != x.keys.size())
      return false;
    for (std::size_t i = 0; i < x.keys.size(); ++i) {
      const auto* part = value.find(x.keys[i]);
      if (part == nullptr || !take(x.children[i], *part, brought))
        return false;
    }
    return true;
  }

  bool take_point(const space_node& x, const document& value) {
    if (value.type != document::kind::leaf)
      return false;
    const auto decision = decision_for(x, value.meaning());
    if (decision)
      decide_as(x, *decision);
    return decision.has_value();
  }

  static bool is_literal(const json& literal, const document& value) {
    return value.type == document::kind::leaf
             ? is_same(value.meaning(), literal)
             : value.type == document::kind::nothing && literal.is_null();
  }

  /// Whether the trial gives all that a space needs.
  [[nodiscard]] bool has_all(const space_node& space) const {
    if (is_alone_)
      return true;
    for (std::size_t i = 0; i < space.children.size(); ++i)
      if (space.children[i].size != 1 && given_->find(space.keys[i]) == nullptr)
        return false;
    return true;
  }

  void decide_as(const space_node& leaf, std::uint64_t decision) {
    result_.push_back(decision);
    leaves_.push_back(&leaf);
  }

  const document* given_;
  diagnostics* notes_;
  leaf_decisions result_;
  std::vector<const space_node*> leaves_; ///< of the decisions
  /// Whether the values of other hyper-parameters do not count.
  bool is_alone_ = false;
  std::set<std::string> names_;
};

/// Reads the values of one trial; nothing if there is an error in them.
std::optional<leaf_decisions>
read_values(const document& x, const space_node& space, diagnostics& notes) {
  if (x.type != document::kind::map) {
    notes.error(x, "must be a map with a value for each hyper-parameter, found "
                     + x.found());
    return std::nullopt;
  }
  const auto before = notes.errors();
  auto result = first_trial{x, notes}.read(space);
  return notes.errors() == before ? std::optional{std::move(result)}
                                  : std::nullopt;
}

std::optional<double> number_in(const document& x) {
  if (x.type != document::kind::leaf)
    return std::nullopt;
  const auto meaning = x.meaning();
  if (!meaning.is_number() || !std::isfinite(meaning.get<double>()))
    return std::nullopt;
  return meaning.get<double>();
}

void read_measured(const document& x, const goals& wanted, metrics& to,
                   diagnostics& notes) {
  if (x.type != document::kind::map) {
    notes.error(x, "must be a map from metrics to numbers, found " + x.found());
    return;
  }
  for (const auto& entry : x.entries)
    if (const auto number = number_in(entry.value))
      to[entry.key] = *number;
    else
      notes.error(entry.value,
                  "must be a finite number, found " + entry.value.found());
  const auto need = [&](const std::string& name) {
    if (x.find(name) == nullptr)
      notes.error(x, "'" + name + "' is missing: the study is about it");
  };
  for (const auto& goal : wanted.metrics)
    need(goal.metric);
  for (const auto& constraint : wanted.constraints)
    need(constraint.metric);
}

past_result read_result(const document& x, const space_node& space,
                        step_t max_steps, const goals& wanted,
                        diagnostics& notes) {
  past_result result;
  const auto* params = x.find("params");
  const auto* measured = x.find("metrics");
  const auto* step = x.find("step");
  if (params == nullptr || measured == nullptr) {
    notes.error(x, "must be a map with params and metrics");
    return result;
  }
  for (const auto& entry : x.entries)
    if (entry.key != "params" && entry.key != "metrics" && entry.key != "step")
      notes.error(entry.where, entry.value.path,
                  "is unknown here: a result has params, step and metrics");
  if (auto values = read_values(*params, space, notes))
    result.values = std::move(*values);
  read_measured(*measured, wanted, result.measured, notes);
  const auto last = static_cast<double>(max_steps);
  const auto at = step == nullptr ? last : number_in(*step).value_or(0);
  if (at >= 1 && at <= last && at == std::floor(at))
    result.step = static_cast<step_t>(at);
  else
    notes.error(*step, "must be a step from 1 to " + std::to_string(max_steps)
                         + ", found " + step->found());
  return result;
}

/// Reads a text that is a map with one list.
/// @param read reads that list
template <class Result, class Read>
expected<Result> read_list(const std::string& text, const std::string& name,
                           const search_space& space, name_rules rules,
                           const Read& read) {
  findings found;
  diagnostics notes{"", found};
  Result result;
  if (space.empty())
    return {errc::invalid_argument, "the study has no hyper-parameters"};
  if (const auto root = read_document(text, notes, name, rules)) {
    const auto* list = root->find(name);
    if (list != nullptr && root->entries.size() == 1)
      result = read(*list, notes);
    else
      notes.error(*root, "must be a map with '" + name + "' alone");
  }
  if (!found.errors.empty())
    return {errc::invalid_argument, joined_text(found.errors)};
  return result;
}

} // namespace

bool is_list_of(const document& list, std::size_t most,
                const std::string& items, diagnostics& notes) {
  const bool is_list = list.type == document::kind::list;
  if (is_list && !list.items.empty() && list.items.size() <= most)
    return true;
  notes.error(list,
              "must be a list of 1 to " + std::to_string(most) + " " + items
                + ", found "
                + (is_list ? std::to_string(list.items.size()) : list.found()));
  return false;
}

namespace {

/// Finds a hyper-parameter in a space, or in one that a choice brings; null:
/// there is none. Notes the names of all.
const space_node* find_parameter(const space_node& space,
                                 const std::string& name,
                                 std::set<std::string>& names) {
  const space_node* result = nullptr;
  for (std::size_t i = 0; i < space.children.size(); ++i) {
    const auto& x = space.children[i];
    names.insert(space.keys[i]);
    if (space.keys[i] == name)
      result = &x;
    for (const auto& brought : x.brought)
      if (const auto* inner = find_parameter(brought, name, names);
          inner != nullptr && result == nullptr)
        result = inner;
  }
  return result;
}

void read_belief(const document& x, const space_node& parameter,
                 std::vector<prior_belief>& to, diagnostics& notes) {
  const auto* mode = x.find("mode");
  if (mode == nullptr) {
    notes.error(x, "must be a map with mode, and perhaps strength, found "
                     + x.found());
    return;
  }
  for (const auto& entry : x.entries)
    if (entry.key != "mode" && entry.key != "strength")
      notes.error(entry.where, entry.value.path,
                  "is unknown here: a belief has mode and strength");
  double strength = 2;
  if (const auto* given = x.find("strength")) {
    strength = number_in(*given).value_or(0);
    if (!(strength > 0) || strength > prior_strength_max)
      notes.error(*given, "must be a number above 0 and up to "
                            + to_text(prior_strength_max) + ", found "
                            + given->found());
  }
  for (const auto& [leaf, decision] :
       first_trial{x, notes}.read_one(parameter, *mode))
    to.push_back({space_leaf{*leaf}.path(), decision, strength});
}

} // namespace

std::vector<prior_belief>
read_prior(const document& map, const space_node& space, diagnostics& notes) {
  std::vector<prior_belief> result;
  if (map.type != document::kind::map) {
    notes.error(map, "must be a map from hyper-parameters to beliefs such as "
                     "{mode: 0.003, strength: 2}, found "
                       + map.found());
    return result;
  }
  for (const auto& entry : map.entries) {
    std::set<std::string> names;
    if (const auto* x = find_parameter(space, entry.key, names))
      read_belief(entry.value, *x, result, notes);
    else
      notes.error(entry.where, entry.value.path,
                  "the space has no hyper-parameter '" + entry.key + "'"
                    + did_you_mean(entry.key, {names.begin(), names.end()}));
  }
  return result;
}

std::vector<leaf_decisions>
read_first(const document& list, const space_node& space, diagnostics& notes) {
  std::vector<leaf_decisions> result;
  if (!is_list_of(list, first_trials_max, "maps with the values of a trial",
                  notes))
    return result;
  std::map<leaf_decisions, std::string> known;
  for (const auto& item : list.items) {
    auto decisions = read_values(item, space, notes);
    if (!decisions)
      continue;
    const auto [place, is_new] = known.emplace(*decisions, item.path);
    if (!is_new)
      notes.error(item, "has the values of " + place->second);
    result.push_back(std::move(*decisions));
  }
  return result;
}

std::vector<past_result> read_past(const document& list,
                                   const space_node& space, step_t max_steps,
                                   const goals& wanted, diagnostics& notes) {
  std::vector<past_result> result;
  if (is_list_of(list, past_results_max, "maps with params, step and metrics",
                 notes))
    for (const auto& item : list.items)
      result.push_back(read_result(item, space, max_steps, wanted, notes));
  return result;
}

expected<std::vector<past_result>> read_past_results(const std::string& text,
                                                     const study_spec& study,
                                                     name_rules rules) {
  return read_list<std::vector<past_result>>(
    text, "results", study.space, rules,
    [&](const document& list, diagnostics& notes) {
      return read_past(list, *study.space.root(), study.max_steps,
                       study.objective.all(), notes);
    });
}

} // namespace hippo
