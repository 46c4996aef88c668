#include "hippo/space/space_reader.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "hippo/core/hash.hpp"
#include "hippo/core/number.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/product.hpp"
#include "hippo/space/range_reader.hpp"
#include "hippo/space/space_check.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// What a value may be besides a number, a word or a list.
enum class position {
  value, ///< a sequence by its family
  body,  ///< the parameters of a family
};

/// Writes a value so that equal meaning gives equal text. REQUIRES: it is valid
/// UTF-8, as all of a document is.
std::string signature(const document& x) {
  if (x.type == document::kind::leaf) {
    const auto value = x.meaning();
    return value.is_number() ? to_text(canonical(value.get<double>()))
                             : json(x.text).dump();
  }
  std::string result = x.type == document::kind::list ? "[" : "{";
  for (const auto& item : x.items)
    result += signature(item) + ',';
  for (const auto& entry : x.entries)
    result += json(entry.key).dump() + ':' + signature(entry.value) + ',';
  return result + (x.type == document::kind::list ? ']' : '}');
}

class reader {
public:
  reader(const workload_descriptor* workload, diagnostics& notes)
    : notes_(&notes) {
    if (workload == nullptr)
      return;
    names_.emplace();
    for (const auto& x : workload->hyper_parameters)
      names_->push_back(x.name);
  }

  /// Reads a map from hyper-parameters to their values; what is wrong is noted
  /// and left out.
  space_node space(const document& x) {
    auto result = start(x, space_node::kind::space);
    if (x.type != document::kind::map || x.entries.empty())
      notes_->error(x, "must be a map from hyper-parameters to their values, "
                       "found "
                         + x.found());
    for (const auto& entry : x.entries) {
      if (names_
          && std::find(names_->begin(), names_->end(), entry.key)
               == names_->end()) {
        notes_->unknown_key(entry, "hyper-parameter", *names_);
        continue;
      }
      if (auto child = value(entry.value, position::value)) {
        result.keys.push_back(entry.key);
        result.children.push_back(std::move(*child));
      }
    }
    set_size(result);
    return result;
  }

private:
  static space_node start(const document& x, space_node::kind type) {
    space_node result;
    result.type = type;
    result.where = x.where;
    result.path = x.path;
    return result;
  }

  std::optional<space_node> value(const document& x, position at) {
    switch (x.type) {
      case document::kind::nothing:
        notes_->error(x, "must be a value, found nothing");
        return {};
      case document::kind::leaf: {
        auto result = start(x, space_node::kind::literal);
        result.literal = x.meaning();
        if (result.literal.is_number()
            && !std::isfinite(result.literal.get<double>()))
          notes_->error(x, "must be a finite number, found "
                             + to_text(result.literal.get<double>()));
        set_size(result);
        return result;
      }
      case document::kind::list:
        return list(x);
      case document::kind::map:
        return map(x, at);
    }
    return {};
  }

  std::optional<space_node> list(const document& x) {
    auto result = start(x, space_node::kind::list);
    for (const auto& item : x.items)
      if (auto child = value(item, position::value))
        result.children.push_back(std::move(*child));
    if (result.children.size() != x.items.size())
      return {};
    set_size(result);
    return result;
  }

  std::optional<space_node> map(const document& x, position at) {
    if (const auto* options = x.find("choice")) {
      only_keys(x, {"choice"});
      return choice(*options, at);
    }
    if (const auto* factors = x.find("product")) {
      only_keys(x, {"product"});
      return product(*factors);
    }
    if (const auto* rule = range_in(x))
      return range(x, *rule);
    if (at == position::value && !is_family(x))
      return {};
    auto result = start(x, space_node::kind::map);
    for (const auto& entry : x.entries)
      if (auto child =
            value(entry.value,
                  at == position::value ? position::body : position::value)) {
        result.keys.push_back(entry.key);
        result.children.push_back(std::move(*child));
      }
    if (result.children.size() != x.entries.size())
      return {};
    set_size(result);
    return result;
  }

