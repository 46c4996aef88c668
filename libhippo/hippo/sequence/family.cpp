#include "hippo/sequence/family.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/sequence/canonical_form.hpp"
#include "hippo/sequence/family/argument.hpp"
#include "hippo/sequence/family/constant.hpp"
#include "hippo/sequence/family/cosine.hpp"
#include "hippo/sequence/family/cyclic.hpp"
#include "hippo/sequence/family/exponential.hpp"
#include "hippo/sequence/family/inverse_sqrt.hpp"
#include "hippo/sequence/family/join.hpp"
#include "hippo/sequence/family/linear.hpp"
#include "hippo/sequence/family/multistep.hpp"
#include "hippo/sequence/family/one_cycle.hpp"
#include "hippo/sequence/family/piecewise.hpp"
#include "hippo/sequence/family/polynomial.hpp"
#include "hippo/sequence/family/reduce_on_plateau.hpp"
#include "hippo/sequence/family/rex.hpp"
#include "hippo/sequence/family/step.hpp"
#include "hippo/sequence/family/warmup.hpp"
#include "hippo/sequence/family/wsd.hpp"
#include "hippo/sequence/percentage.hpp"

namespace hippo {

namespace {

struct family_entry {
  std::string name;
  /// What its map may hold; empty: its parameters are no map.
  std::vector<std::string> parameters;
  std::vector<piece> (*make)(const family::argument&);
  /// Which of these are counts or places of steps, or lists of such.
  std::vector<std::string> steps{};
};

/// Every family, sorted by name.
const std::vector<family_entry>& families() {
  static const std::vector<family_entry> table{
    {"constant", {}, family::constant},
    {"cosine", {"initial", "end", "horizon"}, family::cosine, {"horizon"}},
    {"cosine_restarts",
     {"initial", "end", "period", "multiplier"},
     family::cosine_restarts,
     {"period"}},
    {"cyclic",
     {"low", "high", "up", "down", "mode", "gamma"},
     family::cyclic,
     {"up", "down"}},
    {"exponential",
     {"initial", "gamma", "every"},
     family::exponential,
     {"every"}},
    {"inverse_sqrt", {"peak", "warmup"}, family::inverse_sqrt, {"warmup"}},
    {"join", {}, family::join},
    {"linear", {"from", "to", "horizon"}, family::linear, {"horizon"}},
    {"multistep",
     {"initial", "milestones", "gamma"},
     family::multistep,
     {"milestones"}},
    {"one_cycle",
     {"max", "horizon", "rise", "initial", "end", "anneal", "three_phase"},
     family::one_cycle,
     {"horizon", "rise"}},
    {"piecewise", {}, family::piecewise},
    {"polynomial",
     {"initial", "end", "horizon", "power"},
     family::polynomial,
     {"horizon"}},
    {"reduce_on_plateau",
     {"initial", "factor", "patience", "threshold", "threshold_mode",
      "cooldown", "min", "epsilon"},
     family::reduce_on_plateau},
    {"rex",
     {"initial", "end", "horizon", "beta"},
     family::rex,
     {"horizon"}},
    {"step", {"initial", "size", "gamma"}, family::step, {"size"}},
    {"warmup", {"steps", "from", "to", "then"}, family::warmup, {"steps"}},
    {"wsd",
     {"peak", "warmup", "from", "stable", "decay", "shape", "end"},
     family::wsd,
     {"warmup", "stable", "decay"}},
  };
  return table;
}

const std::vector<piece> nothing{{0, form::constant(0)}};

const family_entry* find_family(const std::string& name) {
  const auto found
    = std::find_if(families().begin(), families().end(),
                   [&](const family_entry& x) { return x.name == name; });
  return found == families().end() ? nullptr : &*found;
}

using json = nlohmann::ordered_json;

/// Calls `see` for every value in `x` that stands for steps.
void for_each_steps(json& x, const std::function<void(json&)>& see) {
  if (!x.is_object() || x.size() != 1)
    return;
  const auto& name = x.begin().key();
  auto& body = x.begin().value();
  const auto* known = find_family(name);
  if (known == nullptr)
    return;
  if (known->parameters.empty()) { // of `piecewise` and `join` pairs
    for (auto& pair : body)
      if (pair.is_array() && pair.size() == 2) {
        see(pair[0]);
        if (known->make == family::join)
          for_each_steps(pair[1], see);
      }
    return;
  }
  if (!body.is_object())
    return;
  for (const auto& each : known->steps)
    if (const auto i = body.find(each); i != body.end()) {
      if (i->is_array())
        std::for_each(i->begin(), i->end(), see);
      else
        see(*i);
    }
  if (const auto then = body.find("then"); then != body.end())
    for_each_steps(*then, see);
}

} // namespace

bool has_percentages(const json& x) {
  bool result = false;
  auto copy = x;
  for_each_steps(copy, [&](const json& y) {
    result = result
             || (y.is_string() && percentage::from(y.get<std::string>()));
  });
  return result;
}

void resolve_percentages(json& x, step_t length) {
  for_each_steps(x, [&](json& y) {
    if (!y.is_string())
      return;
    if (const auto share = percentage::from(y.get<std::string>()))
      y = share->of(length);
  });
}

const std::vector<std::string>& family_names() {
  static const auto names = [] {
    std::vector<std::string> result;
    for (const auto& x : families())
      result.push_back(x.name);
    return result;
  }();
  return names;
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
  const auto* known = find_family(name);
  const auto body = (*this)[name];
  if (known == nullptr) {
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

made_sequence make_sequence(const nlohmann::ordered_json& document,
                            step_t max_steps, const observations& observed,
                            bool typed) {
  made_sequence out;
  const family::argument whole{
    &document, {}, {0, max_steps, max_steps, typed, {}, &observed}, out};
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
