// Trials that failed lead nowhere: whatever they had measured before, nobody is
// told otherwise than that they failed.

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gateway/archive.hpp"
#include "gateway_fixture.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/report/report.hpp"
#include "hippo/search/accepted_study.hpp"
#include "store/folder_fixture.hpp"

namespace hippo {
namespace {

using json = nlohmann::json;

class FailedTrials : public folder_test {
protected:
  static std::string text(bool up) {
    return std::string{R"(
study: some
workload: {name: sum}
objective: {metric: sum, direction: )"}
           + (up ? "maximize" : "minimize") + R"(}
max_steps: 4
space: {lr: {uniform: [0, 1]}}
algorithm: random
budget: {trials: 64}
)";
  }

  /// Writes a study whose trials have ended at random. It is as states of
  /// before have it: trials that failed keep what was their best.
  /// @param boast what the failed ones measured; nothing: it is at random
  void fill(const std::string& name, unsigned seed, bool up,
            std::optional<double> boast) {
    std::mt19937 random{seed};
    const auto some = [&] {
      return static_cast<double>(random() % 1000) / 1000;
    };
    const auto read
      = admit_study(text(up), "some.yaml", {test::sum_workload()});
    ASSERT_TRUE(read.study);
    const auto key = key_of(read.study->spec().workload);
    stored_study study;
    study.id = study_id{1};
    study.name = "some";
    study.text = text(up);
    study.metric = "sum";
    study.direction = up ? direction::maximize : direction::minimize;
    std::vector<journal_record> all{study_saved{study}};
    const auto trials = 12 + random() % 30;
    for (trial_no no = 0; no < trials; ++no) {
      stored_trial trial;
      trial.trial = no;
      const trial_state states[]{trial_state::complete, trial_state::failed,
                                 trial_state::pruned, trial_state::running};
      trial.state = states[random() % 4];
      const bool failed = trial.state == trial_state::failed;
      const auto lr = some();
      trial.params = json{{"lr", lr}}.dump();
      trial.asked_to = 4;
      trial.steps = 1 + random() % 4;
      if (failed)
        trial.failure = "it broke";
      const node_id node{no + 1};
      all.emplace_back(node_added{
        key, {node, root_node, 0, 0, {{"lr", form::constant(lr)}}}});
      for (step_t at = 1; at <= trial.steps; ++at) {
        const auto drawn = some();
        const auto value = failed && boast ? *boast : drawn;
        all.emplace_back(result_added{key, {node, at, {{"sum", value}}, ""}});
        all.emplace_back(event_added{
          study.id, key, trial_measured{no, node, at, {{"sum", value}}}});
        if (!trial.best
            || (up ? value > trial.best->value : value < trial.best->value))
          trial.best = stored_best{at, value};
      }
      all.emplace_back(trial_saved{study.id, trial});
    }
    auto folder = state_writer::open(path(name));
    ASSERT_TRUE(folder) << folder.failure().message;
    const auto done = (*folder)->commit(all);
    ASSERT_TRUE(done) << done.failure().message;
  }

  /// All that is told of it, but what was measured as such.
  std::map<std::string, std::string> told(const std::string& name) {
    std::map<std::string, std::string> result;
    archive from{std::move(*state_reader::open(path(name))),
                 {test::sum_workload()},
                 ""};
    const study_id id{1};
    const auto known = from.describe(id);
    EXPECT_TRUE(known) << known.failure().message;
    if (const auto& best = known->view.best)
      result["best"] = std::to_string(best->trial) + ' '
                       + std::to_string(best->best->value);
    const auto trials = from.trials(id, 0, 0);
    for (const auto& x : *trials)
      result["trials"] += x.best ? std::to_string(x.best->value) + ' ' : "- ";
    for (const auto* what : {"table", "tree", "front", "schedules"}) {
      const auto columns = from.columns(id, what, 0, "");
      EXPECT_TRUE(columns) << columns.failure().message;
      result[what] = *columns;
    }
    // The times differ, and so does what answers are told apart by.
    auto table = json::parse(result["table"]);
    table.erase("version");
    result["table"] = table.dump();
    auto tree = json::parse(result["tree"]);
    tree.erase("seconds");
    result["tree"] = tree.dump();
    for (const step_t step : {0, 1, 3}) {
      const auto x = from.importance(id, step, "");
      result["importance"] += x ? to_json(*x).dump() : x.failure().message;
    }
    std::string text, after;
    do {
      auto part = from.export_part(id, after);
      EXPECT_TRUE(part) << part.failure().message;
      text += part->text;
      after = part->next;
    } while (!after.empty());
    const auto report = json::parse(text);
    EXPECT_FALSE(report.at("uid").empty());
    result["report"] = report.at("best").dump();
    return result;
  }
};

TEST_F(FailedTrials, LeadNowhereWhateverTheyHadMeasured) {
  for (unsigned seed = 0; seed < 12; ++seed)
    for (const bool up : {false, true}) {
      const auto name = std::to_string(2 * seed + up);
      fill(name + "a", seed, up, {});
      fill(name + "b", seed, up, up ? 1e9 : -1e9);
      if (HasFatalFailure())
        return;
      const auto plain = told(name + "a");
      EXPECT_TRUE(plain.contains("best")) << seed;
      for (const auto& [what, text] : told(name + "b"))
        EXPECT_EQ(text, plain.at(what)) << what << " of seed " << seed;
    }
}

} // namespace
} // namespace hippo