  /// Checks that a map stands for a sequence.
  bool is_family(const document& x) {
    auto known = family_names();
    known.emplace_back("choice");
    for (const auto& name : range_names())
      known.push_back(name);
    known.emplace_back("product");
    if (x.entries.size() != 1) {
      notes_->error(x, "must have one key, found "
                         + std::to_string(x.entries.size())
                         + ". Allowed: " + list_of(known));
      return false;
    }
    const auto& entry = x.entries.front();
    if (std::find(known.begin(), known.end(), entry.key) != known.end())
      return true;
    notes_->unknown_key(entry, "sequence", known);
    return false;
  }

  void only_keys(const document& x, const std::vector<std::string>& allowed) {
    for (const auto& entry : x.entries)
      if (std::find(allowed.begin(), allowed.end(), entry.key) == allowed.end())
        notes_->unknown_key(entry, "key beside '" + allowed[0] + "'", allowed);
  }

  std::optional<space_node> choice(const document& x, position at) {
    if (x.type != document::kind::list || x.items.empty()) {
      notes_->error(x, "must be a list of at least one option, found "
                         + x.found());
      return {};
    }
    auto result = start(x, space_node::kind::choice);
    std::map<std::string, const document*> seen;
    for (const auto& option : x.items) {
      // Choices in choices would have whole texts over and over again.
      const auto [same, is_new]
        = seen.emplace(hash_text(signature(option)), &option);
      if (!is_new)
        notes_->warn(option, "is the same option as " + same->second->path);
      const auto* inner = option.find("value");
      const auto* with = option.find("with");
      auto brought = start(option, space_node::kind::space);
      set_size(brought);
      if (inner == nullptr && with != nullptr)
        notes_->error(option, "'value' is missing");
      if (inner != nullptr)
        only_keys(option, {"value", "with"});
      if (with != nullptr)
        brought = space(*with);
      if (inner == nullptr && with != nullptr)
        continue;
      if (auto child = value(inner == nullptr ? option : *inner, at)) {
        result.children.push_back(std::move(*child));
        result.brought.push_back(std::move(brought));
      }
    }
    if (result.children.empty())
      return {};
    set_size(result);
    return result;
  }

  std::optional<space_node> range(const document& x, const scale_rule& rule) {
    const std::string name{rule.name};
    std::vector<std::string> allowed{name, "points"};
    if (rule.takes_step || x.find("step") != nullptr) // or it is told why not
      allowed.emplace_back("step");
    only_keys(x, allowed);
    const auto read = read_range(x, rule, *notes_);
    if (!read)
      return {};
    auto result = start(*x.find(name), space_node::kind::range);
    result.range = *read;
    if (read->points == 1) { // a step beyond the other end
      result.type = space_node::kind::literal;
      result.literal = read->point(0);
    }
    set_size(result);
    return result;
  }

  std::optional<space_node> product(const document& x) {
    if (x.type != document::kind::list || x.items.size() < 2) {
      notes_->error(x, "must be a list of at least two numbers and names of"
                       " values, found "
                         + (x.items.empty()
                              ? x.found()
                              : std::to_string(x.items.size()) + " item"));
      return {};
    }
    auto result = list(x);
    if (result)
      result->type = space_node::kind::product;
    return result;
  }

  diagnostics* notes_;
  std::optional<std::vector<std::string>> names_; ///< nothing: any
};

} // namespace

std::shared_ptr<const space_node>
read_space(const document& x, step_t max_steps,
           const workload_descriptor* workload, diagnostics& notes) {
  const auto errors = notes.errors();
  auto root = std::make_shared<space_node>(reader{workload, notes}.space(x));
  root->max_steps = max_steps;
  root->has_products = has_products(*root);
  // What was left out would be missed.
  root->is_bound = root->has_products && notes.errors() == errors
                   && bind_products(*root, notes);
  check_space(*root, workload, notes);
  return notes.errors() == errors ? root : nullptr;
}

} // namespace hippo
