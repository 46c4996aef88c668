#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/base/number.hpp"
#include "hippo/base/portable_math.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/product.hpp"
#include "hippo/space/space_node.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using decisions = std::unordered_map<const space_node*, std::uint64_t>;

constexpr auto size_max = std::uint64_t{1} << 63;

/// Products and sums of sizes; 0 stands for no size and is contagious.
std::uint64_t times(std::uint64_t x, std::uint64_t y) {
  return x == 0 || y == 0 || x > size_max / y ? 0 : x * y;
}

std::uint64_t plus(std::uint64_t x, std::uint64_t y) {
  return x == 0 || y == 0 || x > size_max - y ? 0 : x + y;
}

/// Decides everything in `x` so that it becomes combination `index`; the first
/// child varies slowest.
void unrank(const space_node& x, std::uint64_t index, decisions& out) {
  assert(index < x.size);
  switch (x.type) {
    case space_node::kind::literal:
      return;
    case space_node::kind::range:
      out[&x] = index;
      return;
    case space_node::kind::choice:
      for (std::size_t i = 0; i < x.children.size(); ++i) {
        const auto count = x.children[i].size * x.brought[i].size;
        if (index < count) {
          out[&x] = i;
          unrank(x.children[i], index / x.brought[i].size, out);
          unrank(x.brought[i], index % x.brought[i].size, out);
          return;
        }
        index -= count;
      }
      return;
    case space_node::kind::list:
    case space_node::kind::product:
    case space_node::kind::map:
    case space_node::kind::space:
      for (auto i = x.children.size(); i-- > 0;) {
        unrank(x.children[i], index % x.children[i].size, out);
        index /= x.children[i].size;
      }
      return;
  }
}

/// Returns the index that `unrank` takes apart into these decisions.
std::uint64_t rank(const space_node& x, const decisions& made) {
  switch (x.type) {
    case space_node::kind::literal:
      return 0;
    case space_node::kind::range:
      return made.at(&x);
    case space_node::kind::choice: {
      const auto n = made.at(&x);
      std::uint64_t before = 0;
      for (std::uint64_t i = 0; i < n; ++i)
        before += x.children[i].size * x.brought[i].size;
      return before + rank(x.children[n], made) * x.brought[n].size
             + rank(x.brought[n], made);
    }
    case space_node::kind::list:
    case space_node::kind::product:
    case space_node::kind::map:
    case space_node::kind::space: {
      std::uint64_t result = 0;
      for (const auto& child : x.children)
        result = result * child.size + rank(child, made);
      return result;
    }
  }
  return 0;
}

/// Asks `pick` for everything in `x`, in the order in which `hippo::decide`
/// does.
void visit(const space_node& x, const leaf_decider& pick,
           std::vector<const space_node*>& brought) {
  switch (x.type) {
    case space_node::kind::literal:
      return;
    case space_node::kind::range:
      pick(space_leaf{x});
      return;
    case space_node::kind::choice: {
      const auto n = pick(space_leaf{x});
      brought.push_back(&x.brought[n]);
      visit(x.children[n], pick, brought);
      return;
    }
    case space_node::kind::list:
    case space_node::kind::product:
    case space_node::kind::map:
    case space_node::kind::space:
      for (const auto& child : x.children)
        visit(child, pick, brought);
      return;
  }
}

/// As `decide_space`, without values.
void visit_space(const space_node& space, const leaf_decider& pick) {
  for (const auto& child : space.children) {
    std::vector<const space_node*> brought;
    visit(child, pick, brought);
    for (const auto* inner : brought)
      visit_space(*inner, pick);
  }
}

/// Whether a choice in `x` brings hyper-parameters.
bool brings_any(const space_node& x) {
  const auto not_empty
    = [](const space_node& space) { return !space.children.empty(); };
  return std::any_of(x.brought.begin(), x.brought.end(), not_empty)
         || std::any_of(x.children.begin(), x.children.end(), brings_any);
}

step_t length_in(const space_node& root, const decider& pick) {
  return root.lengths == nullptr
           ? root.max_steps
           : decide(*root.lengths, pick, nullptr).get<step_t>();
}

