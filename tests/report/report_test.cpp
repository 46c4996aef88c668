#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "hippo/report/report.hpp"
#include "report/sample_run.hpp"

namespace hippo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::set<std::string> keys(const json& x) {
  std::set<std::string> result;
  for (const auto& item : x.items())
    result.insert(item.key());
  return result;
}

TEST(ReportJson, HasExactlyTheseFields) {
  const auto x = json::parse(report_json(sample_run()));
  EXPECT_EQ(keys(x), (std::set<std::string>{
                       "version", "hippo", "interrupted", "simulated", "merge",
                       "scheduler", "lower_bound_seconds",
                       "asked_steps", "delivered_steps", "unique_steps",
                       "shared_steps", "trained_steps",
                       "reused_steps", "merge_rate", "k_wise_merge_rate",
                       "wall_seconds", "device_seconds",
                       "alone_device_seconds", "saved_device_seconds",
                       "overhead", "data_wait_seconds",
                       "device_kinds", "cost", "machines",
                       "trainers", "studies"}));
  const auto& study = x["studies"][0];
  EXPECT_EQ(keys(study), (std::set<std::string>{
                           "name", "algorithm", "metric", "direction",
                           "workload", "exact", "asked_steps",
                           "delivered_steps", "unique_steps", "shared_steps",
                           "device_seconds", "cost", "reason", "best",
                           "trials"}));
  EXPECT_EQ(keys(study["best"]),
            (std::set<std::string>{"trial", "step", "value", "params"}));
  EXPECT_EQ(keys(study["trials"][0]),
            (std::set<std::string>{"id", "state", "params", "steps",
                                   "shared_steps", "results", "failure",
                                   "chosen", "predicted", "untrained"}));
  EXPECT_EQ(keys(study["trials"][0]["results"][0]),
            (std::set<std::string>{"step", "metrics"}));
  EXPECT_EQ(keys(x["overhead"]),
            (std::set<std::string>{"load", "train", "evaluate", "save",
                                   "dispatch", "idle"}));
  EXPECT_EQ(keys(x["trainers"][0]),
            (std::set<std::string>{"number", "name", "device", "memory_bytes",
                                   "driver", "compute_capability", "lost",
                                   "machine", "price", "work_cost",
                                   "idle_cost"}));
}

TEST(ReportJson, HoldsTheRun) {
  const auto x = json::parse(report_json(sample_run()));
  EXPECT_NE(x["hippo"], "");
  EXPECT_EQ(x["merge"], true);
  EXPECT_EQ(x["interrupted"], false);
  EXPECT_EQ(x["asked_steps"], 20);
  EXPECT_EQ(x["unique_steps"], 10);
  EXPECT_EQ(x["trained_steps"], 9);
  EXPECT_EQ(x["reused_steps"], 1);
  EXPECT_EQ(x["merge_rate"], 2);
  EXPECT_EQ(x["k_wise_merge_rate"], 1.6);
  EXPECT_EQ(x["wall_seconds"], 12.5);
  EXPECT_EQ(x["device_seconds"], 20.25);
  EXPECT_EQ(x["saved_device_seconds"], 19.75);
  EXPECT_EQ(x["overhead"]["dispatch"], 0.3);
  EXPECT_EQ(x["overhead"]["idle"], 4.5);
  EXPECT_EQ(x["device_kinds"], json::array({"cpu avx2", "cuda H100"}));
  EXPECT_EQ(x["trainers"][0]["lost"], nullptr);
  EXPECT_EQ(x["trainers"][0]["driver"], nullptr);
  EXPECT_EQ(x["trainers"][0]["compute_capability"], nullptr);
  EXPECT_EQ(x["trainers"][1]["lost"], "killed by signal 9");
  EXPECT_EQ(x["trainers"][1]["memory_bytes"], 1ull << 36);
  EXPECT_EQ(x["trainers"][1]["driver"], "13.0");
  EXPECT_EQ(x["trainers"][1]["compute_capability"], "9.0");
  const auto& trial = x["studies"][1]["trials"][1];
  EXPECT_EQ(trial["id"], 1);
  EXPECT_EQ(trial["state"], "COMPLETE");
  EXPECT_EQ(trial["steps"], 6);
  EXPECT_EQ(trial["shared_steps"], 3);
  EXPECT_EQ(trial["failure"], nullptr);
  EXPECT_EQ(trial["chosen"], nullptr);
  EXPECT_EQ(trial["predicted"], nullptr);
  EXPECT_EQ(trial["untrained"], nullptr);
  EXPECT_EQ(trial["results"].size(), 6u);
  EXPECT_EQ(trial["results"][1]["step"], 2);
  EXPECT_EQ(x["studies"][0]["direction"], "maximize");
}

