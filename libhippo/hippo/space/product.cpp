#include "hippo/space/product.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using node_kind = space_node::kind;

/// The key of what stands for a product in a trial. No document has one with a
/// zero byte.
const std::string product_key{"\0product", 8};

/// A factor's greatest value; a few more digits are left to multiply.
constexpr double number_max = 1e300;

/// The most numbers that all names together may stand for: a bound on time.
constexpr std::size_t numbers_max = 1'000'000;

/// For how many wrong names others are looked for that may have been meant.
constexpr std::size_t guessed_max = 20;

/// How many parts of a circle are told.
constexpr std::size_t told_of_circle = 8;

template <class F>
void for_each_part(const space_node& x, F&& f) {
  for (const auto& child : x.children)
    f(child);
  for (const auto& space : x.brought)
    f(space);
}

/// Whether a name goes on with one of its parts, or ends, at `at`.
bool ends_at(const std::string& text, std::size_t at) {
  return at == text.size() || text[at] == '.' || text[at] == '[';
}

/// Takes `[3]` from the beginning of a path.
std::optional<std::size_t> take_index(std::string& path) {
  const auto end = path.find(']');
  std::size_t result = 0;
  if (path.empty() || path[0] != '[' || end == std::string::npos)
    return std::nullopt;
  const auto [rest, bad]
    = std::from_chars(path.data() + 1, path.data() + end, result);
  if (bad != std::errc{} || rest != path.data() + end)
    return std::nullopt;
  path.erase(0, end + 1);
  return result;
}

/// Takes `.key` from the beginning of a path, if it is one of `keys`.
template <class Keys>
std::optional<std::string> take_key(std::string& path, const Keys& keys) {
  for (const std::string& key : keys)
    if (path.starts_with('.' + key) && ends_at(path, key.size() + 1)) {
      path.erase(0, key.size() + 1);
      return key;
    }
  return std::nullopt;
}

// -- in a study file ----------------------------------------------------------

/// What names stand for, by their hyper-parameter: in each trial one of these.
using bindings = std::map<std::string, std::vector<const space_node*>>;

void merge(bindings& to, bindings from) {
  for (auto& [name, found] : from) {
    auto& all = to[name];
    all.insert(all.end(), found.begin(), found.end());
  }
}

bindings always_in(const space_node& x);

/// The hyper-parameters that every trial with this space has.
bindings always_of(const space_node& space) {
  bindings result;
  for (std::size_t i = 0; i < space.children.size(); ++i) {
    result[space.keys[i]].push_back(&space.children[i]);
    merge(result, always_in(space.children[i]));
  }
  return result;
}

/// Those that the choices in `x` bring, whichever options are taken.
bindings always_in(const space_node& x) {
  bindings result;
  if (x.type != node_kind::choice) {
    for (const auto& child : x.children)
      merge(result, always_in(child));
    return result;
  }
  for (std::size_t i = 0; i < x.children.size(); ++i) {
    auto here = always_in(x.children[i]);
    merge(here, always_of(x.brought[i]));
    if (i == 0) {
      result = std::move(here);
      continue;
    }
    std::erase_if(result,
                  [&](const auto& y) { return !here.contains(y.first); });
    std::erase_if(here,
                  [&](const auto& y) { return !result.contains(y.first); });
    merge(result, std::move(here));
  }
  return result;
}

class binder {
public:
  explicit binder(diagnostics& notes) : notes_(notes) {}

  bool run(space_node& root) {
    const auto errors = notes_.errors();
    walk_space(root);
    if (made_ > products_max)
      notes_.error(root.where, root.path,
                   "has " + std::to_string(made_)
                     + " hyper-parameters that are products, of which "
                     + std::to_string(products_max) + " are allowed");
    if (notes_.errors() == errors)
      work_out();
    return notes_.errors() == errors;
  }

private:
  /// A product, and the numbers that each of its factors may be.
  struct product {
    const space_node* node = nullptr;
    std::vector<std::vector<const space_node*>> factors;
    std::size_t in_a_row = 0; ///< 0: not worked out
    double most = 0;          ///< without its sign
  };

  void walk_space(space_node& space) {
    scopes_.push_back(always_of(space));
    for (auto& child : space.children) {
      made_ += is_made_of_others(child);
      walk(child);
    }
    scopes_.pop_back();
  }

  void walk(space_node& x) {
    if (x.type == node_kind::product)
      bind(x);
    for (std::size_t i = 0; i < x.children.size(); ++i) {
      if (x.type != node_kind::choice) {
        walk(x.children[i]);
        continue;
      }
      scopes_.push_back(always_of(x.brought[i]));
      walk(x.children[i]);
      scopes_.pop_back();
      walk_space(x.brought[i]);
    }
  }

