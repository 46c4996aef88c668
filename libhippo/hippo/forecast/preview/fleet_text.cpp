#include "hippo/forecast/preview/fleet_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// `16 a100-spot + 4 l4`.
std::string name_of(const fleet& machines, const fleet_candidate& x) {
  std::string result;
  for (const auto& group : x.machines)
    result += (result.empty() ? "" : " + ") + std::to_string(group.machines)
              + ' ' + machines.kinds[group.kind].name;
  return result;
}

bool may_be_interrupted(const fleet& machines, const fleet_candidate& x) {
  return std::ranges::any_of(x.machines, [&](const machine_group& group) {
    return machines.kinds[group.kind].interruptions > 0;
  });
}

std::string mark_of(std::size_t i, const fleet_choice& x,
                    const fleet_limits& limits) {
  const auto is = [i](const std::optional<std::size_t>& y) {
    return y && *y == i;
  };
  std::string result;
  const auto add = [&](const std::string& text) {
    result += (result.empty() ? "<- " : ", ") + text;
  };
  if (is(x.cheapest))
    add(limits.deadline_seconds
          ? "cheapest by " + duration_text(*limits.deadline_seconds)
          : std::string{"cheapest"});
  if (is(x.soonest))
    add(limits.budget ? "soonest for " + significant(*limits.budget, 6)
                      : std::string{"soonest"});
  if (is(x.nearest_in_time) && !is(x.soonest))
    add("nearest in time");
  if (is(x.nearest_in_cost) && !is(x.cheapest))
    add("nearest in cost");
  return result;
}

/// The rows of the table: the front, and what was chosen or comes nearest.
std::vector<std::size_t> rows_of(const fleet_choice& x) {
  std::set<std::size_t> shown(x.front.begin(), x.front.end());
  for (const auto& i : {x.cheapest, x.soonest, x.chosen, x.nearest_in_time,
                        x.nearest_in_cost})
    if (i)
      shown.insert(*i);
  std::vector<std::size_t> result(shown.begin(), shown.end());
  std::ranges::sort(result, {}, [&](std::size_t i) {
    return std::pair{x.candidates[i].cost.mean, x.candidates[i].seconds.mean};
  });
  return result;
}

using row = std::array<std::string, 5>;

std::string lines_of(const std::vector<std::pair<row, std::string>>& rows) {
  std::array<std::size_t, 5> widths{};
  for (const auto& [cells, mark] : rows)
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  std::string result;
  for (const auto& [cells, mark] : rows) {
    auto line = pad_right(cells[0], widths[0]);
    for (std::size_t i = 1; i < cells.size(); ++i)
      line += "  " + pad_left(cells[i], widths[i]);
    if (!mark.empty())
      line += "  " + mark;
    result += line + '\n';
  }
  return result;
}

/// The most machines of each kind that were not simulated since they miss a
/// limit at best: no other number of it comes nearer.
std::string missed_text(const fleet& machines, const fleet_choice& x,
                        candidate_fate fate, const std::string& heading) {
  std::vector<const fleet_candidate*> missed;
  for (std::size_t kind = 0; kind < machines.kinds.size(); ++kind) {
    const fleet_candidate* nearest = nullptr;
    bool one_keeps = false;
    for (const auto& y : x.candidates) {
      if (y.machines.size() > 1 || y.machines[0].kind != kind)
        continue;
      if (y.fate != fate)
        one_keeps = true;
      else if (nearest == nullptr || y.trainers > nearest->trainers)
        nearest = &y;
    }
    if (nearest != nullptr && !one_keeps)
      missed.push_back(nearest);
  }
  std::string result;
  for (const auto* y : missed) {
    const auto& value = fate == candidate_fate::late
                          ? duration_text(y->simulations > 0 ? y->seconds.mean
                                                         : y->seconds_bound)
                          : fixed(y->simulations > 0 ? y->cost.mean
                                                     : y->cost_bound,
                                  2);
    result += (result.empty() ? heading : ", ") + name_of(machines, *y) + " ("
              + (y->simulations > 0 ? "" : "at least ") + value + ')';
  }
  return result.empty() ? "" : result + '\n';
}

std::string sources_text(const fleet& machines,
                         const std::vector<kind_source>& sources) {
  std::vector<std::pair<std::string, std::string>> said; // kinds, and of what
  for (const auto& x : sources) {
    const auto& name = machines.kinds[x.kind].name;
    const auto same = std::ranges::find(said, x.text, [](const auto& y) {
      return y.second;
    });
    if (same != said.end())
      same->first += " and " + name;
    else if (!x.text.empty())
      said.emplace_back(name, x.text);
  }
  std::string result;
  for (const auto& [kinds, text] : said)
    result += (result.empty() ? "step times: " : ", ") + kinds + ' ' + text;
  return result.empty() ? "" : result + '\n';
}

