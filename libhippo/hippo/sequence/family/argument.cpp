#include "hippo/sequence/family/argument.hpp"

#include <cmath>
#include <utility>

#include "hippo/base/limits.hpp"
#include "hippo/base/number.hpp"
#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

argument argument::operator[](const std::string& name) const {
  auto where = where_;
  where.push_back(name);
  const auto found = x_->find(name);
  return {found == x_->end() ? nullptr : &*found, std::move(where), place_,
          *out_};
}

std::vector<argument> argument::items() const {
  std::vector<argument> result;
  if (!given()) {
    missing();
  } else if (!x_->is_array() || x_->empty()) {
    error("must be a list with at least one item, found " + found());
  } else if (x_->size() > piece_limit) {
    error("has " + std::to_string(x_->size()) + " items, at most "
          + std::to_string(piece_limit) + " are allowed");
  } else {
    for (std::size_t i = 0; i < x_->size(); ++i) {
      auto where = where_;
      where.push_back(std::to_string(i));
      result.emplace_back(&(*x_)[i], std::move(where), place_, *out_);
    }
  }
  return result;
}

double argument::number() const {
  if (!given()) {
    missing();
    return 0;
  }
  const auto value = x_->is_number() ? x_->get<double>() : std::nan("");
  if (!std::isfinite(value)) {
    error("must be a finite number, found " + found());
    return 0;
  }
  return canonical(value);
}

double argument::number_or(double fallback) const {
  return given() ? number() : fallback;
}

double argument::initial() const {
  return !given() && place_.initial ? *place_.initial : number();
}

double argument::ratio() const {
  const auto value = number();
  if (value < 0)
    error("must be at least 0, found " + found());
  return value;
}

double argument::ratio_or(double fallback) const {
  return given() ? ratio() : fallback;
}

double argument::positive() const {
  const auto value = number();
  if (value > 0)
    return value;
  if (given() && x_->is_number())
    error("must be above 0, found " + found());
  return 1;
}

double argument::share() const {
  const auto value = number();
  if (value >= 0 && value < 1)
    return value;
  error("must be at least 0 and below 1, found " + found());
  return 0;
}

double argument::share_or(double fallback) const {
  return given() ? share() : fallback;
}

bool argument::truth_or(bool fallback) const {
  if (!given())
    return fallback;
  if (x_->is_boolean())
    return x_->get<bool>();
  error("must be true or false, found " + found());
  return fallback;
}

std::string argument::word_or(const std::string& fallback,
                              const std::vector<std::string>& known) const {
  if (!given())
    return fallback;
  if (x_->is_string()) {
    auto word = x_->get<std::string>();
    if (std::find(known.begin(), known.end(), word) != known.end())
      return word;
    error(unknown_text(where_.back(), word, known));
  } else {
    error("must be one of " + list_of(known) + ", found " + found());
  }
  return fallback;
}

std::uint64_t argument::count_or(std::uint64_t fallback, std::uint64_t least,
                                 const char* of) const {
  return given() ? whole(least, of).value_or(least) : fallback;
}

step_t argument::steps(step_t least) const {
  return good_steps(least).value_or(least);
}

std::optional<step_t> argument::good_steps(step_t least) const {
  if (!given()) {
    missing();
    return {};
  }
  return whole(least, " of steps");
}

std::optional<std::uint64_t> argument::whole(std::uint64_t least,
                                             const char* of) const {
  const auto value = x_->is_number() ? x_->get<double>() : -1;
  if (value >= static_cast<double>(least)
      && value <= static_cast<double>(step_limit) && std::floor(value) == value)
    return static_cast<step_t>(value);
  const bool is_share = x_->is_string() && found().ends_with("%'");
  error(std::string{"must be a whole number"} + of + " from "
        + std::to_string(least) + " to " + std::to_string(step_limit)
        + (is_share ? ", or a share of the trial's steps above 0 such as 12.5%"
                    : "")
        + ", found " + found());
  return {};
}

