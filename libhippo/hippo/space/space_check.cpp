#include "hippo/space/space_check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "hippo/base/limits.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/product.hpp"

namespace hippo {

namespace {

/// How many steps of a curve are looked at where its ends do not tell all: if
/// the values of so many are whole, all are.
constexpr step_t looked_at_max = 10'000;

/// The most values to look at for one hyper-parameter, the fewest where there
/// are many, and the most for all of them: bounds on time.
constexpr std::size_t values_max = 2'000'000;
constexpr std::size_t values_min = 20'000;
constexpr std::size_t all_values_max = 20'000'000;

/// Returns how many ways there are to decide `x`, for a continuous range how
/// many ends it has.
std::uint64_t ways_or_ends(const space_node& x) {
  return ways(x) == 0 ? 2 : ways(x);
}

std::uint64_t way_or_end(const space_node& x, std::uint64_t n) {
  return ways(x) == 0 ? n * decider_high : n;
}

/// Walks through all ways to decide a tree, as an odometer does: the decision
/// asked for last turns fastest.
class odometer {
public:
  std::uint64_t pick(const space_node& x) {
    if (asked_ == wheels_.size())
      wheels_.push_back({0, ways_or_ends(x)});
    return way_or_end(x, wheels_[asked_++].at);
  }

  /// Goes on to the next way. @returns false after the last one
  bool turn() {
    asked_ = 0;
    while (!wheels_.empty() && wheels_.back().at + 1 == wheels_.back().count)
      wheels_.pop_back();
    if (wheels_.empty())
      return false;
    ++wheels_.back().at;
    return true;
  }

private:
  struct wheel {
    std::uint64_t at;
    std::uint64_t count;
  };
  std::vector<wheel> wheels_;
  std::size_t asked_ = 0;
};

/// Gives every choice and range its ways in turn, ends of ranges first.
class round_robin {
public:
  std::uint64_t pick(const space_node& x) {
    const auto count = ways_or_ends(x);
    auto turn = turns_[&x]++ % count;
    if (turn == 1)
      turn = count - 1;
    else if (turn == count - 1)
      turn = 1;
    return way_or_end(x, turn);
  }

private:
  std::unordered_map<const space_node*, std::uint64_t> turns_;
};

/// Which ways of choices, and which ends of ranges, have had their turn.
class coverage {
public:
  /// Notes a decision.
  void note(const space_node& x, std::uint64_t way) {
    const auto count = ways_or_ends(x);
    auto& tried = tried_[&x].ways;
    if (x.type == space_node::kind::choice) {
      tried.resize(count);
      tried[way] = true;
      return;
    }
    tried.resize(2);
    if (way == 0)
      tried[0] = true;
    if (way == way_or_end(x, count - 1))
      tried[1] = true;
  }

  /// @param is_joint whether what choices bring is decided with them
  explicit coverage(bool is_joint) : is_joint_(is_joint) {}

  /// Whether all below `x` have. It takes time once only, as nothing is ever
  /// taken back.
  bool is_whole(const space_node& x) {
    if (x.type != space_node::kind::choice && x.type != space_node::kind::range)
      return std::all_of(x.children.begin(), x.children.end(),
                         [this](const space_node& y) { return is_whole(y); });
    return next(x) == end_of(x);
  }

  /// Decides so that something has its turn that has had none, if there is any.
  std::uint64_t pick(const space_node& x) {
    const auto i = next(x);
    if (i == end_of(x))
      return 0;
    return x.type == space_node::kind::choice
             ? i
             : i * way_or_end(x, ways_or_ends(x) - 1);
  }

private:
  struct state {
    std::vector<bool> ways; ///< of a range: its ends
    std::size_t whole = 0;  ///< so many of the first have nothing left
  };

  static std::size_t end_of(const space_node& x) {
    return x.type == space_node::kind::choice ? x.children.size() : 2;
  }

  std::size_t next(const space_node& x) {
    auto& known = tried_[&x];
    const bool is_choice = x.type == space_node::kind::choice;
    known.ways.resize(end_of(x));
    while (known.whole < end_of(x) && known.ways[known.whole]
           && (!is_choice || is_whole_option(x, known.whole)))
      ++known.whole;
    return known.whole;
  }

