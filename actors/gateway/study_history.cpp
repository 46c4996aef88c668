#include "gateway/study_history.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "gateway/column_text.hpp"
#include "gateway/limits.hpp"
#include "gateway/schedule_curves.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/trial_result.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/plan/stage_label.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t rows_per_read = 10'000;

/// Measurements that are kept; curves of a study with more end there.
constexpr std::size_t kept_values_max = 1'000'000;

/// A version that no history before this one has had, whichever process it was
/// in: what a page has of that is not taken for a part of this.
std::uint64_t first_version() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch())
      .count());
}

/// Puts a value of a hyper-parameter into a column: a number as it is, all else
/// in short.
void put_value(cell_column& to, std::size_t row, const json& x) {
  const auto number = x.is_number() ? x.get<double>() : 0;
  constexpr double exact_max = 1ULL << 53U;
  if (x.is_number_float() || (x.is_number() && std::abs(number) < exact_max))
    to.set(row, number);
  else
    to.set(row, text_of(x.is_number() ? x : json(brief({{"x", x}}).substr(2))));
}

/// Adds how the values of trials were chosen, if any were: a table of many
/// trials has no room for what says nothing.
/// @param why the reason of a row
template <class F>
void add_choices(columns& to, const std::vector<std::size_t>& rows, F why) {
  if (std::ranges::none_of(rows, [&](auto i) { return !why(i).how.empty(); }))
    return;
  cell_column how, predicted, untrained;
  for (const auto i : rows) {
    how.set(i, why(i).how.empty() ? "null" : text_of(why(i).how));
    predicted.set(i, why(i).predicted.value_or(std::nan("")));
    if (why(i).untrained)
      untrained.set(i, static_cast<double>(*why(i).untrained));
    else
      untrained.set(i, std::nan(""));
  }
  how.add_to(to.add("chosen"), rows);
  predicted.add_to(to.add("predicted"), rows);
  untrained.add_to(to.add("untrained"), rows);
}

} // namespace

bool is_columns(const std::string& what) {
  return std::ranges::find(column_kinds, what) != column_kinds.end();
}

study_history::study_history(stored_study study, std::string workload_key,
                             std::set<std::string> varied)
  : study_(std::move(study)), workload_key_(std::move(workload_key)),
    varied_(std::move(varied)), first_(first_version()), version_(first_) {}

expected<std::string> study_history::answer(state_reader& store,
                                            const std::string& what,
                                            std::uint64_t after,
                                            const std::string& metric) {
  const auto now = store.data_version();
  if (!now)
    return now.failure();
  if ((what == "table" || what == "front") && trials_as_of_ != *now) {
    if (auto done = read_trials(store); !done)
      return done.failure();
    trials_as_of_ = *now;
  }
  if (what == "table")
    return table(after);
  if (values_as_of_ != *now) {
    if (auto done = read_values(store); !done)
      return done.failure();
    values_as_of_ = *now;
  }
  if (what == "curves")
    return metric.empty() ? curves(after) : curves_of(store, after, metric);
  if (what == "front")
    return front(store);
  if (auto done = read_stages(store); !done)
    return done.failure();
  if (what == "work") {
    if (auto done = read_work(store); !done)
      return done.failure();
    return work();
  }
  return what == "sharing"     ? sharing(store)
         : what == "schedules" ? schedules()
                               : tree();
}

expected<std::monostate> study_history::read_values(state_reader& store) {
  for (;;) {
    const auto part = store.load_values(study_.id, study_.metric, last_event_,
                                        rows_per_read, parts::given);
    if (!part)
      return part.failure();
    for (const auto& x : *part) {
      last_event_ = x.event;
      if (!x.is_part && values_.size() < kept_values_max)
        values_.push_back(x);
      if (x.node == root_node)
        continue;
      if (metrics_.empty() && !x.is_part) {
        const auto all = store.load_metrics(study_.id, x.trial, x.step);
        if (!all)
          return all.failure();
        for (const auto& [name, value] : *all)
          metrics_.push_back(name);
      }
      if (auto& known = places_[{x.trial, x.seed_no}]; x.step >= known.step)
        known = {x.node, x.step};
      auto i = stages_.find(x.node);
      if (i == stages_.end()) {
        i = stages_.emplace(x.node, stage{}).first;
        unknown_.insert(x.node);
      }
      if (x.step >= i->second.last.step)
        i->second.last = x;
      worked_on_.insert(x.node);
    }
    if (part->size() < rows_per_read)
      return std::monostate{};
  }
}