/// @param given values that are there whatever was decided
trial_parameters parameters(const space_node& root, const decider& pick,
                            const json& given) {
  trial_parameters result;
  result.shown = json::object();
  result.length = length_in(root, pick);
  if (root.lengths != nullptr)
    result.shown[length_name] = result.length;
  decide_space(root, pick, result.shown);
  for (const auto& [name, value] : given.items())
    if (const auto i = result.shown.find(name); i != result.shown.end())
      *i = value;
  if (root.has_products)
    resolve_products(result.shown);
  for (const auto& name : root.hidden)
    result.shown.erase(name);
  const bool has_percentages = root.has_percentages || !given.empty();
  for (const auto& [name, value] : result.shown.items()) {
    if (root.lengths != nullptr && name == length_name)
      continue;
    if (has_percentages)
      resolve_percentages(value, result.length);
    auto made = make_sequence(value, result.length, {}, root.typed);
    result.responsive = result.responsive || made.responsive;
    result.sequences[name] = std::move(made.value);
  }
  return result;
}

/// Turns numbers from 0 to 1 into shares of 1. Their logarithms are exponential
/// spacings, so that equally likely numbers make equally likely shares.
json shares_of(const json& numbers) {
  constexpr double least = 0x1p-53;
  std::vector<double> weights;
  double sum = 0;
  for (const auto& x : numbers) {
    weights.push_back(-portable_log(std::max(x.get<double>(), least)));
    sum += weights.back();
  }
  auto result = json::array();
  for (const auto x : weights) // all are 0 if all numbers are 1
    result.push_back(
      canonical(sum > 0 ? x / sum
                        : 1 / static_cast<double>(weights.size())));
  return result;
}

} // namespace

void set_size(space_node& node) {
  switch (node.type) {
    case space_node::kind::literal:
      node.size = 1;
      return;
    case space_node::kind::range:
      node.size = node.range.points;
      return;
    case space_node::kind::choice:
      node.size = times(node.children[0].size, node.brought[0].size);
      for (std::size_t i = 1; i < node.children.size(); ++i)
        node.size =
          plus(node.size, times(node.children[i].size, node.brought[i].size));
      return;
    case space_node::kind::list:
    case space_node::kind::product:
    case space_node::kind::map:
    case space_node::kind::space:
      node.size = 1;
      for (const auto& child : node.children)
        node.size = times(node.size, child.size);
      return;
  }
}

void add_numbers(const space_node& node, std::set<step_t>& to) {
  if (node.type == space_node::kind::literal)
    to.insert(node.literal.get<step_t>());
  for (std::uint64_t i = 0; i < node.range.points; ++i)
    to.insert(node.range.point(i).get<step_t>());
  for (const auto& child : node.children)
    add_numbers(child, to);
}

void decide_space(const space_node& space, const decider& pick, json& to,
                  std::map<std::string, const space_node*>* nodes) {
  for (std::size_t i = 0; i < space.children.size(); ++i) {
    std::vector<const space_node*> brought;
    to[space.keys[i]] = decide(space.children[i], pick, &brought);
    if (nodes != nullptr)
      nodes->insert_or_assign(space.keys[i], &space.children[i]);
    for (const auto* inner : brought)
      decide_space(*inner, pick, to, nodes);
  }
}

json decide(const space_node& node, const decider& pick,
            std::vector<const space_node*>* brought) {
  switch (node.type) {
    case space_node::kind::literal:
      return node.literal;
    case space_node::kind::range: {
      const auto n = pick(node);
      return node.range.points == 0 ? node.range.between(
               static_cast<double>(n) / static_cast<double>(decider_high))
                                    : node.range.point(n);
    }
    case space_node::kind::choice: {
      const auto n = pick(node);
      if (brought != nullptr)
        brought->push_back(&node.brought[n]);
      return decide(node.children[n], pick, brought);
    }
    case space_node::kind::list:
    case space_node::kind::product: {
      auto result = json::array();
      for (const auto& child : node.children)
        result.push_back(decide(child, pick, brought));
      if (node.is_simplex)
        return shares_of(result);
      return node.type == space_node::kind::list
               ? result
               : unresolved_product(std::move(result));
    }
    case space_node::kind::map:
    case space_node::kind::space: {
      auto result = json::object();
      for (std::size_t i = 0; i < node.children.size(); ++i)
        result[node.keys[i]] = decide(node.children[i], pick, brought);
      return result;
    }
  }
  return {};
}

std::uint64_t ways(const space_node& node) {
  return node.type == space_node::kind::choice ? node.children.size()
                                               : node.range.points;
}