TEST(ReportJson, HasWhatMachinesCost) {
  auto run = sample_run();
  auto x = json::parse(report_json(run));
  EXPECT_TRUE(x["cost"].is_null());
  EXPECT_TRUE(x["machines"].is_null());
  EXPECT_TRUE(x["studies"][0]["cost"].is_null());
  EXPECT_TRUE(x["trainers"][0]["price"].is_null());
  run.costs.emplace();
  run.costs->push_back({"a100", 3.6, 2, 1, 7.5, 0.5});
  run.costs->push_back({"spot", 1, 1, 1, 1, 0});
  run.studies[0].cost = 8;
  run.trainers[0].machine = "a100";
  run.trainers[0].price = 3.6;
  run.trainers[0].work_seconds = 5000;
  run.trainers[0].idle_seconds = 500;
  x = json::parse(report_json(run));
  EXPECT_EQ(x["cost"], 9);
  EXPECT_EQ(x["machines"]["a100"], json::parse(R"({
    "price": 3.6, "trainers": 2, "work_cost": 7.5, "idle_cost": 0.5})"));
  EXPECT_EQ(x["studies"][0]["cost"], 8);
  EXPECT_EQ(x["trainers"][0]["machine"], "a100");
  EXPECT_DOUBLE_EQ(x["trainers"][0]["work_cost"].get<double>(), 5);
  EXPECT_DOUBLE_EQ(x["trainers"][0]["idle_cost"].get<double>(), .5);
}

TEST(ReportJson, KeepsAllDigits) {
  auto run = sample_run();
  const std::vector<double> values{0.1 + 0.2,
                                   1.0 / 3,
                                   5e-324,
                                   0.84219998121261597,
                                   1.7976931348623157e308,
                                   9007199254740993.0};
  auto& results = run.studies[0].trials[0].results;
  results.clear();
  for (std::size_t i = 0; i < values.size(); ++i)
    results.push_back({i + 1, {{"accuracy", values[i]}}});
  run.studies[0].best->value = 0.1 + 0.2;
  const auto text = report_json(run);
  const auto x = json::parse(text);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(x["studies"][0]["trials"][0]["results"][i]["metrics"]["accuracy"]
                .get<double>(),
              values[i]);
  EXPECT_EQ(x["studies"][0]["best"]["value"].get<double>(), 0.1 + 0.2);
  EXPECT_NE(text.find("0.30000000000000004"), text.npos);
}

TEST(ReportJson, WritesWhatIsNotFiniteAsNull) {
  auto run = sample_run();
  run.studies[0].trials[0].results = {
    {1, {{"accuracy", std::nan("")}, {"loss", INFINITY}}}};
  const auto x = json::parse(report_json(run));
  const auto& values = x["studies"][0]["trials"][0]["results"][0]["metrics"];
  EXPECT_EQ(values["accuracy"], nullptr);
  EXPECT_EQ(values["loss"], nullptr);
}

TEST(ReportJson, WorksWithoutResultsOrTrials) {
  EXPECT_EQ(json::parse(report_json({}))["studies"], json::array());
  run_record run;
  run.studies.emplace_back();
  run.studies[0].trials.emplace_back();
  const auto x = json::parse(report_json(run));
  EXPECT_EQ(x["studies"][0]["best"], nullptr);
  EXPECT_EQ(x["studies"][0]["trials"][0]["results"], json::array());
  EXPECT_EQ(x["studies"][0]["trials"][0]["params"], json::object());
  EXPECT_EQ(x["studies"][0]["trials"][0]["state"], "PENDING");
}

TEST(ReportJson, HasWhatStandsForAStudyOutsideWhereThatIsKnown) {
  auto run = sample_run();
  EXPECT_FALSE(json::parse(report_json(run))["studies"][0].contains("uid"));
  run.studies[0].uid = "9f86d081";
  EXPECT_EQ(json::parse(report_json(run))["studies"][0]["uid"], "9f86d081");
}