  bool is_whole_option(const space_node& x, std::size_t i) {
    return is_whole(x.children[i])
           && (!is_joint_ || is_whole(x.brought[i]));
  }

  bool is_joint_;
  std::map<const space_node*, state> tried_; ///< stays where it is
};

std::vector<step_t> shortest_and_longest(const space_node& root) {
  if (root.lengths == nullptr)
    return {root.max_steps};
  std::set<step_t> all;
  add_numbers(*root.lengths, all);
  return all.size() == 1 ? std::vector{*all.begin()}
                         : std::vector{*all.begin(), *all.rbegin()};
}

/// Checks the values of one hyper-parameter.
class value_check {
public:
  /// @param budget how many values may be looked at in a row
  value_check(const space_node& x, const space_node& root,
              const parameter_descriptor* limits, std::size_t budget,
              diagnostics& notes)
    : x_(&x), checked_node_(&x), root_(&root), limits_(limits),
      budget_(budget), notes_(&notes), covered_(false) {}

  /// The same of one that is made of others.
  /// @param whole a space that decides all that it is made of
  value_check(const space_node& whole, std::string name, const space_node& root,
              const parameter_descriptor* limits, std::size_t budget,
              diagnostics& notes)
    : x_(&whole), name_(std::move(name)), root_(&root), limits_(limits),
      budget_(budget), notes_(&notes), covered_(true) {}

  void run() {
    run_through();
    values_ = 0;
    while (!covered_.is_whole(*x_) && values_ < budget_)
      check([&](const space_node& n) { return covered_.pick(n); });
    if (!covered_.is_whole(*x_))
      notes_->error(x_->where, x_->path,
                    "has more options of long sequences than can be checked: "
                    "together they may have "
                      + std::to_string(budget_) + " pieces");
  }

  /// How often a sequence went on with another piece, at the most.
  [[nodiscard]] std::size_t changes() const noexcept { return changes_; }

private:
  /// Checks all combinations if they are few, else some.
  void run_through() {
    odometer all;
    int left = checked_combinations_max;
    bool more = true;
    for (; more && left > 0 && values_ < budget_; --left) {
      check([&](const space_node& n) { return all.pick(n); });
      more = all.turn();
    }
    if (more) {
      values_ = 0;
      round_robin turns;
      for (left = checked_combinations_max; left > 0 && values_ < budget_;
           --left)
        check([&](const space_node& n) { return turns.pick(n); });
    }
    if (!more && !continuous_)
      return;
    values_ = 0;
    for (std::uint64_t i = 0; i < checked_samples && values_ < budget_; ++i)
      check([&](const space_node& n) { return draw_decision(n, 0, i); });
  }

  /// Checks the combination that `pick` decides.
  void check(const decider& pick) {
    decided_.clear();
    ++values_;
    const auto value = value_of([&](const space_node& n) {
      continuous_ = continuous_ || ways(n) == 0;
      const auto way = pick(n);
      covered_.note(n, way);
      return decided_[&n] = way;
    });
    if (checked_node_ == nullptr) // the combination has none
      return;
    if (root_->has_percentages && !root_->has_length
        && has_percentages(value)) {
      tell({},
           "has a share of a trial's steps, but the study does not say how "
           "many these are: give max_steps",
           &diagnostics::error);
      return;
    }
    for (const auto length : lengths_)
      check(value, length);
  }

  /// Checks a value in a trial of so many steps.
  void check(nlohmann::ordered_json value, step_t length) {
    length_ = length;
    ++checked_;
    if (root_->has_percentages)
      resolve_percentages(value, length);
    const auto made = make_sequence(value, length, {}, root_->typed);
    changes_ = std::max(changes_, made.value.pieces().size() - 1);
    values_ += made.value.pieces().size();
    for (const auto& x : made.errors)
      tell(x.where, x.message, &diagnostics::error);
    for (const auto& x : made.warnings)
      tell(x.where, x.message, &diagnostics::warn);
    if (made.errors.empty())
      check_values(value, made.value);
  }

