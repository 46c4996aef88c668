#include "hippo/sequence/family/inverse_sqrt.hpp"

#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

namespace {

/// As in Transformers' get_inverse_sqrt_schedule.
constexpr double scale_without_warmup = 10'000;

} // namespace

std::vector<piece> inverse_sqrt(const argument& in) {
  const auto peak = in["peak"].number();
  const auto warmup = in["warmup"].steps_or(0, 0);
  auto result = ramp(0, peak, warmup);
  form shape = form::constant(0);
  if (peak != 0) {
    shape.kind = form_kind::inverse_root;
    shape.a = {peak, warmup > 0 ? static_cast<double>(warmup)
                                : scale_without_warmup};
  }
  append(result, {{0, shape}}, warmup);
  return result;
}

} // namespace hippo::family
