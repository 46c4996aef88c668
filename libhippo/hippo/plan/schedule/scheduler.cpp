#include "hippo/plan/schedule/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

namespace {

/// New estimates are taken in once so many times what was followed, and so many
/// nodes more, are no fewer than all nodes that wait.
constexpr std::uint64_t reestimate_share = 4;
constexpr std::uint64_t reestimate_always = 1000;

} // namespace

const char* to_string(policy choice) noexcept {
  switch (choice) {
    case policy::critical_path: return "critical-path";
    case policy::breadth_first: return "breadth-first";
    case policy::trial: return "trial";
    case policy::early: return "early";
  }
  return "invalid_policy";
}

std::optional<policy> policy_from(const std::string& text) {
  for (auto x : {policy::critical_path, policy::breadth_first, policy::trial,
                 policy::early})
    if (text == to_string(x))
      return x;
  return std::nullopt;
}

scheduler::view::view(const scheduler& owner, std::optional<study_no> study)
  : tree(
    owner.plan_,
    [&owner](node_id id) { return owner.seconds_per_step(id); }, study) {
  tree.observe([this, &owner](const runnable& r, bool appears) {
    if (appears)
      ranking.insert(owner.rank_of(r));
    else
      ranking.erase(owner.rank_of(r));
  });
}

scheduler::scheduler(const search_plan& plan, const time_estimates& estimates,
                     policy policy, kind_lookup kind_of)
  : plan_(plan), estimates_(estimates), policy_(policy),
    kind_of_(std::move(kind_of)), all_(*this, std::nullopt) {}

