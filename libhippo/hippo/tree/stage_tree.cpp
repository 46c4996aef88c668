#include "hippo/tree/stage_tree.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

namespace {

/// What may be asked for counts a little less than what is: of two ways that
/// are as long, the one with more to train now goes first.
constexpr double likely_weight = 0.99;

/// Returns the last checkpointed state at or before `at`.
std::optional<step_t> source_of(const plan_node& x, step_t at) {
  auto i = x.checkpoints.upper_bound(at);
  if (i == x.checkpoints.begin())
    return std::nullopt;
  return std::prev(i)->first;
}

/// Whether a trainer is on its way to state `at`, or to one that is nearer to
/// it than `source`.
bool is_coming(const plan_node& x, step_t at, std::optional<step_t> source) {
  return std::any_of(
    x.running.begin(), x.running.end(), [&](const running_range& r) {
      const auto state = std::min(r.to, at);
      return state > r.reached && (!source || state > *source);
    });
}

} // namespace

double seconds_to(const tree_item& x, step_t from, double rate) {
  const auto of = [&](step_t steps) {
    return static_cast<double>(steps) * rate;
  };
  const auto likely
    = x.goal > x.at ? of(x.goal - x.at) * likely_weight : 0.0;
  const auto below = x.below ? x.below->seconds : 0.0;
  return of(x.at - from) + std::max(likely, below);
}

stage_tree::stage_tree(const search_plan& plan, step_seconds seconds)
  : plan_(plan), seconds_(std::move(seconds)) {}

template <class F>
void stage_tree::for_each_item(node_id id, step_t from, F&& f) const {
  const auto& x = plan_.node(id);
  const auto& cuts = nodes_[id].cuts;
  auto w = x.wants.lower_bound(from);
  auto c = cuts.lower_bound(from);
  while (w != x.wants.end() || c != cuts.end()) {
    tree_item item;
    item.at = c == cuts.end()       ? w->first
              : w == x.wants.end() ? c->first
                                    : std::min(w->first, c->first);
    item.order = UINT64_MAX;
    if (w != x.wants.end() && w->first == item.at) {
      item.wanted = true;
      item.goal = w->second.goal;
      item.order = w->second.order;
      ++w;
    }
    if (c != cuts.end() && c->first == item.at) {
      item.below = demand{c->second.by_seconds.rbegin()->first,
                          c->second.by_order.begin()->first};
      item.order = std::min(item.order, item.below->order);
      ++c;
    }
    f(item);
  }
}

std::vector<stage_tree::group> stage_tree::groups(node_id id) const {
  const auto& x = plan_.node(id);
  std::vector<group> result;
  for_each_item(id, 0, [&](const tree_item& item) {
    const auto source = source_of(x, item.at);
    if (is_coming(x, item.at, source))
      return;
    if (result.empty() || result.back().source != source)
      result.push_back({source, {}});
    result.back().items.push_back(item);
  });
  return result;
}

double stage_tree::seconds_after(node_id id, step_t from) const {
  const auto rate = seconds_(id);
  double result = 0;
  for_each_item(id, from + 1, [&](const tree_item& x) {
    result = std::max(result, seconds_to(x, from, rate));
  });
  return result;
}

demand stage_tree::needs(node_id id, step_t from,
                         const std::vector<tree_item>& items) const {
  const auto rate = seconds_(id);
  demand result{0, UINT64_MAX};
  for (const auto& x : items) {
    result.seconds = std::max(result.seconds, seconds_to(x, from, rate));
    result.order = std::min(result.order, x.order);
  }
  return result;
}

void stage_tree::set_cut(node_id parent, step_t at, node_id child,
                         const std::optional<demand>& x) {
  auto& cuts = nodes_[parent].cuts;
  auto& entry = cuts[at];
  if (auto i = entry.needs.find(child); i != entry.needs.end()) {
    entry.by_seconds.erase({i->second.seconds, child});
    entry.by_order.erase({i->second.order, child});
    entry.needs.erase(i);
  }
  if (x) {
    entry.needs.emplace(child, *x);
    entry.by_seconds.emplace(x->seconds, child);
    entry.by_order.emplace(x->order, child);
  }
  if (entry.needs.empty())
    cuts.erase(at);
}

bool stage_tree::follow(node_id id) {
  auto& state = nodes_[id];
  const auto announce = [&](step_t from, const demand& x, bool appears) {
    if (observer_)
      observer_({id, from, x}, appears);
  };
  for (auto from : state.runnable_from) {
    const auto i = runnables_.find({id, from});
    announce(from, i->second, false);
    runnables_.erase(i);
  }
  state.runnable_from.clear();
  std::optional<demand> from_begin;
  for (const auto& g : groups(id)) {
    const auto from = g.source.value_or(plan_.node(id).begin);
    const auto x = needs(id, from, g.items);
    if (!g.source) {
      from_begin = x;
      continue;
    }
    state.runnable_from.push_back(from);
    runnables_.emplace(std::pair{id, from}, x);
    announce(from, x, true);
  }
  if (from_begin == state.from_begin)
    return false;
  state.from_begin = from_begin;
  return true;
}

void stage_tree::follow_all(std::set<std::pair<std::uint32_t, node_id>> queue) {
  // Deepest first: a node is looked at once all below it have settled.
  while (!queue.empty()) {
    const auto last = std::prev(queue.end());
    const auto id = last->second;
    queue.erase(last);
    if (!follow(id) || id == 0)
      continue;
    const auto& x = plan_.node(id);
    set_cut(x.parent, x.begin, id, nodes_[id].from_begin);
    queue.emplace(plan_.node(x.parent).depth, x.parent);
  }
}

void stage_tree::update(const std::set<node_id>& changed) {
  nodes_.resize(plan_.size());
  std::set<std::pair<std::uint32_t, node_id>> queue;
  for (auto id : changed)
    queue.emplace(plan_.node(id).depth, id);
  follow_all(std::move(queue));
}

void stage_tree::reestimate() {
  std::set<std::pair<std::uint32_t, node_id>> queue;
  for (node_id id = 0; id < nodes_.size(); ++id)
    if (!nodes_[id].cuts.empty() || !plan_.node(id).wants.empty())
      queue.emplace(plan_.node(id).depth, id);
  follow_all(std::move(queue));
}

std::vector<tree_item> stage_tree::items_from(node_id id, step_t from) const {
  for (auto& g : groups(id))
    if (g.source == from)
      return std::move(g.items);
  return {};
}

std::vector<tree_item> stage_tree::items_from_begin(node_id id) const {
  for (auto& g : groups(id))
    if (!g.source)
      return std::move(g.items);
  return {};
}

bool stage_tree::is_waited_for(node_id id, step_t from, step_t to) const {
  const auto any_in = [&](const auto& by_state) {
    const auto i = by_state.upper_bound(from);
    return i != by_state.end() && i->first <= to;
  };
  return any_in(plan_.node(id).wants) || any_in(nodes_[id].cuts);
}

node_id stage_tree::longest_child(node_id id, step_t at) const {
  return nodes_[id].cuts.at(at).by_seconds.rbegin()->second;
}

node_id stage_tree::earliest_child(node_id id, step_t at) const {
  return nodes_[id].cuts.at(at).by_order.begin()->second;
}

} // namespace hippo
