#include "hippo/sequence/family/wsd.hpp"

#include <cmath>
#include <string>

#include "hippo/base/number.hpp"
#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

namespace {

/// Returns how long it falls, of `left` steps after the warm-up.
step_t decay_of(const argument& in, step_t warmup) {
  const auto stable = in["stable"], decay = in["decay"];
  if (stable.given() == decay.given()) {
    in.error(stable.given()
               ? "has both 'stable' and 'decay': give one of them, the other "
                 "is the rest of the trial"
               : "needs 'stable' or 'decay': how many steps it stays at its "
                 "peak, or falls");
    return 0;
  }
  const auto& given = stable.given() ? stable : decay;
  const auto steps = given.good_steps(0);
  const auto all = in.steps_left();
  if (!steps || all == 0) // nothing of it is reached
    return 0;
  const auto left = all > warmup ? all - warmup : 0;
  if (*steps > left) {
    given.error("must be at most " + std::to_string(left) + ", as there are "
                + std::to_string(all) + " steps"
                + (warmup > 0 ? ", " + std::to_string(warmup)
                                  + " of them for the warm-up"
                              : "")
                + ", found " + std::to_string(*steps));
    return 0;
  }
  return stable.given() ? left - *steps : *steps;
}

/// The pieces of an exponential decay over `[0, length)`.
std::vector<piece> exponential_between(const argument& in, double from,
                                       double to, step_t length) {
  if (from <= 0 || to <= 0) {
    in["shape"].error("exponential goes between values above 0: give 'end', "
                      "found "
                      + to_text(from) + " and " + to_text(to));
    return {};
  }
  if (length == 0)
    return {};
  const auto ratio
    = canonical(std::pow(to / from, 1 / static_cast<double>(length)));
  if (ratio == 1)
    return {{0, form::constant(from)}};
  form shape;
  shape.kind = form_kind::exponential;
  shape.a = {from, ratio};
  return {{0, shape}};
}

} // namespace

std::vector<piece> wsd(const argument& in) {
  const auto peak = in["peak"].number();
  const auto from = in["from"].number_or(0);
  const auto end = in["end"].number_or(0);
  const auto warmup = in["warmup"].steps_or(0, 0);
  const auto shape
    = in["shape"].word_or("1-sqrt",
                          {"1-sqrt", "linear", "cosine", "exponential"});
  const auto decay = decay_of(in, warmup);
  auto result = ramp(from, peak, warmup);
  result.push_back({warmup, form::constant(peak)});
  std::vector<piece> fall;
  if (shape == "linear") {
    fall = ramp(peak, end, decay);
  } else if (shape == "cosine") {
    fall = half_cosine(peak, end, decay);
  } else if (shape == "exponential") {
    fall = exponential_between(in, peak, end, decay);
  } else {
    form root;
    root.kind = form_kind::square_root;
    root.a = {peak, end};
    fall = curve(std::move(root), decay);
  }
  const auto all = in.steps_left();
  append(result, std::move(fall), decay > 0 ? all - decay : warmup);
  return result;
}

} // namespace hippo::family
