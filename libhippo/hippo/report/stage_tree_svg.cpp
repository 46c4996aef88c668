#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "hippo/report/report.hpp"
#include "hippo/report/stage_layout.hpp"
#include "hippo/report/stage_text.hpp"
#include "hippo/report/svg.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

constexpr double tree_width = 1144;
constexpr double stage_label_px = 10;
constexpr double line_px = 12; ///< between the lines of a label
/// Lower bars carry no label.
constexpr double label_height_min = 11;
/// Studies beyond this share the last band, and are not named one by one.
constexpr std::size_t studies_named_max = 12;
constexpr double legend_width = 190;
constexpr std::size_t legend_columns = 6;
/// An axis below the trees as well helps only where the one above is far.
constexpr double second_axis_height = 500;

std::string study_name(const run_record& x, std::size_t index) {
  return index < x.studies.size() ? x.studies[index].name
                                  : "study " + std::to_string(index);
}

/// The fills: a colour for a study, bands of colours for what several share.
class fills {
public:
  /// Returns the fill's name; equal sets of studies have one.
  std::size_t of(std::vector<std::size_t> studies) {
    std::sort(studies.begin(), studies.end());
    studies.erase(std::unique(studies.begin(), studies.end()), studies.end());
    studies.resize(std::min(studies.size(), studies_named_max));
    return names_.emplace(std::move(studies), names_.size()).first->second;
  }

  /// Returns the definitions of all fills so far: hard-edged gradients.
  [[nodiscard]] std::string definitions() const {
    std::string result = "<defs>\n";
    for (const auto& [studies, name] : names_) {
      result += "<linearGradient id=\"f" + std::to_string(name)
                + "\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\">";
      const auto bands = std::max<std::size_t>(1, studies.size());
      for (std::size_t i = 0; i < bands; ++i) {
        const auto colour = studies.empty()
                              ? std::string("#dddddd")
                              : mix(palette_colour(studies[i]), "#ffffff", 0.4);
        for (std::size_t edge : {i, i + 1})
          result +=
            "<stop offset=\""
            + fixed(static_cast<double>(edge) / static_cast<double>(bands), 4)
            + "\" stop-color=\"" + colour + "\"/>";
      }
      result += "</linearGradient>\n";
    }
    // A halo keeps labels legible where two bands meet.
    return result
           + "<style>.l{paint-order:stroke;stroke:#ffffff;stroke-opacity:0.6;"
             "stroke-width:2.5px}</style>\n</defs>\n";
  }

private:
  std::map<std::vector<std::size_t>, std::size_t> names_;
};

std::string bar(double x, double y, double width, double height,
                std::size_t fill) {
  const double radius = std::min({4.0, height / 3, width / 3});
  return "<rect x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(width)
         + "\" height=\"" + px(height) + "\" rx=\"" + px(radius)
         + "\" fill=\"url(#f" + std::to_string(fill) + ")\"/>";
}

/// What every stage of a panel has; said once above it and not in the bars.
config_entries common_entries(const tree_panel& panel,
                              const std::vector<config_entries>& configs) {
  auto result = configs.front();
  for (std::size_t i = 0; i < panel.boxes.size(); ++i)
    std::erase_if(result, [&](const auto& entry) {
      const auto found = configs[i].find(entry.first);
      return found == configs[i].end() || found->second != entry.second;
    });
  return result;
}

/// Who trained each stage, by its number.
using stage_trainers = std::map<std::uint64_t, std::set<std::string>>;

stage_trainers trainers_of(const run_record& x) {
  stage_trainers result;
  for (const auto& busy : x.timeline)
    result[busy.stage].insert(lane_text(busy.trainer, busy.lane));
  return result;
}

std::string tooltip(const run_record& x, const stage_record& stage,
                    const stage_trainers& trainers) {
  std::string studies;
  for (std::size_t i = 0; i < stage.studies.size(); ++i) {
    if (i == studies_named_max) {
      studies += " and " + std::to_string(stage.studies.size() - i) + " more";
      break;
    }
    studies += (i == 0 ? "" : ", ") + study_name(x, stage.studies[i]);
  }
  std::vector<std::string> lines{
    "steps " + std::to_string(stage.begin) + " to " + std::to_string(stage.end),
    counted(stage.trials, "trial") + " of "
      + (studies.empty() ? "no study" : studies)};
  for (const auto& [name, form] : parse_config(stage.config))
    lines.push_back(name + " = " + form);
  if (const auto i = trainers.find(stage.id); i != trainers.end())
    for (const auto& name : i->second)
      lines.push_back("on " + name);
  return svg_tooltip(lines);
}

