#include "hippo/forecast/simulate/result_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "hippo/base/number.hpp"
#include "simulate/profiles.hpp"

namespace hippo {
namespace {

using namespace test;

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();

/// A workload of two numbers and a word, with one metric.
workload_descriptor toy() {
  return read_good_profile(R"(
device: none
workload:
  name: toy
  hyper_parameters:
    lr: {default: 0.1, min: 0}
    momentum: {default: 0.9, min: 0}
    optimizer: {default: sgd, words: [sgd, adamw]}
  metrics: {accuracy: maximize}
step_seconds: 1
curve: {table: table.csv}
)").workload;
}

result_table good_table(const std::string& text) {
  auto read = read_result_table(text, "t.csv", toy());
  for (const auto& x : read.errors)
    ADD_FAILURE() << to_text(x);
  return std::move(read.table).value_or(result_table{});
}

std::vector<std::string> errors_of(const std::string& text) {
  std::vector<std::string> result;
  const auto read = read_result_table(text, "t.csv", toy());
  EXPECT_EQ(read.table.has_value(), read.errors.empty());
  for (const auto& x : read.errors)
    result.push_back(to_text(x));
  return result;
}

/// A trial as a study has it, the rest being as by default.
std::vector<segment> trial(const std::string& values, step_t steps) {
  const auto workload = toy();
  auto sequences = read_parameters(values, steps, workload)->sequences;
  simulation_profile profile;
  profile.workload = workload;
  return segments_of(profile, std::move(sequences), steps);
}

/// What the table has of the trial after each step: nothing where it has no
/// row, NaN where it was not measured.
std::vector<std::optional<double>> played(const result_table& table,
                                          const std::vector<segment>& segments,
                                          step_t steps) {
  std::vector<std::optional<double>> result;
  result_table::state state = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto end
      = i + 1 < segments.size() ? segments[i + 1].begin : steps;
    for (auto at = segments[i].begin; at < end; ++at) {
      state = table.next(state, segments[i].config, at);
      const auto* found = table.find(state);
      if (found == nullptr)
        result.emplace_back();
      else if (found->empty())
        result.emplace_back(nan);
      else
        result.emplace_back(found->at("accuracy"));
    }
  }
  return result;
}

using values = std::vector<std::optional<double>>;

TEST(ResultTableTest, PlaysWhatWasMeasured) {
  const auto table = good_table("lr,accuracy@1,accuracy@2,accuracy@3\r\n"
                                "0.1,0.5,0.6,0.7\r\n"
                                "0.01,0.2,0.3,0.4\r\n");
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(played(table, trial("lr: 0.1", 3), 3), (values{0.5, 0.6, 0.7}));
  EXPECT_EQ(played(table, trial("lr: 0.01", 3), 3), (values{0.2, 0.3, 0.4}));
  EXPECT_EQ(played(table, trial("lr: 0.02", 3), 3), values(3));
}

TEST(ResultTableTest, TrialsThatBeginAlikeHaveTheSameResultsUpToThere) {
  const auto table = good_table(
    "lr,accuracy@1,accuracy@2,accuracy@3\n"
    "0.1,0.5,0.6,0.7\n"
    "\"{\"\"piecewise\"\": [[0, 0.1], [2, 0.01]]}\",0.5,0.6,0.8\n");
  const auto other = "lr: {piecewise: [[0, 0.1], [1, 0.01]]}";
  EXPECT_EQ(played(table, trial(other, 3), 3), (values{0.5, {}, {}}));
  // However it is spelt.
  const auto same = "lr: {multistep: {initial: 0.1, milestones: [2], gamma: "
                    "0.1}}";
  EXPECT_EQ(played(table, trial(same, 3), 3), (values{0.5, 0.6, 0.8}));
}

TEST(ResultTableTest, HyperParametersWithoutAColumnChangeNothing) {
  const auto table = good_table("optimizer,accuracy@1\nadamw,0.5\n");
  EXPECT_EQ(played(table, trial("{lr: 3, optimizer: adamw}", 1), 1),
            (values{0.5}));
  EXPECT_EQ(played(table, trial("lr: 3", 1), 1), values(1));
}

TEST(ResultTableTest, EmptyFieldsAreTheDefaultAndWhatWasNotMeasured) {
  const auto table = good_table("lr,momentum,accuracy@2,accuracy@4\n"
                                "0.1,,0.5,\n0.1,0.5,nan,0.3\n");
  const auto first = played(table, trial("momentum: 0.9", 4), 4);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_TRUE(std::isnan(*first[0]));
  EXPECT_EQ(first[1], 0.5);
  EXPECT_TRUE(std::isnan(*first[3]));
  EXPECT_EQ(table.misses(trial("lr: 0.1", 4), 4, 2),
            "it was not measured at step 4");
  // It had diverged, which is a measurement.
  EXPECT_FALSE(table.misses(trial("momentum: 0.5", 4), 4, 2));
  EXPECT_EQ(table.misses(trial("momentum: 0.5", 4), 4, 1),
            "it was not measured at step 1");
}

TEST(ResultTableTest, SaysWhereATrialLeavesIt) {
  const auto table = good_table("lr,accuracy@1,accuracy@2\n0.1,0.5,0.6\n");
  EXPECT_FALSE(table.misses(trial("lr: 0.1", 2), 2, 1));
  EXPECT_EQ(table.misses(trial("lr: {piecewise: [[0, 0.1], [1, 0.2]]}", 2), 2,
                         1),
            "no row goes on like it beyond step 1");
  EXPECT_EQ(table.misses(trial("lr: 0.1", 3), 3, 1),
            "no row goes on like it beyond step 2");
}

TEST(ResultTableTest, EqualsAModelOnRandomTables) {
  std::mt19937 random{1};
  const auto below = [&](unsigned n) {
    return static_cast<unsigned>(random() % n);
  };
  constexpr step_t steps = 5;
  for (int round = 0; round < 200; ++round) {
    // What was measured is a function of all values up to there.
    std::map<std::vector<unsigned>, double> model;
    std::string text = "lr";
    for (step_t at = 1; at <= steps; ++at)
      text += ",accuracy@" + std::to_string(at);
    text += '\n';
    const auto draw = [&] {
      std::vector<unsigned> result(steps);
      for (auto& x : result)
        x = 1 + below(2);
      return result;
    };
    const auto lr_of = [](const std::vector<unsigned>& x) {
      std::string result = "{piecewise: [";
      for (step_t at = 0; at < steps; ++at)
        result += (at == 0 ? "[" : ", [") + std::to_string(at) + ", "
                  + std::to_string(x[at]) + "]";
      return result + "]}";
    };
    for (auto rows = 1 + below(8); rows > 0; --rows) {
      const auto row = draw();
      text += '"' + lr_of(row) + '"';
      for (step_t at = 1; at <= steps; ++at) {
        const auto i
          = model.try_emplace({row.begin(), row.begin() + at}, below(1000));
        text += ',' + to_text(i.first->second);
      }
      text += '\n';
    }
    const auto table = good_table(text);
    for (int i = 0; i < 20; ++i) {
      const auto asked = draw();
      values expected(steps);
      for (step_t at = 1; at <= steps; ++at)
        if (const auto j = model.find({asked.begin(), asked.begin() + at});
            j != model.end())
          expected[at - 1] = j->second;
      EXPECT_EQ(played(table, trial("lr: " + lr_of(asked), steps), steps),
                expected)
        << text << lr_of(asked);
    }
  }
}

TEST(ResultTableTest, SaysWhatIsWrongWithItsColumns) {
  using errors = std::vector<std::string>;
  EXPECT_EQ(errors_of(""),
            errors{"t.csv: is empty: a table begins with the names of its "
                   "columns"});
  EXPECT_EQ(errors_of("lr,accuracy@1\n"), errors{"t.csv: has no row"});
  EXPECT_EQ(errors_of("l,accuracy@1\n1,1\n"),
            errors{"t.csv:1:1: column 'l': unknown hyper-parameter 'l', did "
                   "you mean 'lr'? Allowed: lr, momentum, optimizer; a "
                   "metric's column is named METRIC@STEP"});
  EXPECT_EQ(errors_of("lr,loss@1\n1,1\n"),
            (errors{"t.csv:1:1: column 'loss@1': unknown metric 'loss'. "
                    "Allowed: accuracy",
                    "t.csv:1:1: has no column of the metric 'accuracy', such "
                    "as 'accuracy@1'"}));
  EXPECT_EQ(errors_of("lr,accuracy@0\n1,1\n")[0],
            "t.csv:1:1: column 'accuracy@0': after '@' comes the step at which "
            "the metric was measured, a whole number above 0");
  EXPECT_EQ(errors_of("lr,lr,accuracy@1\n1,1,1\n"),
            errors{"t.csv:1:1: has two columns 'lr'"});
  EXPECT_EQ(errors_of("accuracy@1\n1\n"),
            errors{"t.csv:1:1: has no column of a hyper-parameter"});
}

TEST(ResultTableTest, SaysWhatIsWrongWithItsRows) {
  using errors = std::vector<std::string>;
  const std::string head = "lr,accuracy@1,accuracy@2\n";
  EXPECT_EQ(errors_of(head + "0.1,1\n0.2,1,1\n"),
            errors{"t.csv:2:1: has 2 fields, the first line has 3"});
  EXPECT_EQ(errors_of(head + "0.1,1,high\n"),
            errors{"t.csv:2:1: accuracy@2: must be a number, nan (diverged) or "
                   "empty (not measured), found 'high'"});
  EXPECT_EQ(errors_of(head + "0.1,1,1x\n").size(), 1u);
  EXPECT_EQ(errors_of(head + "0.1,1,inf\n").size(), 1u);
  EXPECT_EQ(errors_of(head + "-1,1,1\n"),
            errors{"t.csv:2:1: lr: must be at least 0, found -1"});
  EXPECT_EQ(errors_of(head + "\"{choice: [1, 2]}\",1,1\n"),
            errors{"t.csv:2:1: the parameters of a trial leave nothing to "
                   "choose: give one value for each"});
  EXPECT_EQ(errors_of(head + "0.1,1,2\n\n0.1,1,3\n"),
            errors{"t.csv:4:1: is the training of line 2 up to step 2, but "
                   "there accuracy is 2 and here 3"});
  // The same again is no contradiction.
  EXPECT_EQ(errors_of(head + "0.1,nan,2\n0.1,nan,2\n"), errors{});
}

TEST(ResultTableTest, NeverCrashesOnPartOfATable) {
  const std::string whole = "lr,accuracy@1,accuracy@2\r\n"
                            "\"{\"\"constant\"\": 0.1}\",0.5,0.6\r\n"
                            "0.2,0.25,nan\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_result_table(whole.substr(0, size), "t", toy());
    EXPECT_EQ(read.table.has_value(), read.errors.empty()) << size;
  }
}

} // namespace
} // namespace hippo
