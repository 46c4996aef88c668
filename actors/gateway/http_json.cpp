#include "gateway/http_json.hpp"

#include <algorithm>
#include <cmath>

#include "gateway/limits.hpp"

namespace hippo {

namespace {

http_json params_of(const std::string& x) {
  auto result = http_json::parse(x, nullptr, false);
  return result.is_discarded() ? http_json::object() : result;
}

http_json text_or_null(const std::string& x) {
  return x.empty() ? http_json(nullptr) : http_json(x);
}

template <class Number>
http_json number_or_null(const std::optional<Number>& x) {
  return x ? http_json(*x) : http_json(nullptr);
}

} // namespace

http_json shown(const stored_trial& trial) {
  http_json best = nullptr;
  if (trial.best)
    best = {{"step", trial.best->step}, {"value", trial.best->value}};
  return {{"trial", trial.trial},
          {"state", to_string(trial.state)},
          {"params", params_of(trial.params)},
          {"asked_steps", trial.asked_to},
          {"steps", trial.steps},
          {"shared_steps", trial.shared},
          {"best", std::move(best)},
          {"failure", text_or_null(trial.failure)},
          {"chosen", text_or_null(trial.why.how)},
          {"predicted", number_or_null(trial.why.predicted)},
          {"untrained", number_or_null(trial.why.untrained)}};
}

http_json shown(const live_study_view& x) {
  const auto& study = x.stored.study;
  const bool up = study.direction == direction::maximize;
  http_json result{
    {"id", number_of(study.id)},
    {"uid", text_or_null(x.stored.uid)},
    {"name", study.name},
    {"state", to_string(study.state)},
    {"reason", text_or_null(study.reason)},
    {"metric", study.metric},
    {"direction", up ? "maximize" : "minimize"},
    {"weight", study.weight},
    {"algorithm", x.stored.algorithm},
    {"workload", x.stored.workload_key},
    {"trials", x.stored.counts.trials},
    {"finished", x.stored.counts.finished},
    {"trials_by_state", x.stored.counts.by_state},
    {"asked_steps", x.stored.counts.asked_steps},
    {"delivered_steps", x.stored.counts.delivered_steps},
    {"shared_steps", x.stored.counts.shared_steps},
    {"best", x.stored.best ? shown(*x.stored.best) : http_json(nullptr)},
    {"improved", number_or_null(x.stored.improved)},
    {"active_seconds", x.active_seconds},
    {"step_seconds", x.stored.step_seconds},
    {"cost_seconds", x.stored.cost_seconds},
    {"saved_seconds", x.stored.saved_seconds},
    {"stopped_seconds", x.stored.stopped_seconds},
    {"seconds_left",
     x.seconds_left ? http_json(*x.seconds_left) : http_json(nullptr)},
    {"cost", study.cost},
    {"cost_max", number_or_null(x.stored.cost_max)},
    {"deadline_seconds_left", number_or_null(x.deadline_left)},
    {"needed", text_or_null(x.needed)},
    {"waiting", text_or_null(x.waiting)}};
  if (!x.stored.front.empty()) // it wants more than one best value
    result["front"] = http_json::parse(x.stored.front, nullptr, false);
  return result;
}

http_json shown(const stored_event& x) {
  http_json result{{"id", x.id}, {"time", x.time}};
  if (const auto* measured = std::get_if<trial_measured>(&x.what)) {
    result["trial"] = measured->trial;
    result["step"] = measured->at;
    result["measured"] = measured->values;
  } else if (const auto* failed = std::get_if<trial_failed>(&x.what)) {
    result["trial"] = failed->trial;
    result["step"] = failed->at;
    result["failed"] = failed->reason.message;
  } else if (const auto* chosen = std::get_if<trial_chosen>(&x.what)) {
    result["trial"] = chosen->trial;
    result["step"] = 0;
    result["chosen"] = chosen->what.why.how;
  } else {
    const auto& command = std::get<study_command>(x.what);
    result["trial"] = command.trial;
    result["step"] = command.at;
    result["command"] = to_string(command.what);
    result["text"] = command.text;
  }
  return result;
}

http_json shown(const trainer_view& x) {
  const auto priced = [&](double cost) {
    return x.trainer.machine.empty() ? http_json(nullptr) : http_json(cost);
  };
  http_json lease = nullptr;
  auto ids = http_json::array();
  if (x.lease)
    for (const auto id : x.lease->studies)
      ids.push_back(number_of(id));
  if (x.lease)
    lease = {{"lanes", x.lanes},
             {"studies", x.studies},
             {"study_ids", std::move(ids)},
             {"what", x.what},
             {"at", x.lease->at},
             {"to", x.lease->to},
             {"steps_per_second", x.lease->steps_per_second}};
  return {{"number", x.trainer.number},
          {"name", x.trainer.name},
          {"device", x.trainer.device},
          {"memory_bytes", x.trainer.memory_bytes},
          {"driver", text_or_null(x.trainer.driver)},
          {"compute_capability", text_or_null(x.trainer.compute_capability)},
          {"sick", text_or_null(x.trainer.sick)},
          {"held_up", text_or_null(x.trainer.held_up)},
          {"machine", text_or_null(x.trainer.machine)},
          {"unpriced", text_or_null(x.trainer.unpriced)},
          {"price", priced(x.trainer.price)},
          {"work_cost", priced(cost_of(x.trainer.price,
                                       x.trainer.work_seconds))},
          {"idle_cost", priced(cost_of(x.trainer.price,
                                       x.trainer.idle_seconds))},
          {"notice_seconds", x.trainer.notice_seconds},
          {"lost", text_or_null(x.gone())},
          {"failures", x.trainer.failures},
          {"failed", text_or_null(x.trainer.failed)},
          {"lease", std::move(lease)}};
}

http_json shown(const service_view& x) {
  auto checkpoints = http_json::array();
  for (const auto& y : x.checkpoints)
    checkpoints.push_back({{"workload", y.workload_key}, {"bytes", y.bytes}});
  return {{"checkpoints", std::move(checkpoints)},
          {"checkpoint_bytes_max", number_or_null(x.checkpoint_bytes_max)},
          {"memory_bytes", x.memory_bytes},
          {"memory_bytes_max", number_or_null(x.memory_bytes_max)},
          {"merge_rate", number_or_null(x.merge_rate)},
          {"k_wise_merge_rate", number_or_null(x.k_wise_merge_rate)}};
}

/// Shows stage trees, together at most `shown_stages_max` stages.
http_json shown(const std::vector<merger_overview>& trees) {
  http_json result = http_json::array();
  auto left = shown_stages_max;
  for (const auto& x : trees) {
    http_json stages = http_json::array();
    for (const auto& y : x.stages) {
      if (left == 0)
        break;
      --left;
      stages.push_back({{"id", y.id},
                        {"parent", y.parent},
                        {"begin", y.begin},
                        {"end", y.end},
                        {"config", y.config},
                        {"trials", y.trials}});
    }
    const auto& status = x.status;
    result.push_back({{"workload", x.workload_key},
                      {"asked_steps", status.figures.asked_steps},
                      {"delivered_steps", status.figures.delivered_steps},
                      {"unique_steps", status.figures.unique_delivered_steps},
                      {"shared_steps", status.figures.shared_steps},
                      {"trained_steps", status.trained_steps},
                      {"reused_steps", status.reused_steps},
                      {"saved_seconds", status.saved_seconds},
                      {"all_stages", x.stages.size()},
                      {"stages", std::move(stages)}});
  }
  return result;
}

http_json shown_timeline(const std::vector<merger_overview>& mergers) {
  auto trainer = http_json::array(), begin = http_json::array(),
       end = http_json::array(), from = http_json::array(),
       to = http_json::array(), train = http_json::array(),
       node = http_json::array(), workload = http_json::array();
  for (const auto& x : mergers) {
    const auto& all = x.timeline;
    const auto first = std::find_if(all.begin(), all.end(), [&](const auto& y) {
      return y.end > x.age_seconds - shown_timeline_seconds;
    });
    for (auto i = first; i != all.end(); ++i) {
      const auto rounded = [](double y) {
        return std::round(y * 1000) / 1000;
      };
      trainer.push_back(i->trainer);
      begin.push_back(rounded(i->begin - x.age_seconds));
      end.push_back(rounded(i->end - x.age_seconds));
      from.push_back(i->from);
      to.push_back(i->to);
      train.push_back(rounded(i->train));
      node.push_back(i->stage);
      workload.push_back(x.workload_key);
    }
  }
  return {{"trainer", std::move(trainer)}, {"begin", std::move(begin)},
          {"end", std::move(end)},         {"from", std::move(from)},
          {"to", std::move(to)},           {"train", std::move(train)},
          {"node", std::move(node)},       {"workload", std::move(workload)}};
}

} // namespace hippo