std::string left_out_text(const fleet_choice& x) {
  std::size_t beaten = 0, missed = 0, simulated = 0;
  for (const auto& y : x.candidates) {
    beaten += y.fate == candidate_fate::beaten ? 1 : 0;
    missed += y.fate == candidate_fate::late || y.fate == candidate_fate::dear
                ? 1
                : 0;
    simulated += y.fate == candidate_fate::simulated ? 1 : 0;
  }
  return counted(x.candidates.size(), "candidate") + ": "
         + std::to_string(simulated) + " simulated, " + std::to_string(beaten)
         + " beaten by others, " + std::to_string(missed)
         + " miss a limit at best\n";
}

json index_or_null(const std::optional<std::size_t>& x) {
  return x ? json(*x) : json();
}

json to_json(const fleet_spread& x) {
  return {{"mean", x.mean}, {"low", x.low}, {"high", x.high}};
}

json to_json(const fleet& machines, const fleet_candidate& x,
             const json& sources) {
  json numbers = json::object(), times = json::object();
  for (const auto& group : x.machines) {
    const auto& name = machines.kinds[group.kind].name;
    numbers[name] = group.machines;
    times[name] = sources.value(name, json());
  }
  json result{{"machines", std::move(numbers)},
              {"use", to_text(machines, x.machines)},
              {"trainers", x.trainers},
              {"fate", to_string(x.fate)},
              {"seconds_bound", x.seconds_bound},
              {"cost_bound", x.cost_bound},
              {"simulations", x.simulations},
              {"step_times", std::move(times)}};
  if (x.simulations > 0) {
    result["seconds"] = to_json(x.seconds);
    result["cost"] = to_json(x.cost);
    result["lost_share"] = x.lost_share;
  }
  return result;
}

} // namespace

std::string fleet_text(const fleet& machines, const fleet_choice& choice,
                       const fleet_limits& limits,
                       const std::vector<kind_source>& sources) {
  std::vector<std::pair<row, std::string>> rows;
  rows.push_back({{"machines", "trainers",
                   "takes (" + std::to_string(fleet_seeds) + " seeds)", "cost",
                   "lost to interruptions"},
                  ""});
  for (const auto i : rows_of(choice)) {
    const auto& y = choice.candidates[i];
    rows.push_back(
      {{name_of(machines, y), std::to_string(y.trainers),
        duration_text(y.seconds.mean) + " (" + duration_text(y.seconds.low)
          + " to " + duration_text(y.seconds.high) + ')',
        fixed(y.cost.mean, 2),
        may_be_interrupted(machines, y) ? percent(y.lost_share, 1)
                                        : std::string{"-"}},
       mark_of(i, choice, limits)});
  }
  auto result = lines_of(rows);
  if (limits.deadline_seconds)
    result +=
      missed_text(machines, choice, candidate_fate::late,
                  "not by " + duration_text(*limits.deadline_seconds) + ": ");
  if (limits.budget)
    result += missed_text(machines, choice, candidate_fate::dear,
                          "not for " + significant(*limits.budget, 6) + ": ");
  return result + sources_text(machines, sources) + left_out_text(choice);
}

std::string fleet_json(const fleet& machines, const fleet_choice& choice,
                       const fleet_limits& limits,
                       const std::vector<kind_source>& sources) {
  json origins = json::object();
  for (const auto& y : sources)
    origins[machines.kinds[y.kind].name]
      = y.text.empty() ? json() : json(y.text);
  json candidates = json::array();
  for (const auto& y : choice.candidates)
    candidates.push_back(to_json(machines, y, origins));
  const json result{{"deadline_seconds", limits.deadline_seconds
                                           ? json(*limits.deadline_seconds)
                                           : json()},
                    {"budget", limits.budget ? json(*limits.budget) : json()},
                    {"chosen", index_or_null(choice.chosen)},
                    {"cheapest", index_or_null(choice.cheapest)},
                    {"soonest", index_or_null(choice.soonest)},
                    {"nearest_in_time", index_or_null(choice.nearest_in_time)},
                    {"nearest_in_cost", index_or_null(choice.nearest_in_cost)},
                    {"front", choice.front},
                    {"sources", std::move(origins)},
                    {"candidates", std::move(candidates)}};
  return result.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

} // namespace hippo
