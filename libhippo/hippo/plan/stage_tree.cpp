#include "hippo/plan/stage_tree.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

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

/// Returns the state after which trainers are on their way to all states of a
/// node that start from `source`: to those they reach sooner than one that
/// starts there would.
step_t coming_after(const plan_node& x, std::optional<step_t> source) {
  step_t result = UINT64_MAX;
  for (const auto& r : x.running)
    if (const auto from = std::max(r.reached, source.value_or(0)); r.to > from)
      result = std::min(result, from);
  return result;
}

/// Whether a trainer measures a state that it begins with, and nothing else of
/// the node: what starts there need not wait for it.
bool is_being_measured(const plan_node& x, step_t at) {
  return std::ranges::any_of(
    x.running, [at](const auto& r) { return r.from == at && r.to == at; });
}

} // namespace

const stage_tree::node_state&
stage_tree::node_states::operator[](node_id id) const {
  static const node_state empty;
  const auto i = number_of(id) / page_nodes;
  return i < pages_.size() && pages_[i]
           ? pages_[i]->nodes[number_of(id) % page_nodes]
           : empty;
}

stage_tree::node_state& stage_tree::node_states::make(node_id id) {
  const auto i = number_of(id) / page_nodes;
  if (pages_.size() <= i)
    pages_.resize(i + 1);
  if (!pages_[i]) {
    ++used_;
    if (spare_.empty()) {
      pages_[i] = std::make_unique<page>();
    } else {
      pages_[i] = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  return pages_[i]->nodes[number_of(id) % page_nodes];
}

void stage_tree::node_states::settle(node_id id) {
  auto& where = pages_[number_of(id) / page_nodes];
  auto& x = where->nodes[number_of(id) % page_nodes];
  if (const bool counts = !x.is_empty(); counts != x.is_counted) {
    x.is_counted = counts;
    where->counted += counts ? 1 : -1;
  }
  if (where->counted > 0)
    return;
  --used_;
  if (spare_.size() < spare_pages_max)
    spare_.push_back(std::move(where));
  where.reset();
}

template <class F>
void stage_tree::node_states::for_each(F&& function) const {
  for (std::size_t i = 0; i < pages_.size(); ++i)
    if (pages_[i])
      for (std::size_t j = 0; j < page_nodes; ++j)
        function(node_id{i * page_nodes + j}, pages_[i]->nodes[j]);
}

stage_tree::stage_tree(const search_plan& plan, step_seconds seconds,
                       std::optional<study_no> study)
  : plan_(plan), seconds_(std::move(seconds)), study_(study) {}

std::vector<stage_tree::group> stage_tree::groups(node_id id) const {
  const auto& x = plan_.node(id);
  const auto& cuts = nodes_[id].cuts;
  std::vector<group> result;
  auto w = x.wants.begin();
  auto c = cuts.begin();
  const auto skip_others = [&] {
    while (w != x.wants.end() && !counts(w->second))
      ++w;
  };
  for (skip_others(); w != x.wants.end() || c != cuts.end(); skip_others()) {
    tree_item item;
    item.at = c == cuts.end()       ? w->first
              : w == x.wants.end() ? c->first
                                    : std::min(w->first, c->first);
    const auto source = source_of(x, item.at);
    if (item.at > coming_after(x, source)) {
      // So is all that follows, up to the next checkpoint.
      const auto next = x.checkpoints.upper_bound(item.at);
      if (next == x.checkpoints.end())
        break;
      w = x.wants.lower_bound(next->first);
      c = cuts.lower_bound(next->first);
      continue;
    }
    item.order = UINT64_MAX;
    if (w != x.wants.end() && w->first == item.at) {
      item.wanted = !is_being_measured(x, item.at);
      if (item.wanted)
        item.order = w->second.order;
      ++w;
    }
    if (c != cuts.end() && c->first == item.at) {
      item.below = demand{c->second.longest_seconds(),
                          c->second.by_order.begin()->first};
      item.order = std::min(item.order, item.below->order);
      ++c;
    }
    if (!item.wanted && !item.below)
      continue;
    if (result.empty() || result.back().source != source)
      result.push_back({source, {}});
    result.back().items.push_back(item);
  }
  return result;
}

double stage_tree::seconds_to(node_id id, step_t from,
                              const tree_item& item) const {
  const auto rate = seconds_(id);
  const auto goal =
    item.wanted ? std::max(plan_.node(id).goal, item.at) : item.at;
  const auto likely =
    static_cast<double>(goal - item.at) * rate * likely_weight;
  return static_cast<double>(item.at - from) * rate
         + std::max(likely, item.below ? item.below->seconds : 0);
}

double stage_tree::seconds_after(node_id id, step_t from) const {
  double result = 0;
  const auto& wants = plan_.node(id).wants;
  const auto last
    = std::find_if(wants.rbegin(), wants.rend(),
                   [this](const auto& x) { return counts(x.second); });
  // The farthest is farthest from its end, too.
  if (last != wants.rend() && last->first > from)
    result = seconds_to(id, from, {.at = last->first, .wanted = true});
  const auto& cuts = nodes_[id].cuts;
  for (auto c = cuts.upper_bound(from); c != cuts.end(); ++c) {
    tree_item x{.at = c->first};
    x.below = demand{c->second.longest_seconds()};
    result = std::max(result, seconds_to(id, from, x));
  }
  return result;
}

demand stage_tree::needs(node_id id, step_t from,
                         const std::vector<tree_item>& items) const {
  demand result{0, UINT64_MAX};
  for (const auto& x : items) {
    result.seconds = std::max(result.seconds, seconds_to(id, from, x));
    result.order = std::min(result.order, x.order);
  }
  return result;
}

void stage_tree::set_cut(node_id child, const std::optional<demand>& before,
                         const std::optional<demand>& now) {
  const auto& x = plan_.node(child);
  auto& cuts = nodes_.make(x.parent).cuts;
  const auto i = cuts.try_emplace(x.begin).first;
  auto& entry = i->second;
  if (before) {
    entry.by_length.erase({-before->seconds, before->order, child});
    entry.by_order.erase({before->order, child});
  }
  if (now) {
    entry.by_length.emplace(-now->seconds, now->order, child);
    entry.by_order.emplace(now->order, child);
  }
  if (entry.by_order.empty())
    cuts.erase(i);
  nodes_.settle(x.parent);
}

bool stage_tree::follow(node_id id) {
  auto& state = nodes_.make(id);
  size_ -= state.is_waiting();
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
  const auto before = std::exchange(state.from_begin, from_begin);
  size_ += state.is_waiting();
  nodes_.settle(id);
  if (from_begin == before)
    return false;
  if (id != root_node)
    set_cut(id, before, from_begin);
  return true;
}

void stage_tree::follow_all(std::set<std::pair<std::uint32_t, node_id>> queue) {
  // Deepest first: a node is looked at once all below it have settled.
  while (!queue.empty()) {
    const auto last = std::prev(queue.end());
    const auto id = last->second;
    queue.erase(last);
    if (!follow(id) || id == root_node)
      continue;
    const auto parent = plan_.node(id).parent;
    queue.emplace(plan_.node(parent).depth, parent);
  }
}

void stage_tree::update(const std::set<node_id>& changed) {
  std::set<std::pair<std::uint32_t, node_id>> queue;
  for (auto id : changed)
    queue.emplace(plan_.node(id).depth, id);
  follow_all(std::move(queue));
}

void stage_tree::reestimate() {
  std::set<std::pair<std::uint32_t, node_id>> queue;
  nodes_.for_each([&](node_id id, const node_state& x) {
    if (x.is_waiting())
      queue.emplace(plan_.node(id).depth, id);
  });
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

bool stage_tree::is_waited_for(node_id id, step_t from) const {
  const auto& wants = plan_.node(id).wants;
  const auto& cuts = nodes_[id].cuts;
  return cuts.upper_bound(from) != cuts.end()
         || std::any_of(wants.upper_bound(from), wants.end(),
                        [this](const auto& x) { return counts(x.second); });
}

bool stage_tree::is_wanted(node_id id, step_t at) const {
  const auto& wants = plan_.node(id).wants;
  const auto i = wants.find(at);
  return i != wants.end() && counts(i->second);
}

node_id stage_tree::longest_child(node_id id, step_t at) const {
  return std::get<2>(*nodes_[id].cuts.at(at).by_length.begin());
}

node_id stage_tree::earliest_child(node_id id, step_t at) const {
  return nodes_[id].cuts.at(at).by_order.begin()->second;
}

std::vector<node_id> stage_tree::children(node_id id, step_t at,
                                          std::size_t most) const {
  std::vector<node_id> result;
  const auto& cuts = nodes_[id].cuts;
  if (const auto found = cuts.find(at); found != cuts.end()) {
    const auto& by_length = found->second.by_length;
    for (auto i = by_length.begin();
         i != by_length.end() && result.size() < most; ++i)
      result.push_back(std::get<2>(*i));
  }
  return result;
}

} // namespace hippo
