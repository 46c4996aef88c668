#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "hippo/report/report.hpp"
#include "hippo/report/stage_text.hpp"
#include "hippo/report/svg.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

constexpr double names_width = 170;
constexpr double bars_width = 900;
constexpr double head = 104;
constexpr double row_pixels = 38;
constexpr double bar_pixels = 26;
constexpr double bar_label_px = 10;
constexpr std::size_t bars_max = 3000;    ///< the longest are drawn
constexpr std::size_t rows_max = 200;     ///< the first are drawn

/// What a trainer does in a stretch, and how it is told apart.
struct phase {
  const char* name;
  double busy_record::*seconds;
  const char* towards; ///< mixed into the colour
  double share;
};
constexpr phase phases[] = {
  {"load", &busy_record::load, "#ffffff", 0.75},
  {"train", &busy_record::train, "#ffffff", 0.35},
  {"evaluate", &busy_record::evaluate, "#ffffff", 0.0},
  {"save", &busy_record::save, "#000000", 0.45},
};

/// Which tree each stage belongs to, and its configuration.
struct stage_entry {
  std::size_t root = 0;
  config_entries config;
  config_entries parent;
};

/// Stages by number; those whose number two workloads use are left out.
std::map<std::uint64_t, stage_entry> index_stages(const run_record& x) {
  std::map<std::uint64_t, std::size_t> uses;
  for (const auto& stage : x.stages)
    ++uses[stage.id];
  std::map<std::uint64_t, std::vector<const stage_record*>> children;
  std::vector<const stage_record*> open;
  std::map<std::uint64_t, stage_entry> result;
  for (const auto& stage : x.stages) {
    if (uses[stage.id] > 1)
      continue;
    const bool root = stage.parent == 0 || uses.count(stage.parent) == 0;
    if (root)
      open.push_back(&stage);
    else
      children[stage.parent].push_back(&stage);
  }
  for (std::size_t i = 0; i < open.size(); ++i)
    result[open[i]->id] = {i, parse_config(open[i]->config), {}};
  while (!open.empty()) {
    const auto& stage = *open.back();
    open.pop_back();
    for (const auto* child : children[stage.id]) {
      const auto& parent = result[stage.id];
      result[child->id] = {parent.root, parse_config(child->config),
                           parent.config};
      open.push_back(child);
    }
  }
  return result;
}

std::string rect(double x, double y, double width, double height,
                 const std::string& fill) {
  return "<rect x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(width)
         + "\" height=\"" + px(height) + "\" fill=\"" + fill + "\"/>";
}

std::string seconds_text(double x) {
  return fixed(x, 2) + " s";
}

/// The last second on the axis.
double last_second(const run_record& x) {
  double result = x.wall_seconds;
  for (const auto& busy : x.timeline)
    result = std::max(result, busy.end);
  return result > 0 ? result : 1;
}

/// A lane of a trainer: a row of the picture.
struct lane_name {
  std::uint64_t trainer = 0;
  std::uint32_t lane = 0;
  friend auto operator<=>(const lane_name&, const lane_name&) = default;
};

lane_name lane_of(const busy_record& x) {
  return {x.trainer, x.lane};
}

std::string draw(const busy_record& x, double y, double scale,
                 const std::map<std::uint64_t, stage_entry>& stages) {
  const auto found = stages.find(x.stage);
  const bool known = found != stages.end();
  const auto colour = known ? palette_colour(found->second.root) : "#777777";
  const double length = std::max(0.0, x.end - x.begin);
  const double left = names_width + x.begin * scale;
  const double width = length * scale;
  std::vector<std::string> lines{
    lane_text(x.trainer, x.lane) + ", steps " + std::to_string(x.from) + " to "
      + std::to_string(x.to),
    seconds_text(x.begin) + " to " + seconds_text(x.end)};
  double sum = 0;
  for (const auto& part : phases) {
    lines.push_back(std::string(part.name) + ' '
                    + seconds_text(x.*part.seconds));
    sum += std::max(0.0, x.*part.seconds);
  }
  if (x.wait > 0)
    lines.push_back("of train, waiting for data " + seconds_text(x.wait));
  if (known)
    for (const auto& [name, form] : found->second.config)
      lines.push_back(name + " = " + form);
  auto result = "<g>" + svg_tooltip(lines);
  // What no part accounts for stays pale.
  result += rect(left, y, width, bar_pixels, mix(colour, "#ffffff", 0.88));
  const double part_scale = width / std::max({sum, length, 1e-9});
  double at = left;
  for (const auto& part : phases) {
    const double part_width = std::max(0.0, x.*part.seconds) * part_scale;
    if (part_width > 0)
      result += rect(at, y, part_width, bar_pixels,
                     mix(colour, part.towards, part.share));
    at += part_width;
  }
  // Neighbours in one tree have one colour: a white edge keeps them apart.
  result += "<path d=\"M" + px(left) + ' ' + px(y) + 'v' + px(bar_pixels)
            + "\" stroke=\"#ffffff\" stroke-width=\"0.8\"/>";
  std::string changed;
  if (known)
    for (const auto& change :
         changes(found->second.parent, found->second.config))
      changed += (changed.empty() ? ": " : ", ") + change;
  const auto steps = std::to_string(x.from) + '-' + std::to_string(x.to);
  const double room = width - 8;
  const bool some = text_pixels(steps + ": lr 0.1…", bar_label_px) <= room;
  const auto label =
    fit_pixels(some ? steps + changed : steps, room, bar_label_px);
  if (!label.empty())
    result += svg_text(left + 4, y + bar_pixels / 2 + 3.5, label, bar_label_px);
  return result + "</g>\n";
}

