#include <optional>
#include <set>

#include "hippo/model/front_text.hpp"
#include "hippo/report/ranking.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/study_text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// Raised when a field of `report.json` changes its meaning or goes away.
constexpr int format_version = 1;

/// A text, or null for none.
json text_or_null(const std::string& x) {
  return x.empty() ? json(nullptr) : json(x);
}

json params_of(const json& x) {
  return x.is_null() ? json::object() : x;
}

/// A number, or null for none.
template <class Number>
json number_or_null(const std::optional<Number>& x) {
  return x ? json(*x) : json(nullptr);
}

json to_json(const trial_measurement& x) {
  json values = json::object();
  for (const auto& [name, value] : x.values)
    values[name] = value;
  return {{"step", x.step}, {"metrics", std::move(values)}};
}

json to_json(const trial_record& x) {
  json results = json::array();
  for (const auto& r : x.results)
    results.push_back(to_json(r));
  return {{"id", x.id},
          {"state", to_string(x.state)},
          {"params", params_of(x.params)},
          {"steps", x.steps},
          {"shared_steps", x.shared_steps},
          {"results", std::move(results)},
          {"failure", text_or_null(x.failure)},
          {"chosen", text_or_null(x.why.how)},
          {"predicted", number_or_null(x.why.predicted)},
          {"untrained", number_or_null(x.why.untrained)}};
}

json to_json(const study_record& x) {
  json best = nullptr;
  if (x.best)
    best = {{"trial", x.best->trial},
            {"step", x.best->step},
            {"value", x.best->value},
            {"params", params_of(x.best->params)}};
  json trials = json::array();
  for (const auto& t : x.trials)
    trials.push_back(to_json(t));
  const bool up = x.direction == direction::maximize;
  json result = {{"name", x.name},
                 {"algorithm", x.algorithm},
                 {"workload", x.workload_key},
                 {"exact", x.exact},
                 {"metric", x.metric},
                 {"direction", up ? "maximize" : "minimize"},
                 {"asked_steps", x.asked_steps},
                 {"delivered_steps", x.delivered_steps},
                 {"unique_steps", x.unique_steps},
                 {"shared_steps", x.shared_steps},
                 {"device_seconds", x.device_seconds},
                 {"cost", number_or_null(x.cost)},
                 {"reason", x.reason},
                 {"best", std::move(best)},
                 {"trials", std::move(trials)}};
  if (!x.uid.empty())
    result["uid"] = x.uid;
  if (!x.initial_state.empty())
    result["initial_state"] = x.initial_state;
  if (const auto each = best_of_each_length(x); !each.empty()) {
    auto& list = result["best_of_each_length"] = json::array();
    for (const auto& y : each)
      list.push_back({{"length", y.length},
                      {"trial", y.trial},
                      {"step", y.best.step},
                      {"value", y.best.value}});
  }
  // Where it wants more than one best value.
  if (!x.wanted.metrics.empty() && !x.wanted.is_one())
    result["front"] = to_json(x.wanted, x.front.value_or(front_record{}));
  return result;
}

/// What a trainer costs, or null: it is not known.
json priced(const trainer_record& x, double cost) {
  return x.machine.empty() ? json() : json(cost);
}

/// What machines have cost, by kind; null: there is no list of them.
json to_json(const std::optional<std::vector<trainers_cost>>& xs) {
  if (!xs)
    return nullptr;
  auto result = json::object();
  for (const auto& x : *xs)
    result[x.kind] = {{"price", x.price},
                      {"trainers", x.trainers},
                      {"work_cost", x.work},
                      {"idle_cost", x.idle}};
  return result;
}

/// How far trials and their results are indented in the text of a study.
constexpr std::size_t trial_indent = 4;
constexpr std::size_t result_indent = 8;

/// Bytes that are no UTF-8 (a trainer's log) must not lose a whole report.
std::string dumped(const json& x) {
  return x.dump(2, ' ', false, json::error_handler_t::replace);
}

std::string text_of(const json& x) { return dumped(x) + '\n'; }