std::uint64_t draw_decision(const space_node& node, std::uint64_t seed,
                            std::uint64_t draw) {
  std::array<unsigned char, 16> address{};
  for (std::size_t i = 0; i < 8; ++i) { // little-endian on every machine
    address[i] = static_cast<unsigned char>(seed >> (8 * i));
    address[8 + i] = static_cast<unsigned char>(draw >> (8 * i));
  }
  const auto bits = hash_bytes(node.path.data(), node.path.size(),
                               hash_bytes(address.data(), address.size()));
  const auto n = ways(node);
  if (n == 0)
    return bits >> 11; // 53 bits: what a double holds
  // The high half of bits * n, from halves of 32 bits: n is below 2^32 or
  // the bias of a remainder is below 2^-10.
  if (n >> 32 != 0)
    return bits % n;
  return ((bits >> 32) * n + (((bits & 0xffffffff) * n) >> 32)) >> 32;
}

search_space::search_space(std::shared_ptr<const node> root)
  : root_(std::move(root)) {}

std::optional<std::uint64_t> search_space::size() const {
  if (root_ == nullptr)
    return 1;
  const auto all
    = times(root_->size, has_lengths() ? root_->lengths->size : 1);
  return all == 0 ? std::nullopt : std::optional{all};
}

namespace {

/// @param brought whether the part is in some combinations only
void add_varied(const space_node& x, bool brought, std::set<std::string>& to) {
  if (x.type == space_node::kind::space)
    for (std::size_t i = 0; i < x.keys.size(); ++i)
      if (!x.children[i].is_hidden
          && (brought || x.children[i].size != 1
              || is_made_of_others(x.children[i])))
        to.insert(x.keys[i]);
  for (const auto& child : x.children)
    add_varied(child, brought, to);
  for (const auto& space : x.brought)
    add_varied(space, true, to);
}

} // namespace

namespace {

std::uint64_t leaves_in(const space_node& x) {
  std::uint64_t result
    = x.type == space_node::kind::choice || x.type == space_node::kind::range;
  for (const auto& child : x.children)
    result += leaves_in(child);
  for (const auto& space : x.brought)
    result += leaves_in(space);
  return result;
}

} // namespace

bool search_space::has_lengths() const noexcept {
  return root_ != nullptr && root_->lengths != nullptr;
}

std::uint64_t search_space::leaves() const {
  if (root_ == nullptr)
    return 0;
  return leaves_in(*root_)
         + (has_lengths() ? leaves_in(*root_->lengths) : 0);
}

std::set<std::string> search_space::varied() const {
  std::set<std::string> result;
  if (root_ != nullptr)
    add_varied(*root_, false, result);
  return result;
}

json search_space::products() const {
  auto result = json::object();
  for (std::size_t i = 0; root_ != nullptr && i < root_->keys.size(); ++i)
    if (const auto& x = root_->children[i];
        root_->has_products && x.size == 1 && is_made_of_others(x))
      result[root_->keys[i]] = as_written(hippo::decide(
        x, [](const space_node&) { return std::uint64_t{0}; }, nullptr));
  return result;
}

std::optional<std::string>
search_space::refuses(const std::string& name,
                      const search_space& others) const {
  if (root_ == nullptr || others.root_ == nullptr || !root_->has_products)
    return std::nullopt;
  return refusal_of(name, *others.root_, *root_);
}

namespace {

void add_names(const space_node& x, std::set<std::string>& to) {
  for (std::size_t i = 0; i < x.keys.size(); ++i)
    if (x.type == space_node::kind::space && !x.children[i].is_hidden)
      to.insert(x.keys[i]);
  for (const auto& child : x.children)
    add_names(child, to);
  for (const auto& space : x.brought)
    add_names(space, to);
}

} // namespace

std::set<std::string> search_space::names() const {
  std::set<std::string> result;
  if (root_ != nullptr)
    add_names(*root_, result);
  return result;
}

trial_parameters search_space::at(std::uint64_t index) const {
  return root_ == nullptr ? decide({}) : decide(decider_at(index));
}

trial_parameters search_space::sample(std::uint64_t seed,
                                      std::uint64_t draw) const {
  return decide(decider_of(seed, draw));
}

