#include <cmath>
#include <cstdlib>
#include <random>

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/space/study.hpp"
#include "hippo/train/process/code_values.hpp"

namespace hippo {
namespace {

using nlohmann::json;

// From a study's text over the wire to what code is given: the identity on
// values and types.

constexpr step_t steps = 8;

class values {
public:
  explicit values(std::uint64_t seed) : random_(seed) {}

  json any(int depth = 0) {
    switch (below(depth < 2 ? 10 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random_() >> below(64));
      case 3:
        return -static_cast<std::int64_t>(random_() >> (1 + below(63)));
      case 4:
        return canonical(unit() * std::pow(10, double(below(40)) - 20));
      case 5:
        return static_cast<double>(below(100));
      case 6:
        return words_[below(words_.size())];
      case 7:
        return structure(json::object(), depth);
      default:
        return structure(json::array(), depth);
    }
  }

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  json structure(json result, int depth) {
    for (auto count = below(4); count > 0; --count)
      if (result.is_array())
        result.push_back(any(depth + 1));
      else
        result["k" + std::to_string(below(9))] = any(depth + 1);
    return result;
  }

  std::mt19937_64 random_;
  const std::vector<std::string> words_{
    "sgd", "1", "1.0", "1e-3", "1234e56", "08", "true", "null", "", "~", "<<",
    "a: b", "- 1", "\"", "\\", "[1]", "{}", "é", "\n", "\t", "#", "0x1F",
    "nan"};
};

/// What a program reads in the message, as Hippo's Python package does.
json read_values(schema::Train::Reader in, step_t count) {
  auto result = json::object();
  for (auto x : in.getValues()) {
    auto& list = result[x.getName().cStr()] = json::array();
    for (step_t i = 0; i < count; ++i) {
      if (x.isWord()) {
        const std::string word = x.getWord().cStr();
        list.push_back(x.getType() == schema::ValueType::JSON
                         ? json::parse(word)
                         : json(word));
        continue;
      }
      const auto numbers = x.getNumbers();
      const auto number
        = numbers[std::min(static_cast<unsigned>(i), numbers.size() - 1)];
      if (x.getType() == schema::ValueType::WHOLE)
        list.push_back(static_cast<std::int64_t>(number));
      else if (x.getType() == schema::ValueType::TRUTH)
        list.push_back(number != 0);
      else
        list.push_back(number);
    }
  }
  return result;
}

json read_arguments(schema::Setup::Reader in) {
  auto result = json::object();
  for (auto x : in.getArgs()) {
    auto& to = result[x.getName().cStr()];
    const auto value = x.getValue();
    if (x.hasJson())
      to = json::parse(x.getJson().cStr());
    else if (value.isWord())
      to = value.getWord().cStr();
    else if (std::trunc(value.getNumber()) == value.getNumber())
      to = static_cast<std::int64_t>(value.getNumber());
    else
      to = value.getNumber();
  }
  return result;
}

study_spec read_all(const json& args, const std::string& space) {
  const auto file = read_study(
    "study: s\nworkload: {command: [train], packages: {m: 1}, args: "
      + args.dump() + "}\nobjective: {metric: m, direction: minimize}\nsteps: "
      "{max: 8}\nspace: " + space + "\n",
    "s.yaml", built_in_workloads());
  for (const auto& x : file.errors)
    ADD_FAILURE() << to_text(x) << '\n' << space;
  return file.study.value_or(study_spec{});
}

/// Sends a configuration to a trainer, and on to both kinds of programs.
json given(const configuration& x, step_t from, step_t to) {
  const auto arrived = decode_configuration(encode_configuration(x));
  EXPECT_TRUE(arrived) << arrived.failure().message;
  EXPECT_EQ(*arrived, x);
  capnp::MallocMessageBuilder message;
  auto train = message.initRoot<schema::Train>();
  put_values(*arrived, from, to, train);
  const auto result = read_values(train.asReader(), to - from);
  EXPECT_EQ(values_json(*arrived, from, to).dump(), result.dump());
  return result;
}

TEST(CodeValues, OptionsAndArgumentsArriveAsTheyWereWritten) {
  const auto* const more = std::getenv("HIPPO_SEEDS");
  const int studies = 100 * (more != nullptr ? std::atoi(more) : 1);
  constexpr int options = 50;
  for (int study = 0; study < studies; ++study) {
    values random{static_cast<std::uint64_t>(study)};
    auto args = json::object(), choice = json::array();
    std::vector<json> plain;
    for (int i = 0; i < options; ++i) {
      args["a" + std::to_string(i)] = random.any(1);
      plain.push_back(random.any());
      choice.push_back(plain.back().is_object()
                         ? json{{"constant", plain.back()}}
                         : plain.back());
    }
    // Maps among arguments are names with dots.
    for (auto& x : args)
      if (x.is_object())
        x = json::array({x});
    const auto spec
      = read_all(args, json{{"x", {{"choice", choice}}}}.dump());
    ASSERT_EQ(spec.space.size(), options);
    for (std::uint64_t i = 0; i < options; ++i) {
      const auto trial = spec.space.at(i);
      const auto segments = join(trial.sequences, steps);
      ASSERT_EQ(segments.size(), 1u);
      const auto found = given(segments[0].config, 0, 2).at("x");
      ASSERT_EQ(found.dump(), json::array({plain[i], plain[i]}).dump());
      ASSERT_EQ(json(trial.shown.at("x")).dump(), choice[i].dump());
    }
    lease sent;
    sent.number = lease_id{1};
    sent.workload = spec.workload;
    sent.stages = {{node_id{1}, 0, 1, {}}};
    sent.stops = {{1, true, false, true}};
    const auto arrived = decode(encode(sent));
    ASSERT_TRUE(arrived) << arrived.failure().message;
    ASSERT_EQ(arrived->workload, spec.workload);
    process_setup setup;
    const std::string prefix = "args.";
    for (const auto& [name, value] : arrived->workload.options)
      if (name.starts_with(prefix))
        setup.args.emplace(name.substr(prefix.size()), value);
    for (const auto& [name, text] : arrived->workload.exact)
      setup.exact_args.emplace(name.substr(prefix.size()), text);
    capnp::MallocMessageBuilder message;
    auto to = message.initRoot<schema::Setup>();
    put_arguments(setup, to);
    ASSERT_EQ(read_arguments(to.asReader()).dump(), args.dump());
    ASSERT_EQ(arguments_json(setup).dump(), args.dump());
  }
}

TEST(CodeValues, WholeSchedulesCountAsPythonDoes) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 200; ++i) {
    const auto initial = static_cast<std::int64_t>(random() % 2001) - 1000;
    const auto gamma = static_cast<std::int64_t>(random() % 5);
    const bool is_float = random() % 2 == 0;
    const auto every = 1 + random() % 3;
    const json body{{"initial", initial},
                    {"gamma", is_float ? json(static_cast<double>(gamma))
                                       : json(gamma)},
                    {"every", every}};
    const auto spec
      = read_all(json::object(), json{{"x", {{"exponential", body}}}}.dump());
    const auto segments = join(spec.space.at(0).sequences, steps);
    auto found = json::array();
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const auto end = k + 1 < segments.size() ? segments[k + 1].begin : steps;
      const auto part = given(segments[k].config, segments[k].begin, end);
      for (const auto& x : part.at("x"))
        found.push_back(x);
    }
    auto wanted = json::array();
    auto value = initial;
    for (step_t at = 0; at < steps; ++at) {
      if (at > 0 && at % every == 0)
        value *= gamma;
      wanted.push_back(is_float ? json(static_cast<double>(value))
                                : json(value));
    }
    ASSERT_EQ(found.dump(), wanted.dump()) << body;
  }
}

/// What a state folder of before holds has no type: floats, as they were.
TEST(CodeValues, WithoutATypeAreWhatTheyWere) {
  EXPECT_EQ(given({{"x", form::constant(32)}, {"y", form::text("12")}}, 0, 1)
              .dump(),
            R"({"x":[32.0],"y":["12"]})");
}

} // namespace
} // namespace hippo
