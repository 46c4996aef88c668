#include "hippo/search/registry.hpp"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/algorithm/asha.hpp"
#include "hippo/search/algorithm/client_algorithm.hpp"
#include "hippo/search/algorithm/dehb.hpp"
#include "hippo/search/algorithm/freeze_thaw.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/median_stopping.hpp"
#include "hippo/search/algorithm/no_pruning.hpp"
#include "hippo/search/algorithm/pbt.hpp"
#include "hippo/search/algorithm/sha.hpp"
#include "hippo/search/automatic.hpp"
#include "hippo/search/sampler/gp_settings.hpp"
#include "hippo/search/sampler/nsga2_sampler.hpp"
#include "hippo/search/sampler/static_sampler.hpp"
#include "hippo/search/sampler/tpe_sampler.hpp"

namespace hippo {

namespace {

/// The one list of algorithms, and that of samplers.
constexpr const algorithm_type* all_algorithms[]{
  &grid_type, &random_type,      &tpe_type,       &gp_type,   &nsga2_type,
  &sha_type,  &asha_type,        &hyperband_type, &bohb_type, &boss_type,
  &dehb_type, &freeze_thaw_type, &median_type,    &pbt_type,  &client_type};
constexpr const sampler_type* all_samplers[]{
  &random_sampler_type, &grid_sampler_type, &tpe_sampler_type, &gp_sampler_type,
  &nsga2_sampler_type};

/// The sampler whose options a study may mean that names none.
constexpr const auto& suggested_sampler = tpe_sampler_type;

/// Returns the type of a name; null: there is none.
template <class Type>
const Type* find_type(std::span<const Type* const> all, std::string_view name) {
  const auto i = std::ranges::find(all, name, &Type::name);
  return i == all.end() ? nullptr : *i;
}

/// Returns the names of the samplers that an algorithm takes.
std::vector<std::string> samplers_of(const algorithm_type& x) {
  std::vector<std::string> result;
  for (const auto* type : all_samplers)
    if (x.sampler_may_learn || !type->learns)
      result.emplace_back(type->name);
  return result;
}

const sampler_type& sampler_of(const algorithm_type& x, option_reader& from) {
  auto name = std::string{x.sampler};
  if (declares(x.options, sampler_option.name))
    name = from.word(sampler_option, samplers_of(x), name);
  const auto* result = find_type<sampler_type>(all_samplers, name);
  assert(result != nullptr);
  return *result;
}

/// Returns the options that a study with these types may have, and that it may
/// mean.
std::vector<std::string> known_options(const algorithm_reader& from) {
  const auto& type = from.type();
  auto result = names_of(type.options);
  auto further = from.sampler().options;
  if (further.empty() && from.declares(sampler_option)
      && type.sampler_may_learn)
    further = suggested_sampler.options;
  for (auto& name : names_of(further))
    result.push_back(std::move(name));
  return result;
}

/// Names the samplers that have an option: `sampler: tpe` or `gp`.
std::string samplers_with(const std::string& name) {
  std::vector<std::string> result;
  for (const auto* type : all_samplers)
    if (declares(type->options, name))
      result.push_back((result.empty() ? "`sampler: " : "`")
                       + std::string{type->name} + "`");
  return either_of(result);
}

void refuse_unknown_options(algorithm_reader& from) {
  const auto& type = from.type();
  const auto known = known_options(from);
  for (const auto& given : from.study().algorithm.options) {
    const auto& name = given.first;
    if (std::ranges::find(known, name) == known.end())
      from.error(from.path_of(name),
                 "unknown option '" + name + "' of " + std::string{type.name}
                   + did_you_mean(name, known)
                   + (known.empty() ? " (it takes none)"
                                    : " (may be " + either_of(known) + ")"));
    else if (!declares(type.options, name)
             && !declares(from.sampler().options, name))
      from.error(from.path_of(name), "is an option of " + samplers_with(name));
  }
}

/// Refuses a sampler or an algorithm that takes one number for the worth of a
/// trial, where there are more.
void check_goals(algorithm_reader& from) {
  const auto& study = from.study();
  if (from.sampler().goals_refusal != nullptr)
    if (auto why = from.sampler().goals_refusal(study); !why.empty())
      from.error(from.sampler_path(), std::move(why));
  if (study.objective.all().is_one())
    return;
  const auto& type = from.type();
  if (!type.for_several_goals.empty())
    from.error("algorithm", std::string{type.name}
                              + " takes one metric, without constraints: use "
                              + std::string{type.for_several_goals});
  if (!study.objective.further.empty() && study.stop_when.value)
    from.error("stop_when.value", "is for one metric: end a study of several by"
                                  " stop_when.no_gain or budget");
}

const algorithm_type* find_algorithm(option_reader& from) {
  const auto& name = from.study().algorithm.name;
  if (const auto* found = find_type<algorithm_type>(all_algorithms, name))
    return found;
  if (name == automatic_name && !from.study().algorithm.options.empty()) {
    from.error("algorithm.auto", "takes no options: name the algorithm that"
                                 " they are of");
    return nullptr;
  }
  std::vector<std::string> names;
  for (const auto* type : all_algorithms)
    names.emplace_back(type->name);
  names.emplace_back(automatic_name);
  from.error("algorithm", "unknown algorithm '" + name + "'"
                            + did_you_mean(name, names) + " (must be "
                            + either_of(names) + ")");
  return nullptr;
}

} // namespace

std::span<const algorithm_type* const> algorithm_types() {
  return all_algorithms;
}

std::span<const sampler_type* const> sampler_types() {
  return all_samplers;
}

std::vector<option> options_of(const algorithm_type& described) {
  std::vector<option> result{described.options.begin(),
                             described.options.end()};
  for (auto& one : result) {
    if (one.name != sampler_option.name)
      continue;
    std::size_t i = 0;
    for (const auto* type : all_samplers)
      if (described.sampler_may_learn || !type->learns)
        one.words.at(i++) = type->name;
  }
  return result;
}

search_settings read_search(const study_spec& study, algorithm_check* found) {
  algorithm_check unheeded;
  auto& notes = found != nullptr ? *found : unheeded;
  option_reader plain{study, notes};
  search_settings result;
  result.algorithm = find_algorithm(plain);
  if (result.algorithm == nullptr)
    return result;
  result.sampler = &sampler_of(*result.algorithm, plain);
  algorithm_reader from{study, *result.algorithm, *result.sampler, notes};
  if (result.sampler->space_refusal != nullptr)
    if (auto why = result.sampler->space_refusal(study); !why.empty())
      from.error(from.sampler_path(), std::move(why));
  refuse_unknown_options(from);
  check_goals(from);
  result.options = result.algorithm->read(from);
  result.sampling = from.sampling();
  return result;
}

namespace {

void check_first(const study_spec& study, const search_settings& search,
                 algorithm_check& found) {
  if (search.algorithm->by_clients) {
    found.errors.push_back(
      {"first", "trials of `algorithm: client` get their values when they are"
                " asked for: give them there"});
    return;
  }
  const auto trials = make_algorithm(study, search, nullptr, nullptr)->trials();
  if (study.first.size() > trials)
    found.errors.push_back({"first", "has " + std::to_string(study.first.size())
                                       + " trials, of which the study makes "
                                       + std::to_string(trials)});
}

} // namespace

algorithm_check check_algorithm(const study_spec& study, bool has_clients,
                                search_settings* settings) {
  algorithm_check result;
  auto read = read_search(study, &result);
  if (read.algorithm != nullptr && read.algorithm->by_clients && !has_clients)
    result.errors.push_back(
      {"algorithm", "client: decisions come from a client of a service;"
                    " `hippo run` and previews have none"});
  if (!study.first.empty() && result.errors.empty())
    check_first(study, read, result);
  if (!study.past.empty() && result.errors.empty() && !read.sampler->learns)
    result.errors.push_back(
      {"import", "the sampler " + std::string{read.sampler->name}
                   + " does not learn from results: tpe, gp and nsga2 do"});
  if (!study.prior.empty() && result.errors.empty()
      && !read.sampler->takes_prior)
    result.errors.push_back(
      {"prior", "the sampler " + std::string{read.sampler->name}
                  + " does not use a prior: tpe and gp do (`sampler` of the"
                    " algorithm)"});
  if (settings != nullptr)
    *settings = std::move(read);
  return result;
}

std::unique_ptr<algorithm> make_algorithm(const study_spec& study,
                                          const search_settings& settings,
                                          const trial_states* states,
                                          const trial_outcomes* outcomes) {
  return settings.options->make(study, states, outcomes);
}

std::unique_ptr<sampler> make_sampler(const study_spec& study,
                                      const search_settings& settings,
                                      const sampler_context& context) {
  auto used = context;
  if (settings.sampling->prefer_shared == sharing_preference::off)
    used.work = nullptr;
  auto result = settings.options->make_sampler(study, *settings.sampling, used);
  result->believe(study.prior);
  result->begin_with(study.first);
  return result;
}

bool looks_at_work(const search_settings& settings) {
  return settings.sampling->prefer_shared != sharing_preference::off
         && settings.sampler->learns;
}

std::uint64_t draws_per_trial(const search_settings& settings,
                              std::uint64_t leaves) {
  return settings.sampling->candidates() * leaves;
}

std::optional<std::uint64_t> draws_per_event(const search_settings& settings,
                                             std::uint64_t leaves) {
  constexpr std::uint64_t trials_begun = 16;
  const auto draws = draws_per_trial(settings, leaves);
  if (settings.algorithm->by_clients)
    return settings.sampler->is_slow ? std::nullopt : std::optional{draws};
  return settings.sampler->learns ? std::nullopt
                                  : std::optional{trials_begun * draws};
}

} // namespace hippo
