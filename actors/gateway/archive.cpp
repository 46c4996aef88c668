#include "gateway/archive.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <tuple>

#include "gateway/stored_views.hpp"
#include "gateway/study_importance.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/foreign_file.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/model/view/study_front.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/space/own_workload.hpp"
#include "hippo/store/timing_views.hpp"

namespace hippo {

namespace {

/// Rows that are read at a time.
constexpr std::size_t rows_per_read = 1000;

/// Rows that are read before it is known how long they are.
constexpr std::size_t first_rows = 16;

/// How much is kept in memory of what can be read again.
constexpr std::size_t kept_studies_max = 10'000;

/// Makes room for one more.
template <class Map>
void limit(Map& x, std::size_t most) {
  if (x.size() >= most)
    x.clear();
}

/// How many rows a client gets that wants `most`; 0: as many as may be.
std::size_t rows_of(std::size_t most, std::size_t limit) {
  return most == 0 ? limit : std::min(most, limit);
}

/// What rows take in an answer, about.
std::size_t bytes_of(const stored_trial& x) {
  return sizeof x + x.params.size() + x.failure.size();
}
std::size_t bytes_of(const stored_event& x) {
  auto result = sizeof x;
  if (const auto* measured = std::get_if<trial_measured>(&x.what))
    for (const auto& [name, value] : measured->values)
      result += name.size() + sizeof value;
  if (const auto* failed = std::get_if<trial_failed>(&x.what))
    result += failed->reason.message.size();
  if (const auto* command = std::get_if<study_command>(&x.what))
    result += command->text.size();
  return result;
}

/// Reads rows until they are `rows`, or take `rows_bytes_max`: a few at first,
/// then as many as there is room for by what those took.
/// @param next reads so many that follow on those that there are
/// @param is_whole is told whether there are no more
template <class T, class Next>
expected<std::vector<T>> read_bounded(std::size_t rows, bool& is_whole,
                                      Next&& next) {
  std::vector<T> result;
  std::size_t bytes = 0;
  is_whole = false;
  for (std::size_t n = std::min(rows, first_rows); n > 0;) {
    auto part = next(result, n);
    if (!part)
      return part.failure();
    is_whole = part->size() < n;
    for (auto& x : *part) {
      if (!result.empty() && bytes + bytes_of(x) > rows_bytes_max) {
        is_whole = false;
        return result;
      }
      bytes += bytes_of(x);
      result.push_back(std::move(x));
    }
    if (is_whole)
      return result;
    n = std::min(rows - result.size(),
                 (rows_bytes_max - std::min(bytes, rows_bytes_max))
                   / (bytes / result.size() + 1));
  }
  return result;
}

} // namespace

expected<archive::facts> archive::facts_of(const stored_study& study) {
  if (const auto i = facts_.find(study.id); i != facts_.end())
    return i->second;
  auto text = study.text;
  auto how = as_before(study.algorithm, study.typed);
  if (text.empty()) {
    auto whole = store_->load_study(study.id);
    if (!whole)
      return whole.failure();
    text = std::move(whole->text);
    how = as_before(std::move(whole->algorithm), whole->typed);
  }
  facts result;
  // A study of before may name a workload that is not here any more.
  if (const auto read = admit_study(text, study.file, workloads_, how);
      read.study) {
    result.algorithm = read.study->spec().algorithm.name;
    result.workload_key = key_of(read.study->spec().workload);
    result.exact = is_exact(read.study->spec().workload);
    result.max_steps = read.study->spec().max_steps;
    result.cost_max = read.study->spec().budget.cost;
    result.seeds = read.study->spec().repeats.seeds;
    result.metric = read.study->spec().objective.metric;
    if (const auto initial = requested_code(split(text).study).initial)
      result.initial_state = to_text(*initial);
  }
  limit(facts_, kept_studies_max);
  return facts_.emplace(study.id, std::move(result)).first->second;
}

expected<archive::facts> archive::facts_of(study_id id) {
  stored_study study;
  study.id = id;
  return facts_of(study);
}

expected<std::set<std::string>>
archive::varied(const std::set<study_id>& studies) {
  std::set<std::string> result;
  for (const auto id : studies) {
    const auto known = varied_in(id);
    if (!known)
      return known.failure();
    result.insert(known->begin(), known->end());
  }
  return result;
}

expected<std::set<std::string>> archive::varied_in(study_id study) {
  if (const auto i = varied_.find(study); i != varied_.end())
    return i->second;
  const auto spec = spec_of(study);
  if (!spec && spec.failure().code != errc::invalid_argument)
    return spec.failure();
  auto result = varied_by(*store_, study, spec ? *spec : study_spec{});
  if (!result)
    return result;
  limit(varied_, kept_studies_max);
  return varied_.emplace(study, std::move(*result)).first->second;
}

expected<archived_study> archive::look_at(stored_study study,
                                          bool reads_text) {
  if (const auto i = ended_.find(study.id); i != ended_.end()) {
    auto result = i->second;
    result.row.text = study.text;
    if (result.row == study) // else it has gone on since
      return result;
  }
  const bool is_known = reads_text || facts_.contains(study.id);
  const auto known = is_known ? facts_of(study) : expected<facts>{facts{}};
  if (!known)
    return known.failure();
  auto counts = store_->count_trials(study.id);
  if (!counts)
    return counts.failure();
  const auto best = store_->load_best(study);
  if (!best)
    return best.failure();
  const auto trained = store_->load_trained(known->workload_key);
  if (!trained)
    return trained.failure();
  const auto timings = store_->load_timings(known->workload_key);
  if (!timings)
    return timings.failure();
  auto uid = store_->load_uid(study.id);
  if (!uid)
    return uid.failure();
  archived_study result{std::move(study), {}};
  auto& view = result.view;
  view = view_of(result.row);
  view.uid = std::move(*uid);
  view.algorithm = known->algorithm;
  view.workload = known->workload_key;
  view.cost_max = known->cost_max;
  view.seeds = known->seeds;
  view.initial_state = known->initial_state;
  view.trials = counts->trials;
  view.finished = counts->finished;
  view.asked_steps = counts->asked_steps * known->seeds;
  view.delivered_steps = counts->delivered_steps * known->seeds;
  view.shared_steps = counts->shared_steps;
  view.trials_by_state = std::move(counts->by_state);
  if (const auto failed
      = view.trials_by_state.find(to_string(trial_state::failed));
      failed != view.trials_by_state.end())
    view.failed = failed->second;
  view.step_seconds = trained->step_seconds();
  const auto trained_for_it
    = view.delivered_steps - std::min(view.shared_steps, view.delivered_steps);
  view.cost_seconds = static_cast<double>(trained_for_it) * view.step_seconds;
  const auto own = trained->own_step_seconds(mean_step_seconds(*timings));
  view.saved_seconds = static_cast<double>(view.shared_steps) * own;
  // Trials may be longer than the text says (`extend`).
  const auto in_full =
    counts->pruned * std::max(known->max_steps, counts->farthest);
  const auto stopped =
    (in_full - std::min(counts->pruned_steps, in_full)) * known->seeds;
  view.stopped_seconds = static_cast<double>(stopped) * own;
  if (*best) {
    const auto known_best = improvement_of(result.row.id, *known, **best);
    if (!known_best)
      return known_best.failure();
    view.improved = known_best->time;
    view.best = view_of(**best);
    view.best->spread = known_best->spread;
  }
  const auto front = store_->load_front(result.row.id);
  if (!front)
    return front.failure();
  if (*front) {
    auto told = front_from_json(**front);
    if (told)
      view.front = view_of(std::move(*told));
  }
  if (has_several_metrics(view))
    view.best.reset();
  if (has_ended(result.row.state) && is_known) {
    limit(ended_, kept_studies_max);
    auto& kept = ended_[result.row.id] = result;
    kept.row.text.clear();
  }
  return result;
}

expected<archive::improvement>
archive::improvement_of(study_id study, const facts& known,
                        const stored_trial& best) {
  const auto step = best.best ? best.best->step : 0;
  const auto last = improved_.find(study);
  if (last != improved_.end() && last->second.trial == best.trial
      && last->second.step == step && last->second.time)
    return last->second;
  const auto time = store_->load_time(study, best.trial, step);
  if (!time)
    return time.failure();
  const auto found = spreads_of(study, known, {{best.trial, step}});
  if (!found)
    return found.failure();
  limit(improved_, kept_studies_max);
  const auto spread = found->find({best.trial, step});
  return improved_[study] = {best.trial, step, *time,
                             spread == found->end()
                               ? std::nullopt
                               : std::optional{spread->second}};
}

expected<archived_study> archive::describe(study_id id) {
  auto study = store_->load_study(id);
  if (!study)
    return study.failure();
  return look_at(std::move(*study));
}

expected<std::vector<archived_study>> archive::list() {
  auto studies = store_->load_studies();
  if (!studies)
    return studies.failure();
  std::vector<archived_study> result;
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + listed_texts_time;
  for (auto& x : *studies) {
    auto known = look_at(x, clock::now() < end);
    if (!known) { // what is damaged of one hides no other
      if (x.reason.empty())
        x.reason = known.failure().message;
      auto view = view_of(x);
      known = archived_study{std::move(x), std::move(view)};
    }
    result.push_back(std::move(*known));
  }
  return result;
}

expected<std::vector<trial_view>>
archive::trials(study_id id, std::uint64_t first, std::size_t most) {
  bool is_whole = false;
  const auto rows = read_bounded<stored_trial>(
    rows_of(most, trials_per_call_max), is_whole,
    [&](const auto& known, std::size_t n) {
      return store_->load_trials(
        id, known.empty() ? first : known.back().trial + 1, n);
    });
  if (!rows)
    return rows.failure();
  std::vector<trial_view> result;
  if (rows->empty())
    return result;
  const auto known = facts_of(id);
  if (!known)
    return known.failure();
  std::set<std::pair<trial_no, step_t>> best;
  for (const auto& x : *rows)
    if (x.best)
      best.emplace(x.trial, x.best->step);
  const auto found = spreads_of(id, *known, best);
  if (!found)
    return found.failure();
  result.reserve(rows->size());
  for (const auto& x : *rows) {
    auto& view = result.emplace_back(view_of(x));
    if (view.best)
      if (const auto i = found->find({x.trial, view.best->step});
          i != found->end())
        view.spread = i->second;
  }
  return result;
}

expected<events_view> archive::events(study_id id, std::uint64_t after,
                                      std::size_t most,
                                      std::optional<trial_no> trial) {
  // In this order: whatever comes before the end is there when it has ended.
  const auto study = store_->load_study(id);
  if (!study)
    return study.failure();
  bool is_whole = false;
  auto events = read_bounded<stored_event>(
    rows_of(most, events_per_call_max), is_whole,
    [&](const auto& known, std::size_t n) {
      return store_->load_events(id, known.empty() ? after : known.back().id, n,
                                 trial, parts::left_out);
    });
  if (!events)
    return events.failure();
  events_view result;
  result.study_has_ended = is_whole && has_ended(study->state);
  for (const auto& x : *events)
    result.events.push_back(view_of(x));
  return result;
}

std::string archive::checkpoints_of(const std::string& key) const {
  return store_->checkpoints() + '/' + hash_text(key);
}

expected<weights_recipe>
archive::weights(study_id study, trial_no trial, step_t step,
                 const std::set<std::string>& without) {
  const auto found = find_trial(*store_, study, trial);
  if (!found)
    return found.failure();
  const auto last = store_->load_node(study, trial, step);
  if (!last)
    return last.failure();
  if (!*last)
    return {errc::invalid_argument,
            "trial " + std::to_string(trial) + " was not measured at step "
              + std::to_string(step) + ": there are no weights of it"};
  auto spec = spec_of(study);
  if (!spec)
    return spec.failure();
  const auto key = key_of(spec->workload);
  const auto plan = store_->load_plan(key);
  if (!plan)
    return plan.failure();
  if (std::ranges::any_of(plan->nodes, [&](const stored_node& x) {
        return x.is_lost && x.id == **last;
      }))
    return {errc::io_failed,
            "what is stored of the training of trial " + std::to_string(trial)
              + " is damaged: its weights cannot be told"};
  auto result = make_weights_recipe(
    *plan, **last, step, std::move(spec->workload), std::move(spec->code),
    [&](const checkpoint& x) {
      return !without.contains(x.file)
             && (!objects_.empty() || is_complete(checkpoints_of(key), x));
    });
  if (!objects_.empty())
    result.path.folder = objects_ + '/' + hash_text(key);
  return result;
}

expected<std::string> archive::checkpoint_part(study_id study,
                                               const std::string& file,
                                               std::uint64_t offset) {
  stored_study known;
  known.id = study;
  const auto about = facts_of(known);
  if (!about)
    return about.failure();
  const error gone{errc::bad_checkpoint,
                   "there is no checkpoint '" + file + "'"};
  if (!is_checkpoint_name(file))
    return gone;
  const auto own = checkpoints_of(about->workload_key);
  const auto& folder = is_sha256(file) ? initial_folder_of(own) : own;
  const auto in = open_foreign_file(folder + '/' + file);
  if (!in)
    return gone;
  std::string result(std::min<std::uint64_t>(in.bytes
                                               - std::min(offset, in.bytes),
                                             checkpoint_bytes_per_call_max),
                     '\0');
  for (std::size_t done = 0; done < result.size();) {
    const auto n = ::pread(in.file.number(), result.data() + done,
                           result.size() - done,
                           static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return {errc::io_failed, "cannot read checkpoint '" + file + "'"};
    done += static_cast<std::size_t>(n);
  }
  return result;
}

expected<study_record> archive::head_of(study_id id) {
  const auto known = describe(id);
  if (!known)
    return known.failure();
  const auto& view = known->view;
  study_record result;
  result.uid = view.uid;
  result.name = view.name;
  const auto about = facts_of(known->row);
  if (!about)
    return about.failure();
  result.algorithm = view.algorithm;
  result.workload_key = view.workload;
  result.exact = about->exact;
  result.metric = view.metric;
  result.direction = view.direction;
  result.asked_steps = view.asked_steps;
  result.delivered_steps = view.delivered_steps;
  result.shared_steps = view.shared_steps;
  const auto params = [](const auto& x) {
    return nlohmann::ordered_json::parse(x.params, nullptr, false);
  };
  if (view.best) {
    const auto& x = *view.best;
    result.best = best_record{x.trial, x.best->step, x.best->value, params(x)};
  }
  const auto front = store_->load_front(id);
  if (!front)
    return front.failure();
  if (*front) {
    auto told = front_from_json(**front);
    if (!told)
      return told.failure();
    result.wanted = std::move(told->wanted);
    if (result.wanted.metrics.size() > 1)
      result.front = std::move(told->front);
  }
  const auto unique = store_->count_unique_steps(id);
  if (!unique)
    return unique.failure();
  result.unique_steps = *unique;
  if (result.front)
    for (auto& x : result.front->points) {
      const auto trial = store_->load_trials(id, x.trial, 1);
      if (!trial)
        return trial.failure();
      if (!trial->empty() && trial->front().trial == x.trial)
        x.params = params(trial->front());
    }
  return result;
}

expected<exported_part> archive::export_part(study_id id,
                                             const std::string& after) {
  return hippo::export_part(*store_, id, after,
                            [=, this] { return head_of(id); });
}

expected<study_history*> archive::history_of(study_id id) {
  const auto known
    = std::ranges::find(histories_, id, [](auto& x) { return x.first; });
  if (known != histories_.end()) {
    histories_.splice(histories_.begin(), histories_, known);
  } else {
    auto study = store_->load_study(id);
    if (!study)
      return study.failure();
    const auto about = facts_of(*study);
    if (!about)
      return about.failure();
    const auto varied = varied_in(id);
    if (!varied)
      return varied.failure();
    study->text.clear();
    histories_.emplace_front(
      std::piecewise_construct, std::tuple{id},
      std::tuple{std::move(*study), about->workload_key, std::move(*varied)});
  }
  return &histories_.front().second;
}

expected<std::string> archive::columns(study_id id,
                                       const std::string& what,
                                       std::uint64_t after,
                                       const std::string& metric) {
  const auto known = history_of(id);
  if (!known)
    return known.failure();
  auto result = (*known)->answer(*store_, what, after, metric);
  if (!result && result.failure().code != errc::invalid_argument)
    histories_.pop_front(); // what is half read is read again
  std::size_t bytes = 0;
  for (auto i = histories_.begin(); i != histories_.end();) {
    bytes += i->second.bytes();
    i = bytes > kept_history_bytes && i != histories_.begin()
          ? histories_.erase(i)
          : std::next(i);
  }
  return result;
}

expected<importance_view> archive::importance(study_id id, step_t step,
                                              const std::string& metric) {
  auto study = store_->load_study(id);
  if (!study)
    return study.failure();
  if (!metric.empty() && metric != study->metric) {
    const auto front = store_->load_front(id);
    if (!front)
      return front.failure();
    const auto told = *front ? front_from_json(**front) : told_front{};
    if (!told)
      return told.failure();
    const auto& goals = told->wanted.metrics;
    const auto goal = std::ranges::find(goals, metric, &metric_goal::metric);
    if (goal == goals.end()) {
      auto known = study->metric;
      for (const auto& x : goals)
        known += x.metric == study->metric ? "" : ", " + x.metric;
      return {errc::invalid_argument, "'" + metric + "' is no goal of study '"
                                        + study->name + "': " + known};
    }
    study->metric = metric;
    study->direction = goal->direction;
  }
  return importance_view_of(*store_, *study, step);
}

expected<std::string> archive::probe() {
  const auto last = store_->last_study();
  if (!last)
    return last.failure();
  if (number_of(*last) == 0)
    return std::string{};
  // What is damaged of one study is that study's matter: it is told where it is
  // shown. That there are studies must be readable.
  const auto studies = store_->load_studies();
  if (!studies)
    return studies.failure();
  return std::string{};
}

expected<archive::totals> archive::count() {
  auto states = store_->count_states();
  if (!states)
    return states.failure();
  auto workloads = store_->load_usage();
  if (!workloads)
    return workloads.failure();
  return totals{std::move(*states), std::move(*workloads)};
}

expected<std::vector<checkpoints_view>> archive::checkpoints() {
  const auto all = store_->load_checkpoint_bytes();
  if (!all)
    return all.failure();
  std::vector<checkpoints_view> result;
  for (const auto& [key, bytes] : *all)
    result.push_back({key, bytes});
  return result;
}

} // namespace hippo
