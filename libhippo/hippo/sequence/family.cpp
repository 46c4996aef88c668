#include "hippo/sequence/family.hpp"

#include <algorithm>
#include <utility>

#include "hippo/core/nearest.hpp"
#include "hippo/sequence/canonical_form.hpp"
#include "hippo/sequence/family/argument.hpp"
#include "hippo/sequence/family/constant.hpp"
#include "hippo/sequence/family/cosine.hpp"
#include "hippo/sequence/family/cyclic.hpp"
#include "hippo/sequence/family/exponential.hpp"
#include "hippo/sequence/family/linear.hpp"
#include "hippo/sequence/family/multistep.hpp"
#include "hippo/sequence/family/one_cycle.hpp"
#include "hippo/sequence/family/piecewise.hpp"
#include "hippo/sequence/family/polynomial.hpp"
#include "hippo/sequence/family/reduce_on_plateau.hpp"
#include "hippo/sequence/family/rex.hpp"
#include "hippo/sequence/family/step.hpp"
#include "hippo/sequence/family/warmup.hpp"

namespace hippo {

namespace {

struct family_entry {
  std::string name;
  /// What its map may hold; empty: its parameters are no map.
  std::vector<std::string> parameters;
  std::vector<piece> (*make)(const family::argument&);
};

/// Every family, sorted by name.
const std::vector<family_entry>& families() {
  static const std::vector<family_entry> table{
    {"constant", {}, family::constant},
    {"cosine", {"initial", "end", "horizon"}, family::cosine},
    {"cosine_restarts",
     {"initial", "end", "period", "multiplier"},
     family::cosine_restarts},
    {"cyclic",
     {"low", "high", "up", "down", "mode", "gamma"},
     family::cyclic},
    {"exponential", {"initial", "gamma", "every"}, family::exponential},
    {"linear", {"from", "to", "horizon"}, family::linear},
    {"multistep", {"initial", "milestones", "gamma"}, family::multistep},
    {"one_cycle",
     {"max", "horizon", "rise", "initial", "end", "anneal", "three_phase"},
     family::one_cycle},
    {"piecewise", {}, family::piecewise},
    {"polynomial",
     {"initial", "end", "horizon", "power"},
     family::polynomial},
    {"reduce_on_plateau",
     {"initial", "factor", "patience", "threshold", "threshold_mode",
      "cooldown", "min", "epsilon"},
     family::reduce_on_plateau},
    {"rex", {"initial", "end", "horizon", "beta"}, family::rex},
    {"step", {"initial", "size", "gamma"}, family::step},
    {"warmup", {"steps", "from", "to", "then"}, family::warmup},
  };
  return table;
}

const std::vector<piece> nothing{{0, form::constant(0)}};

} // namespace

const std::vector<std::string>& family_names() {
  static const auto names = [] {
    std::vector<std::string> result;
    for (const auto& x : families())
      result.push_back(x.name);
    return result;
  }();
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

std::string unknown_text(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known) {
  const auto guess = did_you_mean(name, known);
  return "unknown " + what + " '" + name + "'" + (guess.empty() ? "." : guess)
         + " Allowed: " + list_of(known);
}

std::vector<piece> family::argument::sequence() const {
  if (!x_->is_object())
    return {{0, plateau()}};
  if (x_->size() != 1) {
    error("must be a number, a word or a map with one key that names a "
          "sequence, found a map with "
          + std::to_string(x_->size()) + " keys");
    return nothing;
  }
  const auto& name = x_->begin().key();
  const auto known =
    std::find_if(families().begin(), families().end(),
                 [&](const family_entry& x) { return x.name == name; });
  const auto body = (*this)[name];
  if (known == families().end()) {
    body.error(unknown_text("sequence", name, family_names()));
    return nothing;
  }
  if (!known->parameters.empty()) {
    if (!body.x_->is_object()) {
      body.error("must be a map of " + list_of(known->parameters) + ", found "
                 + body.found());
      return nothing;
    }
    for (const auto& [key, value] : body.x_->items())
      if (std::find(known->parameters.begin(), known->parameters.end(), key)
          == known->parameters.end())
        body[key].error(
          unknown_text("parameter of " + name, key, known->parameters));
  }
  return known->make(body);
}

made_sequence make_sequence(const nlohmann::ordered_json& x, step_t max_steps,
                            const observations& observed, bool typed) {
  made_sequence out;
  const family::argument whole{
    &x, {}, {0, max_steps, typed, {}, &observed}, out};
  const auto is_late = [max_steps](const piece& part) {
    return part.begin >= max_steps;
  };
  auto pieces = whole.sequence();
  std::erase_if(pieces, is_late);
  pieces = canonical_form(std::move(pieces));
  std::erase_if(pieces, is_late);
  out.value = sequence(std::move(pieces));
  return out;
}

} // namespace hippo
