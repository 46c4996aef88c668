#include "hippo/space/space_reader.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
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

/// The most shares of a simplex, and the most combinations on a grid of it.
constexpr std::size_t shares_max = 64;
constexpr std::size_t simplex_points_max = 10'000;

/// Adds the names of what is hidden in `x`.
void add_hidden(const space_node& x, std::vector<std::string>& to) {
  for (std::size_t i = 0; i < x.children.size(); ++i) {
    if (x.children[i].is_hidden)
      to.push_back(x.keys[i]);
    add_hidden(x.children[i], to);
  }
  for (const auto& space : x.brought)
    add_hidden(space, to);
}

/// Whether a leaf of `x` could be a percentage.
bool may_have_percentages(const document& x) {
  const auto may = [](const document& y) { return may_have_percentages(y); };
  return x.text.ends_with('%') || std::ranges::any_of(x.items, may)
         || std::ranges::any_of(
           x.entries, [&](const document::entry& y) { return may(y.value); });
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
      if (const auto* shares = entry.value.find("simplex")) {
        simplex(entry, *shares, result);
        continue;
      }
      if (names_
          && std::find(names_->begin(), names_->end(), entry.key)
               == names_->end()) {
        notes_->unknown_key(entry, "hyper-parameter", *names_);
        continue;
      }
      add(entry, result);
    }
    set_size(result);
    return result;
  }

  /// Reads what decides how long a trial is: whole numbers of steps.
  std::optional<space_node> length(const document& x) {
    const auto wrong = [&]() -> std::optional<space_node> {
      notes_->error(x, "must be a whole number of steps from 1 to "
                         + std::to_string(step_limit)
                         + ", or a choice or range of such: {choice: [1000, "
                           "2000]}, {int_uniform: [1000, 5000], points: 5}; "
                           "found "
                         + x.found());
      return {};
    };
    const auto is_length = [](double value) {
      return value >= 1 && value <= static_cast<double>(step_limit)
             && std::floor(value) == value;
    };
    if (x.type == document::kind::leaf) {
      const auto value = x.meaning();
      if (!value.is_number() || !is_length(value.get<double>()))
        return wrong();
      return literal(x, static_cast<step_t>(value.get<double>()));
    }
    if (const auto* options = x.find("choice")) {
      only_keys(x, {"choice"});
      if (options->items.empty())
        return wrong();
      auto result = start(*options, space_node::kind::choice);
      for (const auto& option : options->items)
        if (auto child = length(option)) {
          result.children.push_back(std::move(*child));
          set_size(result.brought.emplace_back(
            start(option, space_node::kind::space)));
        }
      if (result.children.size() != options->items.size())
        return {};
      set_size(result);
      return result;
    }
    const auto* rule = range_in(x);
    if (rule == nullptr || !rule->is_whole)
      return wrong();
    auto result = range(x, *rule);
    if (result && (!is_length(result->range.low)
                   || !is_length(result->range.high)))
      return wrong();
    return result;
  }