/// Cuts `name value` so that rather the name is lost than the value.
std::string fit_change(const std::string& text, double room) {
  const auto columns =
    static_cast<std::size_t>(room / text_pixels("x", stage_label_px));
  const auto space = text.find(' ');
  const auto value = text.substr(std::min(space, text.size()));
  const auto value_columns = display_width(value);
  if (display_width(text) > columns && value_columns + 3 <= columns)
    return fit(text.substr(0, space), columns - value_columns) + value;
  return fit_pixels(text, room, stage_label_px);
}

/// What stands in a bar.
struct bar_label {
  std::string svg;
  bool whole = true; ///< nothing had to be cut
};

/// The changes in as many lines as the bar has room for.
bar_label label(const stage_box& box, const std::vector<std::string>& parts) {
  bar_label result;
  if (parts.empty() || box.height < label_height_min)
    return result;
  std::string joined;
  for (const auto& x : parts)
    joined += (joined.empty() ? "" : ", ") + x;
  std::vector<std::string> lines{joined};
  const double room = box.width - 8;
  const auto lines_max = static_cast<std::size_t>(box.height / line_px);
  const bool stacked =
    text_pixels(joined, stage_label_px) > room && lines_max > 1;
  if (stacked) {
    lines = parts;
    if (lines.size() > lines_max) {
      lines.resize(lines_max);
      lines.back() += ", …";
      result.whole = false;
    }
  }
  double y = box.y + box.height / 2 + stage_label_px * 0.35
             - line_px * (static_cast<double>(lines.size()) - 1) / 2;
  for (const auto& line : lines) {
    const auto cut = stacked || parts.size() == 1
                       ? fit_change(line, room)
                       : fit_pixels(line, room, stage_label_px);
    result.whole = result.whole && cut == line;
    if (!cut.empty())
      result.svg += svg_text(box.x + 4, y, cut, stage_label_px, "class=\"l\"");
    y += line_px;
  }
  return result;
}

/// The thin lines from a parent's end to its children.
std::string connectors(const tree_panel& panel) {
  std::string path;
  for (const auto& x : panel.boxes) {
    if (!x.parent)
      continue;
    const auto& from = panel.boxes[*x.parent];
    const double from_y = from.y + from.height / 2;
    const double to_y = x.y + x.height / 2;
    const bool beside = x.elbow < from.x + from.width;
    if (!beside)
      path +=
        'M' + px(from.x + from.width) + ' ' + px(from_y) + 'H' + px(x.elbow);
    else
      path += 'M' + px(x.elbow) + ' ' + px(from.y + from.height);
    path += 'V' + px(to_y) + 'H' + px(x.x);
  }
  return path.empty()
           ? ""
           : "<path d=\"" + path + "\" fill=\"none\" stroke=\"#8a8a8a\"/>\n";
}

std::string axis(const tree_panel& panel, double y) {
  std::string result;
  for (const auto& tick : panel.ticks)
    result += svg_text(tick.x, y, std::to_string(tick.step), 11,
                       "fill=\"#666666\" text-anchor=\"middle\"");
  return result;
}

/// Above the trees of a panel: the heading and the axis.
constexpr double panel_head = 66;

double full_height(const tree_panel& x) {
  return panel_head + x.height + (x.height > second_axis_height ? 50.0 : 28.0);
}

std::string draw(const run_record& x, const tree_panel& panel,
                 const std::string& heading, fills& colours,
                 const stage_trainers& trainers) {
  std::vector<config_entries> configs;
  for (const auto& box : panel.boxes)
    configs.push_back(parse_config(x.stages[box.stage].config));
  const auto common = common_entries(panel, configs);
  std::string shared;
  for (const auto& [name, form] : common)
    shared += (shared.empty() ? "in every stage: " : ", ") + name + ' '
              + short_form(form);

  auto result = svg_text(0, 12, fit_pixels(heading, tree_width, 13), 13,
                         "font-weight=\"600\"");
  result +=
    svg_text(0, 29, fit_pixels(shared, tree_width, 11), 11, "fill=\"#666666\"");
  result += axis(panel, panel_head - 10);
  std::string grid;
  for (const auto& tick : panel.ticks)
    grid += 'M' + px(tick.x) + ' ' + px(panel_head - 5) + 'V'
            + px(panel_head + panel.height + 5);
  result += "<path d=\"" + grid + "\" stroke=\"#ececec\"/>\n";
  result += "<g transform=\"translate(0 " + px(panel_head) + ")\">\n";
  result += connectors(panel);
  // What had to be cut is said again where the same goes on in a wider bar.
  std::vector<std::vector<std::string>> unsaid(panel.boxes.size());
  for (std::size_t i = 0; i < panel.boxes.size(); ++i) {
    const auto& box = panel.boxes[i];
    const auto& stage = x.stages[box.stage];
    auto parts =
      changes(box.parent ? configs[*box.parent] : common, configs[i]);
    if (parts.empty() && box.parent)
      parts = unsaid[*box.parent];
    const auto text = label(box, parts);
    if (!text.whole)
      unsaid[i] = parts;
    result += "<g>" + tooltip(x, stage, trainers);
    result +=
      bar(box.x, box.y, box.width, box.height, colours.of(stage.studies));
    result += text.svg + "</g>\n";
  }
  result += "</g>\n";
  if (panel.height > second_axis_height)
    result += axis(panel, panel_head + panel.height + 20);
  return result;
}