/// All trainers with the lanes that did something, sorted.
std::vector<lane_name> lanes_in(const run_record& x) {
  std::set<lane_name> result;
  for (const auto& trainer : x.trainers)
    result.insert({trainer.number, 0});
  for (const auto& busy : x.timeline)
    result.insert(lane_of(busy));
  return {result.begin(), result.end()};
}

/// Joins what a lane did on one stage without a pause.
std::vector<busy_record> joined(const std::vector<busy_record>& xs) {
  std::vector<busy_record> result;
  std::map<lane_name, std::size_t> last; // of each lane, in `result`
  for (const auto& x : xs) {
    const auto i = last.find(lane_of(x));
    if (i != last.end()) {
      auto& before = result[i->second];
      if (before.stage == x.stage && before.to == x.from
          && before.end == x.begin && x.load == 0) {
        before.end = x.end;
        before.to = x.to;
        for (const auto& part : phases)
          before.*part.seconds += x.*part.seconds;
        before.wait += x.wait;
        continue;
      }
    }
    last[lane_of(x)] = result.size();
    result.push_back(x);
  }
  return result;
}

std::string legend() {
  std::string result;
  double x = svg_margin;
  for (const auto& part : phases) {
    result += rect(x, 54, 18, 12, mix("#0072b2", part.towards, part.share));
    result += svg_text(x + 25, 64, part.name, 12);
    x += 100;
  }
  return result
         + svg_text(x, 64,
                    "one colour for what grows from one root; idle is "
                    "white",
                    12, "fill=\"#666666\"");
}

} // namespace

std::string timeline_svg(const run_record& record) {
  const double last = last_second(record);
  const double scale = bars_width / last;
  auto rows = lanes_in(record);
  const auto count = rows.size();
  const auto trainers = static_cast<std::size_t>(
    std::count_if(rows.begin(), rows.end(),
                  [](const auto& row) { return row.lane == 0; }));
  const bool has_lanes = trainers < count;
  std::vector<std::string> notes;
  if (count > rows_max) {
    notes.push_back("Drawn are the first " + std::to_string(rows_max) + " of "
                    + std::to_string(count)
                    + (has_lanes ? " lanes." : " trainers."));
    rows.resize(rows_max);
  }
  std::map<lane_name, double> row_y;
  for (std::size_t i = 0; i < rows.size(); ++i)
    row_y[rows[i]] = head + row_pixels * static_cast<double>(i) + 8;
  std::map<lane_name, double> busy_seconds;
  std::vector<const busy_record*> bars;
  const auto stretches = joined(record.timeline);
  for (const auto& busy : stretches) {
    busy_seconds[lane_of(busy)] += std::max(0.0, busy.end - busy.begin);
    if (row_y.count(lane_of(busy)) > 0)
      bars.push_back(&busy);
  }
  if (bars.size() > bars_max) {
    notes.push_back("Drawn are the longest " + std::to_string(bars_max) + " of "
                    + std::to_string(bars.size()) + " stretches.");
    std::stable_sort(bars.begin(), bars.end(), [](auto* a, auto* b) {
      return a->end - a->begin > b->end - b->begin;
    });
    bars.resize(bars_max);
  }

  const double busy_sum =
    std::accumulate(busy_seconds.begin(), busy_seconds.end(), 0.0,
                    [](double sum, auto& entry) { return sum + entry.second; });
  const std::string title =
    counted(trainers, "trainer")
    + (has_lanes ? " with " + std::to_string(count) + " lanes, " : ", ")
    + fixed(record.wall_seconds, 1) + " s, "
    + percent(busy_sum, last * static_cast<double>(count)) + " busy";
  std::string body = svg_text(svg_margin, 38, title, 18, "font-weight=\"600\"");
  body += legend();
  const double bottom =
    head + row_pixels * static_cast<double>(rows.size()) + 4;
  const double left = svg_margin + names_width;
  for (double second : round_ticks(last, 12)) {
    const double at = left + second * scale;
    body += "<path d=\"M" + px(at) + ' ' + px(head - 2) + 'V' + px(bottom)
            + "\" stroke=\"#ececec\"/>";
    body += svg_text(at, head - 8, significant(second, 4) + " s", 11,
                     "fill=\"#666666\" text-anchor=\"middle\"");
  }
  for (const auto& [row, y] : row_y) {
    const auto known =
      std::find_if(record.trainers.begin(), record.trainers.end(),
                   [n = row.trainer](const auto& t) { return t.number == n; });
    body += svg_text(svg_margin, y + 11, lane_text(row.trainer, row.lane), 12);
    if (known != record.trainers.end() && row.lane == 0) {
      const bool lost = !known->lost.empty();
      const auto text = lost ? "lost: " + known->lost : known->name;
      body += "<g>" + svg_tooltip({known->name, known->device, known->lost})
              + svg_text(svg_margin, y + 24,
                         fit_pixels(text, names_width - 10, 10), 10,
                         lost ? "fill=\"#b00020\"" : "fill=\"#666666\"")
              + "</g>\n";
    }
    body += svg_text(left + bars_width + 10, y + 17,
                     percent(busy_seconds[row], last), 12);
  }
  const auto stages = index_stages(record);
  body += "<g transform=\"translate(" + px(svg_margin) + " 0)\">\n";
  for (const auto* busy : bars)
    body += draw(*busy, row_y[lane_of(*busy)], scale, stages);
  body += "</g>\n";
  double y = bottom + 6;
  for (const auto& note : notes) {
    body += svg_text(svg_margin, y + 12, note, 12, "fill=\"#666666\"");
    y += 18;
  }
  return svg_open(left + bars_width + 60 + svg_margin, y + 16, "Hippo timeline")
         + body + "</svg>\n";
}

} // namespace hippo
