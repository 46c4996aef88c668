#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client_listings.hpp"
#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/report/ranking.hpp"
#include "outcome.hpp"
#include "stored_weights.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct best_arguments {
  study_argument of;
  weights_options how;
  std::string weights; ///< file to export to; empty: do not
  std::string format = "table";
};

/// Prints a study's best trial, as JSON or for people.
/// @param each the best of each length, where there are several
void print_best(const study_view& study, const trial_view& trial,
                const best_measurement& best,
                const std::vector<trial_best>& each, bool as_json) {
  const auto params = nlohmann::ordered_json::parse(trial.params);
  if (as_json) {
    nlohmann::ordered_json shown{{"study", study.name},
                                 {"trial", trial.trial},
                                 {"state", to_string(trial.state)},
                                 {"step", best.step},
                                 {"metric", study.metric},
                                 {"value", best.value},
                                 {"params", params}};
    if (trial.spread)
      shown["spread"] = *trial.spread;
    for (const auto& x : each)
      shown["best_of_each_length"].push_back({{"length", x.length},
                                              {"trial", x.trial},
                                              {"step", x.best.step},
                                              {"value", x.best.value}});
    std::cout << shown.dump(2) << '\n';
    return;
  }
  std::cout << "study " << study.name << ": trial " << trial.trial << " ("
            << to_string(trial.state) << ") at step " << best.step << ", "
            << study.metric << ' ' << to_text(best.value);
  if (trial.spread)
    std::cout << " +- " << significant(*trial.spread, 3) << " over "
              << study.seeds << " seeds";
  std::cout << '\n';
  for (const auto& [name, value] : params.items())
    std::cout << "  " << name << ": " << value.dump() << '\n';
  if (!each.empty())
    std::cout << "the best of each length, as values of different lengths do"
                 " not compare:\n";
  for (const auto& x : each)
    std::cout << "  " << x.length << " steps: " << to_text(x.best.value)
              << ", trial " << x.trial << '\n';
}

/// The best trial of each length of a study whose trials have several.
expected<std::vector<trial_best>> best_of_lengths(study_handle& study,
                                                  direction way) {
  const auto trials = study.trials();
  if (!trials)
    return trials.failure();
  std::vector<trial_best> all;
  for (const auto& x : *trials)
    if (const auto length = length_in(read_json(x.params));
        length && x.best && x.state != trial_state::failed)
      all.push_back({x.trial, *length, {x.best->step, x.best->value}});
  return best_of_each_length(all, way);
}

/// Prints the front of a study of several metrics, the best of the first one
/// first.
int print_front(const best_arguments& x, study_handle& study,
                const study_view& known) {
  if (!x.weights.empty())
    return refuse({errc::invalid_argument,
                   "--export: study '" + known.name
                     + "' has several metrics, and so no best trial: choose one"
                       " of its front, then `hippo export "
                     + known.name + " TRIAL --weights FILE`"});
  auto front = *known.front;
  if (front.points.empty())
    return fail({errc::invalid_argument,
                 "study '" + known.name + "' has no result yet"
                   + (front.constraints.empty()
                        ? ""
                        : " that keeps its constraints")},
                exit_failed); // it may come yet
  const auto& goals = front.goals;
  auto& points = front.points;
  std::stable_sort(points.begin(), points.end(),
                   [&](const front_point_view& a, const front_point_view& b) {
                     return better(a.values.at(goals[0].metric),
                                   b.values.at(goals[0].metric),
                                   goals[0].direction);
                   });
  const auto trials = study.trials();
  if (!trials)
    return refuse(trials.failure());
  const auto params = [&](const front_point_view& point) {
    const auto i =
      std::ranges::lower_bound(*trials, point.trial, {}, &trial_view::trial);
    return i != trials->end() && i->trial == point.trial
             ? read_json(i->params)
             : nlohmann::ordered_json();
  };
  if (x.format == "json") {
    nlohmann::ordered_json shown{{"study", known.name}};
    shown.update(to_json(front));
    for (std::size_t i = 0; i < points.size(); ++i)
      if (auto found = params(points[i]); !found.is_null())
        shown["points"][i]["params"] = std::move(found);
    std::cout << shown.dump(2) << '\n';
    return exit_done;
  }
  std::cout << "study " << known.name << ": "
            << brief_text({points.size(), front.hypervolume}) << '\n';
  listing shown{{{"trial", cell_look::number}}, {}};
  for (const auto& goal : goals)
    shown.columns.push_back({goal.metric, cell_look::number});
  shown.columns.push_back({"step", cell_look::number});
  shown.columns.push_back({"params", cell_look::brief});
  for (const auto& point : points) {
    std::vector<nlohmann::ordered_json> row{point.trial};
    for (const auto& goal : goals)
      row.emplace_back(point.values.at(goal.metric));
    row.emplace_back(point.step);
    row.push_back(params(point));
    shown.rows.push_back(std::move(row));
  }
  const auto text = render(shown, {});
  if (!text)
    return refuse(text.failure());
  std::cout << *text;
  return exit_done;
}

int best(const best_arguments& x, study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return refuse(known.failure());
  if (has_several_metrics(known->view))
    return print_front(x, study, known->view);
  const auto trial = study.best();
  if (!trial)
    return fail(trial.failure(), exit_failed); // it may come yet
  const auto value = trial->best.value_or(best_measurement{});
  expected<std::vector<trial_best>> each{std::vector<trial_best>{}};
  if (length_in(read_json(trial->params)))
    each = best_of_lengths(study, known->view.direction);
  if (!each)
    return refuse(each.failure());
  print_best(known->view, *trial, value, *each, x.format == "json");
  if (x.weights.empty())
    return exit_done;
  if (auto why = export_weights(
        study, {trial->trial, value.step, x.weights}, x.how))
    return fail(*why, exit_failed);
  std::cerr << "weights: " << x.weights << '\n';
  return exit_done;
}

} // namespace

void add_best(verb_table& verbs) {
  const auto x = std::make_shared<best_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "best",
    "Show a study's best trial, or its front; export weights",
    "hippo best lr-schedules --export model.pt", [x] {
      if (auto why = x->of.server.know(x->how.common))
        return fail(*why, exit_bad_input);
      return with_study(x->of, [&](client&, study_handle& study) {
        return best(*x, study);
      });
    }));
  x->of.server.add_state_to(*verb);
  verb->add_option("--export", x->weights,
                   "Write the weights here, for Python's torch.load");
  add_format(*verb, x->format);
  x->how.add_to(*verb);
}

} // namespace hippo