  nlohmann::ordered_json value_of(const decider& pick) {
    if (name_.empty())
      return decide(*x_, pick, nullptr);
    auto trial = nlohmann::ordered_json::object();
    std::map<std::string, const space_node*> nodes;
    decide_space(*x_, pick, trial, &nodes);
    values_ += nodes.size();
    const auto checked = nodes.find(name_);
    checked_node_ = checked == nodes.end() ? nullptr : checked->second;
    if (checked_node_ == nullptr)
      return {};
    resolve_products(trial);
    return trial.at(name_);
  }

  void check_values(const nlohmann::ordered_json& value, const sequence& x) {
    const auto& pieces = x.pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto& shape = pieces[i].shape;
      const auto begin = pieces[i].begin;
      const auto last =
        (i + 1 < pieces.size() ? pieces[i + 1].begin : length_) - 1;
      // The ends of a monotone curve tell of all limits but that to integers.
      const bool integer = limits_ != nullptr && limits_->integer;
      const auto each
        = !shape.is_plateau() && (integer || !shape.is_monotone())
            ? std::min(last, begin + looked_at_max)
            : begin;
      for (auto at = begin; at <= each && values_ < 2 * budget_;
           ++at, ++values_)
        if (!check_value(value, x, shape.at(at), at))
          return;
      if (!shape.is_plateau() && !check_value(value, x, shape.at(last), last))
        return;
    }
  }

  bool check_value(const nlohmann::ordered_json& whole, const sequence& x,
                   const scalar& value, step_t at) {
    const auto* number = std::get_if<double>(&value);
    std::optional<std::string> reason;
    if (number != nullptr && std::isinf(*number)
        && x.form_at(at).type == value_type::whole)
      reason = "must be a whole number up to 2^53: begin with a number that "
               "has a point";
    else if (number != nullptr && !std::isfinite(*number))
      reason = "must be a finite number";
    else if (limits_ != nullptr)
      reason = limits_->refuses(value);
    if (!reason)
      return true;
    std::string message = *reason + ", found ";
    message += number == nullptr ? "'" + to_text(value) + "'" : to_text(value);
    if (!x.pieces().front().shape.is_plateau() || x.pieces().size() > 1)
      message += " at step " + std::to_string(at);
    if (number == nullptr)
      message += did_you_mean(to_text(value), limits_->words);
    std::vector<std::string> where;
    if (whole.is_object())
      where.push_back(whole.begin().key());
    tell(where, message, &diagnostics::error);
    return false;
  }

  using teller = void (diagnostics::*)(const mark&, const std::string&,
                                       std::string);

  /// Tells of a part of the decided value. Of what many combinations say of one
  /// place, what the first of them says is enough.
  void tell(const std::vector<std::string>& where, const std::string& message,
            teller how) {
    const auto [at, path] = locate(where);
    if (told_.emplace(path, checked_).first->second == checked_)
      (notes_->*how)(at, path,
                     lengths_.size() == 1
                       ? message
                       : message + " (in a trial of "
                           + std::to_string(length_) + " steps)");
  }

  /// Finds the part of the space that a part of the decided value came from.
  std::pair<mark, std::string>
  locate(const std::vector<std::string>& where) const {
    const auto* x = chosen(checked_node_);
    for (const auto& key : where) {
      std::size_t i = 0;
      if (x->type == space_node::kind::map)
        i = static_cast<std::size_t>(
          std::find(x->keys.begin(), x->keys.end(), key) - x->keys.begin());
      else if (x->type == space_node::kind::list)
        i = std::stoul(key);
      if (i >= x->children.size()) // of a product
        break;
      x = chosen(&x->children[i]);
    }
    return {x->where, x->path};
  }

  const space_node* chosen(const space_node* x) const {
    while (x->type == space_node::kind::choice)
      x = &x->children[decided_.at(x)];
    return x;
  }

