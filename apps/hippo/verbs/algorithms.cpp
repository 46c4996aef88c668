// hippo algorithms: the algorithms and samplers that a study may name, with
// their options.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common_options.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/text.hpp"
#include "hippo/report/listing.hpp"
#include "hippo/search/automatic.hpp"
#include "hippo/search/registry.hpp"
#include "outcome.hpp"
#include "terminal.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr auto automatic_meaning =
  "one of the others, chosen by the space, the budget, the steps and the"
  " trainers";

std::string type_name(option_type x) {
  switch (x) {
    case option_type::whole:
      return "whole";
    case option_type::real:
      return "real";
    case option_type::word:
      return "word";
  }
  return {};
}

json to_json(const option& x) {
  json result{{"name", x.name}, {"type", type_name(x.type)}};
  if (x.type != option_type::word) {
    result["min"] = x.low;
    // A bound that the study decides is in `values` alone.
    result["max"] =
      x.high_text.empty() && x.high < whole_max ? json(x.high) : json(nullptr);
  }
  result["words"] = words_of(x);
  result["values"] = values_text(x);
  result["default"] = fallback_text(x);
  result["meaning"] = x.meaning;
  result["since"] = x.since;
  return result;
}

json to_json(const std::vector<option>& xs) {
  auto result = json::array();
  for (const auto& x : xs)
    result.push_back(to_json(x));
  return result;
}

json algorithms_json() {
  json result = json::array({{{"name", automatic_name},
                              {"meaning", automatic_meaning},
                              {"sampler", nullptr},
                              {"options", json::array()}}});
  for (const auto* x : algorithm_types()) {
    const bool may_choose = declares(x->options, sampler_option.name);
    result.push_back({{"name", x->name},
                      {"meaning", x->meaning},
                      // The sampler that it always has.
                      {"sampler", may_choose ? json() : json(x->sampler)},
                      {"options", to_json(options_of(*x))}});
  }
  return result;
}

json samplers_json() {
  auto result = json::array();
  for (const auto* x : sampler_types())
    result.push_back(
      {{"name", x->name},
       {"meaning", x->meaning},
       {"options", to_json({x->options.begin(), x->options.end()})}});
  return result;
}

/// Prints names, and a text beside each that goes on below itself.
void print_rows(const std::string& title,
                const std::vector<std::pair<std::string, std::string>>& rows) {
  constexpr std::size_t text_columns_min = 20;
  auto names = title.size();
  for (const auto& row : rows)
    names = std::max(names, row.first.size());
  const auto columns = table_columns(STDOUT_FILENO);
  const auto rest = columns > names + 2 + text_columns_min ? columns - names - 2
                                                           : text_columns_min;
  for (const auto& [name, text] : rows) {
    auto begin = name;
    for (const auto& line : wrap(text, rest)) {
      std::cout << pad_right(begin, names) << "  " << line << '\n';
      begin.clear();
    }
  }
}

void print_overview(const json& algorithms, const json& samplers) {
  const auto list = [](const json& xs, const std::string& title) {
    std::vector<std::pair<std::string, std::string>> rows{{title, "meaning"}};
    for (const auto& x : xs)
      rows.emplace_back(x["name"], x["meaning"]);
    print_rows(title, rows);
  };
  list(algorithms, "algorithm");
  std::cout << '\n';
  list(samplers, "sampler");
  std::cout << "\nhippo algorithms NAME lists the options of one.\n";
}

/// Prints an algorithm or a sampler.
void print_one(const json& x, const std::string& sort) {
  std::cout << sort << ' ' << x["name"].get<std::string>() << ": "
            << x["meaning"].get<std::string>() << '\n';
  std::vector<std::pair<std::string, std::string>> rows{
    {"option", "values, default and meaning"}};
  for (const auto& option : x["options"])
    rows.emplace_back(option["name"],
                      option["values"].get<std::string>() + "; default "
                        + option["default"].get<std::string>() + ": "
                        + option["meaning"].get<std::string>());
  if (rows.size() > 1)
    print_rows("option", rows);
  for (const auto* type : sampler_types())
    if (x.contains("sampler") && x["sampler"] == type->name
        && !type->options.empty())
      std::cout << "It has the sampler " << type->name
                << ", and takes its options.\n";
}

struct algorithms_arguments {
  std::vector<std::string> names;
  std::string format = "table";
};

/// Keeps those of these names. @returns the names that are there
std::vector<std::string> keep(json& xs, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  auto kept = json::array();
  for (auto& x : xs) {
    all.push_back(x["name"].get<std::string>());
    if (names.empty() || std::ranges::find(names, all.back()) != names.end())
      kept.push_back(std::move(x));
  }
  xs = std::move(kept);
  return all;
}

int list_algorithms(const algorithms_arguments& x) {
  auto algorithms = algorithms_json(), samplers = samplers_json();
  auto known = keep(algorithms, x.names);
  const auto further = keep(samplers, x.names);
  known.insert(known.end(), further.begin(), further.end());
  for (const auto& name : x.names)
    if (std::ranges::find(known, name) == known.end())
      return fail({errc::invalid_argument, "unknown algorithm '" + name + "'"
                                             + did_you_mean(name, known)},
                  exit_bad_input);
  if (x.format == "json") {
    std::cout << to_pretty_json(
      {{"algorithms", algorithms}, {"samplers", samplers}});
    return exit_done;
  }
  if (x.names.empty()) {
    print_overview(algorithms, samplers);
    return exit_done;
  }
  bool is_first = true;
  for (const auto& [list, sort] :
       {std::pair{&algorithms, "algorithm"}, std::pair{&samplers, "sampler"}})
    for (const auto& one : *list) {
      std::cout << (std::exchange(is_first, false) ? "" : "\n");
      print_one(one, sort);
    }
  return exit_done;
}

} // namespace

void add_algorithms(verb_table& verbs) {
  const auto x = std::make_shared<algorithms_arguments>();
  auto* verb =
    verbs.add(local_group, "algorithms",
              "List algorithms and samplers, and the options of some",
              "hippo algorithms asha tpe", [x] { return list_algorithms(*x); });
  verb->add_option("name", x->names,
                   "An algorithm or a sampler, to list its options");
  add_format(*verb, x->format);
}

} // namespace hippo
