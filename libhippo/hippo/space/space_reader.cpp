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
  value,     ///< a sequence by its family
  body,      ///< the parameters of a family
  parameter, ///< one of them: a sequence again
  data,      ///< what code is given as it is: anything
};

/// Writes a value so that equal meaning gives equal text. REQUIRES: it is valid
/// UTF-8, as all of a document is.
/// @param typed whether its type is a part of what it means
std::string signature(const document& x, bool typed) {
  if (x.type == document::kind::nothing)
    return "null";
  if (x.type == document::kind::leaf) {
    const auto value = x.meaning();
    if (value.is_string() || (typed && !value.is_number_float()))
      return value.dump();
    const auto number = value.is_boolean()
                          ? static_cast<double>(value.get<bool>())
                          : canonical(value.get<double>());
    return to_text(number) + (typed ? " with a point" : "");
  }
  std::string result = x.type == document::kind::list ? "[" : "{";
  for (const auto& item : x.items)
    result += signature(item, typed) + ',';
  for (const auto& entry : x.entries)
    result += json(entry.key).dump() + ':' + signature(entry.value, typed)
              + ',';
  return result + (x.type == document::kind::list ? ']' : '}');
}

class reader {
public:
  reader(const space_reading& how, const workload_descriptor* workload,
         diagnostics& notes)
    : notes_(&notes), typed_(how.typed), is_trial_(how.is_trial) {
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
      // Of what is rounded, the first one of a hyper-parameter is told.
      const auto others_rounded = std::exchange(rounded_, false);
      if (auto child = whole_value(entry.value)) {
        result.keys.push_back(entry.key);
        result.children.push_back(std::move(*child));
      }
      rounded_ = others_rounded;
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

  /// Reads what stands for a hyper-parameter. A list there is a choice that was
  /// forgotten more often than a value.
  std::optional<space_node> whole_value(const document& x) {
    if (is_structure(x) && typed_ && is_trial_)
      return value(x, position::data);
    if (x.type == document::kind::list && typed_) {
      notes_->error(x, "must be a number or a word, found " + x.found()
                         + "; one of several is {choice: [...]}, a range "
                           "{uniform: [low, high]}, a list that is a value "
                           "{constant: [...]}");
      return {};
    }
    return value(x, position::value);
  }

  static bool is_structure(const document& x) {
    return x.type == document::kind::nothing
           || x.type == document::kind::list;
  }

  std::optional<space_node> value(const document& x, position at) {
    switch (x.type) {
      case document::kind::nothing: {
        if (at == position::data)
          return literal(x, nullptr);
        notes_->error(x, "must be a value, found nothing");
        return {};
      }
      case document::kind::leaf:
        return leaf(x, at);
      case document::kind::list:
        return list(x, at == position::data ? at : position::value);
      case document::kind::map:
        return map(x, at);
    }
    return {};
  }

  static space_node literal(const document& x, json value) {
    auto result = start(x, space_node::kind::literal);
    result.literal = std::move(value);
    set_size(result);
    return result;
  }

  space_node leaf(const document& x, position at) {
    auto value = x.meaning();
    if (typed_ && refuse_too_large(x, *notes_))
      return literal(x, std::move(value));
    if (value.is_number() && !std::isfinite(value.get<double>()))
      notes_->error(x, "must be a finite number, found "
                         + to_text(value.get<double>()));
    else if (value.is_number_float())
      value = rounded(x, value.get<double>());
    else if (value.is_number() && (!typed_ || at == position::parameter)
             && std::abs(value.get<double>()) > canonical_whole_max)
      value = whole_from(rounded(x, value.get<double>()));
    return literal(x, std::move(value));
  }

  /// Returns a number as it is trained with, so that this is told too.
  double rounded(const document& x, double value) {
    const auto result = canonical(value);
    if (result != value && !std::exchange(rounded_, true))
      notes_->warn(x, "has more than 12 digits, and is trained with as "
                        + to_text(result));
    return result;
  }

  /// A whole number again, if it can be one.
  static json whole_from(double value) {
    return std::abs(value) < whole_limit
             ? json(static_cast<std::int64_t>(value))
             : json(value);
  }

  std::optional<space_node> list(const document& x, position at) {
    auto result = start(x, space_node::kind::list);
    for (const auto& item : x.items)
      if (auto child = value(item, at))
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
    if ((at == position::value || at == position::parameter) && !is_family(x))
      return {};
    auto result = start(x, space_node::kind::map);
    for (const auto& entry : x.entries)
      if (auto child = value(entry.value, below(at, entry.key))) {
        result.keys.push_back(entry.key);
        result.children.push_back(std::move(*child));
      }
    if (result.children.size() != x.entries.size())
      return {};
    set_size(result);
    return result;
  }

  /// What the values of a map may be.
  [[nodiscard]] position below(position at, const std::string& name) const {
    if (at == position::value && typed_ && name == "constant")
      return position::data;
    if (at == position::value || at == position::parameter)
      return position::body;
    return at == position::body ? position::parameter : at;
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
                         + ". Allowed: " + list_of(known)
                         + (typed_ ? ". A map that is a value is {constant: "
                                     "{...}}"
                                   : ""));
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
        = seen.emplace(hash_text(signature(option, typed_)), &option);
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
      const auto& given = inner == nullptr ? option : *inner;
      const bool is_data
        = typed_ && at == position::value && is_structure(given);
      if (auto child = value(given, is_data ? position::data : at)) {
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
    const auto read
      = read_range(x, rule, *notes_, [this](const document& y, double value) {
          return rounded(y, value);
        });
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
    auto result = list(x, position::value);
    if (result)
      result->type = space_node::kind::product;
    return result;
  }

  diagnostics* notes_;
  bool typed_;
  bool is_trial_;
  bool rounded_ = false; ///< a number of the present hyper-parameter was
  std::optional<std::vector<std::string>> names_; ///< nothing: any
};

/// Gives leaves of one path, as names with dots can bring about, paths of their
/// own: they are drawn and learned by these.
void part_leaves(space_node& x, std::set<std::string>& known) {
  if (x.type == space_node::kind::choice || x.type == space_node::kind::range)
    while (!known.insert(x.path).second)
      x.path += '\'';
  for (auto& child : x.children)
    part_leaves(child, known);
  for (auto& space : x.brought)
    part_leaves(space, known);
}

} // namespace

std::shared_ptr<const space_node>
read_space(const document& x, const space_reading& how,
           const workload_descriptor* workload, diagnostics& notes) {
  const auto errors = notes.errors();
  auto root
    = std::make_shared<space_node>(reader{how, workload, notes}.space(x));
  root->max_steps = how.max_steps;
  root->typed = how.typed;
  if (std::set<std::string> known; how.typed) // else as it was drawn before
    part_leaves(*root, known);
  root->has_products = has_products(*root);
  // What was left out would be missed.
  root->is_bound = root->has_products && notes.errors() == errors
                   && bind_products(*root, notes);
  check_space(*root, workload, notes);
  return notes.errors() == errors ? root : nullptr;
}

} // namespace hippo