  const space_node* x_;
  std::string name_; ///< empty: `x_` is the hyper-parameter
  const space_node* checked_node_ = nullptr; ///< in the present combination
  const space_node* root_;
  /// The shortest and the longest trial: what is right in both is right in all,
  /// as places of steps are where they are or move with the length.
  std::vector<step_t> lengths_ = shortest_and_longest(*root_);
  step_t length_ = 1; ///< of the trial that is checked
  const parameter_descriptor* limits_;
  std::size_t budget_;
  diagnostics* notes_;
  coverage covered_;
  std::unordered_map<const space_node*, std::uint64_t> decided_;
  std::map<std::string, std::size_t> told_; ///< path to combination
  std::size_t checked_ = 0; ///< combinations so far, each of every length
  std::size_t values_ = 0;
  std::size_t changes_ = 0;
  bool continuous_ = false;
};

/// The hyper-parameters that a part of a space may define, and one place where
/// it does.
using definitions = std::map<std::string, const space_node*>;

/// Adds `more` to `all`, which a trial may have at the same time.
void add(definitions& all, const definitions& more, diagnostics& notes) {
  for (const auto& [name, x] : more) {
    const auto [other, is_new] = all.emplace(name, x);
    if (!is_new)
      notes.error(x->where, x->path,
                  "a trial would have '" + name + "' twice, here and at "
                    + other->second->path);
  }
}

definitions definitions_in(const space_node& x, diagnostics& notes) {
  definitions result;
  for (std::size_t i = 0; i < x.children.size(); ++i) {
    auto inner = definitions_in(x.children[i], notes);
    if (x.type == space_node::kind::choice) {
      add(inner, definitions_in(x.brought[i], notes), notes);
      result.merge(inner); // options exclude each other
      continue;
    }
    if (x.type == space_node::kind::space)
      add(result, {{x.keys[i], &x.children[i]}}, notes);
    add(result, inner, notes);
  }
  return result;
}

/// Checks the values of every hyper-parameter in `x`, however deep.
/// @param budget of values to look at for each of them
/// @returns how often their sequences change, at the most and all together
std::size_t check_values(const space_node& x, const space_node& root,
                         const workload_descriptor* workload,
                         std::size_t budget, diagnostics& notes) {
  std::size_t changes = 0;
  for (std::size_t i = 0; i < x.children.size(); ++i) {
    const bool is_made = root.has_products && is_made_of_others(x.children[i]);
    if (x.type == space_node::kind::space && !x.children[i].is_hidden
        && (!is_made || root.is_bound)) {
      const parameter_descriptor* limits = nullptr;
      if (workload != nullptr)
        limits = &*std::find_if(
          workload->hyper_parameters.begin(), workload->hyper_parameters.end(),
          [&](const parameter_descriptor& p) { return p.name == x.keys[i]; });
      const auto run = [&](value_check check) {
        check.run();
        changes += check.changes();
      };
      if (is_made)
        run({part_that_makes(x.keys[i], root), x.keys[i], root, limits, budget,
             notes});
      else
        run({x.children[i], root, limits, budget, notes});
    }
    changes += check_values(x.children[i], root, workload, budget, notes);
    if (x.type == space_node::kind::choice)
      changes += check_values(x.brought[i], root, workload, budget, notes);
  }
  return changes;
}

} // namespace

void check_space(const space_node& root, const workload_descriptor* workload,
                 diagnostics& notes) {
  const auto names = definitions_in(root, notes).size();
  if (names > max_hyper_parameters) {
    notes.error(root.where, root.path,
                "has " + std::to_string(names) + " hyper-parameters, of which "
                  + std::to_string(max_hyper_parameters) + " are allowed");
    return;
  }
  const auto budget
    = std::clamp(all_values_max / std::max<std::size_t>(names, 1), values_min,
                 values_max);
  const auto changes
    = check_values(root, root, workload, budget, notes);
  // A trial has a stage more with each change, and each stage a form of every
  // hyper-parameter.
  if ((changes + 1) * names > trial_forms_max)
    notes.error(root.where, root.path,
                "the sequences of its " + std::to_string(names)
                  + " hyper-parameters may go on with another piece "
                  + std::to_string(trial_forms_max / names - 1)
                  + " times in all, and do up to " + std::to_string(changes));
}

} // namespace hippo
