#include "gateway/schedule_curves.hpp"

#include <map>
#include <set>
#include <variant>

#include <nlohmann/json.hpp>

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// The steps, evenly spread, at which a curve has points beside the ends of its
/// pieces.
constexpr step_t points_between = 64;

std::vector<piece> pieces_of(const trained_way& x, const std::string& name) {
  std::vector<piece> result;
  for (const auto& [begin, config] : x.parts) {
    const auto shape = config->find(name);
    if (shape != config->end()
        && (result.empty() || result.back().shape != shape->second))
      result.push_back({begin, shape->second});
  }
  return result;
}

bool is_number(const form& x) {
  return x.kind != form_kind::text;
}

/// The numbers that change in one of the trials at least.
std::set<std::string> changing(const std::vector<trained_way>& trials) {
  std::set<std::string> found;
  std::set<std::string> words;
  for (const auto& x : trials) {
    const configuration* before = nullptr;
    for (const auto& part : x.parts) {
      for (const auto& [name, shape] : *part.second) {
        if (!is_number(shape)) {
          words.insert(name);
          continue;
        }
        if (!shape.is_plateau())
          found.insert(name);
        if (before == nullptr)
          continue;
        if (const auto i = before->find(name);
            i != before->end() && i->second != shape)
          found.insert(name);
      }
      before = part.second;
    }
  }
  for (const auto& name : words)
    found.erase(name);
  return found;
}

/// The points of a curve: its values at steps below `end`.
void add_points(const std::vector<piece>& pieces, step_t end, json& steps,
                json& values) {
  std::set<step_t> at{0, end - 1};
  for (const auto& x : pieces) {
    at.insert(x.begin);
    if (x.begin > 0)
      at.insert(x.begin - 1);
  }
  for (step_t i = 0; i < points_between; ++i)
    at.insert((end - 1) / points_between * i
              + (end - 1) % points_between * i / points_between);
  auto step = json::array(), value = json::array();
  const sequence course{pieces};
  for (const auto x : at) {
    if (x >= end)
      break;
    step.push_back(x);
    value.push_back(std::get<double>(course.at(x)));
  }
  steps.push_back(std::move(step));
  values.push_back(std::move(value));
}

} // namespace

std::string schedule_curves(const std::vector<trained_way>& trials,
                            std::size_t curves_max) {
  auto result = json::object();
  for (const auto& name : changing(trials)) {
    std::map<std::string, std::size_t> known;
    auto steps = json::array(), values = json::array();
    auto who = json::array(), which = json::array();
    for (const auto& x : trials) {
      const auto pieces = pieces_of(x, name);
      if (pieces.empty() || pieces.front().begin > 0 || x.end == 0)
        continue;
      auto text = std::to_string(x.end);
      for (const auto& y : pieces)
        text += ' ' + std::to_string(y.begin) + ' ' + to_text(y.shape);
      const auto [i, is_new] = known.emplace(std::move(text), known.size());
      if (i->second >= curves_max)
        continue;
      if (is_new)
        add_points(pieces, x.end, steps, values);
      who.push_back(x.trial);
      which.push_back(i->second);
    }
    result[name] = {{"step", std::move(steps)},
                    {"value", std::move(values)},
                    {"all_curves", known.size()},
                    {"trial", std::move(who)},
                    {"curve", std::move(which)}};
  }
  return json{{"parameters", std::move(result)}}.dump(
           -1, ' ', false, json::error_handler_t::replace)
         + '\n';
}

} // namespace hippo
