#include "hippo/space/new_space.hpp"

#include <utility>
#include <variant>

#include "hippo/model/code/study_code.hpp"
#include "hippo/space/first_trials.hpp"
#include "hippo/space/space_node.hpp"
#include "hippo/space/space_reader.hpp"
#include "hippo/space/together.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// The keys of a study file that a new space takes the place of.
bool is_of_space(const std::string& key) {
  return key == "space" || key == "prior";
}

/// The same with the keys of maps in order, so that equal ones are equal.
nlohmann::json in_order(const json& x) {
  return nlohmann::json::parse(x.dump());
}

/// Makes a document of values as trials show them.
document document_of(const json& x, std::string path) {
  document result;
  result.path = std::move(path);
  if (x.is_object()) {
    result.type = document::kind::map;
    for (const auto& [name, value] : x.items())
      result.entries.push_back(
        {name, {}, document_of(value, result.path + '.' + name)});
  } else if (x.is_array()) {
    result.type = document::kind::list;
    for (const auto& item : x)
      result.items.push_back(document_of(item, result.path));
  } else if (!x.is_null()) {
    result.type = document::kind::leaf;
    result.quoted = x.is_string();
    result.text = x.is_string() ? x.get<std::string>() : x.dump();
  }
  return result;
}

/// Leaves out what a trial has anyway, and adds what its space asks for.
json in_terms_of(const search_space& space, json shown,
                 const std::map<std::string, json>& defaults) {
  const auto names = space.names();
  for (const auto& [name, value] : defaults)
    if (!names.contains(name) && shown.contains(name)
        && in_order(shown[name]) == in_order(value))
      shown.erase(name);
  for (const auto& name : space.root()->keys)
    if (const auto i = defaults.find(name);
        i != defaults.end() && !shown.contains(name))
      shown[name] = i->second;
  return shown;
}

} // namespace

expected<new_space> read_new_space(const std::string& text,
                                   const study_spec& study,
                                   const workload_descriptor& workload,
                                   name_rules rules) {
  findings found;
  diagnostics notes{"", found};
  new_space result;
  const auto root = read_document(text, notes, "space", rules);
  const auto* space = root ? root->find("space") : nullptr;
  const auto* prior = root ? root->find("prior") : nullptr;
  if (space != nullptr) {
    const auto* known = study.space.root();
    const auto limited = limited_by(workload, study.workload);
    const auto tree =
      read_space(*space,
                 {.max_steps = study.max_steps,
                  .typed = study.typed,
                  .lengths = known != nullptr ? known->lengths : nullptr},
                 workload.open ? nullptr : &limited, notes);
    if (tree != nullptr && prior != nullptr)
      result.prior = read_prior(*prior, *tree, notes);
    result.space = search_space{tree};
    if (!workload.open)
      check_together(result.space, study.max_steps, limited, notes);
  } else if (root) {
    notes.error(*root, "'space' is missing: a new space is a map such as "
                       "{space: {lr: {log_uniform: [0.001, 0.1]}}}");
  }
  if (!found.errors.empty())
    return {errc::invalid_argument, joined_text(found.errors)};
  return result;
}

std::optional<error> refusal_of_other_keys(const std::string& text,
                                           const std::string& file) {
  findings found;
  diagnostics notes{"", found};
  const auto given = read_document(text, notes, "space", name_rules::of_before);
  const auto known =
    read_document(split(file).study, notes, "study", name_rules::of_before);
  if (!given || !known)
    return error{errc::invalid_argument, joined_text(found.errors)};
  for (const auto& x : given->entries) {
    if (is_of_space(x.key))
      continue;
    const auto* before = known->find(x.key);
    if (before == nullptr
        || in_order(to_json(*before)) != in_order(to_json(x.value)))
      return error{errc::invalid_argument,
                   x.key
                     + ": is not as in the file of the study: `space` and "
                       "`prior` alone can be changed"};
  }
  return std::nullopt;
}

std::map<std::string, json>
default_values(const workload_descriptor& workload) {
  std::map<std::string, json> result;
  for (const auto& x : workload.hyper_parameters)
    std::visit([&](const auto& value) { result[x.name] = value; }, x.fallback);
  return result;
}

std::optional<leaf_decisions>
decisions_for(const search_space& space, const json& shown,
              const std::map<std::string, json>& defaults) {
  if (space.empty())
    return std::nullopt;
  findings found;
  diagnostics notes{"", found};
  document list;
  list.type = document::kind::list;
  list.items.push_back(document_of(in_terms_of(space, shown, defaults), ""));
  auto result = read_first(list, *space.root(), notes);
  if (!found.errors.empty() || result.size() != 1)
    return std::nullopt;
  return std::move(result.front());
}

} // namespace hippo