expected<std::monostate> study_history::read_stages(state_reader& store) {
  while (!unknown_.empty()) {
    const std::vector<node_id> wanted{unknown_.begin(), unknown_.end()};
    auto nodes = store.load_nodes(workload_key_, wanted);
    if (!nodes)
      return nodes.failure();
    unknown_.clear();
    for (auto& x : *nodes) {
      auto& known = stages_[x.id];
      known.parent = x.parent;
      known.begin = x.begin;
      known.config = std::move(x.config);
      unlabelled_.push_back(x.id);
      if (x.parent != root_node && stages_.emplace(x.parent, stage{}).second)
        unknown_.insert(x.parent);
    }
  }
  for (const auto id : unlabelled_) {
    auto& x = stages_[id];
    const auto above = stages_.find(x.parent);
    x.label = stage_label(
      x.config, above == stages_.end() ? nullptr : &above->second.config,
      varied_);
    constexpr std::size_t entry_bytes = 120; // of a configuration
    text_bytes_ += x.label.size() + x.config.size() * entry_bytes;
  }
  unlabelled_.clear();
  return std::monostate{};
}

expected<std::monostate> study_history::read_work(state_reader& store) {
  const std::vector<node_id> wanted{worked_on_.begin(), worked_on_.end()};
  const auto all = store.load_work(workload_key_, wanted);
  if (!all)
    return all.failure();
  const auto bytes_of = [](const stored_work& x) {
    return sizeof x + x.trainer.size();
  };
  for (const auto id : wanted) {
    auto& known = stages_[id].work;
    for (const auto& x : known)
      text_bytes_ -= bytes_of(x);
    known.clear();
  }
  for (const auto& x : *all) {
    stages_[x.node].work.push_back(x);
    text_bytes_ += bytes_of(x);
  }
  worked_on_.clear();
  return std::monostate{};
}

expected<std::monostate> study_history::read_trials(state_reader& store) {
  const auto version = version_ + 1;
  std::size_t row = 0;
  for (std::uint64_t first = 0;;) {
    const auto part = store.load_trials(study_.id, first, rows_per_read);
    if (!part)
      return part.failure();
    for (const auto& x : *part) {
      first = x.trial + 1;
      if (row == trials_.size())
        trials_.emplace_back();
      else if (trials_[row].trial == x) {
        ++row;
        continue;
      } else if (trials_[row].trial.trial != x.trial) {
        forget_trials(); // one was taken back, or has come back
        return read_trials(store);
      }
      put(row, x);
      trials_[row].changed = version_ = version;
      ++row;
    }
    if (part->size() < rows_per_read)
      break;
  }
  if (row == trials_.size())
    return std::monostate{};
  forget_trials();
  return read_trials(store);
}

/// Begins as another history would, so that who has a part of it asks for all.
void study_history::forget_trials() {
  for (const auto& x : trials_)
    text_bytes_ -= x.trial.params.size() + x.trial.failure.size();
  trials_.clear();
  params_.clear();
  first_ = ++version_;
}

void study_history::put(std::size_t row, const stored_trial& trial) {
  auto& known = trials_[row].trial;
  if (known.params != trial.params) {
    const auto before = known.params.empty()
                          ? json{}
                          : json::parse(known.params, nullptr, false);
    const auto values = json::parse(trial.params, nullptr, false);
    if (before.is_object())
      for (const auto& [name, y] : before.items())
        params_[name].set(row, "null");
    if (values.is_object())
      for (const auto& [name, y] : values.items())
        put_value(params_[name], row, y);
  }
  text_bytes_ += trial.params.size() + trial.failure.size();
  text_bytes_ -= known.params.size() + known.failure.size();
  known = trial;
}

