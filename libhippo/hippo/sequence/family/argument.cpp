#include "hippo/sequence/family/argument.hpp"

#include <cmath>
#include <utility>

#include "hippo/core/number.hpp"

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

step_t argument::steps(step_t least) const {
  return good_steps(least).value_or(least);
}

std::optional<step_t> argument::good_steps(step_t least) const {
  if (!given()) {
    missing();
    return {};
  }
  const auto value = x_->is_number() ? x_->get<double>() : -1;
  if (value >= static_cast<double>(least)
      && value <= static_cast<double>(step_limit) && std::floor(value) == value)
    return static_cast<step_t>(value);
  error("must be a whole number of steps from " + std::to_string(least) + " to "
        + std::to_string(step_limit) + ", found " + found());
  return {};
}

step_t argument::steps_or(step_t fallback, step_t least) const {
  return given() ? steps(least) : fallback;
}

form argument::plateau() const {
  if (x_->is_string())
    return form::text(x_->get<std::string>());
  if (x_->is_boolean())
    return form::constant(x_->get<bool>() ? 1 : 0);
  if (x_->is_number())
    return form::constant(number());
  error("must be a number or a word, found " + found());
  return form::constant(0);
}

std::vector<piece> argument::sequence_from(step_t begin, double initial) const {
  auto inner = *this;
  inner.place_.begin += begin;
  inner.place_.initial = initial;
  auto result = inner.sequence();
  for (auto& x : result) {
    x.begin += begin;
    if (!x.shape.is_plateau())
      x.shape.origin += begin;
  }
  return result;
}

void argument::error(std::string message) const {
  out_->errors.push_back({where_, std::move(message)});
}

void argument::warn_unless_reached(step_t begin) const {
  // What lies within something that is not reached needs no word of its own.
  if (steps_left() > 0 && begin >= steps_left())
    out_->warnings.push_back({where_, "is never reached, training ends at step "
                                        + std::to_string(place_.max_steps)});
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
