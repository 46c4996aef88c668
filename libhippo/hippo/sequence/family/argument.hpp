#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/types.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo::family {

/// Where the sequence that is being made lies in its trial.
struct place {
  step_t begin = 0;     ///< the trial's step that is the sequence's step 0
  step_t end = 1;       ///< the trial's step at which another one follows
  step_t max_steps = 1; ///< of the trial
  /// Whether code is given values by their types; else numbers and words.
  bool typed = false;
  /// The value that the sequence starts from unless it says otherwise: what a
  /// warm-up has reached.
  std::optional<double> initial;
  /// The measurements of the trial; never null.
  const observations* observed = nullptr;
};

/// A value among a family's parameters, or the lack of it.
///
/// Missing and wrong values are noted in `made_sequence`; the caller continues
/// with a harmless value, so that all errors are found in one go.
class argument {
public:
  using json = nlohmann::ordered_json;

  argument(const json* document, std::vector<std::string> where, place at,
           made_sequence& out)
    : x_(document), where_(std::move(where)), place_(std::move(at)),
      out_(&out) {}

  [[nodiscard]] bool given() const noexcept { return x_ != nullptr; }

  /// Returns the parameter `name`. REQUIRES: this is an object.
  [[nodiscard]] argument operator[](const std::string& name) const;

  /// Returns the items of a list of 1 to `piece_limit` items.
  [[nodiscard]] std::vector<argument> items() const;

  /// Returns a finite number in canonical form.
  [[nodiscard]] double number() const;
  [[nodiscard]] double number_or(double fallback) const;

  /// Returns whether a number that is here is a whole one for the code.
  [[nodiscard]] bool is_whole() const {
    return place_.typed && given() && x_->is_number_integer();
  }

  /// Returns the number that a sequence starts with; within a warm-up it may be
  /// left out.
  [[nodiscard]] double initial() const;

  /// Returns whether a warm-up came before: `initial()` may be left out.
  [[nodiscard]] bool starts_from_something() const noexcept {
    return place_.initial.has_value();
  }

  /// Returns the ratio of a decay, at least 0.
  [[nodiscard]] double ratio() const;
  [[nodiscard]] double ratio_or(double fallback) const;

  /// Returns a number above 0.
  [[nodiscard]] double positive() const;

  /// Returns a number from 0 to 1, without 1.
  [[nodiscard]] double share() const;
  [[nodiscard]] double share_or(double fallback) const;

  [[nodiscard]] bool truth_or(bool fallback) const;

  /// Returns one of the words `known`.
  [[nodiscard]] std::string
  word_or(const std::string& fallback,
          const std::vector<std::string>& known) const;

  /// Returns a whole number from `least` to `step_limit`.
  /// @param of what is counted, for messages: ` of steps`
  [[nodiscard]] std::uint64_t count_or(std::uint64_t fallback,
                                       std::uint64_t least,
                                       const char* of) const;

  /// Returns a number of steps from `least` to `step_limit`.
  [[nodiscard]] step_t steps(step_t least) const;
  /// The same, but nothing where the value is missing or wrong.
  [[nodiscard]] std::optional<step_t> good_steps(step_t least) const;
  /// The same of the place at which an item of a list begins: the first at 0,
  /// each other after the one before.
  [[nodiscard]] std::optional<step_t>
  begin_after(std::optional<step_t> before) const;
  [[nodiscard]] step_t steps_or(step_t fallback, step_t least) const;

  /// Returns a number or a word as a form; of what code is given by its type
  /// anything, if it is the whole sequence.
  [[nodiscard]] form plateau() const;

  /// Returns the pieces of a whole sequence that begins at this sequence's step
  /// `begin`, after `initial` was reached. Their steps are this sequence's.
  [[nodiscard]] std::vector<piece> sequence_from(step_t begin,
                                                 double initial) const;

  /// Returns the pieces of a whole sequence that rules from this sequence's
  /// step `begin` until before its step `end`; no end: as long as this one.
  /// Their steps are this sequence's.
  [[nodiscard]] std::vector<piece>
  sequence_between(step_t begin, std::optional<step_t> end) const;

  /// Returns the pieces of a whole sequence.
  [[nodiscard]] std::vector<piece> sequence() const;

  /// Returns how many steps there are for this sequence until another one
  /// follows or the trial ends.
  [[nodiscard]] step_t steps_left() const noexcept {
    const auto end = std::min(place_.end, place_.max_steps);
    return place_.begin < end ? end - place_.begin : 0;
  }

  /// Returns what was measured after this sequence's step 0, and notes that the
  /// sequence depends on it.
  [[nodiscard]] std::vector<observation> responses() const;
  [[nodiscard]] direction better() const { return place_.observed->better; }

  void error(std::string message) const;

  /// Warns if this sequence's step `begin`, at which this value would count, is
  /// past the trial's last step.
  void warn_unless_reached(step_t begin) const;

private:
  [[nodiscard]] std::optional<std::uint64_t> whole(std::uint64_t least,
                                                   const char* of) const;
  [[nodiscard]] form typed_plateau() const;
  void refuse_plateau() const;
  [[nodiscard]] std::string found() const;
  void missing() const;

  const json* x_;
  std::vector<std::string> where_;
  place place_;
  made_sequence* out_;
};

} // namespace hippo::family
