#include "hippo/report/preview.hpp"

#include <algorithm>

#include "hippo/model/view/view_json.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

constexpr std::size_t name_columns = 22;
constexpr std::size_t number_columns = 12;

std::string row(const std::string& name, std::uint64_t trials,
                const step_figures& x) {
  const auto delivered = static_cast<double>(x.delivered_steps);
  const auto saved = delivered - static_cast<double>(x.unique_steps);
  return pad_right(printable(name), name_columns)
         + pad_left(std::to_string(trials), 8)
         + pad_left(std::to_string(x.asked_steps), number_columns)
         + pad_left(std::to_string(x.delivered_steps), number_columns)
         + pad_left(std::to_string(x.unique_steps), number_columns)
         + pad_left(fixed(x.merge_rate, 2), 7)
         + pad_left(percent(saved, delivered), 7);
}

void add_line(std::string& to, const std::string& line) {
  to += text_line{}.add(line).str(printed_columns_max, false);
}

void add_table(std::string& to, const char* heading, const preview_view& x,
               bool estimated) {
  const auto figures = [estimated](const auto& entry) {
    return estimated && entry.estimate ? *entry.estimate : entry.full;
  };
  add_line(to, pad_right(heading, name_columns) + pad_left("trials", 8)
                 + pad_left("asked for", number_columns)
                 + pad_left("delivered", number_columns)
                 + pad_left("unique", number_columns) + pad_left("p", 7)
                 + pad_left("saved", 7));
  for (const auto& study : x.studies)
    add_line(to, row(study.name, study.trials, figures(study)));
  const auto all = figures(x);
  add_line(to, row("all, merged", x.trials, all));
  add_line(to, "k-wise merge rate q: " + fixed(all.k_wise_merge_rate, 2));
}

void add_table(std::string& to, const time_preview& x) {
  const auto row = [&](const std::string& name, const std::string& wall,
                       const std::string& device, const std::string& bound) {
    add_line(to, pad_right(name, name_columns) + pad_left(wall, 15)
                   + pad_left(bound, 15) + pad_left(device, 17));
  };
  const auto times = [&](const char* name, const time_figures& y) {
    row(name, duration_text(y.wall_seconds), duration_text(y.device_seconds),
        y.lower_bound_seconds ? duration_text(*y.lower_bound_seconds) : "-");
  };
  const auto saved = [](double merged, double alone) {
    return percent(alone - merged, alone);
  };
  row(std::to_string(x.trainers) + " trainers, simulated", "takes",
      "device time", "at least");
  times("merging on", x.merged);
  times("merging off", x.alone);
  row("saved by merging", saved(x.merged.wall_seconds, x.alone.wall_seconds),
      saved(x.merged.device_seconds, x.alone.device_seconds), "");
  if (x.merged.wall_seconds > x.alone.wall_seconds * .99
      && x.merged.device_seconds < x.alone.device_seconds * .95)
    add_line(to, "with so many trainers merging saves device time alone: fewer "
                 "are enough");
  add_line(to, "means of " + std::to_string(x.simulations)
                 + " simulations; with merging on they took "
                 + duration_text(x.merged.wall_low) + " to "
                 + duration_text(x.merged.wall_high));
}

} // namespace

std::string preview_json(const preview_view& preview) {
  return to_json(preview).dump(2, ' ', false,
                               nlohmann::ordered_json::error_handler_t::replace)
         + '\n';
}

std::string preview_text(const preview_view& preview) {
  std::string result;
  add_table(result, "trained in full", preview, false);
  if (preview.estimate) {
    result += '\n';
    add_table(result, "early stops (estimate)", preview, true);
  }
  if (preview.times) {
    result += '\n';
    add_table(result, *preview.times);
  }
  return result;
}

} // namespace hippo