private:
  /// Adds a hyper-parameter to a space.
  void add(const document::entry& x, space_node& space) {
    // Of what is rounded, the first one of a hyper-parameter is told.
    const auto others_rounded = std::exchange(rounded_, false);
    if (auto child = whole_value(x.value)) {
      space.keys.push_back(x.key);
      space.children.push_back(std::move(*child));
    }
    rounded_ = others_rounded;
  }

  /// Adds hyper-parameters that are shares of 1, each by a product that names
  /// one of the shares; these stand under the name of them all.
  void simplex(const document::entry& x, const document& shares,
               space_node& to) {
    only_keys(x.value, {"simplex", "points"});
    if (shares.type != document::kind::map || shares.entries.size() < 2
        || shares.entries.size() > shares_max) {
      notes_->error(shares, "must be a map of 2 to "
                              + std::to_string(shares_max)
                              + " hyper-parameters, each of them 'share' or a "
                                "sequence with it, found "
                              + (shares.entries.empty()
                                   ? shares.found()
                                   : std::to_string(shares.entries.size())
                                       + " keys"));
      return;
    }
    auto all = shares_in(x.value, shares.entries.size());
    if (!all)
      return;
    all->is_hidden = true;
    to.keys.push_back(x.key);
    to.children.push_back(std::move(*all));
    for (std::size_t i = 0; i < shares.entries.size(); ++i) {
      auto part = shares.entries[i];
      if (!put_share(part.value, x.key + '[' + std::to_string(i) + ']'))
        notes_->error(part.value, "has no 'share': it is the share, or a "
                                  "sequence with it, such as {piecewise: "
                                  "[[0, 1], [90%, share]]}");
      else if (names_
               && std::find(names_->begin(), names_->end(), part.key)
                    == names_->end())
        notes_->unknown_key(part, "hyper-parameter", *names_);
      else
        add(part, to);
    }
  }

  /// Makes what decides so many shares: a choice between those of a grid, or
  /// numbers that are turned into shares.
  std::optional<space_node> shares_in(const document& x, std::size_t count) {
    const auto* points = x.find("points");
    if (points == nullptr) {
      auto result = start(x, space_node::kind::list);
      result.is_simplex = true;
      for (std::size_t i = 0; i < count; ++i) {
        auto number = start(x, space_node::kind::range);
        number.path += '[' + std::to_string(i) + ']';
        set_size(number);
        result.children.push_back(std::move(number));
      }
      set_size(result);
      return result;
    }
    const auto given = points->type == document::kind::leaf
                         ? points->meaning()
                         : json{};
    const auto most
      = given.is_number_integer() ? given.get<std::int64_t>() - 1 : 0;
    auto result = start(x, space_node::kind::choice);
    if (most >= 1 && most < static_cast<std::int64_t>(simplex_points_max)) {
      std::vector<std::int64_t> parts;
      add_shares(x, most, most, count, parts, result);
    }
    if (result.children.empty()
        || result.children.size() > simplex_points_max) {
      notes_->error(*points, "must be a whole number of values of each share, "
                             "from 2 on, that gives up to "
                               + std::to_string(simplex_points_max)
                               + " combinations of shares, found "
                               + points->found());
      return {};
    }
    set_size(result);
    return result;
  }

  /// Adds all ways in which `left` goes into so many more parts.
  static void add_shares(const document& x, std::int64_t whole,
                         std::int64_t left, std::size_t count,
                         std::vector<std::int64_t>& parts, space_node& to) {
    if (to.children.size() > simplex_points_max)
      return;
    for (std::int64_t i = count == 1 ? left : 0; i <= left; ++i) {
      parts.push_back(i);
      if (count > 1) {
        add_shares(x, whole, left - i, count - 1, parts, to);
      } else {
        auto shares = start(x, space_node::kind::list);
        for (const auto part : parts)
          shares.children.push_back(
            literal(x, canonical(static_cast<double>(part)
                                 / static_cast<double>(whole))));
        set_size(shares);
        to.children.push_back(std::move(shares));
        set_size(to.brought.emplace_back(start(x, space_node::kind::space)));
      }
      parts.pop_back();
    }
  }

  /// Writes the product that names a share wherever the word `share` stands.
  /// @returns whether it does
  static bool put_share(document& x, const std::string& name) {
    if (x.type == document::kind::leaf && x.text == "share") {
      auto factor = x;
      factor.text = name;
      factor.quoted = true;
      auto one = x;
      one.text = "1";
      auto factors = x;
      factors.type = document::kind::list;
      factors.items = {factor, one};
      x.type = document::kind::map;
      x.text.clear();
      x.entries = {{"product", x.where, std::move(factors)}};
      return true;
    }
    bool result = false;
    for (auto& item : x.items)
      result = put_share(item, name) || result;
    for (auto& entry : x.entries)
      result = put_share(entry.value, name) || result;
    return result;
  }

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

/// Says where a hyper-parameter has the name of a trial's length.
void refuse_length_as_name(const space_node& x, diagnostics& notes) {
  for (std::size_t i = 0; i < x.keys.size(); ++i)
    if (x.type == space_node::kind::space && x.keys[i] == length_name)
      notes.error(x.children[i].where, x.children[i].path,
                  "is what the length of a trial is called where a study has "
                  "several: give the hyper-parameter another name");
  for (const auto& child : x.children)
    refuse_length_as_name(child, notes);
  for (const auto& space : x.brought)
    refuse_length_as_name(space, notes);
}

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

/// Gives the leaves of a length the path by which they are drawn, whatever the
/// key of the study file.
void name_length(space_node& x, std::size_t key_length) {
  x.path.replace(0, key_length, length_name);
  for (auto& child : x.children)
    name_length(child, key_length);
}

} // namespace

std::shared_ptr<const space_node> read_lengths(const document& document,
                                               std::set<step_t>& all,
                                               diagnostics& notes) {
  const auto errors = notes.errors();
  auto read = reader{{}, nullptr, notes}.length(document);
  if (!read || notes.errors() != errors)
    return nullptr;
  if (read->size == 0 || read->size > lengths_max) {
    notes.error(document, "gives more than " + std::to_string(lengths_max)
                            + " lengths: give fewer, or the range 'points'");
    return nullptr;
  }
  add_numbers(*read, all);
  name_length(*read, document.path.size());
  return std::make_shared<space_node>(std::move(*read));
}

std::shared_ptr<const space_node>
read_space(const document& document, const space_reading& how,
           const workload_descriptor* workload, diagnostics& notes) {
  const auto errors = notes.errors();
  auto root =
    std::make_shared<space_node>(reader{how, workload, notes}.space(document));
  if (how.lengths != nullptr)
    refuse_length_as_name(*root, notes);
  root->max_steps = how.max_steps;
  if (!how.is_trial)
    root->source = to_json(document);
  root->has_length = how.has_length;
  root->lengths = how.lengths;
  root->typed = how.typed;
  if (std::set<std::string> known; how.typed) // else as it was drawn before
    part_leaves(*root, known);
  root->has_products = has_products(*root);
  root->has_percentages = may_have_percentages(document);
  add_hidden(*root, root->hidden);
  // What was left out would be missed.
  root->is_bound = root->has_products && notes.errors() == errors
                   && bind_products(*root, notes);
  check_space(*root, workload, notes);
  return notes.errors() == errors ? root : nullptr;
}

} // namespace hippo
