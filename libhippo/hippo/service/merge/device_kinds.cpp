#include "hippo/service/merge/device_kinds.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

void device_kinds::add_trainer(trainer_id trainer, std::string kind) {
  words_.insert(kind);
  held_.insert_or_assign(trainer, std::move(kind));
}

void device_kinds::set_able(std::map<trainer_id, std::string> trainers) {
  able_ = std::move(trainers);
  for (const auto& kvp : able_)
    words_.insert(kvp.second);
}

node_id device_kinds::tree_of(node_id node) const {
  // Parents come before their children.
  for (plan_node room; !tree_of_.has(node);) {
    const node_id next{tree_of_.size()};
    const auto parent = plan_.peek(next, room).parent;
    tree_of_.add(parent == root_node ? next : tree_of_[parent]);
  }
  return tree_of_[node];
}

const device_kinds::tree* device_kinds::find(node_id node) const {
  const auto i = trees_.find(tree_of(node));
  return i == trees_.end() ? nullptr : &i->second;
}

const std::string* device_kinds::kind_of_trainer(trainer_id trainer) const {
  if (const auto i = held_.find(trainer); i != held_.end())
    return &i->second;
  const auto i = able_.find(trainer);
  return i == able_.end() ? nullptr : &i->second;
}

void device_kinds::restore(node_id node, const std::string& kind) {
  if (any_device_ || node == root_node || kind.empty())
    return;
  auto& x = trees_[tree_of(node)];
  x.mixed = x.mixed || (x.kept && *x.kind != kind);
  x.kept = true;
  x.kind = &*words_.insert(kind).first;
}

void device_kinds::begin(lease_id lease, node_id node, trainer_id trainer) {
  assert(may_train(trainer, node));
  if (any_device_)
    return;
  const auto* kind = kind_of_trainer(trainer);
  assert(kind);
  const auto where = tree_of(node);
  auto& x = trees_[where];
  if (!trees_of_leases_.emplace(lease, where).second)
    return;
  if (!x.kept && x.leases == 0)
    x.kind = &*words_.insert(*kind).first;
  ++x.leases;
}

void device_kinds::end(lease_id lease) {
  const auto entry = trees_of_leases_.extract(lease);
  if (!entry)
    return;
  const auto i = trees_.find(entry.mapped());
  assert(i != trees_.end());
  assert(i->second.leases > 0);
  if (--i->second.leases == 0 && !i->second.kept)
    trees_.erase(i); // it may begin elsewhere
}

void device_kinds::keep(node_id node, const std::string& kind) {
  assert(may_keep(node, kind));
  if (any_device_ || node == root_node)
    return;
  auto& x = trees_[tree_of(node)];
  const auto* word = &*words_.insert(kind).first;
  if (x.mixed)
    return;
  x.kind = word;
  x.kept = true;
}

bool device_kinds::may_train(trainer_id trainer, node_id node) const {
  const auto* bound = find(node);
  if (!bound || bound->mixed || (!bound->kept && bound->leases == 0))
    return true;
  const auto* kind = kind_of_trainer(trainer);
  return kind && *kind == *bound->kind;
}

bool device_kinds::may_train(trainer_id trainer, const path& what) const {
  // The first stage may be to measure the root, which all trees have.
  return may_train(trainer, what.stages.back().node);
}

bool device_kinds::may_keep(node_id node, const std::string& kind) const {
  const auto* bound = find(node);
  return !bound || bound->mixed || (!bound->kept && bound->leases == 0)
         || *bound->kind == kind;
}

std::optional<std::string> device_kinds::kind_of(node_id node) const {
  const auto* kind = kind_of_tree(node);
  return kind == nullptr ? std::nullopt : std::optional{*kind};
}

const std::string* device_kinds::kind_of_tree(node_id node) const {
  const auto* bound = find(node);
  if (!bound || bound->mixed || (!bound->kept && bound->leases == 0))
    return nullptr;
  return bound->kind;
}

void device_kinds::check_invariants() const {
#ifndef NDEBUG
  for (const auto& kvp : trees_of_leases_) {
    const auto i = trees_.find(kvp.second);
    assert(i != trees_.end());
    assert(i->second.leases > 0);
    assert(i->second.mixed || words_.count(*i->second.kind) == 1);
  }
#endif
}

} // namespace hippo