/// Studies' colours, what bands mean, and what the height means.
std::string legend(const run_record& x, const stage_layout& layout,
                   fills& colours, double& height) {
  struct item {
    std::string text;
    std::size_t fill;
    double bar;
  };
  std::vector<item> items;
  const auto named = std::min(x.studies.size(), studies_named_max);
  for (std::size_t i = 0; i < named; ++i)
    items.push_back({x.studies[i].name, colours.of({i}), 12});
  if (named < x.studies.size())
    items.push_back(
      {"and " + std::to_string(x.studies.size() - named) + " more studies",
       colours.of({}), 12});
  if (x.studies.size() > 1)
    items.push_back({"shared by several", colours.of({0, 1}), 12});
  items.push_back({"1 trial", colours.of({}), bar_height(layout, 1)});
  if (layout.trials_most > 1)
    items.push_back({px(layout.trials_most) + " trials", colours.of({}),
                     bar_height(layout, layout.trials_most)});
  double row_height = 16;
  for (const auto& entry : items)
    row_height = std::max(row_height, entry.bar + 4);
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double left = static_cast<double>(i % legend_columns) * legend_width;
    const double middle =
      (static_cast<double>(i / legend_columns) + 0.5) * row_height;
    result +=
      bar(left, middle - items[i].bar / 2, 18, items[i].bar, items[i].fill)
      + '\n';
    result += svg_text(left + 25, middle + 4,
                       fit_pixels(items[i].text, legend_width - 36, 12), 12);
  }
  const auto rows = (items.size() + legend_columns - 1) / legend_columns;
  height = static_cast<double>(rows) * row_height;
  return result;
}

std::string translated(double x, double y, const std::string& content) {
  return "<g transform=\"translate(" + px(x) + ' ' + px(y) + ")\">\n" + content
         + "</g>\n";
}

} // namespace

std::string stage_tree_svg(const run_record& record) {
  const auto layout = lay_out(record.stages, tree_width);
  fills colours;
  const auto trainers = trainers_of(record);
  std::vector<std::string> notes;
  if (record.stages.empty())
    notes.emplace_back("No stage was trained.");
  if (layout.left_out > 0)
    notes.push_back(
      "Drawn are the " + std::to_string(record.stages.size() - layout.left_out)
      + " most shared of " + std::to_string(record.stages.size()) + " stages.");
  if (std::any_of(layout.panels.begin(), layout.panels.end(),
                  [](const tree_panel& panel) { return panel.widened; }))
    notes.emplace_back("Short ranges of steps are drawn wider than to scale.");

  const auto count = record.studies.size();
  const std::string title = "Stage tree of " + std::to_string(count)
                            + (count == 1 ? " study: " : " studies: ")
                            + std::to_string(record.delivered_steps)
                            + " steps delivered, "
                            + std::to_string(record.unique_steps)
                            + " unique · p = " + fixed(record.merge_rate, 2)
                            + ", q = " + fixed(record.k_wise_merge_rate, 2);
  std::string body = svg_text(svg_margin, 38, title, 18, "font-weight=\"600\"");
  double legend_height = 0;
  const auto keys = legend(record, layout, colours, legend_height);
  body += translated(svg_margin, 54, keys);
  double y = 54 + legend_height + 6;
  for (const auto& note : notes) {
    body += svg_text(svg_margin, y + 12, note, 12, "fill=\"#666666\"");
    y += 18;
  }
  y += 16;
  for (std::size_t i = 0; i < layout.panels.size(); ++i) {
    const auto& panel = layout.panels[i];
    // A workload key says nothing to a person; it only tells several apart.
    const auto heading = layout.panels.size() == 1
                           ? std::string("steps →")
                           : "workload " + panel.workload + ", steps →";
    body += translated(svg_margin, y,
                       draw(record, panel, heading, colours, trainers));
    y += full_height(panel);
  }
  return svg_open(tree_width + 2 * svg_margin, y + 8, "Hippo stage tree")
         + colours.definitions() + body + "</svg>\n";
}

} // namespace hippo
