#include <algorithm>
#include <map>
#include <vector>

#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/report/ranking.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t failures_max = 20; ///< more are counted, not listed
constexpr std::size_t reason_lines_max = 4;

/// Collects lines that are never wider than `printed_columns_max`.
class page {
public:
  explicit page(bool colour) : colour_(colour) {}

  void add(const text_line& line) {
    text_ += line.str(printed_columns_max, colour_);
  }
  void add(std::string_view line, style look = style::plain) {
    add(text_line{}.add(line, look));
  }
  void gap() { text_ += text_.empty() ? "" : "\n"; }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
  bool colour_;
  std::string text_;
};

/// The parameters without those that are alike in all of the study's trials.
json distinct_params(const trial_record& trial, const study_record& study) {
  if (study.trials.size() < 2 || !trial.params.is_object())
    return trial.params;
  json result = json::object();
  for (const auto& [name, value] : trial.params.items()) {
    const bool alike = std::all_of(
      study.trials.begin(), study.trials.end(), [&](const trial_record& x) {
        return x.params.is_object() && x.params.contains(name)
               && x.params[name] == value;
      });
    if (!alike)
      result[name] = value;
  }
  return result;
}

/// Says how many trials there are and how they ended, e.g. `27 trials: 3
/// COMPLETE, 24 PRUNED`.
std::string counts_text(const study_record& study) {
  std::map<trial_state, std::size_t> counts;
  for (const auto& x : study.trials)
    ++counts[x.state];
  auto result = counted(study.trials.size(), "trial");
  const char* before = ": ";
  for (const auto& [state, count] : counts) {
    result += before + std::to_string(count) + ' ' + to_string(state);
    before = ", ";
  }
  return result;
}

/// What a study wants: `maximize acc, minimize ms, ms <= 5`.
std::string wanted_text(const study_record& study) {
  auto wanted = study.wanted;
  if (wanted.metrics.empty())
    wanted.metrics = {{study.metric, study.direction}};
  std::string result;
  for (const auto& goal : wanted.metrics)
    result += (result.empty() ? "" : ", ")
              + std::string{goal.direction == direction::maximize
                              ? "maximize "
                              : "minimize "}
              + goal.metric;
  for (const auto& constraint : wanted.constraints)
    result += ", " + to_text(constraint);
  return result;
}

/// The front of a study of several metrics, the best of the first one first.
void add_front(page& out, const study_record& study, std::size_t rows) {
  const auto& goals = study.wanted.metrics;
  auto points = study.front->points;
  if (points.empty()) {
    out.add(study.wanted.constraints.empty()
              ? "  no results"
              : "  no results that keep the constraints",
            style::dim);
    return;
  }
  out.add("  " + brief_text({points.size(), study.front->hypervolume}));
  std::stable_sort(points.begin(), points.end(),
                   [&](const front_entry& a, const front_entry& b) {
                     return better(a.values.at(goals[0].metric),
                                   b.values.at(goals[0].metric),
                                   goals[0].direction);
                   });
  points.resize(std::min(points.size(), rows));
  std::vector<std::size_t> widths;
  for (const auto& goal : goals) {
    auto& width = widths.emplace_back(display_width(goal.metric));
    for (const auto& x : points)
      width = std::max(width, to_text(x.values.at(goal.metric)).size());
  }
  std::string heading = pad_left("trial", 7);
  for (std::size_t k = 0; k < goals.size(); ++k)
    heading += "  " + pad_right(goals[k].metric, widths[k]);
  out.add(heading + pad_left("step", 6) + pad_left("shared", 8)
            + "  parameters",
          style::dim);
  for (const auto& x : points) {
    text_line line;
    line.add(pad_left(std::to_string(x.trial), 7));
    for (std::size_t k = 0; k < goals.size(); ++k)
      line.add("  " + pad_right(to_text(x.values.at(goals[k].metric)),
                                widths[k]));
    const auto& trial = *std::ranges::lower_bound(
      study.trials, x.trial, {}, &trial_record::id); // it is there
    line.add(pad_left(std::to_string(x.step), 6));
    line.add(pad_left(std::to_string(trial.shared_steps), 8) + "  ");
    line.add(brief(distinct_params(trial, study)));
    out.add(line);
  }
}

