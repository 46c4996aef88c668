#include "hippo/report/preview.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t columns_max = 80;
constexpr std::size_t name_columns = 26;

void add(json& to, const step_figures& x) {
  to["asked_steps"] = x.asked_steps;
  to["unique_steps"] = x.unique_steps;
  to["merge_rate"] = x.merge_rate;
  to["k_wise_merge_rate"] = x.k_wise_merge_rate;
}

void add(json& to, std::uint64_t trials, const step_figures& full,
         const std::optional<step_figures>& estimate) {
  to["trials"] = trials;
  add(to, full);
  if (estimate)
    add(to["estimate"], *estimate);
}

std::string row(const std::string& name, std::uint64_t trials,
                const step_figures& x) {
  const auto asked = static_cast<double>(x.asked_steps);
  const auto saved = asked - static_cast<double>(x.unique_steps);
  return pad_right(printable(name), name_columns)
         + pad_left(std::to_string(trials), 8)
         + pad_left(std::to_string(x.asked_steps), 12)
         + pad_left(std::to_string(x.unique_steps), 12)
         + pad_left(fixed(x.merge_rate, 2), 7)
         + pad_left(percent(saved, asked), 8);
}

void add_line(std::string& to, const std::string& line) {
  to += text_line{}.add(line).str(columns_max, false);
}

void add_table(std::string& to, const char* heading, const preview_record& x,
               bool estimated) {
  const auto figures = [estimated](const auto& entry) {
    return estimated && entry.estimate ? *entry.estimate : entry.full;
  };
  add_line(to, pad_right(heading, name_columns) + pad_left("trials", 8)
                 + pad_left("asked for", 12) + pad_left("unique", 12)
                 + pad_left("p", 7) + pad_left("saved", 8));
  for (const auto& study : x.studies)
    add_line(to, row(study.name, study.trials, figures(study)));
  const auto all = figures(x);
  add_line(to, row("all, merged", x.trials, all));
  add_line(to, "k-wise merge rate q: " + fixed(all.k_wise_merge_rate, 2));
}

} // namespace

std::string preview_json(const preview_record& x) {
  json result = json::object();
  add(result, x.trials, x.full, x.estimate);
  result["studies"] = json::array();
  for (const auto& study : x.studies) {
    json entry{{"name", study.name}};
    add(entry, study.trials, study.full, study.estimate);
    result["studies"].push_back(std::move(entry));
  }
  return result.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string preview_text(const preview_record& x) {
  std::string result;
  add_table(result, "steps, trained in full", x, false);
  if (x.estimate) {
    result += '\n';
    add_table(result, "steps, early stops (est.)", x, true);
  }
  return result;
}

} // namespace hippo