  void bind(space_node& x) {
    if (found_ > numbers_max)
      return;
    product result;
    result.node = &x;
    for (auto& item : x.children) {
      auto& numbers = result.factors.emplace_back();
      if (item.type == node_kind::literal && item.literal.is_string())
        refer(item, numbers);
      else if (find_numbers(item, {}, {}, numbers))
        notes_.error(item.where, item.path,
                     "must be a number, the name of one, or a choice or range "
                     "of numbers");
      found_ += numbers.size();
    }
    if (found_ > numbers_max)
      notes_.error(x.where, x.path,
                   "names values of which there are too many: all products "
                   "together may be of "
                     + std::to_string(numbers_max) + " numbers");
    products_.emplace(&x, std::move(result));
  }

  /// Finds what a name stands for, from the inside out.
  void refer(space_node& item, std::vector<const space_node*>& numbers) {
    const auto text = item.literal.get<std::string>();
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      for (auto end = text.size(); end > 0; --end) {
        if (!ends_at(text, end))
          continue;
        const auto found = scope->find(text.substr(0, end));
        if (found == scope->end())
          continue;
        const auto rest = text.substr(end);
        for (const auto* x : found->second)
          if (const auto why = find_numbers(*x, rest, text, numbers)) {
            notes_.error(item.where, item.path,
                         "'" + text + "' is not a number in every trial: "
                           + *why);
            return;
          }
        item.literal = json::array({found->first, rest});
        return;
      }
    std::vector<std::string> known;
    if (misnamed_++ < guessed_max)
      for (const auto& scope : scopes_)
        for (const auto& [name, definition] : scope)
          known.push_back(name);
    notes_.error(item.where, item.path,
                 "'" + text
                   + "' is neither a number nor a hyper-parameter that every "
                     "trial has which has this product"
                   + did_you_mean(text, known));
  }

  /// Adds the numbers that the part `rest` of a value may be.
  /// @param name of that part, for a message
  /// @returns why it is none in some trial, if so
  static std::optional<std::string>
  find_numbers(const space_node& x, std::string rest, const std::string& name,
               std::vector<const space_node*>& to) {
    if (x.type == node_kind::choice) {
      for (const auto& child : x.children)
        if (auto why = find_numbers(child, rest, name, to))
          return why;
      return std::nullopt;
    }
    if (x.type == node_kind::map) {
      if (rest.empty() && x.keys == std::vector<std::string>{"constant"})
        return find_numbers(x.children[0], rest, name, to);
      if (const auto key = take_key(rest, x.keys)) {
        const auto i = std::find(x.keys.begin(), x.keys.end(), *key);
        return find_numbers(
          x.children[static_cast<std::size_t>(i - x.keys.begin())], rest, name,
          to);
      }
    }
    if (x.type == node_kind::list)
      if (const auto i = take_index(rest); i && *i < x.children.size())
        return find_numbers(x.children[*i], rest, name, to);
    const bool is_number
      = x.type == node_kind::range || x.type == node_kind::product
        || (x.type == node_kind::literal && x.literal.is_number());
    if (rest.empty() && is_number) {
      to.push_back(&x);
      return std::nullopt;
    }
    if (!rest.empty())
      return x.path + " has no '" + rest + "'";
    if (x.type != node_kind::map)
      return x.path + " is something else";
    return x.path + " is a sequence; name one of its numbers, such as "
           + name + first_part(x);
  }

  /// The rest of the name of the first value in a sequence.
  static std::string first_part(const space_node& x) {
    std::string result;
    for (const auto* at = &x; at->type == node_kind::map && !at->keys.empty();
         at = &at->children[0])
      result += '.' + at->keys[0];
    return result;
  }

  /// Works out the greatest value of each product, of others before itself.
  void work_out() {
    std::vector<product*> ready;
    std::map<product*, std::size_t> awaited;
    std::map<const space_node*, std::vector<product*>> waiting;
    for (auto& [node, x] : products_) {
      auto& count = awaited[&x];
      for (const auto& factor : x.factors)
        for (const auto* number : factor)
          if (number->type == node_kind::product) {
            waiting[number].push_back(&x);
            ++count;
          }
      if (count == 0)
        ready.push_back(&x);
    }
    while (!ready.empty()) {
      auto* x = ready.back();
      ready.pop_back();
      work_out(*x);
      for (auto* next : waiting[x->node])
        if (--awaited[next] == 0)
          ready.push_back(next);
    }
    for (auto& [node, x] : products_)
      if (x.in_a_row == 0) {
        tell_circle(x);
        return;
      }
  }