void add_leaderboard(page& out, const study_record& study, std::size_t rows) {
  text_line heading;
  heading.add(fit(printable(study.name), 40), style::bold);
  heading.add("  " + study.algorithm + ", " + wanted_text(study));
  out.add(heading);
  out.add("  " + counts_text(study), style::dim);
  if (!study.initial_state.empty())
    out.add("  begins from "
              + fit(printable(study.initial_state), printed_columns_max - 14),
            style::dim);
  if (!study.reason.empty())
    for (const auto& line :
         wrap(printable(study.reason), printed_columns_max - 2))
      out.add("  " + line);
  if (study.front) {
    add_front(out, study, rows);
    return;
  }

  struct entry {
    const trial_record* trial;
    best_value best;
  };
  std::vector<entry> ranked;
  for (const auto& trial : study.trials)
    if (auto best = best_of(trial, study))
      ranked.push_back({&trial, *best});
  if (ranked.empty()) {
    out.add("  no results", style::dim);
    return;
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const entry& a, const entry& b) {
                     return better(a.best.value, b.best.value, study.direction);
                   });
  ranked.resize(std::min(ranked.size(), rows));
  const auto each = best_of_each_length(study);
  if (!each.empty())
    out.add("  the best of each length, as values of different lengths do not "
            "compare:");
  for (const auto& x : each)
    out.add("    " + pad_left(std::to_string(x.length), 10) + " steps: "
            + to_text(x.best.value) + ", trial " + std::to_string(x.trial));
  // As wide as all digits need.
  std::size_t trial_columns = 5;
  std::size_t state_columns = 5;
  std::size_t value_columns = 5;
  for (const auto& [trial, best] : ranked) {
    const std::string_view state = to_string(trial->state);
    state_columns = std::max(state_columns, state.size());
    trial_columns = std::max(trial_columns, std::to_string(trial->id).size());
    value_columns = std::max(value_columns, to_text(best.value).size());
  }
  out.add(pad_left("#", 4) + "  " + pad_left("trial", trial_columns) + "  "
            + pad_right("state", state_columns) + "  "
            + pad_right("value", value_columns) + pad_left("step", 6)
            + pad_left("shared", 8) + "  parameters",
          style::dim);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const auto& [trial, best] = ranked[i];
    text_line line;
    line.add(pad_left(std::to_string(i + 1), 4) + "  ");
    line.add(pad_left(std::to_string(trial->id), trial_columns) + "  ");
    line.add(pad_right(to_string(trial->state), state_columns) + "  ");
    line.add(pad_right(to_text(best.value), value_columns),
             i == 0 ? style::good : style::plain);
    line.add(pad_left(std::to_string(best.step), 6));
    line.add(pad_left(std::to_string(trial->shared_steps), 8) + "  ");
    line.add(brief(distinct_params(*trial, study)));
    out.add(line);
  }
}

void add_figures(page& out, const run_record& x) {
  out.add(x.merge ? "Merging" : "Merging was off", style::bold);
  const auto row = [&](const char* name, const std::string& value,
                       const std::string& meaning) {
    out.add("  " + pad_right(name, 22) + pad_left(value, 12) + "  " + meaning);
  };
  row("steps asked for", std::to_string(x.asked_steps), "by all trials");
  row("delivered steps", std::to_string(x.delivered_steps),
      "that the trials have got");
  row("unique steps", std::to_string(x.unique_steps),
      "of the delivered, after merging");
  row("trained steps", std::to_string(x.trained_steps),
      x.reused_steps == 0 ? std::string("in this run")
                          : "in this run; " + std::to_string(x.reused_steps)
                              + " were there before");
  row("merge rate p", fixed(x.merge_rate, 2), "delivered / unique");
  row("k-wise merge rate q", fixed(x.k_wise_merge_rate, 2),
      "studies merged one by one / all together");
  row("device time", duration_text(x.device_seconds),
      "in " + duration_text(x.wall_seconds) + " of "
        + (x.simulated ? "virtual" : "wall") + " time");
  if (x.lower_bound_seconds > 0) {
    const auto ratio = x.wall_seconds / x.lower_bound_seconds;
    row("lower bound", duration_text(x.lower_bound_seconds),
        "of any order of work; took "
          + fixed(ratio, ratio < 100 ? 2 : 0) + " x as long");
  }
  row("saved by merging", duration_text(x.saved_device_seconds),
      percent(x.saved_device_seconds, x.alone_device_seconds) + " of "
        + duration_text(x.alone_device_seconds) + " if trained alone");
  if (!x.costs)
    return;
  double idle = 0;
  for (const auto& kind : *x.costs)
    idle += kind.idle;
  row("cost", fixed(total_cost(*x.costs), 2),
      "of the trainers; " + fixed(idle, 2) + " of it while they had no work");
}

