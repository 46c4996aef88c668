#include "hippo/space/space_check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "hippo/core/nearest.hpp"
#include "hippo/core/number.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo {

namespace {

/// How many steps of a curve are looked at where its ends do not tell all: if
/// the values of so many are whole, all are.
constexpr step_t looked_at_max = 10'000;

/// The most values to look at for one hyper-parameter: a bound on time.
constexpr std::size_t values_max = 2'000'000;

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

/// Checks the values of one hyper-parameter.
class value_check {
public:
  value_check(const space_node& x, step_t max_steps,
              const parameter_descriptor* limits, diagnostics& notes)
    : x_(&x), max_steps_(max_steps), limits_(limits), notes_(&notes) {}

  void run() {
    odometer all;
    int left = checked_combinations_max;
    bool more = true;
    for (; more && left > 0 && values_ < values_max; --left) {
      check([&](const space_node& n) { return all.pick(n); });
      more = all.turn();
    }
    if (more) {
      values_ = 0;
      round_robin turns;
      for (left = checked_combinations_max; left > 0 && values_ < values_max;
           --left)
        check([&](const space_node& n) { return turns.pick(n); });
    }
    if (!more && !continuous_)
      return;
    values_ = 0;
    for (std::uint64_t i = 0; i < checked_samples && values_ < values_max; ++i)
      check([&](const space_node& n) { return draw_decision(n, 0, i); });
  }

private:
  /// Checks the combination that `pick` decides.
  void check(const decider& pick) {
    decided_.clear();
    ++checked_;
    const auto value = decide(
      *x_,
      [&](const space_node& n) {
        continuous_ = continuous_ || ways(n) == 0;
        return decided_[&n] = pick(n);
      },
      nullptr);
    const auto made = make_sequence(value, max_steps_);
    values_ += 1 + made.value.pieces().size();
    for (const auto& x : made.errors)
      tell(x.where, x.message, &diagnostics::error);
    for (const auto& x : made.warnings)
      tell(x.where, x.message, &diagnostics::warn);
    if (made.errors.empty())
      check_values(value, made.value);
  }

  void check_values(const nlohmann::ordered_json& value, const sequence& x) {
    const auto& pieces = x.pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto& shape = pieces[i].shape;
      const auto begin = pieces[i].begin;
      const auto last =
        (i + 1 < pieces.size() ? pieces[i + 1].begin : max_steps_) - 1;
      // The ends of a monotone curve tell of all limits but that to integers.
      const bool integer = limits_ != nullptr && limits_->integer;
      const auto each
        = !shape.is_plateau() && (integer || !shape.is_monotone())
            ? std::min(last, begin + looked_at_max)
            : begin;
      for (auto at = begin; at <= each; ++at, ++values_)
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
    if (number != nullptr && !std::isfinite(*number))
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
      (notes_->*how)(at, path, message);
  }

  /// Finds the part of the space that a part of the decided value came from.
  std::pair<mark, std::string>
  locate(const std::vector<std::string>& where) const {
    const auto* x = chosen(x_);
    for (const auto& key : where) {
      std::size_t i = 0;
      if (x->type == space_node::kind::map)
        i = static_cast<std::size_t>(
          std::find(x->keys.begin(), x->keys.end(), key) - x->keys.begin());
      else if (x->type == space_node::kind::list)
        i = std::stoul(key);
      x = chosen(&x->children.at(i));
    }
    return {x->where, x->path};
  }

  const space_node* chosen(const space_node* x) const {
    while (x->type == space_node::kind::choice)
      x = &x->children[decided_.at(x)];
    return x;
  }

  const space_node* x_;
  step_t max_steps_;
  const parameter_descriptor* limits_;
  diagnostics* notes_;
  std::unordered_map<const space_node*, std::uint64_t> decided_;
  std::map<std::string, std::size_t> told_; ///< path to combination
  std::size_t checked_ = 0;                 ///< combinations so far
  std::size_t values_ = 0;
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
void check_values(const space_node& x, step_t max_steps,
                  const workload_descriptor* workload, diagnostics& notes) {
  for (std::size_t i = 0; i < x.children.size(); ++i) {
    if (x.type == space_node::kind::space) {
      const parameter_descriptor* limits = nullptr;
      if (workload != nullptr)
        limits = &*std::find_if(
          workload->hyper_parameters.begin(), workload->hyper_parameters.end(),
          [&](const parameter_descriptor& p) { return p.name == x.keys[i]; });
      value_check{x.children[i], max_steps, limits, notes}.run();
    }
    check_values(x.children[i], max_steps, workload, notes);
    if (x.type == space_node::kind::choice)
      check_values(x.brought[i], max_steps, workload, notes);
  }
}

} // namespace

void check_space(const space_node& root, const workload_descriptor* workload,
                 diagnostics& notes) {
  definitions_in(root, notes);
  check_values(root, root.max_steps, workload, notes);
}

} // namespace hippo
