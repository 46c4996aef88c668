#include "gateway/metrics.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "gateway/fleet_demand.hpp"
#include "hippo/base/number.hpp"

namespace hippo {

namespace {

/// Writes metrics one after another.
class metrics_writer {
public:
  /// Begins a metric: its samples come next.
  metrics_writer& metric(const std::string& name, const char* type,
                         const char* help) {
    name_ = "hippo_" + name;
    text_ += "# HELP " + name_ + ' ' + help + "\n# TYPE " + name_ + ' ' + type
             + '\n';
    return *this;
  }

  metrics_writer& sample(double value) {
    text_ += name_ + ' ' + to_text(value) + '\n';
    return *this;
  }

  metrics_writer& sample(const std::string& label, const std::string& of,
                         double value) {
    text_ += name_ + '{' + label + "=\"" + escaped(of) + "\"} " + to_text(value)
             + '\n';
    return *this;
  }

  std::string take() { return std::move(text_); }

private:
  static std::string escaped(const std::string& value) {
    std::string result;
    for (const auto c : value)
      if (c == '\n')
        result += "\\n";
      else if (c == '"' || c == '\\')
        (result += '\\') += c;
      else
        result += c;
    return result;
  }

  std::string name_;
  std::string text_;
};

double number(std::uint64_t x) { return static_cast<double>(x); }

/// Writes how many there are in each state, those without any too.
template <class State>
void add_states(metrics_writer& out,
                const std::map<std::string, std::uint64_t>& counts,
                State last) {
  for (auto i = 0; i <= static_cast<int>(last); ++i) {
    const std::string name = to_string(static_cast<State>(i));
    const auto found = counts.find(name);
    out.sample("state", name,
               found == counts.end() ? 0 : number(found->second));
  }
}

/// Writes how many trainers could be used, by the device kinds that they may
/// have.
void add_demand(metrics_writer& out, const demand_view& demand) {
  std::map<std::string, double> trainers{{"any", 0}};
  std::optional<double> seconds;
  for (const auto& x : demand.work) {
    trainers[kinds_text(x)] += number(x.working + x.waiting);
    if (x.seconds)
      seconds = std::max(seconds.value_or(0), *x.seconds);
  }
  out.metric("demand_trainers", "gauge",
             "Trainers that could be used now, by the device kinds that can "
             "train.");
  for (const auto& [kinds, count] : trainers)
    out.sample("kind", kinds, count);
  if (seconds)
    out
      .metric("demand_seconds", "gauge",
              "Estimate of the time for which there is work, with these "
              "trainers.")
      .sample(*seconds);
}

} // namespace

std::string metrics_text(const archive::totals& stored, const live_view& live,
                         const gateway_figures& figures) {
  metrics_writer out;
  out.metric("studies", "gauge", "Studies by state, all that were submitted.");
  add_states(out, stored.states.studies, study_phase::cancelled);
  out.metric("trials", "gauge", "Trials of all studies by state.");
  add_states(out, stored.states.trials, trial_state::cancelled);

  merge_figures steps;
  double trained = 0, reused = 0, device_seconds = 0, saved_seconds = 0,
         wait_seconds = 0;
  double leases = 0;
  for (const auto& x : live.mergers) {
    steps.asked_steps += x.figures.asked_steps;
    steps.delivered_steps += x.figures.delivered_steps;
    steps.unique_delivered_steps += x.figures.unique_delivered_steps;
    steps.shared_steps += x.figures.shared_steps;
    trained += number(x.trained_steps);
    reused += number(x.reused_steps);
    device_seconds += x.device_seconds;
    wait_seconds += x.wait_seconds;
    saved_seconds += x.saved_seconds;
    leases += number(x.running.size());
  }
  out.metric("asked_steps", "gauge",
             "Steps that trials ask for, of the plans in memory.")
    .sample(number(steps.asked_steps));
  out.metric("delivered_steps", "gauge",
             "Of the asked steps, those that the trials have got by now.")
    .sample(number(steps.delivered_steps));
  out.metric("unique_steps", "gauge",
             "Of the delivered steps, those that are left after merging.")
    .sample(number(steps.unique_delivered_steps));
  out.metric("shared_steps", "gauge",
             "Of the delivered steps, those that another trial had got"
             " before.")
    .sample(number(steps.shared_steps));
  out.metric("trained_steps", "gauge",
             "Steps trained since the plans came into memory.")
    .sample(trained);
  out.metric("reused_steps", "gauge",
             "Of the unique steps, those trained before that.")
    .sample(reused);
  out.metric("device_seconds", "gauge",
             "Time in which trainers were at work for these plans, added up.")
    .sample(device_seconds);
  out
    .metric("data_wait_seconds", "gauge",
            "Of that, the time in which training waited for data.")
    .sample(wait_seconds);
  out.metric("saved_seconds", "gauge",
             "Device time that merging has saved, an estimate.")
    .sample(saved_seconds);
  out.metric("leases_running", "gauge", "Paths that are being trained.")
    .sample(leases);
  out.metric("leases_waiting", "gauge",
             "Paths that would be trained at once if there were trainers.")
    .sample(number(live.pool.waiting_leases));

  add_demand(out, demand_of(live));

  double of_studies = 0, of_plans = 0;
  for (const auto& kvp : live.studies)
    of_studies += number(kvp.second.memory_bytes);
  for (const auto& x : live.mergers)
    of_plans += number(x.memory_bytes);
  out.metric("memory_bytes", "gauge",
             "What the books of studies in work and of their plans take, about.")
    .sample("of", "studies", of_studies)
    .sample("of", "plans", of_plans);
  if (live.memory_bytes_max)
    out.metric("memory_limit_bytes", "gauge",
               "From here on new studies and trials are refused.")
      .sample(number(*live.memory_bytes_max));

  double idle = number(live.pool.idle), lost = 0, left = 0, sick = 0,
         held_up = 0;
  for (const auto& x : live.pool.trainers) {
    lost += x.lost.empty() ? 0 : 1;
    left += x.left ? 1 : 0;
    sick += !x.sick.empty() && x.is_there() ? 1 : 0;
    held_up += x.held_up.empty() ? 0 : 1;
  }
  out.metric("trainers", "gauge", "Trainers by state, all that ever joined.")
    .sample("state", "busy",
            number(live.pool.trainers.size()) - lost - left - idle)
    .sample("state", "idle", idle)
    .sample("state", "lost", lost)
    .sample("state", "left", left);
  out.metric("trainers_sick", "gauge",
             "Of those that are there, trainers that failed at what others "
             "could train, and have not trained since.")
    .sample(sick);
  out.metric("trainers_held_up", "gauge",
             "Of those that are there, trainers that can be given no work: they "
             "have not returned from a call of training that was to end.")
    .sample(held_up);

  if (live.pool.costs) {
    const auto& kinds = *live.pool.costs;
    out.metric("work_cost_total", "counter",
               "What trainers have cost while they had work, by kind of "
               "machine.");
    for (const auto& x : kinds)
      out.sample("machine", x.kind, x.work);
    out.metric("idle_cost_total", "counter",
               "What they have cost while they had none.");
    for (const auto& x : kinds)
      out.sample("machine", x.kind, x.idle);
  }

  out.metric("journal_commits_total", "counter", "Commits to the store.")
    .sample(number(live.journal.commits));
  out.metric("journal_records_total", "counter", "Records in these commits.")
    .sample(number(live.journal.records));
  out.metric("journal_commit_seconds_total", "counter",
             "Time spent in these commits.")
    .sample(live.journal.commit_seconds);
  out.metric("journal_healthy", "gauge", "Whether the store can be written.")
    .sample(live.journal.trouble.empty() ? 1 : 0);

  double checkpoints = 0, bytes = 0, results = 0, all_steps = 0, all_seconds = 0;
  for (const auto& x : stored.workloads) {
    checkpoints += number(x.checkpoints);
    bytes += number(x.checkpoint_bytes);
    results += number(x.results);
    all_steps += number(x.trained_steps);
    all_seconds += x.device_seconds;
  }
  out.metric("trained_steps_total", "counter",
             "Steps trained in the life of the state folder.")
    .sample(all_steps);
  out.metric("device_seconds_total", "counter", "Time that they have taken.")
    .sample(all_seconds);
  out.metric("results", "gauge", "Results in the store.").sample(results);
  out.metric("checkpoints", "gauge", "Checkpoints in the store.")
    .sample(checkpoints);
  out.metric("checkpoint_bytes", "gauge", "Size of these checkpoints.")
    .sample(bytes);

  out.metric("clients", "gauge", "Connected RPC clients.")
    .sample(number(figures.clients));
  out.metric("http_connections", "gauge", "Open HTTP connections.")
    .sample(number(figures.http_connections));
  out.metric("uptime_seconds", "gauge", "Since the gateway was opened.")
    .sample(figures.uptime_seconds);
  return out.take();
}

} // namespace hippo