TEST(ReportJson, NamesTheStateThatAStudyBeginsFrom) {
  auto run = sample_run();
  EXPECT_FALSE(
    json::parse(report_json(run))["studies"][0].contains("initial_state"));
  EXPECT_EQ(summary_text(run).find("begins from"), std::string::npos);
  run.studies[0].initial_state = "trial 12 of study pretrain at step 9000";
  EXPECT_EQ(json::parse(report_json(run))["studies"][0]["initial_state"],
            "trial 12 of study pretrain at step 9000");
  EXPECT_NE(
    summary_text(run).find("  begins from trial 12 of study pretrain at "
                           "step 9000\n"),
    std::string::npos);
}

TEST(ReportJson, IsNotLostToBytesThatAreNoText) {
  auto run = sample_run();
  run.studies[0].trials[0].state = trial_state::failed;
  run.studies[0].trials[0].failure = "log: \xff\xfe";
  const auto x = json::parse(report_json(run));
  EXPECT_EQ(x["studies"][0]["trials"][0]["failure"],
            "log: \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(TrialState, EveryStateHasItsName) {
  const std::vector<std::string> names{"PENDING",  "RUNNING", "PAUSED",
                                       "COMPLETE", "PRUNED",  "FAILED",
                                       "CANCELLED"};
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(to_string(static_cast<trial_state>(i)), names[i]);
}

/// Reads RFC 4180, the other way round.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto& cell = rows.back().back();
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"')
      cell += text[++i];
    else if (text[i] == '"')
      quoted = !quoted;
    else if (quoted || (text[i] != ',' && text[i] != '\r'))
      cell += text[i];
    else if (text[i] == ',')
      rows.back().emplace_back();
    else {
      ++i; // the line feed
      rows.push_back({""});
    }
  }
  rows.pop_back();
  return rows;
}

TEST(TrialsCsv, HasARowForEachTrial) {
  const auto rows = parse_csv(trials_csv(sample_run()));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{
                       "study", "trial", "state", "steps", "shared_steps",
                       "best_step", "best_value", "lr", "batch_size"}));
  EXPECT_EQ(rows[1],
            (std::vector<std::string>{"first", "0", "COMPLETE", "4", "2", "4",
                                      "0.30000000000000004", "0.1", "64"}));
  EXPECT_EQ(rows[4][0], "second");
}

TEST(TrialsCsv, QuotesAndKeepsStructure) {
  auto run = sample_run();
  auto& study = run.studies[0];
  study.name = "a,\"b\"\nc";
  study.trials[0].params = {
    {"lr", {{"multistep", {{"initial", 0.1}, {"milestones", {3, 6}}}}}},
    {"nesterov", true},
    {"note", nullptr},
    {"optimiser", "sgd"}};
  const auto rows = parse_csv(trials_csv(run));
  EXPECT_EQ(rows[1][0], "a,\"b\"\nc");
  EXPECT_EQ(json::parse(rows[1][7])["multistep"]["milestones"][1], 6);
  EXPECT_EQ(rows[1][8], "true");
  EXPECT_EQ(rows[1][9], "");
  EXPECT_EQ(rows[1][10], "sgd");
  EXPECT_EQ(rows[1][11], ""); // it has no batch size
  EXPECT_EQ(rows[2][8], "");
}

TEST(TrialsCsv, NamesNoTwoColumnsAlike) {
  auto run = sample_run();
  run.studies[0].trials[0].params = {{"steps", 3}, {"params_steps", 4}};
  const auto rows = parse_csv(trials_csv(run));
  EXPECT_EQ(std::set<std::string>(rows[0].begin(), rows[0].end()).size(),
            rows[0].size());
}

TEST(TrialsCsv, BestFollowsTheDirectionAndIgnoresNaN) {
  auto run = sample_run();
  run.studies.resize(1);
  auto& study = run.studies[0];
  study.metric = "loss";
  study.direction = direction::minimize;
  study.trials[0].results = {{1, {{"loss", 0.5}}},
                             {2, {{"loss", std::nan("")}}},
                             {3, {{"loss", 0.25}}},
                             {4, {{"loss", 0.25}}}};
  study.trials[1].results = {{1, {{"loss", std::nan("")}}}};
  const auto rows = parse_csv(trials_csv(run));
  EXPECT_EQ(rows[1][5], "3");
  EXPECT_EQ(rows[1][6], "0.25");
  EXPECT_EQ(rows[2][5], "");
  EXPECT_EQ(rows[2][6], "");
}

