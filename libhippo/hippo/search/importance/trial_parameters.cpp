#include "hippo/search/importance/trial_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t items_max = 8;
constexpr std::size_t number_categories_max = 10;
constexpr std::size_t word_categories_max = 50;

/// Between the names of parts, where no name has it: a hyper-parameter may be
/// called `lr.cosine`.
constexpr char part_mark = '\x1f';

/// A value of a trial that is not taken apart any more.
struct leaf {
  std::size_t trial = 0;
  std::optional<double> number;
  std::string word; ///< if it is none
};

/// Leaves by name, in the order of trials.
using leaves = std::map<std::string, std::vector<leaf>>;

/// Whether some trial has a schedule where others may have a number.
using schedules = std::set<std::string>;

/// A schedule is a map from its kind to what that has.
bool is_schedule(const json& x) { return x.is_object() && x.size() == 1; }

template <class F>
void for_each_part(const std::string& name, const json& x, F&& f) {
  if (x.is_object())
    for (const auto& [key, value] : x.items())
      f(name + part_mark + key, value);
  else
    for (std::size_t i = 0; i < x.size(); ++i)
      f(name + part_mark + '[' + std::to_string(i) + ']', x[i]);
}

void find_schedules(const std::string& name, const json& x, schedules& to) {
  if (!x.is_structured())
    return;
  if (is_schedule(x))
    to.insert(name);
  for_each_part(name, x, [&](const std::string& part, const json& value) {
    find_schedules(part, value, to);
  });
}

void add(const std::string& name, const json& x, std::size_t trial,
         const schedules& known, leaves& to) {
  if (!x.is_structured() && known.contains(name)) {
    add(name, json{{"constant", x}}, trial, known, to);
    return;
  }
  if (is_schedule(x))
    to[name].push_back({trial, std::nullopt, x.begin().key()});
  if (x.is_object() || (x.is_array() && x.size() <= items_max)) {
    if (x.is_array())
      to[name + part_mark + "length"].push_back(
        {trial, static_cast<double>(x.size()), {}});
    for_each_part(name, x, [&](const std::string& part, const json& value) {
      add(part, value, trial, known, to);
    });
    return;
  }
  if (x.is_number())
    to[name].push_back({trial, x.get<double>(), {}});
  else if (x.is_boolean())
    to[name].push_back({trial, x.get<bool>() ? 1. : 0., {}});
  else
    to[name].push_back(
      {trial, std::nullopt,
       x.is_string() ? x.get<std::string>()
                     : x.dump(-1, ' ', false, json::error_handler_t::replace)});
}

/// The domain of numbers that are too many for categories.
/// @param x in ascending order, not all equal
parameter_domain domain_of(const std::vector<double>& x) {
  const auto low = x.front(), high = x.back(), middle = x[x.size() / 2];
  if (low > 0) {
    const auto place = std::log(middle / low) / std::log(high / low);
    const auto plain = (middle - low) / (high - low);
    if (std::abs(place - 0.5) < std::abs(plain - 0.5))
      return real_domain(low, high, true);
  }
  const bool whole = std::all_of(x.begin(), x.end(), [](double y) {
    return y == std::trunc(y);
  });
  return whole ? integer_domain(low, high) : real_domain(low, high);
}

/// Sorts what trials had into `to`.
void classify(const std::string& name, const std::vector<leaf>& values,
              std::size_t trials, trials_apart& to) {
  std::set<double> numbers;
  std::set<std::string> words;
  for (const auto& x : values)
    if (x.number)
      numbers.insert(*x.number);
    else
      words.insert(x.word);
  if (numbers.size() + words.size() == 1) {
    to.constant.push_back(name);
    return;
  }
  varied_parameter result;
  result.values.resize(trials);
  if (words.empty() && numbers.size() > number_categories_max) {
    std::vector<double> sorted;
    for (const auto& x : values)
      sorted.push_back(*x.number);
    std::sort(sorted.begin(), sorted.end());
    result.domains.push_back(domain_of(sorted));
    for (const auto& x : values)
      result.values[x.trial] = {0, *x.number};
  } else {
    if (numbers.size() + words.size() > word_categories_max) {
      to.left_out.push_back(name);
      return;
    }
    std::map<std::pair<std::string, double>, double> numbered;
    const auto key = [](const leaf& x) {
      return std::pair{x.number ? std::string{} : '=' + x.word,
                       x.number.value_or(0)};
    };
    for (const auto& x : values)
      numbered.emplace(key(x), static_cast<double>(numbered.size()));
    result.domains.push_back(category_domain(numbered.size()));
    for (const auto& x : values)
      result.values[x.trial] = {0, numbered.at(key(x))};
  }
  to.varied.emplace(name, std::move(result));
}

/// Returns the names of leaves as people see them, each another one: parts that
/// look like another hyper-parameter's name are marked.
std::map<std::string, std::string> shown_names(const leaves& xs) {
  std::map<std::string, std::string> result;
  std::set<std::string> used;
  for (const auto& [name, values] : xs)
    if (name.find(part_mark) == name.npos)
      used.insert(name);
  for (const auto& [name, values] : xs) {
    std::string shown;
    for (std::size_t i = 0; i < name.size(); ++i)
      if (name[i] != part_mark)
        shown += name[i];
      else if (name.compare(i, 2, std::string{part_mark, '['}) != 0)
        shown += '.';
    if (shown != name)
      while (!used.insert(shown).second)
        shown += '\'';
    result.emplace(name, std::move(shown));
  }
  return result;
}

} // namespace

trials_apart take_apart(const std::vector<json>& trials) {
  schedules known;
  for (const auto& x : trials)
    if (x.is_object())
      for (const auto& [name, value] : x.items())
        find_schedules(name, value, known);
  leaves found;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (trials[i].is_object())
      for (const auto& [name, value] : trials[i].items())
        add(name, value, i, known, found);
  trials_apart result;
  const auto shown = shown_names(found);
  for (const auto& [name, values] : found)
    classify(shown.at(name), values, trials.size(), result);
  return result;
}

} // namespace hippo