  void work_out(product& x) {
    x.most = 1;
    x.in_a_row = 1;
    for (const auto& factor : x.factors) {
      double most = 0;
      for (const auto* number : factor) {
        most = std::max(most, most_of(*number));
        if (number->type == node_kind::product)
          x.in_a_row
            = std::max(x.in_a_row, products_.at(number).in_a_row + 1);
      }
      x.most = std::min(x.most * most, 10 * number_max);
    }
    if (x.most > number_max)
      notes_.error(x.node->where, x.node->path,
                   "may be beyond what a number can be");
    if (x.in_a_row > products_in_a_row_max)
      notes_.error(x.node->where, x.node->path,
                   "is a product of a product, and so on, more than "
                     + std::to_string(products_in_a_row_max) + " times");
  }

  [[nodiscard]] double most_of(const space_node& x) const {
    switch (x.type) {
      case node_kind::literal:
        return std::abs(x.literal.get<double>());
      case node_kind::range:
        return std::max(std::abs(x.range.low), std::abs(x.range.high));
      default:
        return products_.at(&x).most;
    }
  }

  void tell_circle(const product& x) {
    // Each that is left waits for one that is left: that goes round in the end.
    std::vector<const product*> way{&x};
    std::size_t begin = 0; // where the circle begins
    while (begin + 1 == way.size()) {
      const auto* next = awaited_by(*way.back());
      begin = static_cast<std::size_t>(
        std::find(way.begin(), way.end(), next) - way.begin());
      way.push_back(next);
    }
    way.erase(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(begin));
    std::string text;
    for (std::size_t i = 0; i < std::min(way.size(), told_of_circle); ++i)
      text += (i == 0 ? "" : " -> ") + way[i]->node->path;
    notes_.error(way[0]->node->where, way[0]->node->path,
                 "is made of itself: " + text
                   + (way.size() > told_of_circle ? " -> ..." : ""));
  }

  const product* awaited_by(const product& x) const {
    for (const auto& factor : x.factors)
      for (const auto* number : factor)
        if (number->type == node_kind::product
            && products_.at(number).in_a_row == 0)
          return &products_.at(number);
    return nullptr;
  }

  diagnostics& notes_;
  std::vector<bindings> scopes_; ///< the innermost last
  std::map<const space_node*, product> products_;
  std::size_t made_ = 0;  ///< hyper-parameters that are products
  std::size_t found_ = 0; ///< numbers that names stand for
  std::size_t misnamed_ = 0;
};

// -- in a trial ---------------------------------------------------------------

bool is_unresolved(const json& x) {
  return x.is_object() && x.size() == 1 && x.begin().key() == product_key;
}

class resolver {
public:
  explicit resolver(json& trial) : trial_(trial) {}

  void walk(json& x) {
    if (is_unresolved(x))
      resolve(x);
    else if (x.is_structured())
      for (auto& part : x)
        walk(part);
  }

private:
  void resolve(json& x) {
    auto factors = std::move(x.begin().value());
    double result = 1;
    bool is_whole = true;
    for (auto& factor : factors) {
      auto* number = factor.is_array() ? &named(factor) : &factor;
      if (is_unresolved(*number))
        resolve(*number);
      is_whole = is_whole && number->is_number_integer();
      result *= number->get<double>();
    }
    // Others may stand for what it was bound to.
    result = canonical(std::clamp(result, -number_max, number_max));
    if (is_whole && std::abs(result) <= canonical_whole_max)
      x = static_cast<std::int64_t>(result);
    else
      x = result;
  }

  /// Finds what `bind_products` has made of a name.
  json& named(const json& name) {
    auto* result = &trial_.at(name[0].get<std::string>());
    auto rest = name[1].get<std::string>();
    while (result->is_structured() && !is_unresolved(*result)) {
      if (const auto i = take_index(rest)) {
        result = &result->at(*i);
        continue;
      }
      std::vector<std::string> keys;
      for (const auto& [key, value] : result->items())
        keys.push_back(key);
      const auto key = take_key(rest, keys);
      result = &result->at(key.value_or("constant"));
    }
    return *result;
  }

  json& trial_;
};

// -- for the check ------------------------------------------------------------

/// Adds the names that products in `x` have.
void add_named(const space_node& x, std::set<std::string>& to) {
  if (x.type == node_kind::product)
    for (const auto& item : x.children)
      if (item.type == node_kind::literal && item.literal.is_array())
        to.insert(item.literal[0].get<std::string>());
  for (const auto& child : x.children)
    add_named(child, to);
}

