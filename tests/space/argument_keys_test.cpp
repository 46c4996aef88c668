#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"
#include "hippo/space/own_workload.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using nlohmann::json;

// Any two maps of arguments that code can tell apart have different workload
// keys, and equal ones have equal keys.

/// Maps of arguments as a study file's document.
class argument_maps {
public:
  explicit argument_maps(std::uint64_t seed) : random_(seed) {}

  document next() {
    document result;
    result.type = document::kind::map;
    for (auto count = below(4); count > 0; --count)
      put(result, pick(names_), value(0));
    return result;
  }

  /// Returns nearly the same.
  document changed(document x) {
    if (x.entries.empty() || below(8) == 0)
      return next();
    auto& entry = x.entries[below(x.entries.size())];
    switch (below(5)) {
      case 0:
        entry.value.quoted = !entry.value.quoted && is_leaf(entry.value);
        return x;
      case 1:
        entry.key = pick(names_);
        return x;
      case 2:
        std::reverse(x.entries.begin(), x.entries.end());
        return x;
      case 3:
        if (is_leaf(entry.value))
          entry.value.text += pick(tails_);
        return x;
      default:
        entry.value = value(0);
        return x;
    }
  }

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

private:
  static bool is_leaf(const document& x) {
    return x.type == document::kind::leaf;
  }

  const std::string& pick(const std::vector<std::string>& from) {
    return from[below(from.size())];
  }

  static void put(document& to, const std::string& key, document value) {
    if (to.find(key) == nullptr)
      to.entries.push_back({key, {}, std::move(value)});
  }

  document value(int depth) {
    document result;
    const auto kind = below(depth < 3 ? 12 : 8);
    if (kind < 8) {
      result.type = document::kind::leaf;
      result.text = pick(texts_);
      result.quoted = below(3) == 0;
    } else if (kind == 8) {
      result.type = document::kind::nothing;
    } else if (kind < 11) {
      result.type = document::kind::list;
      for (auto count = below(3); count > 0; --count)
        result.items.push_back(value(depth + 1));
    } else {
      result.type = document::kind::map;
      for (auto count = below(3); count > 0; --count)
        put(result, pick(names_), value(depth + 1));
    }
    return result;
  }

  std::mt19937_64 random_;
  const std::vector<std::string> names_{
    "a", "b", "a.b", "a=b", "b=a", "a;b", "a\\", "a\\=b", "1", "\"a\"", "a=",
    "devices", "a;args.b", "file.a", "null", "a b", "é"};
  const std::vector<std::string> texts_{
    "1", "1.0", "1e0", "+1", "0", "-0", "-0.0", "0.0", "true", "false", "null",
    "True", "12", "12.0", "012", "1e3", "1000", "1000.0", "1e-3", "0.001",
    "1e20", "1e+20", "100000000000000000000.5", "9007199254740991",
    "9007199254740992", "9007199254740993", "9007199254740993.0",
    "18446744073709551615", "1234e56", "08", "0x10", "a", "", "b=1", "a;b", ";",
    "\\", "\\1", "\\\"12\"", "\"12\"", "[1]", "[]", "{}", "nan", "any", "é",
    "1;args.b=1", "=", "0.1", "0.30000000000000004"};
  const std::vector<std::string> tails_{"0", ".0", "1", "e0", ";", "=", "\\"};
};

/// Adds what code is given by the names that it knows.
void flatten(const document& x, const std::string& prefix, json& to) {
  const auto data = [](const auto& self, const document& y) -> json {
    auto list = json::array();
    auto map = json::object();
    switch (y.type) {
      case document::kind::nothing:
        return nullptr;
      case document::kind::leaf:
        return y.meaning();
      case document::kind::list:
        for (const auto& item : y.items)
          list.push_back(self(self, item));
        return list;
      case document::kind::map:
        for (const auto& entry : y.entries)
          map[entry.key] = self(self, entry.value);
        return map;
    }
    return nullptr;
  };
  for (const auto& entry : x.entries)
    if (entry.value.type == document::kind::map)
      flatten(entry.value, prefix + entry.key + '.', to);
    else
      to[prefix + entry.key] = data(data, entry.value);
}

document leaf(const std::string& text) {
  document result;
  result.type = document::kind::leaf;
  result.text = text;
  return result;
}

/// Reads arguments as admission does. @returns nothing if they are refused
std::optional<workload_spec> read_spec(const document& args) {
  static const document all = [] {
    document packages;
    packages.type = document::kind::map;
    packages.entries.push_back({"m", {}, leaf("1")});
    document result;
    result.type = document::kind::map;
    result.entries.push_back({"command", {}, {}});
    auto& command = result.entries.back().value;
    command.type = document::kind::list;
    command.items.push_back(leaf("train"));
    result.entries.push_back({"packages", {}, packages});
    return result;
  }();
  auto whole = all;
  whole.entries.push_back({"args", {}, args});
  study_file file;
  diagnostics notes{"s.yaml", file};
  auto result = read_own_workload(whole, {}, true, notes);
  return notes.errors() == 0 ? std::optional{result} : std::nullopt;
}

/// What the arguments of a key are.
json arguments_in(const std::string& key) {
  const std::string prefix = "args.";
  auto result = json::object();
  for (const auto& x : read_key(key)) {
    if (!x.name.starts_with(prefix))
      continue;
    auto& value = result[x.name.substr(prefix.size())];
    if (x.is_json)
      value = json::parse(x.value);
    else if (!reads_as_number(x.value))
      value = x.value;
    else if (const auto number = std::stod(x.value);
             std::trunc(number) == number)
      value = static_cast<std::int64_t>(number);
    else
      value = number;
  }
  return result;
}

