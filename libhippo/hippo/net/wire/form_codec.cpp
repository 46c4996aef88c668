#include "hippo/net/wire/form_codec.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "hippo/base/limits.hpp"
#include "hippo/net/wire/codec.hpp"

namespace hippo {

namespace {

schema::FormKind to_schema(form_kind kind) {
  switch (kind) {
    case form_kind::constant: return schema::FormKind::CONSTANT;
    case form_kind::text: return schema::FormKind::TEXT;
    case form_kind::exponential: return schema::FormKind::EXPONENTIAL;
    case form_kind::polynomial: return schema::FormKind::POLYNOMIAL;
    case form_kind::cosine: return schema::FormKind::COSINE;
    case form_kind::line: return schema::FormKind::LINE;
    case form_kind::rex: return schema::FormKind::REX;
    case form_kind::fading_ramp: return schema::FormKind::FADING_RAMP;
    case form_kind::square_root: return schema::FormKind::SQUARE_ROOT;
    case form_kind::inverse_root: return schema::FormKind::INVERSE_ROOT;
  }
  return schema::FormKind::UNSET;
}

bool from_schema(schema::FormKind in, form_kind& out) {
  switch (in) {
    case schema::FormKind::UNSET: return false;
    case schema::FormKind::CONSTANT: out = form_kind::constant; return true;
    case schema::FormKind::TEXT: out = form_kind::text; return true;
    case schema::FormKind::EXPONENTIAL:
      out = form_kind::exponential;
      return true;
    case schema::FormKind::POLYNOMIAL:
      out = form_kind::polynomial;
      return true;
    case schema::FormKind::COSINE: out = form_kind::cosine; return true;
    case schema::FormKind::LINE: out = form_kind::line; return true;
    case schema::FormKind::REX: out = form_kind::rex; return true;
    case schema::FormKind::FADING_RAMP:
      out = form_kind::fading_ramp;
      return true;
    case schema::FormKind::SQUARE_ROOT:
      out = form_kind::square_root;
      return true;
    case schema::FormKind::INVERSE_ROOT:
      out = form_kind::inverse_root;
      return true;
  }
  return false; // a kind of a newer peer
}

bool from_schema(schema::ValueType in, value_type& out) {
  switch (in) {
    case schema::ValueType::PLAIN: out = value_type::plain; return true;
    case schema::ValueType::WHOLE: out = value_type::whole; return true;
    case schema::ValueType::TRUTH: out = value_type::truth; return true;
    case schema::ValueType::JSON: out = value_type::json; return true;
  }
  return false; // a type of a newer peer
}

/// Whether a form's values are of its type.
bool get_type(const form& x, complaint& why) {
  const auto* what = "a form";
  const bool is_constant = x.kind == form_kind::constant;
  switch (x.type) {
    case value_type::plain:
      return true;
    case value_type::whole:
      return why.require(is_constant || x.kind == form_kind::exponential, what,
                         "is whole and cannot be")
             && why.require(std::all_of(x.a.begin(), x.a.end(),
                                        [](double a) {
                                          return std::trunc(a) == a
                                                 && std::abs(a) <= whole_limit;
                                        }),
                            what, "is whole and has a fraction");
    case value_type::truth:
      return why.require(is_constant && (x.a[0] == 0 || x.a[0] == 1), what,
                         "is neither true nor false");
    case value_type::json:
      return why.require(x.kind == form_kind::text
                           && nlohmann::json::accept(x.word),
                         what, "is no JSON");
  }
  return true;
}

/// How many of `form::a` a kind uses.
std::size_t numbers_of(form_kind kind) {
  switch (kind) {
    case form_kind::constant: return 1;
    case form_kind::text: return 0;
    case form_kind::exponential: return 2;
    case form_kind::polynomial: return 4;
    case form_kind::cosine: return 3;
    case form_kind::line: return 3;
    case form_kind::rex: return 4;
    case form_kind::fading_ramp: return 5;
    case form_kind::square_root: return 3;
    case form_kind::inverse_root: return 2;
  }
  return 0;
}

/// Whether the numbers of a form of that kind give a value at every step.
bool get_shape(const form& x, complaint& why) {
  const auto* what = "a form";
  switch (x.kind) {
    case form_kind::constant:
    case form_kind::text:
    case form_kind::exponential:
      return true;
    case form_kind::polynomial:
    case form_kind::cosine:
    case form_kind::square_root:
      return why.require(x.a[2] > 0, what, "has no length");
    case form_kind::inverse_root:
      return why.require(x.a[1] > 0, what, "has no scale");
    case form_kind::line:
      return why.require(x.a[2] >= 1 && std::floor(x.a[2]) == x.a[2], what,
                         "rises in no whole number of steps");
    case form_kind::rex:
      return why.require(x.a[2] > 0, what, "has no length")
             && why.require(x.a[3] >= 0 && x.a[3] < 1, what,
                            "has a beta out of range");
    case form_kind::fading_ramp:
      return why.require(x.a[3] != x.a[4], what, "has no length")
             && why.require(x.a[3] >= 0 && x.a[4] >= 0, what,
                            "begins before its origin")
             && why.require(x.a[2] >= 0, what, "has a negative ratio");
  }
  return true;
}

} // namespace

schema::ValueType to_schema(value_type type) {
  switch (type) {
    case value_type::plain: return schema::ValueType::PLAIN;
    case value_type::whole: return schema::ValueType::WHOLE;
    case value_type::truth: return schema::ValueType::TRUTH;
    case value_type::json: return schema::ValueType::JSON;
  }
  return schema::ValueType::PLAIN;
}

void put_form(schema::Form::Builder out, const form& form) {
  out.setKind(to_schema(form.kind));
  out.setType(to_schema(form.type));
  out.setOrigin(form.origin);
  if (!form.word.empty())
    out.setWord(form.word);
  auto used = form.a.size();
  while (used > 0 && form.a[used - 1] == 0)
    --used; // most forms are constants: do not carry their zeros
  auto numbers = out.initNumbers(static_cast<unsigned>(used));
  for (unsigned i = 0; i < numbers.size(); ++i)
    numbers.set(i, form.a[i]);
}

bool get_form(schema::Form::Reader in, form& out, complaint& why) {
  const auto* what = "a form";
  if (!why.require(from_schema(in.getKind(), out.kind), what,
                   "is of an unknown kind")
      || !why.require(from_schema(in.getType(), out.type), what,
                      "is of an unknown type")
      || !why.require(in.getOrigin() <= max_step, "a form's origin",
                      "is beyond the last step"))
    return false;
  out.origin = in.getOrigin();
  const auto word = in.getWord();
  out.word = {word.cStr(), word.size()};
  if (const auto refused = refused_text(out.word, max_text_bytes))
    return why.require(false, "a word", *refused);
  const auto numbers = in.getNumbers();
  if (!why.require(numbers.size() <= numbers_of(out.kind), what,
                   "has too many numbers"))
    return false;
  std::copy(numbers.begin(), numbers.end(), out.a.begin());
  const bool placed
    = out.kind != form_kind::constant && out.kind != form_kind::text;
  return why.require(std::all_of(out.a.begin(), out.a.end(),
                                 [](double a) { return std::isfinite(a); }),
                     what, "has a number that is not finite")
         && why.require(placed || out.origin == 0, what,
                        "that does not depend on the step has an origin")
         && get_shape(out, why) && get_type(out, why)
         && why.require(out.kind == form_kind::text || out.word.empty(), what,
                        "of numbers has a word");
}

} // namespace hippo