/// Looks for a product that names a hyper-parameter, or better a part of it.
void find_named(const space_node& x, const std::string& name,
                std::optional<std::string>& part) {
  if (x.type == node_kind::product)
    for (const auto& item : x.children)
      if (item.type == node_kind::literal && item.literal.is_array()
          && item.literal[0] == name && (!part || part->empty()))
        part = item.literal[1].get<std::string>();
  for_each_part(x,
                [&](const space_node& y) { find_named(y, name, part); });
}

/// Whether all values of a space, or of a part of it, are numbers.
bool are_numbers(const space_node& x) {
  switch (x.type) {
    case node_kind::literal:
      return x.literal.is_number();
    case node_kind::range:
    case node_kind::product:
      return true;
    case node_kind::choice:
    case node_kind::space:
      return std::all_of(x.children.begin(), x.children.end(), are_numbers);
    case node_kind::list:
    case node_kind::map:
      return false;
  }
  return false;
}

/// Where a hyper-parameter may come from.
struct origins {
  std::vector<const space_node*> values;
  std::set<std::string> bringers; ///< names of those that bring it
};

/// @param bringer the hyper-parameter of which `x` is a part, if it is one
void add_origins(const space_node& x, const std::string* bringer,
                 std::map<std::string, origins>& to) {
  if (x.type != node_kind::space) {
    for_each_part(
      x, [&](const space_node& y) { add_origins(y, bringer, to); });
    return;
  }
  for (std::size_t i = 0; i < x.keys.size(); ++i) {
    auto& found = to[x.keys[i]];
    found.values.push_back(&x.children[i]);
    if (bringer != nullptr)
      found.bringers.insert(*bringer);
    add_origins(x.children[i], &x.keys[i], to);
  }
}

/// Leaves out of all spaces in `x` what has none of these names.
space_node pruned(const space_node& x, const std::set<std::string>& names) {
  space_node result;
  result.type = x.type;
  result.where = x.where;
  result.path = x.path;
  result.literal = x.literal;
  result.range = x.range;
  result.is_simplex = x.is_simplex;
  for (std::size_t i = 0; i < x.children.size(); ++i) {
    if (x.type == node_kind::space && !names.contains(x.keys[i]))
      continue;
    if (!x.keys.empty())
      result.keys.push_back(x.keys[i]);
    result.children.push_back(pruned(x.children[i], names));
  }
  for (const auto& space : x.brought)
    result.brought.push_back(pruned(space, names));
  return result;
}

} // namespace

bool is_made_of_others(const space_node& node) {
  return node.type == node_kind::product
         || std::any_of(node.children.begin(), node.children.end(),
                        is_made_of_others);
}

bool has_products(const space_node& node) {
  bool result = node.type == node_kind::product;
  for_each_part(
    node, [&](const space_node& y) { result = result || has_products(y); });
  return result;
}

bool bind_products(space_node& root, diagnostics& notes) {
  return binder{notes}.run(root);
}

json unresolved_product(json factors) {
  return {{product_key, std::move(factors)}};
}

json as_written(json x) {
  if (is_unresolved(x)) {
    auto factors = std::move(x.begin().value());
    for (auto& factor : factors)
      factor = factor.is_array() ? json(factor[0].get<std::string>()
                                        + factor[1].get<std::string>())
                                 : as_written(std::move(factor));
    return {{"product", std::move(factors)}};
  }
  if (x.is_structured())
    for (auto& part : x)
      part = as_written(std::move(part));
  return x;
}

void resolve_products(json& trial) {
  resolver{trial}.walk(trial);
}

std::optional<std::string> refusal_of(const std::string& name,
                                      const space_node& others,
                                      const space_node& root) {
  std::optional<std::string> part;
  find_named(root, name, part);
  if (!part)
    return std::nullopt;
  if (!part->empty())
    return "stays as it is, since a product names a part of it, '" + name
           + *part + "'";
  if (!are_numbers(others))
    return "must be numbers, since a product names it";
  return std::nullopt;
}

space_node part_that_makes(const std::string& name, const space_node& root) {
  std::map<std::string, origins> all;
  add_origins(root, nullptr, all);
  std::set<std::string> needed{name};
  std::vector<std::string> left{name};
  while (!left.empty()) {
    const auto& found = all.at(left.back());
    left.pop_back();
    auto more = found.bringers;
    for (const auto* x : found.values)
      add_named(*x, more);
    for (const auto& each : more)
      if (needed.insert(each).second)
        left.push_back(each);
  }
  return pruned(root, needed);
}

} // namespace hippo