TEST(ArgumentKeys, AreEqualIffCodeIsGivenTheSame) {
  const auto* const more = std::getenv("HIPPO_SEEDS");
  const int pairs = 10'000 * (more != nullptr ? std::atoi(more) : 1);
  argument_maps maps{1};
  int compared = 0, equal = 0;
  for (int i = 0; i < pairs; ++i) {
    const auto first = maps.next();
    const auto second = maps.changed(first);
    std::vector<std::string> keys, given;
    for (const auto* x : {&first, &second}) {
      const auto spec = read_spec(*x);
      if (!spec)
        continue;
      auto arguments = json::object();
      flatten(*x, "", arguments);
      keys.push_back(key_of(*spec));
      given.push_back(arguments.dump());
      ASSERT_EQ(arguments_in(keys.back()).dump(), given.back()) << keys.back();
    }
    if (keys.size() != 2)
      continue;
    ++compared;
    equal += keys[0] == keys[1];
    ASSERT_EQ(keys[0] == keys[1], given[0] == given[1])
      << given[0] << '\n' << given[1] << '\n' << keys[0] << '\n' << keys[1];
  }
  EXPECT_GT(compared, pairs / 2);
  EXPECT_GT(equal, pairs / 20);
}

std::string key_with(const std::string& args) {
  const auto file = read_study(
    "study: s\nworkload: {command: [train], packages: {m: 1}, args: " + args
      + "}\nobjective: {metric: m, direction: minimize}\nmax_steps: 1\n"
        "space: {lr: 0.1}\n",
    "s.yaml", built_in_workloads());
  EXPECT_EQ(test::texts(file.errors), std::vector<std::string>{});
  const auto key = file.study ? key_of(file.study->workload) : std::string{};
  const std::string begin = "command;", end = ";command=";
  return key.substr(begin.size(), key.find(end) - begin.size());
}

TEST(ArgumentKeys, StayWhereTheyWereUnambiguous) {
  EXPECT_EQ(key_with("{width: 12, rate: 0.1, small: 1e-05, name: sgd}"),
            "args.name=sgd;args.rate=0.1;args.small=1e-05;args.width=12");
  EXPECT_EQ(key_with("{a: 'b=1', b: 'c;d', c: 'true', d: '08', e: 'nan', f: "
                     "'1e5', "
                     "g: '', h: '[1]', i: '\\'}"),
            "args.a=b=1;args.b=c\\;d;args.c=true;args.d=08;args.e=nan;"
            "args.f=1e5;args.g=;"
            "args.h=[1];args.i=\\\\");
}

TEST(ArgumentKeys, TellWhatWasAmbiguous) {
  EXPECT_EQ(key_with("{a: '12', b: 12.0, c: true, d: null, e: [1, {b: 2, "
                     "a: 1}], "
                     "'f=g': 1, h: 9007199254740993}"),
            R"(args.a=\"12";args.b=\12.0;args.c=\true;args.d=\null;)"
            R"(args.e=\[1,{"a":1,"b":2}];args.f\=g=1;)"
            R"(args.h=\9007199254740993)");
  const auto differences = key_differences(
    "python;args.a=12;args.b=1", R"(python;args.a=\"12";args.b=\[1])");
  EXPECT_EQ(differences, (std::vector<std::string>{R"(args.a: 12 and "12")",
                                                   "args.b: 1 and [1]"}));
}

TEST(ArgumentKeys, OfALibrarysOptionsDoNotPassForDevices) {
  EXPECT_NE(key_of({"lib", {{"devices", "any"}}}),
            key_of({"lib", {}, {}, true}));
}

TEST(ArgumentKeys, ClashesAreRefusedWithBothPlaces) {
  const auto file = read_study(
    "study: s\nworkload:\n  command: [train]\n  packages: {m: 1}\n  args:\n"
    "    a: {b: 1}\n    a.b: 2\n    large: 123456789012345678901\n"
    "    list: [.inf]\n"
    "objective: {metric: m, direction: minimize}\nmax_steps: 1\n"
    "space: {lr: 0.1}\n",
    "s.yaml", built_in_workloads());
  EXPECT_EQ(
    test::texts(file.errors),
    (std::vector<std::string>{
      "s.yaml:7:5: workload.args.a.b: there are two arguments 'a.b', since "
      "names of nested ones are joined by dots: this one and that of line 6, "
      "column 9",
      "s.yaml:8:12: workload.args.large: is a whole number of more than 64 "
      "bits: write it with a point, or in quotes, found "
      "'123456789012345678901'",
      "s.yaml:9:12: workload.args.list[0]: must be a finite number, found "
      "'.inf'"}));
}

/// A study of before is given what it was given then, under its key of then.
TEST(ArgumentKeys, OfAStudyOfBeforeAreThoseOfThen) {
  const std::string text =
    "study: s\nworkload: {command: [train], packages: {m: 1}, args: {a: "
    "true, b: 12.0, c: '12'}}\n"
    "objective: {metric: m, direction: minimize}\nmax_steps: 1\n"
    "space: {n: 2, x: true, y: {choice: [1, 1.0]}}\n";
  const auto before
    = read_study(text, "s.yaml", built_in_workloads(), name_rules::of_before,
                 false).study;
  ASSERT_TRUE(before);
  EXPECT_EQ(key_of(before->workload),
            "command;args.a=1;args.b=12;args.c=12;command=[\"train\"];seed=1;"
            "version.m=1");
  EXPECT_TRUE(before->workload.exact.empty());
  const auto values = before->space.at(0).sequences;
  EXPECT_EQ(values.at("n"), sequence{form::constant(2)});
  EXPECT_EQ(values.at("x"), sequence{form::constant(1)});
  EXPECT_FALSE(before->typed);
}

} // namespace
} // namespace hippo