trial_parameters search_space::decide(const leaf_decider& pick,
                                      const json& given) const {
  if (root_ == nullptr)
    return {nlohmann::ordered_json::object(), {}, false,
            std::numeric_limits<step_t>::max()};
  return parameters(
    *root_, [&](const space_node& x) { return pick(space_leaf{x}); }, given);
}

step_t search_space::length(const leaf_decider& pick) const {
  return root_ == nullptr
           ? std::numeric_limits<step_t>::max()
           : length_in(*root_, [&](const space_node& x) {
               return pick(space_leaf{x});
             });
}

void search_space::walk(const leaf_decider& pick) const {
  std::vector<const space_node*> unbrought;
  if (has_lengths())
    visit(*root_->lengths, pick, unbrought);
  if (root_ != nullptr)
    visit_space(*root_, pick);
}

leaf_decider search_space::decider_at(std::uint64_t index) const {
  decisions decided;
  if (has_lengths()) // varies slowest
    unrank(*root_->lengths, index / root_->size, decided);
  if (root_ != nullptr)
    unrank(*root_, index % root_->size, decided);
  return [root = root_, decided = std::move(decided)](const space_leaf& x) {
    return decided.at(x.node_);
  };
}

std::uint64_t search_space::index_of(const leaf_decisions& decisions) const {
  hippo::decisions made;
  auto next = decisions.begin();
  walk([&](const space_leaf& leaf) { return made[leaf.node_] = *next++; });
  if (root_ == nullptr)
    return 0;
  return (has_lengths() ? rank(*root_->lengths, made) * root_->size : 0)
         + rank(*root_, made);
}

leaf_decider search_space::decider_of(std::uint64_t seed, std::uint64_t draw) {
  return [seed, draw](const space_leaf& x) {
    return draw_decision(*x.node_, seed, draw);
  };
}

// -- leaves -------------------------------------------------------------------

namespace {

double share_of(std::uint64_t decision) {
  return static_cast<double>(decision)
         / static_cast<double>(space_leaf::high_end);
}

std::uint64_t at_share(double share) {
  return static_cast<std::uint64_t>(
    std::llround(std::clamp(share, 0.0, 1.0)
                 * static_cast<double>(space_leaf::high_end)));
}

} // namespace

const std::string& space_leaf::path() const { return node_->path; }

bool space_leaf::is_length() const {
  return node_->path.starts_with(length_name);
}

bool space_leaf::is_choice() const {
  return node_->type == space_node::kind::choice;
}

bool space_leaf::is_ordered_choice() const {
  if (!is_choice())
    return false;
  bool rises = true, falls = true;
  for (std::size_t i = 0; i < node_->children.size(); ++i) {
    const auto& literal = node_->children[i].literal;
    if (!literal.is_number())
      return false;
    if (i == 0)
      continue;
    const auto before = node_->children[i - 1].literal.get<double>();
    rises = rises && before < literal.get<double>();
    falls = falls && before > literal.get<double>();
  }
  return rises || falls;
}

bool space_leaf::brings() const { return brings_any(*node_); }

std::uint64_t space_leaf::ways() const { return hippo::ways(*node_); }

bool space_leaf::is_logarithmic() const {
  return rule_of(node_->range.scale).is_logarithmic;
}

double space_leaf::low() const { return node_->range.low; }

double space_leaf::high() const { return node_->range.high; }

double space_leaf::length() const { return node_->range.length(); }

std::uint64_t space_leaf::scaled(std::uint64_t decision, double factor) const {
  return at_share(node_->range.scaled(share_of(decision), factor));
}

std::optional<std::uint64_t> space_leaf::nearest(const json& value) const {
  if (is_choice()) {
    const auto& options = node_->children;
    for (std::size_t i = 0; i < options.size(); ++i)
      if (options[i].type == search_space::node::kind::literal
          && options[i].literal == value)
        return i;
    return std::nullopt;
  }
  if (!value.is_number())
    return std::nullopt;
  const auto& range = node_->range;
  const auto number = value.get<double>();
  if (range.points == 0)
    return at_share(range.share_of(number));
  std::uint64_t low = 0, high = range.points - 1;
  while (low < high) { // the first point that is no less
    const auto middle = low + (high - low) / 2;
    if (range.point(middle).get<double>() < number)
      low = middle + 1;
    else
      high = middle;
  }
  if (low > 0
      && number - range.point(low - 1).get<double>()
           < range.point(low).get<double>() - number)
    --low;
  return low;
}

} // namespace hippo
