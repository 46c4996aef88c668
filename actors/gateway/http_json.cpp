#include "gateway/http_json.hpp"

#include <algorithm>
#include <cmath>

#include "gateway/limits.hpp"

namespace hippo {

namespace {

template <class Number>
http_json number_or_null(const std::optional<Number>& x) {
  return x ? http_json(*x) : http_json(nullptr);
}

} // namespace

http_json to_json(const stored_event& event) {
  http_json result{{"id", event.id}, {"time", event.time}};
  if (const auto* measured = std::get_if<trial_measured>(&event.what)) {
    result["trial"] = measured->trial;
    result["step"] = measured->at;
    result["measured"] = measured->values;
  } else if (const auto* failed = std::get_if<trial_failed>(&event.what)) {
    result["trial"] = failed->trial;
    result["step"] = failed->at;
    result["failed"] = failed->reason.message;
  } else if (const auto* chosen = std::get_if<trial_chosen>(&event.what)) {
    result["trial"] = chosen->trial;
    result["step"] = 0;
    result["chosen"] = chosen->what.why.how;
  } else {
    const auto& command = std::get<study_command>(event.what);
    result["trial"] = command.trial;
    result["step"] = command.at;
    result["command"] = to_string(command.what);
    result["text"] = command.text;
  }
  return result;
}

http_json to_json(const service_view& view) {
  auto checkpoints = http_json::array();
  for (const auto& y : view.checkpoints)
    checkpoints.push_back({{"workload", y.workload_key}, {"bytes", y.bytes}});
  return {{"checkpoints", std::move(checkpoints)},
          {"checkpoint_bytes_max", number_or_null(view.checkpoint_bytes_max)},
          {"memory_bytes", view.memory_bytes},
          {"memory_bytes_max", number_or_null(view.memory_bytes_max)},
          {"merge_rate", number_or_null(view.merge_rate)},
          {"k_wise_merge_rate", number_or_null(view.k_wise_merge_rate)}};
}

/// Shows stage trees, together at most `shown_stages_max` stages.
http_json to_json(const std::vector<merger_overview>& trees) {
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