TEST(TrialsCsv, OfSeveralMetricsEachIsThereWhereTheFirstIsBest) {
  auto run = sample_run();
  auto& study = run.studies[0];
  study.metric = "acc";
  study.direction = direction::maximize;
  study.wanted.metrics = {{"acc", direction::maximize},
                          {"ms", direction::minimize}};
  study.trials[0].results = {{1, {{"acc", 0.5}, {"ms", 3}}},
                             {2, {{"acc", 0.75}, {"ms", 4}}}};
  study.trials[1].results = {};
  const auto rows = parse_csv(trials_csv(run));
  EXPECT_EQ(rows[0][7], "best_acc");
  EXPECT_EQ(rows[0][8], "best_ms");
  EXPECT_EQ(rows[1][6], "0.75");
  EXPECT_EQ(rows[1][7], "0.75");
  EXPECT_EQ(rows[1][8], "4");
  EXPECT_EQ(rows[2][8], "");
}

TEST(TrialsCsv, AnEmptyRunHasAHeader) {
  EXPECT_EQ(parse_csv(trials_csv({})).size(), 1u);
}

class WriteReport : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path()
             / ("hippo_report_test_" + std::to_string(getpid()));
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& x : fs::directory_iterator{folder / "report"})
      result.insert(x.path().filename());
    return result;
  }

  fs::path folder;
};

TEST_F(WriteReport, WritesFourFilesAndNothingElse) {
  const std::set<std::string> four{"report.json", "trials.csv",
                                   "stage-tree.svg", "timeline.svg"};
  auto run = sample_run();
  ASSERT_TRUE(write_report(run, folder / "report"));
  EXPECT_EQ(names(), four);
  run.asked_steps = 12345;
  ASSERT_TRUE(write_report(run, folder / "report")); // again, in its place
  EXPECT_EQ(names(), four);
  std::ifstream in{folder / "report" / "report.json"};
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), report_json(run));
}

TEST_F(WriteReport, EachRunHasAFolderAndLatestIsTheLast) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  auto run = sample_run();
  const auto root = (folder / "report").string();
  const auto first = write_dated_report(run, root, 1'795'384'803);
  ASSERT_TRUE(first) << first.failure().message;
  EXPECT_EQ(*first, root + "/2026-11-22T22-00-03");
  EXPECT_EQ(fs::canonical(folder / "report" / "latest"), fs::canonical(*first));
  const auto before = report_json(run);
  run.asked_steps = 12345;
  const auto second = write_dated_report(run, root, 1'795'384'803);
  ASSERT_TRUE(second) << second.failure().message;
  EXPECT_EQ(*second, root + "/2026-11-22T22-00-03-2");
  EXPECT_EQ(names(),
            (std::set<std::string>{"latest", "2026-11-22T22-00-03",
                                   "2026-11-22T22-00-03-2"}));
  const auto text_in = [](const fs::path& file) {
    std::ifstream in{file};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  EXPECT_EQ(text_in(*first + "/report.json"), before);
  EXPECT_EQ(text_in(folder / "report" / "latest" / "report.json"),
            report_json(run));
}

TEST_F(WriteReport, SaysWhichFolderCannotBeMade) {
  fs::create_directories(folder);
  std::ofstream{folder / "report"} << "a file in the way";
  const auto done = write_report(sample_run(), folder / "report" / "deep");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.failure().code, errc::io_failed);
  EXPECT_NE(done.failure().message.find((folder / "report").string()),
            std::string::npos);
}

TEST_F(WriteReport, LeavesNoTemporaryFileWhenItFails) {
  fs::create_directories(folder / "report" / "trials.csv" / "in the way");
  const auto done = write_report(sample_run(), folder / "report");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.failure().code, errc::io_failed);
  EXPECT_NE(done.failure().message.find("trials.csv"), std::string::npos);
  EXPECT_EQ(names(), (std::set<std::string>{"report.json", "trials.csv"}));
}

TEST_F(WriteReport, ReportsAFullDisk) {
  if (!fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full here";
  fs::create_directories(folder / "report");
  fs::create_symlink("/dev/full", folder / "report" / "report.json");
  const auto done = write_report(sample_run(), folder / "report");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.failure().code, errc::io_failed);
  EXPECT_EQ(names(), (std::set<std::string>{"report.json"}));
}

} // namespace
} // namespace hippo
