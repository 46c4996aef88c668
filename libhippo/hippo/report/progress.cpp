#include "hippo/report/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/view/study_front.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

constexpr std::size_t name_columns_max = 18;
constexpr std::size_t bar_columns_min = 6;
constexpr std::size_t bar_columns_max = 18;
/// Of one trainer, so that what it does can still be read.
constexpr std::size_t trainer_columns_min = 20;

void add_bar(text_line& line, std::uint64_t done, std::uint64_t total,
             std::size_t columns) {
  const double share = total == 0 ? 0
                                  : static_cast<double>(std::min(done, total))
                                      / static_cast<double>(total);
  const auto full =
    static_cast<std::size_t>(share * static_cast<double>(columns));
  std::string left;
  std::string right;
  for (std::size_t i = 0; i < columns; ++i)
    (i < full ? left : right) += i < full ? "█" : "░";
  line.add(left, style::good).add(right, style::dim);
}

/// The best value of a study; null as long as there is none.
const best_measurement* best_of(const study_view& x) {
  return x.best && x.best->best ? &*x.best->best : nullptr;
}

/// Whether a study will never do anything again.
bool is_over(const study_view& x) {
  constexpr std::array ends{study_phase::complete, study_phase::failed,
                            study_phase::cancelled};
  return std::ranges::any_of(
    ends, [&](auto phase) { return x.state == to_string(phase); });
}

/// The columns right of a study's bar.
struct study_cells {
  std::string name;
  std::string count;
  std::string steps;
  std::string best;
};

study_cells cells_of(const study_progress& x) {
  const auto& study = x.study;
  study_cells result;
  result.name = fit(printable(study.name), name_columns_max);
  result.count = std::to_string(study.finished) + '/'
                 + std::to_string(study.trials);
  result.steps = std::to_string(study.asked_steps) + " steps";
  if (x.front) {
    result.best = brief_text(*x.front);
    return result;
  }
  const auto* best = best_of(study);
  result.best = best ? fit(printable(study.metric), 14) + ' '
                         + significant(best->value, 6) + " (trial "
                         + std::to_string(study.best->trial) + ')'
                     : "no result yet";
  return result;
}

std::string more(std::size_t count) {
  return "and " + std::to_string(count) + " more";
}

std::string render_studies(const std::vector<study_progress>& studies,
                           std::size_t columns, bool colour) {
  const auto shown = std::min(studies.size(), progress_rows_max);
  std::vector<study_cells> rows;
  study_cells widest; // only its lengths matter
  const auto widen = [](std::string& a, const std::string& b) {
    if (display_width(b) > display_width(a))
      a = b;
  };
  for (std::size_t i = 0; i < shown; ++i) {
    rows.push_back(cells_of(studies[i]));
    widen(widest.name, rows[i].name);
    widen(widest.count, rows[i].count);
    widen(widest.steps, rows[i].steps);
    widen(widest.best, rows[i].best);
  }
  const auto name = display_width(widest.name);
  const auto count = display_width(widest.count);
  const auto steps = display_width(widest.steps);
  const auto others = name + count + steps + display_width(widest.best) + 7;
  const auto bar = std::clamp(columns > others ? columns - others : 0,
                              bar_columns_min, bar_columns_max);
  std::string result;
  for (std::size_t i = 0; i < shown; ++i) {
    text_line line;
    const auto& study = studies[i].study;
    line.add(pad_right(rows[i].name, name), style::bold).add(" ");
    add_bar(line, study.finished, study.trials, bar);
    line.add(" " + pad_left(rows[i].count, count) + "  "
             + pad_left(rows[i].steps, steps) + "  ");
    const bool has_result
      = best_of(study) || (studies[i].front && studies[i].front->points > 0);
    line.add(rows[i].best, has_result ? style::plain : style::dim);
    result += line.str(columns, colour);
    if (!study.waiting.empty())
      result += text_line{}
                  .add("  waiting: " + printable(study.waiting))
                  .str(columns, colour);
  }
  if (studies.size() > shown) {
    std::uint64_t done = 0;
    std::uint64_t trials = 0;
    for (auto i = shown; i < studies.size(); ++i) {
      done += studies[i].study.finished;
      trials += studies[i].study.trials;
    }
    result +=
      text_line{}
        .add(more(studies.size() - shown) + " studies: " + std::to_string(done)
               + '/' + std::to_string(trials) + " trials",
             style::dim)
        .str(columns, colour);
  }
  return result;
}

std::string render_trainers(const std::vector<trainer_progress>& trainers,
                            std::size_t columns, bool colour) {
  const auto busy = std::count_if(trainers.begin(), trainers.end(),
                                  [](const auto& x) { return x.busy; });
  text_line line;
  line.add("trainers", style::bold);
  line.add(" " + std::to_string(busy) + '/' + std::to_string(trainers.size())
           + " busy");
  const auto left = columns - std::min(columns, line.width());
  const auto room = std::min(progress_rows_max, left / trainer_columns_min);
  // The note on those that are left out takes the place of one.
  const auto shown = trainers.size() <= room ? trainers.size()
                     : room == 0             ? 0
                                             : room - 1;
  const auto note = trainers.size() > shown && shown > 0
                      ? " | " + more(trainers.size() - shown)
                      : std::string{};
  const auto each = shown == 0 ? 0 : (left - display_width(note)) / shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& x = trainers[i];
    line.add(" | ", style::dim);
    auto number = std::to_string(x.number) + ": ";
    if (!x.busy) {
      line.add(number + "idle", style::dim);
      continue;
    }
    if (x.lanes > 1)
      number += std::to_string(x.lanes) + " lanes, ";
    const auto rate = ' ' + significant(x.steps_per_second, 3) + "/s";
    const auto used = 3 + number.size() + rate.size();
    line.add(number + fit(printable(x.stage), each > used ? each - used : 0)
             + rate);
  }
  line.add(note, style::dim);
  return line.str(columns, colour);
}

