#include "hippo/schedule/scheduler.hpp"

#include <algorithm>

namespace hippo {

const char* to_string(policy x) noexcept {
  switch (x) {
    case policy::critical_path: return "critical-path";
    case policy::breadth_first: return "breadth-first";
    case policy::trial: return "trial";
  }
  return "invalid_policy";
}

std::optional<policy> policy_from(const std::string& text) {
  for (auto x : {policy::critical_path, policy::breadth_first, policy::trial})
    if (text == to_string(x))
      return x;
  return std::nullopt;
}

scheduler::scheduler(const search_plan& plan, const time_estimates& estimates,
                     policy x)
  : plan_(plan),
    estimates_(estimates),
    policy_(x),
    tree_(plan, [this](node_id id) { return seconds_per_step(id); }) {
  tree_.observe([this](const runnable& r, bool appears) {
    if (appears)
      ranking_.insert(rank_of(r));
    else
      ranking_.erase(rank_of(r));
  });
}

double scheduler::seconds_per_step(node_id id) const {
  if (id == 0)
    return 0; // the root has no steps
  return estimates_.step_seconds(speed_key_of(id))
         + estimates_.evaluate_seconds()
             / static_cast<double>(plan_.densest_measuring(id));
}

const std::string& scheduler::speed_key_of(node_id id) const {
  if (speed_keys_.size() < plan_.size())
    speed_keys_.resize(plan_.size());
  auto& result = speed_keys_[id];
  if (result == nullptr)
    result = &*distinct_speed_keys_
                .insert(estimates_.speed_key(plan_.config_of(id),
                                             plan_.node(id).begin))
                .first;
  return *result;
}

scheduler::rank scheduler::rank_of(const runnable& x) const {
  switch (policy_) {
    case policy::critical_path:
      return {-x.needs.seconds, x.needs.order, x.node, x.from};
    case policy::breadth_first:
      return {static_cast<double>(x.from), x.needs.order, x.node, x.from};
    case policy::trial: break;
  }
  return {0, x.needs.order, x.node, x.from};
}

void scheduler::update(const std::set<node_id>& changed) {
  tree_.update(changed);
  if (estimated_version_ == estimates_.version())
    return;
  estimated_version_ = estimates_.version();
  tree_.reestimate();
}

const tree_item& scheduler::pick(node_id id, step_t from,
                                 const std::vector<tree_item>& items) const {
  const auto seconds = [&](const tree_item& x) {
    return tree_.seconds_to(id, from, x);
  };
  switch (policy_) {
    case policy::critical_path:
      // The farthest among equals: what lies on the way is measured in passing.
      return *std::max_element(items.rbegin(), items.rend(),
                               [&](const tree_item& x, const tree_item& y) {
                                 return seconds(x) < seconds(y);
                               });
    case policy::breadth_first: return items.front();
    case policy::trial: break;
  }
  return *std::min_element(items.rbegin(), items.rend(),
                           [](const tree_item& x, const tree_item& y) {
                             return x.order < y.order;
                           });
}

std::optional<double> scheduler::longest_waiting() const {
  if (ranking_.empty())
    return std::nullopt;
  return -std::get<0>(*ranking_.begin());
}

double scheduler::seconds_left(const std::vector<stage>& leased,
                               step_t reached) const {
  double result = 0;
  double before = 0; // of the stages that come first
  for (const auto& x : leased) {
    if (x.end < reached)
      continue;
    const auto from = std::max(x.begin, reached);
    result = std::max(result, before + tree_.seconds_after(x.node, from));
    before
      += static_cast<double>(x.end - from) * tree_.seconds_per_step(x.node);
  }
  return result;
}

std::optional<path> scheduler::choose() const {
  if (ranking_.empty())
    return std::nullopt;
  return path_from(*ranking_.begin());
}

std::optional<path>
scheduler::choose(const std::function<bool(const path&)>& fits) const {
  auto i = ranking_.begin();
  for (auto left = choices_max; left > 0 && i != ranking_.end(); --left, ++i)
    if (auto x = path_from(*i); fits(x))
      return x;
  return std::nullopt;
}

path scheduler::path_from(const rank& first) const {
  auto [key, order, id, from] = first;
  path result;
  result.start = plan_.node(id).checkpoints.at(from);
  auto items = tree_.items_from(id, from);
  for (;;) {
    const auto& item = pick(id, from, items);
    if (item.at > from || item.wanted)
      result.stages.push_back({id, from, item.at, {}});
    const bool whole = policy_ != policy::breadth_first;
    const bool done = !item.below || (!whole && !result.stages.empty())
                      || (policy_ == policy::trial
                          && item.below->order != item.order);
    if (done)
      return result;
    id = policy_ == policy::critical_path ? tree_.longest_child(id, item.at)
                                          : tree_.earliest_child(id, item.at);
    from = item.at;
    items = tree_.items_from_begin(id);
  }
}

} // namespace hippo