/// The same, every line indented.
std::string indented(const json& x, std::size_t by) {
  const std::string spaces(by, ' ');
  auto result = spaces;
  for (const char c : dumped(x)) {
    result += c;
    if (c == '\n')
      result += spaces;
  }
  return result;
}

/// Cuts a text where the one list of that name is empty.
/// @param indent of the line with the name
text_frame cut_at(const std::string& text, const std::string& name,
                  std::size_t indent) {
  const auto list = '\n' + std::string(indent, ' ') + '"' + name + "\": []";
  const auto end = text.find(list) + list.size();
  return {text.substr(0, end - 1), text.substr(end)};
}

} // namespace

std::string study_json(const study_record& record) {
  return text_of(to_json(record));
}

text_frame study_frame(study_record record) {
  record.trials.clear();
  return cut_at(text_of(to_json(record)), "trials", trial_indent - 2);
}

text_frame trial_frame(trial_record record) {
  record.results.clear();
  return cut_at(indented(to_json(record), trial_indent), "results",
                result_indent - 2);
}

std::string result_text(const trial_measurement& measurement) {
  return indented(to_json(measurement), result_indent);
}

std::string before_item(std::size_t before) {
  return before == 0 ? "\n" : ",\n";
}

std::string after_items(text_list what, std::size_t items) {
  const auto indent = what == text_list::trials ? trial_indent : result_indent;
  return items == 0 ? "]" : '\n' + std::string(indent - 2, ' ') + ']';
}

std::string report_json(const run_record& record) {
  json studies = json::array();
  for (const auto& s : record.studies)
    studies.push_back(to_json(s));
  json trainers = json::array();
  std::set<std::string> kinds;
  for (const auto& t : record.trainers) {
    kinds.insert(t.device);
    trainers.push_back({{"number", t.number},
                        {"name", t.name},
                        {"device", t.device},
                        {"memory_bytes", t.memory_bytes},
                        {"driver", text_or_null(t.driver)},
                        {"compute_capability",
                         text_or_null(t.compute_capability)},
                        {"lost", text_or_null(t.lost)},
                        {"machine", text_or_null(t.machine)},
                        {"price", priced(t, t.price)},
                        {"work_cost", priced(t, cost_of(t.price,
                                                        t.work_seconds))},
                        {"idle_cost", priced(t, cost_of(t.price,
                                                        t.idle_seconds))}});
  }
  const json result{
    {"version", format_version},
    {"hippo", HIPPO_VERSION},
    {"interrupted", record.interrupted},
    {"simulated", record.simulated},
    {"merge", record.merge},
    {"scheduler", record.scheduler},
    {"asked_steps", record.asked_steps},
    {"delivered_steps", record.delivered_steps},
    {"unique_steps", record.unique_steps},
    {"shared_steps", record.shared_steps},
    {"trained_steps", record.trained_steps},
    {"reused_steps", record.reused_steps},
    {"merge_rate", record.merge_rate},
    {"k_wise_merge_rate", record.k_wise_merge_rate},
    {"wall_seconds", record.wall_seconds},
    {"device_seconds", record.device_seconds},
    {"alone_device_seconds", record.alone_device_seconds},
    {"saved_device_seconds", record.saved_device_seconds},
    {"lower_bound_seconds", record.lower_bound_seconds > 0
                              ? json(record.lower_bound_seconds)
                              : json()},
    {"overhead",
     {{"load", record.load_seconds},
      {"train", record.train_seconds},
      {"evaluate", record.evaluate_seconds},
      {"save", record.save_seconds},
      {"dispatch", record.dispatch_seconds},
      {"idle", record.idle_seconds}}},
    {"data_wait_seconds", record.wait_seconds},
    {"device_kinds", kinds},
    {"cost", record.costs ? json(total_cost(*record.costs)) : json()},
    {"machines", to_json(record.costs)},
    {"trainers", std::move(trainers)},
    {"studies", std::move(studies)}};
  return text_of(result);
}

} // namespace hippo
