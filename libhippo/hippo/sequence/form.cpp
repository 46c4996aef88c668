#include "hippo/sequence/form.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/sequence/line.hpp"

namespace hippo {

namespace {

double polynomial(double t, double from, double to, double steps,
                  double power) {
  if (power == 1)
    return from + (to - from) * t / steps;
  return to + (from - to) * std::pow(1 - t / steps, power);
}

double half_cosine(double t, double from, double to, double steps) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * t / steps)) / 2;
}

double reflected_exponential(double t, double from, double to, double steps,
                             double beta) {
  const auto p = t / steps;
  return to + (from - to) * (1 - p) / (1 - beta * p);
}

double square_root(double t, double from, double to, double steps) {
  return to + (from - to) * (1 - std::sqrt(t / steps));
}

double fading_ramp(double t, const std::array<double, 5>& a) {
  const auto share = (t - a[3]) / (a[4] - a[3]);
  return a[0] + (a[1] - a[0]) * share * std::pow(a[2], t);
}

/// Whether a word can stand in a text without quotes, i.e. cannot be taken for
/// a number or for what comes around it.
bool is_bare(const std::string& word) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !word.empty() && is_letter(word[0]) && word != "inf" && word != "nan"
         && std::all_of(word.begin(), word.end(), [&](char c) {
              return is_letter(c) || (c >= '0' && c <= '9') || c == '.'
                     || c == '-';
            });
}

std::string quoted(const std::string& word) {
  std::string result = "\"";
  for (char c : word) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

/// Renders `name(a[0],a[1],...)@origin` with the first `count` of `a`.
std::string call(const char* name, const form& x, std::size_t count) {
  std::string result = name;
  for (std::size_t i = 0; i < count; ++i)
    result += (i == 0 ? "(" : ",") + to_text(x.a[i]);
  return result + ")@" + std::to_string(x.origin);
}

/// What a type puts in front of a form's text.
const char* mark_of(value_type x) {
  switch (x) {
    case value_type::plain: return "";
    case value_type::whole: return "int:";
    case value_type::truth: return "bool:";
    case value_type::json: return "json:";
  }
  return "";
}

} // namespace

form form::constant(double value) {
  form result;
  result.a[0] = canonical(value);
  return result;
}

form form::text(std::string word) {
  form result;
  result.kind = form_kind::text;
  result.word = std::move(word);
  return result;
}

form form::whole(double value) {
  assert(std::trunc(value) == value);
  form result;
  result.a[0] = value + 0.0; // drops the sign of -0
  result.type = value_type::whole;
  return result;
}

form form::truth(bool value) {
  form result;
  result.a[0] = value ? 1 : 0;
  result.type = value_type::truth;
  return result;
}

form form::json(std::string text) {
  auto result = form::text(std::move(text));
  result.type = value_type::json;
  return result;
}

form form::plateau_at(step_t step) const {
  if (is_plateau())
    return *this;
  form result;
  result.a[0] = std::get<double>(at(step));
  result.type = type;
  return result;
}

bool form::agrees_with(const form& other, step_t step) const {
  return type == other.type && at(step) == other.at(step);
}

scalar form::at(step_t step) const {
  switch (kind) {
    case form_kind::constant:
      return a[0];
    case form_kind::text:
      return word;
    case form_kind::line:
      return line_at(*this, step);
    default:
      return type == value_type::whole ? exact_at(step)
                                       : canonical(exact_at(step));
  }
}

double form::exact_at(step_t step) const {
  assert(step >= origin);
  const auto t = static_cast<double>(step - origin);
  switch (kind) {
    case form_kind::constant:
      return a[0];
    case form_kind::text:
      break;
    case form_kind::exponential:
      return type == value_type::whole
               ? whole_power(a[0], a[1], step - origin)
               : a[0] * std::pow(a[1], t);
    case form_kind::polynomial:
      return t < a[2] ? polynomial(t, a[0], a[1], a[2], a[3]) : a[1];
    case form_kind::cosine:
      return t < a[2] ? half_cosine(t, a[0], a[1], a[2]) : a[1];
    case form_kind::line:
      return unrounded_line_at(*this, step);
    case form_kind::rex:
      return t < a[2] ? reflected_exponential(t, a[0], a[1], a[2], a[3])
                      : a[1];
    case form_kind::fading_ramp:
      return fading_ramp(std::min(t, std::max(a[3], a[4])), a);
    case form_kind::square_root:
      return t < a[2] ? square_root(t, a[0], a[1], a[2]) : a[1];
    case form_kind::inverse_root:
      return a[0] / std::sqrt(1 + t / a[1]);
  }
  assert(false && "a word, or a kind that this version does not know");
  return a[0];
}

step_t form::end() const noexcept {
  constexpr auto never = std::numeric_limits<step_t>::max();
  double length = 0;
  switch (kind) {
    case form_kind::polynomial:
    case form_kind::cosine:
    case form_kind::rex:
    case form_kind::square_root:
      length = a[2];
      break;
    case form_kind::fading_ramp:
      length = std::max(a[3], a[4]);
      break;
    default:
      return never;
  }
  return length < 1e18 ? origin + static_cast<step_t>(length) + 1 : never;
}

std::string quoted_if_needed(const std::string& word) {
  return is_bare(word) ? word : quoted(word);
}

double whole_power(double first, double ratio, std::uint64_t count) {
  if (first == 0 || ratio == 1 || count == 0)
    return first;
  if (ratio == 0)
    return 0;
  if (ratio == -1)
    return count % 2 == 0 ? first : -first;
  for (; count > 0 && std::abs(first) <= whole_limit; --count)
    first *= ratio;
  return std::abs(first) <= whole_limit
           ? first
           : std::copysign(std::numeric_limits<double>::infinity(), first);
}

std::string shown_text(const form& form) {
  switch (form.type) {
    case value_type::truth:
      return form.a[0] != 0 ? "true" : "false";
    case value_type::json:
      return form.word;
    default:
      return to_text(form).substr(std::strlen(mark_of(form.type)));
  }
}

std::string to_text(const form& form) {
  if (form.type != value_type::plain) {
    auto unmarked = form;
    unmarked.type = value_type::plain;
    return mark_of(form.type)
           + (form.kind == form_kind::text ? quoted(form.word)
                                           : to_text(unmarked));
  }
  switch (form.kind) {
    case form_kind::constant:
      return to_text(form.a[0]);
    case form_kind::text:
      return quoted_if_needed(form.word);
    case form_kind::exponential:
      return call("exp", form, 2);
    case form_kind::polynomial:
      return call("poly", form, 4);
    case form_kind::cosine:
      return call("cos", form, 3);
    case form_kind::line:
      return call("line", form, 3);
    case form_kind::rex:
      return call("rex", form, 4);
    case form_kind::fading_ramp:
      return call("fade", form, 5);
    case form_kind::square_root:
      return call("sqrt", form, 3);
    case form_kind::inverse_root:
      return call("rsqrt", form, 2);
  }
  assert(false && "a kind that this version does not know");
  return {};
}

} // namespace hippo
