#include "hippo/sequence/family/curve.hpp"

#include <utility>

#include "hippo/sequence/line.hpp"

namespace hippo::family {

std::vector<piece> curve(form shape, step_t length) {
  if (length == 0)
    return {};
  if (shape.a[0] == shape.a[1])
    return {{0, form::constant(shape.a[0])}};
  shape.a[2] = static_cast<double>(length);
  return {{0, std::move(shape)}};
}

std::vector<piece> ramp(double from, double to, step_t length) {
  if (length > 0 && from != to)
    if (auto line = line_between(from, to, length))
      return {{0, std::move(*line)}};
  form shape;
  shape.kind = form_kind::polynomial;
  shape.a = {from, to, 0, 1};
  return curve(std::move(shape), length);
}

std::vector<piece> half_cosine(double from, double to, step_t length) {
  form shape;
  shape.kind = form_kind::cosine;
  shape.a = {from, to};
  return curve(std::move(shape), length);
}

std::vector<piece> shifted(std::vector<piece> pieces, step_t by) {
  for (auto& x : pieces) {
    x.begin += by;
    if (!x.shape.is_plateau())
      x.shape.origin += by;
  }
  return pieces;
}

void append(std::vector<piece>& pieces, std::vector<piece> more, step_t by) {
  for (auto& x : shifted(std::move(more), by))
    pieces.push_back(std::move(x));
}

} // namespace hippo::family