const stored_trial* study_history::find(trial_no no) const {
  const auto i = std::lower_bound(
    trials_.begin(), trials_.end(), no,
    [](const trial_row& x, trial_no y) { return x.trial.trial < y; });
  return i != trials_.end() && i->trial.trial == no ? &i->trial : nullptr;
}

std::string study_history::table(std::uint64_t since) const {
  // Another history's version is of no use here.
  const bool is_whole = since < first_ || since > version_;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < trials_.size(); ++i)
    if (is_whole || trials_[i].changed > since)
      rows.push_back(i);
  const auto trial = [&](std::size_t i) -> const stored_trial& {
    return trials_[i].trial;
  };
  using number = std::optional<std::uint64_t>;
  columns result;
  add_number(result.add("version"), version_);
  result.add("whole") += is_whole ? "true" : "false";
  result.add_list("trial", rows, [&](auto i) { return trial(i).trial; });
  cell_column state;
  for (const auto i : rows)
    state.set(i, '"' + std::string{to_string(trial(i).state)} + '"');
  state.add_to(result.add("state"), rows);
  result.add_list("value", rows, [&](auto i) {
    return trial(i).best ? trial(i).best->value : std::nan("");
  });
  result.add_list("step", rows, [&](auto i) {
    return trial(i).best ? number{trial(i).best->step} : number{};
  });
  for (const auto* name : {"delivered_steps", "steps"}) // and the former name
    result.add_list(name, rows, [&](auto i) { return trial(i).steps; });
  result.add_list("asked_steps", rows,
                  [&](auto i) { return trial(i).asked_to; });
  result.add_list("shared_steps", rows,
                  [&](auto i) { return trial(i).shared; });
  add_choices(result, rows, [&](auto i) -> const choice_reason& {
    return trial(i).why;
  });
  columns params;
  for (const auto& [name, column] : params_) {
    // A name is a text, and written like one.
    const auto key = text_of(name);
    column.add_to(params.add(key.substr(1, key.size() - 2).c_str()), rows);
  }
  auto of_params = params_.empty() ? "{}\n" : params.take();
  of_params.pop_back();
  result.add("params") += of_params;
  json failures = json::object();
  for (const auto i : rows)
    if (!trial(i).failure.empty())
      failures[std::to_string(trial(i).trial)] = trial(i).failure;
  result.add("failures") += text_of(failures);
  return result.take();
}

std::string study_history::curves(std::uint64_t after) const {
  auto from = std::upper_bound(
    values_.begin(), values_.end(), after,
    [](std::uint64_t x, const stored_value& y) { return x < y.event; });
  return curves_text(
    study_.metric,
    {from, from + std::min<std::ptrdiff_t>(
             values_.end() - from,
             static_cast<std::ptrdiff_t>(values_per_read_max))},
    after);
}

expected<std::string>
study_history::curves_of(state_reader& store, std::uint64_t after,
                         const std::string& metric) const {
  if (!values_.empty() && std::ranges::find(metrics_, metric) == metrics_.end())
    return {errc::invalid_argument, unknown_text("metric", metric, metrics_)};
  auto rows = store.load_values(study_.id, metric, after, values_per_read_max);
  if (!rows)
    return rows.failure();
  if (!values_.empty())
    std::erase_if(*rows, [&](const auto& x) { // as `curves` has them
      return x.event > values_.back().event;
    });
  return curves_text(metric, *rows, after);
}

std::string
study_history::curves_text(const std::string& metric,
                           const std::vector<stored_value>& rows,
                           std::uint64_t after) const {
  const auto start = values_.empty() ? 0 : values_.front().time;
  std::vector<double> value, spread, seconds;
  for (const auto& x : rows) {
    value.push_back(x.value);
    spread.push_back(x.spread);
    seconds.push_back(std::round((x.time - start) * 1000) / 1000);
  }
  columns result;
  result.add("metric") += text_of(metric);
  result.add("metrics") += text_of(metrics_);
  const auto next = rows.empty() ? after : rows.back().event;
  result.add("whole")
    += values_.empty() || next >= values_.back().event ? "true" : "false";
  add_number(result.add("next"), next);
  add_number(result.add("start"), std::round(start * 1000) / 1000);
  result.add_list("trial", rows, [](const auto& x) { return x.trial; });
  result.add_list("step", rows, [](const auto& x) { return x.step; });
  result.add_list("shared", rows, [](const auto& x) { return x.shared; });
  add_numbers(result.add("value"), value);
  if (!rows.empty() && rows.front().seed_no > 0)
    add_numbers(result.add("spread"), spread);
  add_numbers(result.add("seconds"), seconds);
  return result.take();
}