double scheduler::seconds_per_step(node_id id) const {
  if (id == root_node)
    return 0; // the root has no steps
  const auto* kind
    = kind_of_ && estimates_.kinds() > 1 ? kind_of_(id) : nullptr;
  return estimates_.step_seconds(speed_key_of(id), kind)
         + estimates_.evaluate_seconds(kind)
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

scheduler::rank scheduler::rank_of(const runnable& runnable) const {
  switch (policy_) {
    case policy::critical_path:
      return {-runnable.needs.seconds, runnable.needs.order, runnable.node,
              runnable.from};
    case policy::breadth_first:
      return {static_cast<double>(runnable.from), runnable.needs.order,
              runnable.node, runnable.from};
    case policy::early:
      // A step counts for more than any time: that is less than 1 here.
      return {-static_cast<double>(runnable.from)
                - runnable.needs.seconds / (runnable.needs.seconds + 1),
              runnable.needs.order, runnable.node, runnable.from};
    case policy::trial: break;
  }
  return {0, runnable.needs.order, runnable.node, runnable.from};
}

void scheduler::update(const std::set<node_id>& changed) {
  all_.tree.update(changed);
  if (has_several_) {
    update_studies(changed);
  } else if (plan_.studies() > 1) {
    has_several_ = true;
    std::set<node_id> every;
    for (auto id : id_range(node_id{1}, plan_.size()))
      every.insert(every.end(), id);
    update_studies(every);
  }
  followed_ += changed.size();
  if (estimated_version_ == estimates_.version()
      || followed_ * reestimate_share + reestimate_always < all_.tree.size())
    return;
  followed_ = 0;
  estimated_version_ = estimates_.version();
  all_.tree.reestimate();
  for (const auto& kvp : by_study_)
    kvp.second->tree.reestimate();
}

void scheduler::update_studies(const std::set<node_id>& changed) {
  std::map<study_no, std::set<node_id>> by_study;
  for (auto id : changed)
    for (const auto& x : plan_.node(id).reaches)
      if (plan_.is_waiting(x.study) || by_study_.count(x.study) > 0)
        by_study[x.study].insert(id);
  for (const auto& [study, nodes] : by_study) {
    if (!plan_.is_waiting(study)) {
      by_study_.erase(study); // its tree is empty now
      continue;
    }
    auto& x = by_study_[study];
    if (!x)
      x = std::make_unique<view>(*this, study);
    x->tree.update(nodes);
  }
}

const tree_item& scheduler::pick(const stage_tree& tree, node_id id,
                                 step_t from,
                                 const std::vector<tree_item>& items) const {
  const auto seconds = [&](const tree_item& x) {
    return tree.seconds_to(id, from, x);
  };
  switch (policy_) {
    case policy::critical_path:
    case policy::early:
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
  if (all_.ranking.empty())
    return std::nullopt;
  return -std::get<0>(*all_.ranking.begin());
}

double scheduler::seconds_left(const std::vector<stage>& leased,
                               step_t reached) const {
  double result = 0;
  double before = 0; // of the stages that come first
  for (const auto& x : leased) {
    if (x.end < reached)
      continue;
    const auto from = std::max(x.begin, reached);
    result = std::max(result, before + tree().seconds_after(x.node, from));
    before
      += static_cast<double>(x.end - from) * tree().seconds_per_step(x.node);
  }
  return result;
}

bool scheduler::is_runnable(study_no study) const {
  if (!has_several_)
    return !all_.ranking.empty();
  const auto i = by_study_.find(study);
  return i != by_study_.end() && !i->second->ranking.empty();
}

std::vector<study_no> scheduler::waiting_for(const stage& leased,
                                             step_t reached) const {
  const auto from = std::max(leased.begin, reached);
  std::vector<study_no> result;
  for (const auto& x : plan_.node(leased.node).reaches) {
    const auto i = by_study_.find(x.study);
    if (!has_several_
        || (i != by_study_.end()
            && (i->second->tree.is_waited_for(leased.node, from)
                || (leased.begin == leased.end
                    && i->second->tree.is_wanted(leased.node, leased.end)))))
      result.push_back(x.study);
  }
  return result;
}

std::optional<path> scheduler::choose_for(study_no study) const {
  if (!has_several_)
    return choose();
  const auto i = by_study_.find(study);
  return i == by_study_.end() ? std::nullopt : choose(*i->second);
}

std::optional<path> scheduler::choose(const view& among) const {
  if (among.ranking.empty())
    return std::nullopt;
  return path_from(among, *among.ranking.begin());
}

std::optional<path>
scheduler::choose(const std::function<bool(const path&)>& fits,
                  const node_filter& among) const {
  auto left = choices_max;
  for (const auto& first : all_.ranking) {
    if (left == 0)
      break;
    const auto& [key, order, id, from] = first;
    // Below the root, each child is a tree of its own.
    if (among && id != root_node && !among(id))
      continue;
    --left;
    if (auto x = path_from(all_, first);
        (!among || among(x.stages.back().node)) && fits(x))
      return x;
    const bool is_filtered = among && id == root_node;
    for (auto child : tree().children(id, from, is_filtered ? SIZE_MAX : left)) {
      if (is_filtered && !among(child))
        continue;
      if (left == 0)
        break;
      --left;
      if (auto x = path_from(all_, first, child); fits(x))
        return x;
    }
  }
  return std::nullopt;
}

void scheduler::for_each_first(const node_filter& filter) const {
  for (const auto& [key, order, id, from] : all_.ranking) {
    if (id != root_node) {
      if (!filter(id))
        return;
      continue;
    }
    for (auto child : tree().children(id, from, SIZE_MAX))
      if (!filter(child))
        return;
  }
}

std::vector<double> scheduler::startable_seconds(std::size_t most) const {
  std::vector<double> result;
  for (const auto& [key, order, id, from] : all_.ranking) {
    if (result.size() >= most)
      break;
    for (auto child : tree().children(id, from, most - result.size()))
      result.push_back(tree().seconds_after(child, from));
    std::optional<double> rest;
    for (const auto& x : tree().items_from(id, from))
      if (x.at > from)
        rest = std::max(rest.value_or(0), tree().seconds_to(id, from, x));
    if (rest && result.size() < most)
      result.push_back(*rest);
  }
  return result;
}

path scheduler::path_from(const view& among, const rank& first,
                          std::optional<node_id> child) const {
  const auto& tree = among.tree;
  auto [key, order, id, from] = first;
  path result;
  result.start = plan_.node(id).checkpoints.at(from);
  auto items = child ? tree.items_from_begin(*child) : tree.items_from(id, from);
  id = child.value_or(id);
  for (;;) {
    const auto& item = pick(tree, id, from, items);
    if (item.at > from || item.wanted)
      result.stages.push_back({id, from, item.at, {}});
    const bool whole = policy_ != policy::breadth_first;
    const bool done = !item.below || (!whole && !result.stages.empty())
                      || (policy_ == policy::trial
                          && item.below->order != item.order);
    if (done)
      return result;
    const bool longest
      = policy_ == policy::critical_path || policy_ == policy::early;
    id = longest ? tree.longest_child(id, item.at)
                 : tree.earliest_child(id, item.at);
    from = item.at;
    items = tree.items_from_begin(id);
  }
}

} // namespace hippo