std::optional<step_t>
argument::begin_after(std::optional<step_t> before) const {
  const auto begin = good_steps(0);
  if (!begin)
    return {};
  if (!before && *begin != 0)
    error("must be 0, for the first value begins at step 0, found "
          + std::to_string(*begin));
  else if (before && *begin <= *before)
    error("must be above the begin before it, found " + std::to_string(*begin)
          + " after " + std::to_string(*before));
  return begin;
}

step_t argument::steps_or(step_t fallback, step_t least) const {
  return given() ? steps(least) : fallback;
}

form argument::plateau() const {
  if (place_.typed)
    return typed_plateau();
  if (x_->is_string())
    return form::text(x_->get<std::string>());
  if (x_->is_boolean())
    return form::constant(x_->get<bool>() ? 1 : 0);
  if (x_->is_number())
    return form::constant(number());
  refuse_plateau();
  return form::constant(0);
}

form argument::typed_plateau() const {
  if (x_->is_string())
    return form::text(x_->get<std::string>());
  if (x_->is_boolean())
    return form::truth(x_->get<bool>());
  if (x_->is_number_float())
    return form::constant(number());
  if (x_->is_number() && std::abs(x_->get<double>()) < whole_limit)
    return form::whole(x_->get<double>());
  const bool never_changes
    = where_.empty() || where_ == std::vector<std::string>{"constant"};
  if (!never_changes) {
    refuse_plateau();
    return form::constant(0);
  }
  // Equal maps have equal texts, in whatever order they were written.
  auto text = nlohmann::json(*x_).dump();
  if (text.size() > max_text_bytes)
    error("comes to " + std::to_string(text.size())
          + " bytes as JSON, of which " + std::to_string(max_text_bytes)
          + " are allowed");
  return form::json(std::move(text));
}

void argument::refuse_plateau() const {
  constexpr std::size_t shown_max = 60;
  std::string help;
  if (x_->is_array() && x_->size() > 1) {
    const auto list = x_->dump();
    help = "; one of several is {choice: "
           + (list.size() <= shown_max ? list : "[...]")
           + "}, a range {uniform: [low, high]}";
  }
  error("must be a number or a word, found " + found() + help);
}

std::vector<piece> argument::sequence_from(step_t begin, double initial) const {
  auto inner = *this;
  inner.place_.begin += begin;
  inner.place_.initial = initial;
  return shifted(inner.sequence(), begin);
}

std::vector<piece>
argument::sequence_between(step_t begin, std::optional<step_t> end) const {
  auto inner = *this;
  if (begin > 0) // else what came before it may have been said
    inner.place_.initial.reset();
  if (end)
    inner.place_.end = std::min(place_.end, place_.begin + *end);
  inner.place_.begin += begin;
  auto result = shifted(inner.sequence(), begin);
  std::erase_if(result,
                [&](const piece& x) { return end && x.begin >= *end; });
  return result;
}

std::vector<observation> argument::responses() const {
  out_->responsive = true;
  std::vector<observation> result;
  for (auto x : place_.observed->values)
    if (x.at > place_.begin) {
      x.at -= place_.begin;
      result.push_back(x);
    }
  return result;
}

void argument::error(std::string message) const {
  out_->errors.push_back({where_, std::move(message)});
}

void argument::warn_unless_reached(step_t begin) const {
  // What lies within something that is not reached needs no word of its own.
  if (steps_left() > 0 && begin >= steps_left())
    out_->warnings.push_back(
      {where_, "is never reached, "
                 + (place_.end < place_.max_steps
                      ? "another sequence begins at step "
                          + std::to_string(place_.end)
                      : "training ends at step "
                          + std::to_string(place_.max_steps))});
}

std::string argument::found() const {
  if (x_->is_object())
    return "a map";
  if (x_->is_array())
    return x_->empty() ? "an empty list" : "a list";
  if (x_->is_string())
    return "'" + x_->get<std::string>() + "'";
  if (x_->is_number())
    return to_text(x_->get<double>());
  return x_->dump();
}

void argument::missing() const {
  auto parent = where_;
  parent.pop_back();
  out_->errors.push_back(
    {std::move(parent), "'" + where_.back() + "' is missing"});
}

} // namespace hippo::family