std::string study_history::tree() const {
  // How far each node is trained for this study, and by how many trials.
  struct passage {
    step_t end = 0;
    std::uint64_t trials = 0;
    bool counts = false; ///< whether a trial that did not fail is one of them
  };
  std::map<node_id, passage> passed;
  for (const auto& [run, where] : places_) {
    const auto* trial = find(run.first);
    auto end = where.step;
    for (auto i = stages_.find(where.node); i != stages_.end();
         i = stages_.find(i->second.parent)) {
      auto& known = passed[i->first];
      known.end = std::max(known.end, end);
      ++known.trials;
      known.counts |= trial == nullptr || has_result(trial->state);
      end = i->second.begin;
    }
  }
  using row = std::pair<node_id, passage>;
  std::vector<row> rows{passed.begin(), passed.end()};
  rows.resize(std::min(rows.size(), shown_stages_max));
  const auto stage_of = [&](const row& x) -> const stage& {
    return stages_.at(x.first);
  };
  columns result;
  add_number(result.add("all_nodes"), std::uint64_t{passed.size()});
  result.add_list("id", rows, [](const row& x) { return number_of(x.first); });
  result.add_list("parent", rows,
                  [&](const row& x) {
                    return number_of(stage_of(x).parent);
                  });
  result.add_list("begin", rows,
                  [&](const row& x) { return stage_of(x).begin; });
  result.add_list("end", rows, [](const row& x) { return x.second.end; });
  result.add_list("trials", rows, [](const row& x) { return x.second.trials; });
  std::vector<double> value, seconds;
  const auto start = values_.empty() ? 0 : values_.front().time;
  for (const auto& x : rows) {
    const auto& last = stage_of(x).last;
    value.push_back(last.event == 0 || !x.second.counts ? std::nan("")
                                                        : last.value);
    seconds.push_back(last.event == 0 ? std::nan("")
                                      : std::round(last.time - start));
  }
  add_numbers(result.add("value"), value);
  add_numbers(result.add("seconds"), seconds);
  result.add_list("label", rows,
                  [&](const row& x) { return stage_of(x).label; });
  columns at;
  at.add_list("trial", places_, [](const auto& x) { return x.first.first; });
  at.add_list("node", places_,
              [](const auto& x) { return number_of(x.second.node); });
  at.add_list("step", places_, [](const auto& x) { return x.second.step; });
  auto of_places = at.take();
  of_places.pop_back();
  result.add("at") += of_places;
  return result.take();
}

std::string study_history::schedules() const {
  std::vector<trained_way> trials;
  for (const auto& [run, where] : places_) {
    if (run.second > 1) // the values are the same with each seed
      continue;
    trained_way way{run.first, where.step, {}};
    for (auto i = stages_.find(where.node); i != stages_.end();
         i = stages_.find(i->second.parent))
      way.parts.emplace_back(i->second.begin, &i->second.config);
    std::reverse(way.parts.begin(), way.parts.end());
    trials.push_back(std::move(way));
  }
  return schedule_curves(trials, shown_curves_max);
}

expected<std::vector<metrics>>
study_history::measured_at(state_reader& store,
                           const std::vector<measured_state>& states) const {
  if (values_.empty() || values_.front().seed_no == 0) {
    std::vector<std::pair<node_id, step_t>> places;
    for (const auto& x : states)
      places.emplace_back(x.node, x.step);
    return store.load_metrics(workload_key_, places);
  }
  std::set<std::pair<trial_no, step_t>> wanted;
  for (const auto& x : states)
    wanted.emplace(x.trial, x.step);
  auto summaries = store.load_summaries(study_.id, wanted);
  if (!summaries)
    return summaries.failure();
  std::vector<metrics> result;
  for (const auto& x : states)
    result.push_back(std::move((*summaries)[{x.trial, x.step}]));
  return result;
}

