// A study's text in parts: put together, it is the whole, however much was
// measured, and no part is long.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/archive.hpp"
#include "gateway_fixture.hpp"
#include "store/folder_fixture.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

constexpr auto study_text = R"(
study: some
workload: {name: sum}
objective: {metric: sum}
max_steps: 40
space: {lr: {uniform: [0, 1]}}
algorithm: random
budget: {trials: 64}
)";

class StudyExport : public folder_test {
protected:
  /// Results of a study in the order in which it has heard of them.
  struct heard {
    trial_no trial;
    node_id node;
    step_t at;
  };

  /// Writes a study at random.
  /// @param name_bytes of the metrics of a result, about
  void fill(const std::string& folder, std::mt19937& random,
            std::size_t trials, std::size_t results, std::size_t name_bytes) {
    const auto read
      = admit_study(study_text, "some.yaml", {test::sum_workload()});
    ASSERT_TRUE(read.study);
    const auto key = key_of(read.study->spec().workload);
    stored_study study;
    study.id = study_id{1};
    study.name = "some";
    study.text = study_text;
    study.metric = "sum";
    study.direction = direction::maximize;
    std::vector<journal_record> all{study_saved{study}};
    expected_ = json::array();
    for (trial_no no = 0; no < trials; ++no) {
      if (random() % 8 == 0)
        continue; // a number that no trial has
      stored_trial trial;
      trial.trial = no;
      trial.state = trial_state::cancelled;
      trial.params = json{{"results", json::array()}, {"lr", 0.5}}.dump();
      all.emplace_back(trial_saved{study.id, trial});
      expected_.push_back({{"id", no}, {"results", json::array()}});
    }
    std::map<trial_no, step_t> steps;
    std::set<std::uint64_t> nodes;
    for (std::size_t i = 0; i < results; ++i) {
      const auto x = random() % expected_.size();
      const trial_no no = expected_[x]["id"];
      // Two trials have a node in common.
      const node_id node{no / 2 + 1};
      const auto at = steps[no] += 1 + random() % 2;
      if (nodes.insert(no / 2).second)
        all.emplace_back(node_added{
          key, {node, root_node, 0, 0, {{"lr", form::constant(.5)}}}});
      metrics values{{"sum", static_cast<double>(no / 2 + at)}};
      for (std::size_t left = name_bytes; left > 100; left -= 100)
        values[std::string(90, 'm') + std::to_string(left)] = 1;
      json shown = json::object();
      for (const auto& [name, value] : values)
        shown[name] = value;
      expected_[x]["results"].push_back({{"step", at}, {"metrics", shown}});
      all.emplace_back(result_added{key, {node, at, values, ""}});
      all.emplace_back(
        event_added{study.id, key, trial_measured{no, node, at, values}});
      heard_.push_back({no, node, at});
    }
    const auto state = state_writer::open(path(folder));
    ASSERT_TRUE(state) << state.failure().message;
    const auto done = (*state)->commit(all);
    ASSERT_TRUE(done) << done.failure().message;
  }

  [[nodiscard]] std::uint64_t unique_steps() const {
    std::uint64_t result = 0;
    std::set<std::pair<node_id, step_t>> states;
    std::map<trial_no, step_t> last;
    for (const auto& x : heard_) {
      if (states.emplace(x.node, x.at).second)
        result += x.at - last[x.trial];
      last[x.trial] = x.at;
    }
    return result;
  }

  archive open(const std::string& folder) {
    return {std::move(*state_reader::open(path(folder))),
            {test::sum_workload()},
            ""};
  }

  json expected_; ///< trials
  std::vector<heard> heard_;
};

TEST_F(StudyExport, PartsAreTheWholeAndNoneIsLong) {
  std::mt19937 random{7};
  struct size {
    std::size_t trials, results, name_bytes;
  };
  // Nothing; little; much of each; results of 60 KiB.
  for (const auto& [trials, results, name_bytes] :
       {size{0, 0, 0}, size{1, 1, 0}, size{20, 100, 100}, size{3000, 9000, 0},
        size{3, 60, 60'000}, size{40, 400, 10'000}}) {
    SCOPED_TRACE(std::to_string(trials) + " trials, " + std::to_string(results)
                 + " results");
    heard_.clear();
    const auto folder = "s" + std::to_string(trials);
    fill(folder, random, trials, results, name_bytes);
    auto from = open(folder);
    std::string text, after;
    std::size_t parts = 0;
    do {
      auto part = from.export_part(study_id{1}, after);
      ASSERT_TRUE(part) << part.failure().message;
      EXPECT_LT(part->text.size(), rows_bytes_max + 100'000);
      EXPECT_TRUE(part->next.empty() || part->next != after);
      text += part->text;
      after = part->next;
      ++parts;
    } while (!after.empty());
    EXPECT_LE(parts, 2 + text.size() / (rows_bytes_max / 2));
    const auto whole = json::parse(text);
    EXPECT_EQ(text, whole.dump(2) + '\n') << "it is written otherwise";
    EXPECT_EQ(whole.at("name"), "some");
    EXPECT_EQ(whole.at("unique_steps"), unique_steps());
    ASSERT_EQ(whole.at("trials").size(), expected_.size());
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto& trial = whole.at("trials")[i];
      EXPECT_EQ(trial.at("id"), expected_[i].at("id"));
      EXPECT_EQ(trial.at("results"), expected_[i].at("results"));
      EXPECT_TRUE(trial.contains("untrained")); // which comes last
    }
  }
}

TEST_F(StudyExport, APartBeginsWhereTheOneBeforeSays) {
  std::mt19937 random{1};
  fill("some", random, 5, 5, 0);
  auto from = open("some");
  for (const auto* after : {"x", "1", "1.0.0.0", "1.0.0.0.0.0", "1.0.0.0.x",
                            "-1.0.0.0.0", "99999999999999999999.0.0.0.0"}) {
    const auto part = from.export_part(study_id{1}, after);
    ASSERT_FALSE(part) << after;
    EXPECT_EQ(part.failure().code, errc::invalid_argument);
  }
  // Made up, but a place: nothing bad comes of it.
  EXPECT_TRUE(from.export_part(study_id{1}, "7.1.9.3.2"));
}

} // namespace
} // namespace hippo
