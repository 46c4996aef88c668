#include "hippo/service/study/given_trials.hpp"

#include <optional>
#include <set>
#include <utility>

#include "hippo/base/length_name.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/service/study/client_values.hpp"
#include "hippo/space/first_trials.hpp"
#include "hippo/space/product.hpp"
#include "hippo/space/space_node.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using kind = document::kind;

error refused(std::string why) {
  return {errc::invalid_argument, std::move(why)};
}

/// Reads a whole number.
std::optional<std::uint64_t> count_in(const document* x) {
  if (x == nullptr || x->type != kind::leaf)
    return std::nullopt;
  const auto value = x->meaning();
  return value.is_number_integer() && value >= 0
           ? std::optional{value.get<std::uint64_t>()}
           : std::nullopt;
}

/// Reads an item of `forks`.
std::optional<trial_fork> read_fork(const document& x, diagnostics& notes) {
  const auto* params = x.find("params");
  const auto trial = count_in(x.find("trial")), at = count_in(x.find("at"));
  if (trial && at && params != nullptr && params->type == kind::map
      && !params->entries.empty() && x.entries.size() == 3)
    return trial_fork{*trial, *at, to_json(*params)};
  notes.error(x, "must be a map with the number of a trial, `at` a step of "
                 "it, and `params`, a map of the values that change");
  return std::nullopt;
}

/// Reads the items of `outside`.
class outside_reader {
public:
  outside_reader(const study_spec& study, const workload_descriptor& workload,
                 name_rules rules)
    : study_(&study), workload_(&workload), rules_(rules),
      names_(study.space.names()) {}

  std::optional<trial_parameters> operator()(const document& x,
                                             diagnostics& notes) const {
    if (x.type != kind::map) {
      notes.error(x, "must be a map with a value for each hyper-parameter, "
                     "found "
                       + x.found());
      return std::nullopt;
    }
    const auto before = notes.errors();
    for (const auto& entry : x.entries)
      if (!names_.contains(entry.key) && entry.key != length_name)
        notes.error(
          entry.where, entry.value.path,
          "the study has no hyper-parameter '" + entry.key + "'"
            + did_you_mean(entry.key, {names_.begin(), names_.end()}));
    const auto text =
      with_constants(to_json(x).dump(), *study_, *workload_, rules_);
    auto values = read_parameters(text, study_->lengths(), *workload_, rules_,
                                  study_->typed);
    if (!values) {
      notes.error(x, values.failure().message);
      return std::nullopt;
    }
    const auto& root = *study_->space.root();
    for (std::size_t i = 0; i < root.keys.size(); ++i)
      if (const auto& child = root.children[i];
          !child.is_hidden && !is_made_of_others(child)
          && !values->shown.contains(root.keys[i]))
        notes.error(x, "'" + root.keys[i] + "' is missing");
    if (values->responsive)
      notes.error(x, "a schedule that follows measurements is none that can "
                     "be given");
    return notes.errors() == before ? std::optional{std::move(*values)}
                                    : std::nullopt;
  }

private:
  const study_spec* study_;
  const workload_descriptor* workload_;
  name_rules rules_;
  std::set<std::string> names_;
};

/// Reads each item of a list that is neither empty nor too long.
template <class Read, class Item>
void read_items(const document& list, const Read& read, diagnostics& notes,
                std::vector<Item>& to) {
  if (!is_list_of(list, first_trials_max, "maps", notes))
    return;
  for (const auto& item : list.items)
    if (auto found = read(item, notes))
      to.push_back(std::move(*found));
}

} // namespace

expected<given_trials> read_given_trials(const std::string& text,
                                         const study_spec& study,
                                         const workload_descriptor& workload,
                                         name_rules rules) {
  if (study.space.empty())
    return refused("the study has no hyper-parameters");
  findings found;
  diagnostics notes{"", found};
  given_trials result;
  if (const auto root = read_document(text, notes, "trials", rules)) {
    const auto& entries = root->entries;
    const auto name = entries.size() == 1 ? entries.front().key : "";
    if (name == "trials")
      result.of_space =
        read_first(entries.front().value, *study.space.root(), notes);
    else if (name == "outside")
      read_items(entries.front().value, outside_reader{study, workload, rules},
                 notes, result.outside);
    else if (name == "forks")
      read_items(entries.front().value, read_fork, notes, result.forks);
    else
      notes.error(*root, "must be a map with 'trials', 'outside' or 'forks' "
                         "alone");
  }
  if (!found.errors.empty())
    return refused(joined_text(found.errors));
  return result;
}

expected<trial_parameters> values_of(const trial_fork& fork,
                                     const trial_parameters& from,
                                     const study_spec& study,
                                     const workload_descriptor& workload,
                                     name_rules rules) {
  const auto which = "trial " + std::to_string(fork.from);
  if (from.responsive)
    return refused("a schedule of " + which
                   + " follows measurements: it cannot be forked");
  if (fork.at == 0 || fork.at >= from.length)
    return refused("at " + std::to_string(fork.at)
                   + ": must be a step from 1 to "
                   + std::to_string(from.length - 1) + ", since " + which
                   + " has " + std::to_string(from.length));
  const auto read = [&](json values) {
    if (from.shown.contains(length_name))
      values[length_name] = from.shown[length_name];
    return read_parameters(values.dump(), study.lengths(), workload, rules,
                           study.typed);
  };
  const auto after = read(fork.values);
  if (!after)
    return after.failure();
  if (after->responsive)
    return refused("a schedule that follows measurements is none that can be "
                   "given");
  auto result = from;
  for (const auto& [name, value] : fork.values.items()) {
    const auto old = from.sequences.find(name);
    if (old == from.sequences.end()) {
      std::set<std::string> names;
      for (const auto& known : from.sequences)
        names.insert(known.first);
      return refused(which + " has no hyper-parameter '" + name + "'"
                     + did_you_mean(name, {names.begin(), names.end()}));
    }
    auto now = spliced(old->second, after->sequences.at(name), fork.at);
    const json parts{{0, from.shown.at(name)}, {fork.at, value}};
    const auto joined = read({{name, {{"join", parts}}}});
    const bool is_join = joined && joined->sequences.at(name) == now;
    result.shown[name] = json{{is_join ? "join" : "fork", parts}};
    result.sequences.at(name) = std::move(now);
  }
  if (result.sequences == from.sequences)
    return refused("these are the values of " + which
                   + ": give one that changes");
  return result;
}

} // namespace hippo