expected<std::string> study_history::front(state_reader& store) const {
  const auto told = store.load_front(study_.id);
  if (!told)
    return told.failure();
  // Where it was best; what breaks the study's constraints never was: last.
  const auto shown = [&](const stored_trial& x) -> std::optional<step_t> {
    if (x.best)
      return x.best->step;
    if (!has_result(x.state))
      return std::nullopt;
    const auto last = places_.lower_bound({x.trial, 0});
    return *told && last != places_.end() && last->first.first == x.trial
             ? std::optional{last->second.step}
             : std::nullopt;
  };
  std::vector<measured_state> states;
  for (const auto& x : values_) {
    if (const auto* trial = find(x.trial); trial && shown(*trial) == x.step)
      states.push_back({x.node, x.step, x.trial});
  }
  std::sort(states.begin(), states.end());
  const auto measured = measured_at(store, states);
  if (!measured)
    return measured.failure();
  std::map<std::string, std::vector<double>> by_name;
  for (std::size_t i = 0; i < states.size(); ++i)
    for (const auto& [name, value] : (*measured)[i])
      by_name.try_emplace(name, states.size(), std::nan(""))
        .first->second[i]
        = value;
  columns result;
  result.add("metric") += text_of(study_.metric);
  result.add("front") += told->value_or("null");
  result.add_list("trial", states, [](const auto& x) { return x.trial; });
  result.add_list("step", states, [](const auto& x) { return x.step; });
  columns values;
  for (const auto& [name, column] : by_name) {
    const auto key = text_of(name);
    add_numbers(values.add(key.substr(1, key.size() - 2).c_str()), column);
  }
  auto of_values = by_name.empty() ? "{}\n" : values.take();
  of_values.pop_back();
  result.add("values") += of_values;
  return result.take();
}

expected<std::string> study_history::sharing(state_reader& store) const {
  const auto all = store.load_sharing(workload_key_);
  if (!all)
    return all.failure();
  std::map<std::uint64_t, json> passed; // studies by stage
  for (const auto& [node, study] : *all)
    if (stages_.contains(node_id{node}))
      passed[node].push_back(study);
  columns result;
  result.add_list("node", passed, [](const auto& x) { return x.first; });
  result.add_list("studies", passed, [](const auto& x) { return x.second; });
  return result.take();
}

std::string study_history::work() const {
  std::vector<const stored_work*> rows;
  for (const auto& kvp : stages_)
    for (const auto& x : kvp.second.work)
      if (rows.size() < shown_stages_max)
        rows.push_back(&x);
  const auto rounded = [](const std::optional<double>& x) {
    return x ? std::round(*x * 1000) / 1000 : std::nan("");
  };
  columns result;
  result.add_list("node", rows, [](auto x) { return number_of(x->node); });
  result.add_list("trainer", rows, [](auto x) {
    return x->trainer.empty() ? json{} : json(x->trainer);
  });
  for (const auto* name : {"from_step", "from"}) // and the former name
    result.add_list(name, rows, [](auto x) { return x->first; });
  for (const auto* name : {"to_step", "to"})
    result.add_list(name, rows, [](auto x) { return x->last; });
  result.add_list("begin", rows, [&](auto x) { return rounded(x->begin); });
  result.add_list("end", rows, [&](auto x) { return rounded(x->end); });
  return result.take();
}

std::size_t study_history::bytes() const {
  constexpr std::size_t map_entry = 64;
  auto result = sizeof *this + text_bytes_
                + trials_.size() * sizeof trials_[0]
                + values_.size() * sizeof(stored_value)
                + places_.size() * (map_entry + sizeof(place))
                + stages_.size() * (map_entry + sizeof(stage));
  for (const auto& [name, column] : params_)
    result += column.bytes();
  return result;
}

} // namespace hippo