/// A JSON text with spaces after commas and colons, as Optuna prints them.
std::string spaced(const nlohmann::ordered_json& x) {
  const auto text =
    x.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string result;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (quoted && text[i] == '\\')
      result += text[++i];
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == ',' || text[i] == ':'))
      result += ' ';
  }
  return result;
}

} // namespace

std::optional<front_so_far> front_in_brief(const study_view& view) {
  if (!has_several_metrics(view))
    return std::nullopt;
  return front_so_far{view.front->points.size(), view.front->hypervolume};
}

progress_view progress_of(std::vector<study_view> studies,
                          const std::vector<trainer_view>& trainers) {
  progress_view result;
  bool is_known = true; // when all of them will have ended
  double left = 0;
  for (auto& x : studies) {
    result.asked_steps += x.asked_steps;
    result.shared_steps += x.shared_steps;
    result.saved_device_seconds += x.saved_seconds;
    result.elapsed_seconds = std::max(result.elapsed_seconds, x.active_seconds);
    if (!is_over(x)) {
      is_known = is_known && x.seconds_left;
      left = std::max(left, x.seconds_left.value_or(0));
    }
    auto front = front_in_brief(x);
    result.studies.push_back({std::move(x), std::move(front)});
  }
  if (is_known && left > 0)
    result.seconds_left = left;
  for (const auto& x : trainers) {
    if (!x.lost.empty())
      continue;
    auto& shown = result.trainers.emplace_back();
    shown.number = x.trainer;
    shown.busy = x.lease.has_value();
    if (!x.lease)
      continue;
    shown.lanes = x.lease->lanes;
    shown.stage = "step " + std::to_string(x.lease->step) + " of "
                  + std::to_string(x.lease->to_step);
    if (x.lease->members > 1)
      shown.stage += " x" + std::to_string(x.lease->members);
    shown.steps_per_second = x.lease->steps_per_second;
  }
  return result;
}

std::string render_progress(const progress_view& view, std::size_t columns,
                            bool colour) {
  columns = std::min(columns, printed_columns_max);
  text_line clock;
  clock.add("hippo", style::bold);
  clock.add("  " + duration_text(view.elapsed_seconds) + " elapsed");
  if (view.seconds_left)
    clock.add(", about " + duration_text(*view.seconds_left) + " left");
  text_line steps;
  steps.add("steps", style::bold);
  steps.add(" " + std::to_string(view.asked_steps) + " asked for, "
            + std::to_string(view.shared_steps) + " shared");
  steps.add(" | merging saved ");
  steps.add(duration_text(view.saved_device_seconds), style::good);
  steps.add(" of device time");
  return clock.str(columns, colour)
         + render_studies(view.studies, columns, colour)
         + render_trainers(view.trainers, columns, colour)
         + steps.str(columns, colour);
}

void live_display::draw(std::string_view above, std::string_view view) {
  // One write, and each line erased as it is redrawn: no flicker.
  std::string text;
  const auto lines = std::count(view_.begin(), view_.end(), '\n');
  if (lines > 0)
    text += "\x1b[" + std::to_string(lines) + "A";
  text += '\r';
  for (auto part : {above, view}) {
    for (char c : part) {
      if (c == '\n')
        text += "\x1b[K"; // erases to the end of the line
      text += c;
    }
  }
  text += "\x1b[J"; // erases what was below
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  out_.flush();
  view_ = view;
}

void live_display::show(std::string_view view) {
  draw({}, view);
}

void live_display::print(std::string_view line) {
  const auto view = view_;
  draw(std::string{line} + '\n', view);
}

void live_display::clear() {
  draw({}, {});
}

namespace {

/// ` with value: 0.91`, or all of several metrics.
std::string value_text(const trial_event& x) {
  if (x.values.empty())
    return x.value ? " with value: " + to_text(*x.value) : std::string{};
  std::string result = " with values: [";
  for (const auto value : x.values)
    result += (result.back() == '[' ? "" : ", ") + to_text(value);
  return result + ']';
}

} // namespace

std::string trial_line(const trial_event& event) {
  std::string result = event.study.empty() ? "" : event.study + ": ";
  result += "Trial " + std::to_string(event.trial);
  const auto value = value_text(event);
  switch (event.state) {
    case trial_state::failed:
      result += " failed: "
                + (event.failure.empty()
                     ? "unknown"
                     : event.failure.substr(0, event.failure.find('\n')));
      return printable(result);
    case trial_state::pruned:
      result += " pruned at step " + std::to_string(event.step) + value;
      break;
    case trial_state::cancelled:
      result += " cancelled at step " + std::to_string(event.step) + value;
      break;
    default:
      result +=
        " finished" + value
        + (!value.empty() ? " and parameters: " : " with parameters: ")
        + spaced(event.params.is_null() ? nlohmann::ordered_json::object()
                                        : event.params);
  }
  result += '.';
  if (!event.violated.empty())
    result += " Violates " + event.violated + '.';
  if (event.front)
    result += " Front of " + std::to_string(event.front->points)
              + (event.front->hypervolume
                   ? ", hypervolume " + to_text(*event.front->hypervolume)
                   : std::string{})
              + '.';
  if (event.best)
    result += " Best is trial " + std::to_string(event.best->trial)
              + " with value: " + to_text(event.best->value) + '.';
  return printable(result);
}

} // namespace hippo