void add_time(page& out, const run_record& x) {
  const std::pair<const char*, double> parts[] = {
    {"train", x.train_seconds},       {"evaluate", x.evaluate_seconds},
    {"load", x.load_seconds},         {"save", x.save_seconds},
    {"dispatch", x.dispatch_seconds}, {"idle", x.idle_seconds}};
  double sum = 0;
  for (const auto& part : parts)
    sum += part.second;
  if (!(sum > 0))
    return;
  out.gap();
  text_line heading;
  heading.add("Trainer time", style::bold);
  heading.add("  " + counted(x.trainers.size(), "trainer"));
  out.add(heading);
  const auto row = [&](const char* name, double seconds) {
    out.add("  " + pad_right(name, 22) + pad_left(duration_text(seconds), 12)
            + pad_left(percent(seconds, sum), 8));
  };
  for (const auto& [name, seconds] : parts)
    row(name, seconds);
  if (x.wait_seconds > 0)
    row("of train, for data", x.wait_seconds);
}

void add_failures(page& out, const run_record& x) {
  // A stage that fails takes every trial through it along: one row for all.
  struct row {
    std::string study;
    std::string reason;
    std::string trials;
  };
  std::vector<row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const auto& study : x.studies) {
    for (const auto& trial : study.trials) {
      if (trial.state != trial_state::failed)
        continue;
      const auto [at, is_new] =
        known.emplace(std::pair{study.name, trial.failure}, rows.size());
      if (is_new)
        rows.push_back({study.name, trial.failure, std::to_string(trial.id)});
      else
        rows[at->second].trials += ',' + std::to_string(trial.id);
    }
  }
  if (rows.empty())
    return;
  out.gap();
  out.add("Failed trials (full text in report.json)", style::bad);
  for (std::size_t i = 0; i < std::min(rows.size(), failures_max); ++i) {
    const auto& [study, reason, trials] = rows[i];
    out.add("  " + printable(study) + ' ' + trials);
    const auto first = reason.substr(0, reason.find('\n'));
    const auto lines = wrap(first.empty() ? "unknown" : printable(first),
                            printed_columns_max - 4);
    for (std::size_t j = 0; j < std::min(lines.size(), reason_lines_max); ++j)
      out.add("    " + lines[j]);
  }
  if (rows.size() > failures_max)
    out.add("  and " + std::to_string(rows.size() - failures_max) + " more");
}

void add_lost_trainers(page& out, const run_record& x) {
  bool any = false;
  for (const auto& trainer : x.trainers) {
    if (trainer.lost.empty())
      continue;
    if (!any) {
      out.gap();
      out.add("Trainers lost", style::bad);
    }
    any = true;
    out.add(pad_left(std::to_string(trainer.number), 6) + "  "
            + pad_right(printable(trainer.name), 20) + "  " + trainer.lost);
  }
}

} // namespace

std::string summary_text(const run_record& record, std::size_t rows,
                         bool colour) {
  page out{colour};
  if (record.interrupted)
    out.add("Interrupted: what follows is what was done until then.",
            style::bad);
  for (const auto& study : record.studies) {
    out.gap();
    add_leaderboard(out, study, rows);
  }
  out.gap();
  add_figures(out, record);
  add_time(out, record);
  add_failures(out, record);
  add_lost_trainers(out, record);
  return out.text();
}

} // namespace hippo
