#include "hippo/store/state_writer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include <unistd.h>

#include "hippo/net/wire/codec.hpp"
#include "hippo/store/choice_text.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/timing_views.hpp"
#include "store/folder_fixture.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy;seed=1";

class StateFolderTest : public folder_test {};

/// Commits, which must work.
void commit(state_writer& folder, const std::vector<journal_record>& records) {
  const auto done = folder.commit(records);
  ASSERT_TRUE(done) << done.failure().message;
}

stored_plan load(state_reader& folder, const std::string& workload = key) {
  auto plan = folder.load_plan(workload);
  if (!plan)
    ADD_FAILURE() << plan.failure().message;
  return plan ? *plan : stored_plan{};
}

TEST_F(StateFolderTest, FreshFolderIsEmpty) {
  auto folder = open();
  ASSERT_TRUE(folder);
  EXPECT_TRUE(load(*folder).nodes.empty());
  EXPECT_TRUE(std::filesystem::is_directory(folder->checkpoints()));
  EXPECT_FALSE(std::filesystem::exists(folder->report()));
  auto studies = folder->load_studies();
  ASSERT_TRUE(studies);
  EXPECT_TRUE(studies->empty());
  EXPECT_EQ(*folder->last_study(), study_id{});
  EXPECT_EQ(*folder->last_lease_epoch(), 0u);
}

TEST_F(StateFolderTest, EverythingSurvivesReopening) {
  const auto big = std::numeric_limits<std::uint64_t>::max();
  auto tagged = node(3);
  tagged.strand = big;
  const checkpoint file{
    "k1-n2-s20", 4096, big - 1,
    {},          96,   {{"k1-n1-s5", 77, big}, {"k1-n1-s7", 1, 0}}};
  commit(*open(),
         {node_added{key, node(1)}, node_added{key, node(2, 1)},
          node_added{"other", node(1)}, node_added{key, tagged},
          result_added{key, {node_id{2}, 20, {{"acc", 0.5}}, "cpu avx2"}},
          result_added{key, {root_node, 0, {{"acc", 0.25}}, "gpu"}},
          checkpoint_added{key, {node_id{2}, 20, file}}});
  auto folder = open();
  const auto plan = load(*folder);
  EXPECT_EQ(plan.nodes, (std::vector{node(1), node(2, 1), tagged}));
  ASSERT_EQ(plan.results.size(), 2u);
  EXPECT_EQ(plan.results[0].node, root_node);
  EXPECT_EQ(plan.results[0].device, "gpu");
  EXPECT_EQ(plan.results[0].values, (metrics{{"acc", 0.25}}));
  EXPECT_EQ(plan.results[1].node, node_id{2});
  EXPECT_EQ(plan.results[1].step, 20u);
  EXPECT_EQ(plan.results[1].device, "cpu avx2");
  EXPECT_EQ(plan.results[1].values, (metrics{{"acc", 0.5}}));
  EXPECT_EQ(plan.checkpoints,
            (std::vector{stored_checkpoint{node_id{2}, 20, file}}));
  EXPECT_EQ(load(*folder, "other").nodes, std::vector{node(1)});
  EXPECT_TRUE(load(*folder, "unknown").nodes.empty());
}

TEST_F(StateFolderTest, ALongPlanIsReadInPartsThatAreTheWhole) {
  constexpr std::uint64_t nodes = 10'000;
  auto folder = open();
  std::vector<journal_record> records{
    result_added{key, {root_node, 0, {{"acc", .1}}, "cpu"}}};
  for (std::uint64_t id = 1; id <= nodes; ++id) {
    records.emplace_back(node_added{key, node(id, id / 2)});
    if (id % 3 == 0)
      records.emplace_back(result_added{
        key,
        {node_id{id}, 10 * id + 5, {{"acc", static_cast<double>(id)}}, "cpu"}});
    if (id % 5 == 0)
      records.emplace_back(
        checkpoint_added{key, {node_id{id}, 10 * id + 5, {"file", id, 1}}});
  }
  commit(*folder, records);
  folder.reset();
  run_sql("INSERT INTO events (study, time, kind, trial, step, node, workload)"
          " SELECT 1, 0, 'measured', 0, step, node, workload FROM results"
          " WHERE node % 7 = 0");
  folder = open();
  const auto whole = load(*folder);
  ASSERT_EQ(whole.nodes.size(), nodes);
  stored_plan sum;
  int parts = 0;
  const auto done = folder->load_plan(key, [&](const stored_plan& part) {
    ++parts;
    EXPECT_LT(part.nodes.size(), nodes / 2);
    const auto first = part.nodes.front().id, last = part.nodes.back().id;
    const auto is_here = [&](node_id x) {
      return x == root_node ? first == node_id{1} : first <= x && x <= last;
    };
    for (const auto& x : part.results)
      EXPECT_TRUE(is_here(x.node)) << number_of(x.node);
    for (const auto& x : part.checkpoints)
      EXPECT_TRUE(is_here(x.node)) << number_of(x.node);
    sum.nodes.insert(sum.nodes.end(), part.nodes.begin(), part.nodes.end());
    sum.results.insert(sum.results.end(), part.results.begin(),
                       part.results.end());
    for (const auto& kvp : part.delivered)
      EXPECT_TRUE(is_here(kvp.first)) << number_of(kvp.first);
    sum.checkpoints.insert(sum.checkpoints.end(), part.checkpoints.begin(),
                           part.checkpoints.end());
    sum.delivered.insert(sum.delivered.end(), part.delivered.begin(),
                         part.delivered.end());
  });
  ASSERT_TRUE(done) << done.failure().message;
  EXPECT_GT(parts, 2);
  EXPECT_EQ(sum.nodes, whole.nodes);
  EXPECT_EQ(sum.checkpoints, whole.checkpoints);
  EXPECT_EQ(sum.checkpoints.size(), nodes / 5);
  EXPECT_EQ(sum.delivered, whole.delivered);
  EXPECT_EQ(sum.delivered.size(), nodes / 21 + 1);
  ASSERT_EQ(sum.results.size(), nodes / 3 + 1);
  for (std::size_t i = 0; i < sum.results.size(); ++i) {
    EXPECT_EQ(sum.results[i].node, node_id{3 * i});
    EXPECT_EQ(sum.results[i].values, whole.results[i].values);
  }
  // One that is gone is missed, whatever part it is in, and so is what is below
  // it; the rest stays.
  folder.reset();
  for (const std::uint64_t id : {2047, 4096, 4097, 9'000}) {
    run_sql("UPDATE nodes SET node = 10000000 WHERE node = "
            + std::to_string(id));
    const auto plan = open()->load_plan(key);
    ASSERT_TRUE(plan) << id;
    EXPECT_GT(plan->damages, 0u);
    EXPECT_FALSE(plan->damage.empty());
    ASSERT_EQ(plan->nodes.size(), nodes);
    const auto is_below = [&](std::uint64_t x) {
      while (x > id)
        x /= 2;
      return x == id;
    };
    for (std::uint64_t x = 1; x <= nodes; ++x)
      EXPECT_EQ(plan->nodes[x - 1].is_lost, is_below(x)) << x;
    for (const auto& x : plan->checkpoints)
      EXPECT_FALSE(is_below(number_of(x.node)));
    run_sql("UPDATE nodes SET node = " + std::to_string(id)
            + " WHERE node = 10000000");
  }
}

TEST_F(StateFolderTest, MetricsSurviveBitForBit) {
  const std::map<std::string, std::uint64_t> bits{
    {"nan", 0x7ff8000000000000},     {"nan with payload", 0xfff8dead0000beef},
    {"inf", 0x7ff0000000000000},     {"minus zero", 0x8000000000000000},
    {"subnormal", 1},                {"third", 0x3fd5555555555555},
    {"signalling", 0x7ff0000000000001}};
  stored_result result{node_id{1}, 5, {}, "cpu"};
  for (const auto& [name, value] : bits)
    result.values[name] = std::bit_cast<double>(value);
  commit(*open(), {node_added{key, node(1)}, result_added{key, result}});
  const auto plan = load(*open());
  ASSERT_EQ(plan.results.size(), 1u);
  ASSERT_EQ(plan.results[0].values.size(), bits.size());
  for (const auto& [name, value] : plan.results[0].values)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(value), bits.at(name)) << name;
}

TEST_F(StateFolderTest, TheFirstOfEqualThingsCounts) {
  auto folder = open();
  const checkpoint first{"first", 1, 1}, second{"second", 2, 2};
  commit(*folder, {node_added{key, node(1)},
                   result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, "cpu"}},
                   checkpoint_added{key, {node_id{1}, 5, first}}});
  auto other = node(1);
  other.begin = 99;
  commit(*folder, {node_added{key, other},
                   result_added{
                     key, {node_id{1}, 5, {{"acc", 0.6}, {"loss", 1}}, "gpu"}},
                   checkpoint_added{key, {node_id{1}, 5, second}}});
  const auto plan = load(*folder);
  EXPECT_EQ(plan.nodes, std::vector{node(1)});
  ASSERT_EQ(plan.results.size(), 1u);
  EXPECT_EQ(plan.results[0].values, (metrics{{"acc", 0.5}}));
  EXPECT_EQ(plan.results[0].device, "cpu");
  EXPECT_EQ(plan.checkpoints,
            (std::vector{stored_checkpoint{node_id{1}, 5, first}}));
}

TEST_F(StateFolderTest, CheckpointsCanBeReplacedAfterRemoval) {
  auto folder = open();
  const checkpoint first{"first", 1, 1}, second{"second", 2, 2};
  commit(*folder, {node_added{key, node(1)},
                   checkpoint_added{key, {node_id{1}, 5, first}},
                   checkpoint_added{key, {node_id{1}, 6, first}}});
  commit(*folder, {checkpoint_removed{key, node_id{1}, 5, "first"},
                   checkpoint_removed{key, node_id{1}, 6, "second"},
                   checkpoint_removed{key, node_id{1}, 7, "first"},
                   checkpoint_removed{"unknown", node_id{1}, 6, "first"}});
  EXPECT_EQ(load(*folder).checkpoints,
            (std::vector{stored_checkpoint{node_id{1}, 6, first}}));
  commit(*folder, {checkpoint_added{key, {node_id{1}, 5, second}}});
  EXPECT_EQ(load(*folder).checkpoints,
            (std::vector{stored_checkpoint{node_id{1}, 5, second},
                         stored_checkpoint{node_id{1}, 6, first}}));
}

TEST_F(StateFolderTest, EvictedFilesOfUnmeasuredStatesAreRemembered) {
  const auto removed = [](step_t step, const std::string& file) {
    return checkpoint_removed{key, node_id{1}, step, file};
  };
  commit(*open(), {node_added{key, node(1)},
                   result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, "cpu"}},
                   removed(6, "b"), removed(5, "measured"), removed(7, "a"),
                   checkpoint_removed{"other", node_id{1}, 6, "c"}});
  auto folder = open();
  EXPECT_EQ(*folder->load_evicted(key), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(*folder->load_evicted("other"), std::vector<std::string>{"c"});
  EXPECT_TRUE(folder->load_evicted("unknown")->empty());
  std::vector<journal_record> more;
  for (std::size_t i = 0; i + 1 < evicted_max; ++i)
    more.emplace_back(removed(6, "more"));
  commit(*folder, more);
  EXPECT_EQ(folder->load_evicted(key)->size(), evicted_max - 1);
  EXPECT_EQ(folder->load_evicted("other")->size(), 1u);
}

TEST_F(StateFolderTest, WorkIsWhoMeasuredWhatAndWhen) {
  const auto result = [](std::uint64_t id, step_t step, const char* trainer) {
    return result_added{key, {node_id{id}, step, {{"acc", 1}}, "", trainer}};
  };
  commit(*open(), {node_added{key, node(1)}, node_added{key, node(2, 1)},
                   result(1, 1, "a"), result(1, 2, "a"), result(1, 4, "b"),
                   result(2, 9, ""),
                   result(1, 1, "late")}); // the first one counts
  const auto all = *open()->load_work(key, {node_id{2}, node_id{1}});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].trainer, "a");
  EXPECT_EQ(all[0].first, 1u);
  EXPECT_EQ(all[0].last, 2u);
  EXPECT_GT(all[0].begin.value(), 1.6e9);
  EXPECT_LE(*all[0].begin, *all[0].end);
  EXPECT_EQ(all[1].trainer, "b");
  EXPECT_EQ(all[1].last, 4u);
  EXPECT_EQ(all[2].node, node_id{2});
  EXPECT_EQ(all[2].trainer, "");
  EXPECT_EQ(open()->load_work(key, {node_id{2}})->size(), 1u);
  EXPECT_TRUE(open()->load_work("unknown", {node_id{1}})->empty());
  // Version 7 did not know when.
  run_sql("UPDATE results SET time = NULL");
  EXPECT_FALSE(open()->load_work(key, {node_id{1}})->front().begin);
}

TEST_F(StateFolderTest, EndsAreHowFarTrialsHaveGot) {
  const auto measured = [](std::uint64_t study, trial_no trial,
                           std::uint64_t id, step_t at) {
    return event_added{study_id{study}, key,
                       trial_measured{trial, node_id{id}, at, {}}};
  };
  const auto result = [](std::uint64_t id, step_t step) {
    return result_added{key, {node_id{id}, step, {{"acc", 1}}, ""}};
  };
  const auto of = [](std::uint64_t id, study_phase state) {
    stored_study x;
    x.id = study_id{id};
    x.name = x.metric = "m";
    x.state = state;
    return study_saved{x};
  };
  commit(*open(), {of(1, study_phase::complete), of(2, study_phase::running),
                   node_added{key, node(1)}, node_added{key, node(2, 1)},
                   result(1, 3), result(1, 6), result(2, 9),
                   measured(1, 0, 1, 3), measured(1, 0, 2, 9),
                   measured(1, 1, 1, 3), measured(1, 2, 1, 3),
                   measured(2, 0, 1, 3), measured(2, 1, 1, 6)});
  EXPECT_EQ(*open()->load_ends(key, false),
            (std::vector<stored_end>{{node_id{1}, 3, 3},
                                     {node_id{1}, 6, 1},
                                     {node_id{2}, 9, 1}}));
  EXPECT_EQ(*open()->load_ends(key, true),
            (std::vector<stored_end>{{node_id{1}, 3, 2}, {node_id{2}, 9, 1}}));
  EXPECT_TRUE(open()->load_ends("unknown", false)->empty());
}

// -- studies ------------------------------------------------------------------

stored_study some_study(std::uint64_t id, const std::string& name) {
  stored_study result;
  result.id = study_id{id};
  result.name = name;
  result.file = name + ".yaml";
  result.text = "study: " + name + '\n';
  result.metric = "acc";
  result.direction = id % 2 == 0 ? direction::minimize : direction::maximize;
  result.weight = 0.5;
  return result;
}

TEST_F(StateFolderTest, AStudyKeepsItsTextAndChangesItsState) {
  const auto first = some_study(1, "mnist");
  commit(*open(), {study_saved{first}, study_saved{some_study(2, "other")}});
  auto changed = first;
  changed.text.clear();
  changed.name = "renamed";
  changed.state = study_phase::cancelled;
  changed.reason = "enough";
  changed.weight = 2;
  changed.active_seconds = 0.1;
  commit(*open(), {study_saved{changed}});
  changed.text = first.text;
  changed.name = first.name;
  auto folder = open();
  EXPECT_EQ(*folder->load_study("mnist"), changed);
  EXPECT_EQ(*folder->load_study("1"), changed);
  EXPECT_EQ(*folder->last_study(), study_id{2});
  auto all = *folder->load_studies();
  ASSERT_EQ(all.size(), 2u);
  changed.text.clear();
  EXPECT_EQ(all[0], changed);
  EXPECT_EQ(all[1].direction, direction::minimize);
  const auto missing = folder->load_study("mnst");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().code, errc::unknown_study);
  EXPECT_NE(missing.failure().message.find("'mnist'"), std::string::npos);
}

TEST_F(StateFolderTest, OfANameTheLastStudyIsMeantAndAnIdIsAnId) {
  auto folder = open();
  commit(*folder,
         {study_saved{some_study(1, "a")}, study_saved{some_study(2, "a")},
          study_saved{some_study(3, "b")}, study_saved{some_study(4, "1")}});
  EXPECT_EQ(folder->load_study("a")->id, study_id{2});
  EXPECT_EQ(folder->load_study("1")->id, study_id{1});
  EXPECT_EQ(folder->load_study("4")->name, "1");
}

TEST_F(StateFolderTest, TrialsKeepTheirParametersAndChangeTheRest) {
  auto folder = open();
  stored_trial x;
  x.trial = 3;
  x.params = R"({"lr":0.1})";
  commit(
    *folder,
    {study_saved{some_study(1, "a")}, trial_saved{study_id{1}, x},
     trial_saved{
       study_id{1},
       {7, trial_state::failed, "{}", 9, 4, {}, "at step 4: out of memory"}}});
  auto changed = x;
  changed.params.clear();
  changed.state = trial_state::complete;
  changed.asked_to = changed.steps = 12;
  changed.shared = 4;
  changed.best = stored_best{5, 1.0 / 3};
  commit(*folder, {trial_saved{study_id{1}, changed}});
  changed.params = x.params;
  const auto trials = *folder->load_trials(study_id{1}, 0, 10);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0], changed);
  EXPECT_EQ(trials[1].failure, "at step 4: out of memory");
  EXPECT_EQ(folder->load_trials(study_id{1}, 4, 10)->size(), 1u);
  EXPECT_EQ(folder->load_trials(study_id{1}, 0, 1)->size(), 1u);
  EXPECT_TRUE(folder->load_trials(study_id{2}, 0, 10)->empty());
}

TEST_F(StateFolderTest, ResultsOfSeveralSeedsAreSummedUpOnce) {
  auto folder = open();
  commit(
    *folder,
    {study_saved{some_study(1, "a")}, node_added{key, node(1)},
     node_added{key, node(2)},
     result_added{key, {node_id{1}, 5, {{"validation_accuracy", 0.5}}, ""}},
     result_added{key, {node_id{2}, 5, {{"validation_accuracy", 0.75}}, ""}}});
  const trial_measured part{4, node_id{2}, 5,   {{"validation_accuracy", 0.75}},
                            3, 2,          true};
  const metrics summary{{"validation_accuracy", 0.625},
                        {"validation_accuracy.std", 0.125},
                        {"a \"b\"", NAN},
                        {"zero", -0.0}};
  const trial_measured whole{4, node_id{1}, 5, summary, 1, 1, false};
  commit(*folder, {event_added{study_id{1}, key, part},
                   event_added{study_id{1}, key, whole}});
  const auto events = *folder->load_events(study_id{1}, 0, 10);
  ASSERT_EQ(events.size(), 2u);
  const auto& first = std::get<trial_measured>(events[0].what);
  EXPECT_EQ(first.values, part.values);
  EXPECT_EQ(first.seed_no, 2u);
  EXPECT_TRUE(first.is_part);
  const auto& second = std::get<trial_measured>(events[1].what);
  EXPECT_EQ(second.seed_no, 1u);
  EXPECT_FALSE(second.is_part);
  EXPECT_EQ(second.node, node_id{1});
  EXPECT_EQ(second.shared, 1u);
  const auto expect_summary = [&](const metrics& found) {
    EXPECT_EQ(found.size(), summary.size());
    EXPECT_EQ(found.at("validation_accuracy"), 0.625);
    EXPECT_TRUE(std::isnan(found.at("a \"b\"")));
    EXPECT_TRUE(std::signbit(found.at("zero")));
  };
  expect_summary(second.values);
  const auto left_out = parts::left_out;
  EXPECT_EQ(folder->load_events(study_id{1}, 0, 10, {}, left_out)->size(), 1u);
  EXPECT_EQ(folder->load_results(study_id{1}, 0, 0, 10)->size(), 1u);
  expect_summary(*folder->load_metrics(study_id{1}, 4, 5));
  EXPECT_EQ(folder->load_node(study_id{1}, 4, 5)->value(), node_id{1});
  EXPECT_EQ(*folder->load_time(study_id{1}, 4, 5), events[1].time);
  const auto values =
    *folder->load_values(study_id{1}, "validation_accuracy", 0, 10);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].value, 0.625);
  EXPECT_EQ(values[0].spread, 0.125);
  EXPECT_EQ(values[0].seed_no, 1u);
  const auto nan = *folder->load_values(study_id{1}, "a \"b\"", 0, 10);
  ASSERT_EQ(nan.size(), 1u);
  EXPECT_TRUE(std::isnan(nan[0].value));
  EXPECT_TRUE(std::isnan(nan[0].spread));
  const auto all = *folder->load_values(study_id{1}, "validation_accuracy", 0,
                                        10, parts::given);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].is_part);
  EXPECT_EQ(all[0].value, 0.75);
  EXPECT_FALSE(all[1].is_part);
  EXPECT_TRUE(folder->load_summaries(study_id{1}, {{5, 5}, {9, 5}})->empty());
  const auto summaries = *folder->load_summaries(study_id{1}, {{4, 5}, {5, 5}});
  ASSERT_EQ(summaries.size(), 1u);
  expect_summary(summaries.at({4, 5}));
  // Each seed has trained its own 5 steps, and each has its end.
  EXPECT_EQ(*folder->count_unique_steps(study_id{1}), 10u);
  EXPECT_EQ(folder->load_ends(key, false)->size(), 2u);
}

TEST_F(StateFolderTest, DamagedSummariesAreFound) {
  auto folder = open();
  commit(*folder, {study_saved{some_study(1, "a")}, node_added{key, node(1)},
                   result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, ""}}});
  commit(*folder,
         {event_added{
           study_id{1}, key,
           trial_measured{4, node_id{1}, 5, {{"acc", 0.5}}, 0, 1, false}}});
  folder.reset();
  for (const auto& [damage, why] :
       {std::pair{"text = '[1]'", "it is no summary of several seeds"},
        {"text = '{}'", "it is no summary of several seeds"},
        {"text = '{\"acc\": \"x\"}'", "the summary of a metric is no number"},
        {"code = 0", "there is no such seed"},
        {"code = 33", "there is no such seed"}}) {
    run_sql(std::string{"UPDATE events SET "} + damage);
    const auto found = open()->load_events(study_id{1}, 0, 10);
    ASSERT_FALSE(found) << damage;
    EXPECT_NE(found.failure().message.find(why), std::string::npos)
      << found.failure().message;
  }
}

TEST_F(StateFolderTest, EventsComeBackInTheOrderInWhichTheyWereHeard) {
  auto folder = open();
  commit(*folder,
         {study_saved{some_study(1, "a")}, study_saved{some_study(2, "b")},
          node_added{key, node(1)},
          result_added{key, {node_id{1}, 5, {{"acc", 0.5}, {"loss", NAN}}, ""}},
          result_added{key, {node_id{1}, 6, {{"acc", 0.25}}, ""}}});
  const study_command paused{study_command::verb::pause, 0, 0, "", 77};
  commit(
    *folder,
    {event_added{study_id{1}, key, trial_measured{4, node_id{1}, 5, {}}},
     event_added{study_id{2}, key, trial_measured{0, node_id{1}, 6, {}}},
     event_added{study_id{1}, {}, paused},
     event_added{study_id{1}, {}, trial_failed{2, 6, {errc::diverged, "NaN"}}},
     event_added{study_id{1}, key, trial_measured{5, node_id{1}, 6, {}, 3}}});
  const auto events = *folder->load_events(study_id{1}, 0, 100);
  ASSERT_EQ(events.size(), 4u);
  const auto& first = std::get<trial_measured>(events[0].what);
  EXPECT_EQ(first.trial, 4u);
  EXPECT_EQ(first.node, node_id{1});
  EXPECT_EQ(first.at, 5u);
  EXPECT_EQ(first.values.at("acc"), 0.5);
  EXPECT_TRUE(std::isnan(first.values.at("loss")));
  const auto& second = std::get<study_command>(events[1].what);
  EXPECT_EQ(second.what, study_command::verb::pause);
  EXPECT_EQ(second.token, 0u);
  const auto& third = std::get<trial_failed>(events[2].what);
  EXPECT_EQ(third.reason.code, errc::diverged);
  EXPECT_EQ(third.reason.message, "NaN");
  const auto& fourth = std::get<trial_measured>(events[3].what);
  EXPECT_EQ(fourth.values, (metrics{{"acc", 0.25}}));
  EXPECT_EQ(first.shared, 0u);
  EXPECT_EQ(fourth.shared, 3u);
  EXPECT_GT(events[0].time, 1.7e9); // seconds since 1970
  for (std::size_t i = 1; i < events.size(); ++i)
    EXPECT_LT(events[i - 1].id, events[i].id);
  const auto rest = *folder->load_events(study_id{1}, events[1].id, 1);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].id, events[2].id);
  EXPECT_EQ(folder->load_events(study_id{2}, 0, 100)->size(), 1u);
  // Those of one trial, and when it was measured.
  const auto of_trial = *folder->load_events(study_id{1}, 0, 100, 5);
  ASSERT_EQ(of_trial.size(), 1u);
  EXPECT_EQ(of_trial[0].id, events[3].id);
  EXPECT_EQ(std::get<trial_measured>(of_trial[0].what).values, fourth.values);
  EXPECT_TRUE(folder->load_events(study_id{1}, events[3].id, 100, 5)->empty());
  EXPECT_TRUE(folder->load_events(study_id{1}, 0, 100, 3)->empty());
  EXPECT_EQ(*folder->load_time(study_id{1}, 5, 6), events[3].time);
  EXPECT_EQ(*folder->load_time(study_id{1}, 5, 5), std::nullopt);
  EXPECT_EQ(*folder->load_time(study_id{2}, 5, 6), std::nullopt);
  EXPECT_EQ(*folder->load_time(study_id{1}, 2, 6), std::nullopt)
    << "it failed there";
}

TEST_F(StateFolderTest, ChoicesComeBackAsTheyWere) {
  auto folder = open();
  // Whole numbers of 64 bits, and a number that no short decimal is.
  const trial_choice learned{
    {"model", 0.1 + 0.2, 12},
    {3, 0, std::uint64_t{1} << 53, std::numeric_limits<std::uint64_t>::max()}};
  const trial_choice drawn{{"startup", std::nullopt, std::nullopt}, {}};
  commit(*folder, {study_saved{some_study(1, "a")},
                   event_added{study_id{1}, {}, trial_chosen{0, drawn}},
                   event_added{study_id{1}, {}, trial_chosen{7, learned}}});
  const auto events = *folder->load_events(study_id{1}, 0, 100);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<trial_chosen>(events[0].what).what, drawn);
  EXPECT_EQ(std::get<trial_chosen>(events[1].what).trial, 7u);
  EXPECT_EQ(std::get<trial_chosen>(events[1].what).what, learned);
  stored_trial trial;
  trial.trial = 7;
  trial.params = "{}";
  trial.why = learned.why;
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_EQ(*folder->load_trials(study_id{1}, 0, 9), std::vector{trial});
  trial.why = drawn.why;
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_EQ(*folder->load_trials(study_id{1}, 0, 9), std::vector{trial});
}

TEST_F(StateFolderTest, AChoiceThatIsDamagedIsNoChoice) {
  for (const auto* text :
       {"", "{", "[]", "{}", R"({"how": "model"})",
        R"({"how": 3, "decisions": [1]})",
        R"({"how": "model", "decisions": [-1]})",
        R"({"how": "model", "decisions": [1.5]})",
        R"({"how": "model", "decisions": [1], "predicted": "x"})"})
    EXPECT_FALSE(read_choice(text)) << text;
  EXPECT_TRUE(read_choice(R"({"how": "model", "decisions": [1]})"));
}

TEST_F(StateFolderTest, EventsHaveTheirMetricsInWhateverOrderTheyCame) {
  const std::vector<std::string> keys{key, "other"};
  std::vector<journal_record> records{study_saved{some_study(1, "a")}};
  // Some measured nothing, and some nobody has heard of.
  const auto values_of = [](std::uint64_t no, std::uint64_t at, step_t step) {
    metrics result;
    for (std::uint64_t i = 0; i < (no + at + step) % 4; ++i)
      result["metric " + std::to_string(i)]
        = static_cast<double>(1000 * no + 100 * at + 10 * step + i);
    return result;
  };
  std::vector<trial_measured> all;
  for (std::uint64_t no = 0; no < keys.size(); ++no)
    for (std::uint64_t at = 1; at <= 5; ++at) {
      records.emplace_back(node_added{keys[no], node(at)});
      for (step_t step = 1; step <= 9; ++step) {
        const auto values = values_of(no, at, step);
        records.emplace_back(
          result_added{keys[no], {node_id{at}, step, values, ""}});
        if (step % 3 != 0)
          all.push_back({no, node_id{at}, step, values});
      }
    }
  std::shuffle(all.begin(), all.end(), std::mt19937_64{1});
  for (const auto& x : all)
    records.emplace_back(event_added{study_id{1}, keys[x.trial], x});
  auto folder = open();
  commit(*folder, records);
  std::uint64_t last = 0;
  std::size_t i = 0;
  for (std::size_t most = 1; i < all.size(); ++most) {
    const auto events = *folder->load_events(study_id{1}, last, most);
    ASSERT_FALSE(events.empty());
    for (const auto& x : events) {
      const auto& heard = std::get<trial_measured>(x.what);
      EXPECT_EQ(heard.trial, all[i].trial);
      EXPECT_EQ(heard.node, all[i].node);
      EXPECT_EQ(heard.at, all[i].at);
      EXPECT_EQ(heard.values, all[i].values);
      ++i;
    }
    last = events.back().id;
  }
  EXPECT_EQ(i, all.size());
}

TEST_F(StateFolderTest, ATrialsOutputIsThatOfItsWay) {
  auto folder = open();
  // Node 1 from the root, 2 and 3 from step 4 of it on.
  auto second = node(2), third = node(3);
  second.parent = third.parent = node_id{1};
  second.begin = third.begin = 4;
  commit(*folder,
         {study_saved{some_study(1, "a")}, node_added{key, node(1)},
          node_added{key, second}, node_added{key, third},
          result_added{key, {node_id{1}, 4, {{"acc", 0.1}}, ""}},
          result_added{key, {node_id{2}, 6, {{"acc", 0.2}}, ""}},
          result_added{key, {node_id{3}, 6, {{"acc", 0.3}}, ""}},
          output_added{key, {node_id{1}, 0, "begin\n"}},
          output_added{key, {node_id{1}, 4, "shared\n"}},
          output_added{key, {node_id{1}, 5, "of another\n"}},
          output_added{key, {node_id{2}, 6, "own\n"}},
          output_added{key, {node_id{2}, 6, "again\n"}},
          output_added{key, {node_id{2}, 8, "not measured yet\n"}},
          output_added{key, {node_id{3}, 6, "of a third\n"}},
          event_added{study_id{1}, key, trial_measured{7, node_id{1}, 4, {}}},
          event_added{study_id{1}, key, trial_measured{8, node_id{1}, 4, {}}},
          event_added{study_id{1}, key, trial_measured{7, node_id{2}, 6, {}}},
          // The first seed, and another one that is ahead of it.
          event_added{study_id{1}, key,
                      trial_measured{10, node_id{1}, 4, {}, 0, 1, true}},
          event_added{study_id{1}, key,
                      trial_measured{10, node_id{3}, 6, {}, 0, 2, true}}});
  using outputs = std::vector<stored_output>;
  EXPECT_EQ(*folder->load_output(study_id{1}, 7, 0, 10),
            (outputs{{node_id{1}, 0, "begin\n"},
                     {node_id{1}, 4, "shared\n"},
                     {node_id{2}, 6, "own\n"}}));
  EXPECT_EQ(*folder->load_output(study_id{1}, 8, 0, 10),
            (outputs{{node_id{1}, 0, "begin\n"}, {node_id{1}, 4, "shared\n"}}));
  EXPECT_EQ(*folder->load_output(study_id{1}, 7, 1, 1),
            outputs({{node_id{1}, 4, "shared\n"}}));
  EXPECT_EQ(*folder->load_output(study_id{1}, 7, 7, 10), outputs{});
  EXPECT_EQ(*folder->load_output(study_id{1}, 9, 0, 10), outputs{});
  EXPECT_EQ(*folder->load_output(study_id{1}, 10, 0, 10),
            (outputs{{node_id{1}, 0, "begin\n"}, {node_id{1}, 4, "shared\n"}}));
}

TEST_F(StateFolderTest, OldOutputsAreForgotten) {
  auto folder = open();
  commit(*folder,
         {study_saved{some_study(1, "a")}, node_added{key, node(1)},
          result_added{key, {node_id{1}, 2 * outputs_max, {{"acc", 1}}, ""}},
          event_added{study_id{1}, key,
                      trial_measured{0, node_id{1}, 2 * outputs_max, {}}}});
  std::vector<journal_record> records;
  for (step_t at = 1; at <= outputs_max + 5; ++at)
    records.emplace_back(output_added{key, {node_id{1}, at, "x"}});
  ASSERT_TRUE(folder->commit(records));
  const auto first = *folder->load_output(study_id{1}, 0, 0, 1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].step, 6u);
}

TEST_F(StateFolderTest, AnEventOfAResultThatIsNotThereIsRefused) {
  auto folder = open();
  commit(*folder, {study_saved{some_study(1, "a")}, node_added{key, node(1)}});
  EXPECT_FALSE(folder->commit(
    {event_added{study_id{1}, key, trial_measured{4, node_id{1}, 5, {}}}}));
  EXPECT_FALSE(folder->commit({event_added{study_id{2}, {}, study_command{}}}));
  EXPECT_FALSE(folder->commit({trial_saved{study_id{2}, {}}}));
  EXPECT_FALSE(folder->commit({result_added{key, {node_id{9}, 5, {}, ""}}}));
  EXPECT_TRUE(folder->load_events(study_id{1}, 0, 100)->empty());
}

TEST_F(StateFolderTest, FindsTheBestTrialAndWhereItWasMeasured) {
  auto folder = open();
  const auto trial = [](std::uint64_t no, std::optional<stored_best> best) {
    stored_trial result;
    result.trial = no;
    result.params = "{}";
    result.best = best;
    return result;
  };
  commit(*folder, {study_saved{some_study(1, "max")},
                   study_saved{some_study(2, "min")}, node_added{key, node(1)},
                   result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, ""}}});
  EXPECT_FALSE(*folder->load_best(some_study(1, "max")));
  for (const auto study : {study_id{1}, study_id{2}})
    commit(*folder,
           {trial_saved{study, trial(0, std::nullopt)},
            trial_saved{study, trial(1, stored_best{5, 0.5})},
            trial_saved{study, trial(2, stored_best{5, 0.5})},
            trial_saved{study, trial(3, stored_best{3, 0.25})},
            event_added{study, key, trial_measured{1, node_id{1}, 5, {}}}});
  const auto highest = *folder->load_best(some_study(1, "max"));
  ASSERT_TRUE(highest);
  EXPECT_EQ(highest->trial, 1u);
  EXPECT_EQ(*folder->load_node(study_id{1}, 1, 5), node_id{1});
  const auto lowest = *folder->load_best(some_study(2, "min"));
  ASSERT_TRUE(lowest);
  EXPECT_EQ(lowest->trial, 3u);
  // No event says so: a client measured it.
  EXPECT_FALSE(*folder->load_node(study_id{2}, 3, 3));
  auto failed = trial(3, stored_best{3, 0.25});
  failed.state = trial_state::failed;
  commit(*folder, {trial_saved{study_id{2}, failed}});
  EXPECT_EQ((*folder->load_best(some_study(2, "min")))->trial, 1u);
}

/// As states of before have it.
TEST_F(StateFolderTest, ATrialThatFailedHasNoBest) {
  auto folder = open();
  stored_trial x;
  x.params = "{}";
  x.best = stored_best{5, 0.5};
  x.state = trial_state::failed;
  commit(*folder, {study_saved{some_study(1, "a")},
                   trial_saved{study_id{1}, x}});
  EXPECT_FALSE(folder->load_trials(study_id{1}, 0, 1)->at(0).best);
  x.state = trial_state::running; // it is tried again
  commit(*folder, {trial_saved{study_id{1}, x}});
  EXPECT_EQ(folder->load_trials(study_id{1}, 0, 1)->at(0).best, x.best);
}

TEST_F(StateFolderTest, WhatStandsForAStudyOutsideIsMadeOnce) {
  const std::vector<journal_record> both{study_saved{some_study(1, "a")},
                                         study_saved{some_study(2, "a")}};
  commit(*open(), both);
  const auto first = *open()->load_uid(study_id{1});
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), first.npos);
  const auto second = *open()->load_uid(study_id{2});
  EXPECT_NE(first, second);
  commit(*open(), both); // they have changed
  EXPECT_EQ(*open()->load_uid(study_id{1}), first);
  EXPECT_EQ(*(*state_reader::open(path()))->load_uid(study_id{2}), second);
  EXPECT_EQ(*open()->load_uid(study_id{3}), "");
  auto other = std::move(*state_writer::open(path("other")));
  commit(*other, both);
  EXPECT_NE(*other->load_uid(study_id{1}), first);
}

TEST_F(StateFolderTest, AFolderOfAnOlderProgramGetsWhatStandsForItsStudies) {
  commit(*open(), {study_saved{some_study(1, "a")}});
  run_sql("DROP TRIGGER identity_of_study; DROP TABLE identities");
  EXPECT_EQ(*(*state_reader::open(path()))->load_uid(study_id{1}), "");
  const auto uid = *open()->load_uid(study_id{1});
  EXPECT_EQ(uid.size(), 32u);
  // What an older program adds has one too.
  run_sql("INSERT INTO studies SELECT 2, name, file, text, metric, direction,"
          " state, weight, active_seconds, reason, 0, '', 0, 0, 0, 4096,"
          " '', '[]', 0"
          " FROM studies");
  EXPECT_EQ(open()->load_uid(study_id{2})->size(), 32u);
  EXPECT_EQ(*open()->load_uid(study_id{1}), uid);
}

TEST_F(StateFolderTest, KeepsTheLastFrontOfAStudy) {
  auto folder = open();
  commit(*folder, {study_saved{some_study(1, "max")}});
  EXPECT_EQ(*folder->load_front(study_id{1}), std::nullopt);
  commit(*folder, {front_saved{study_id{1}, "{}"}});
  commit(*folder, {front_saved{study_id{1}, "{\"points\": []}"}});
  EXPECT_EQ(*folder->load_front(study_id{1}), "{\"points\": []}");
  EXPECT_EQ(*folder->load_front(study_id{2}), std::nullopt);
}

// A sum that no INTEGER of SQLite holds is not the end of all commits.
TEST_F(StateFolderTest, TrainedStepsEndAtWhatIsStored) {
  auto folder = open();
  for (const auto more : {1ull << 62, 1ull << 62, ~0ull, 1ull})
    commit(*folder, {steps_trained{key, more, 0}});
  EXPECT_EQ(folder->load_usage()->front().trained_steps, (1ull << 63) - 1);
}

TEST_F(StateFolderTest, TheDeviceTimeOfAStudyAddsUpWhateverElseIsSaved) {
  auto study = some_study(1, "mnist");
  study.submitted = 1e9 + 0.5;
  study.typed = true;
  study.trials_ahead = 77;
  commit(*open(), {study_saved{study}, study_served{study_id{1}, 1.5, 0.25}});
  study.submitted = 0; // which is what it was
  commit(*open(), {study_served{study_id{1}, 2, 0.5}, study_saved{study}});
  auto folder = open();
  EXPECT_EQ(folder->load_study("1")->cost, 0.75);
  EXPECT_EQ(folder->load_study("1")->submitted, 1e9 + 0.5);
  EXPECT_TRUE(folder->load_study("1")->typed);
  EXPECT_EQ(folder->load_study("1")->trials_ahead, 77u);
  EXPECT_EQ(folder->load_study("1")->device_seconds, 3.5);
  EXPECT_EQ(folder->load_studies()->front().device_seconds, 3.5);
}

TEST_F(StateFolderTest, OfATimeTheLastThatIsKnownIsKept) {
  const timing slow{"slow", timed::step, "32;", 3, 12.5, 50, 0.25,
                    {1e9, 1e6, 6000}};
  const timing fast{"fast", timed::step, "32;", 3, 12.5, 10, 0.25};
  auto more = slow;
  more.stages = 4;
  more.seconds = 70;
  const timing saved{"slow", timed::save, "", 1, 1, 0.5, 0};
  ASSERT_TRUE(open()->commit({timing_learned{"w", slow},
                              timing_learned{"w", fast},
                              timing_learned{"w", saved},
                              timing_learned{"other", fast}}));
  ASSERT_TRUE(open()->commit({timing_learned{"w", more}}));
  const auto of_one = open()->load_timings("w");
  ASSERT_TRUE(of_one) << of_one.failure().message;
  EXPECT_EQ(*of_one, (std::vector{fast, saved, more}));
  EXPECT_TRUE(open()->load_timings("none")->empty());
  const auto all = *open()->load_timings();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].workload_key, "w");
  EXPECT_EQ(all[0].timings, *of_one);
  EXPECT_EQ(all[1].timings, std::vector{fast});
  // And so they are told to clients.
  std::vector<workload_timings_view> views;
  for (const auto& x : all)
    views.push_back(view_of(x));
  views[1].timings.push_back(views[1].timings[0]);
  views[1].timings[1].what = "something new"; // of another release
  const auto told = timings_of(views);
  ASSERT_EQ(told.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(told[i].workload_key, all[i].workload_key);
    EXPECT_EQ(told[i].timings, all[i].timings);
  }
}

TEST_F(StateFolderTest, GenerationsAndUsageAreKept) {
  commit(*open(), {lease_epoch_begun{4}, lease_epoch_begun{5}});
  auto folder = open();
  EXPECT_EQ(*folder->last_lease_epoch(), 5u);
  commit(*folder, {node_added{key, node(1)}, node_added{key, node(2, 1)},
                   result_added{key, {node_id{2}, 20, {{"acc", 0.5}}, ""}},
                   checkpoint_added{key, {node_id{2}, 20, {"a", 100, 1}}},
                   checkpoint_added{key, {node_id{2}, 21, {"b", 50, 1}}},
                   steps_trained{key, 6, 1.5}, steps_trained{key, 4, 2.5}});
  const auto usage = *folder->load_usage();
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0].workload_key, key);
  EXPECT_EQ(usage[0].nodes, 2u);
  EXPECT_EQ(usage[0].results, 1u);
  EXPECT_EQ(usage[0].checkpoints, 2u);
  EXPECT_EQ(usage[0].checkpoint_bytes, 150u);
  EXPECT_EQ(usage[0].trained_steps, 10u);
  EXPECT_EQ(usage[0].device_seconds, 4.0);
  EXPECT_EQ(folder->load_trained(key)->step_seconds(), 0.4);
  EXPECT_EQ(folder->load_trained("other")->step_seconds(), 0.0);
  commit(*folder, {node_added{"other", node(1)},
                   checkpoint_added{"other", {node_id{1}, 2, {"a", 7, 1}}},
                   node_added{"without", node(1)}});
  const auto bytes = *folder->load_checkpoint_bytes();
  const std::vector<std::pair<std::string, std::uint64_t>> known{{key, 150},
                                                                 {"other", 7}};
  EXPECT_EQ(bytes, known);
}

// -- versions -----------------------------------------------------------------

/// What version 1 wrote.
constexpr auto version_1_sql = R"(
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('version', '1');
  CREATE TABLE workloads (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)
    STRICT;
  INSERT INTO workloads VALUES (3, 'toy;seed=1');
  CREATE TABLE nodes (workload INTEGER NOT NULL, node INTEGER NOT NULL,
    parent INTEGER NOT NULL, begin INTEGER NOT NULL,
    root_tag INTEGER NOT NULL, configuration BLOB NOT NULL,
    PRIMARY KEY (workload, node)) STRICT, WITHOUT ROWID;
  CREATE TABLE results (workload INTEGER NOT NULL, node INTEGER NOT NULL,
    step INTEGER NOT NULL, device TEXT NOT NULL,
    PRIMARY KEY (workload, node, step)) STRICT, WITHOUT ROWID;
  INSERT INTO results (workload, node, step, device)
    VALUES (3, 1, 5, 'cpu'), (3, 0, 0, 'cpu');
  CREATE TABLE metrics (workload INTEGER NOT NULL, node INTEGER NOT NULL,
    step INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (workload, node, step, name)) STRICT, WITHOUT ROWID;
  INSERT INTO metrics VALUES (3, 1, 5, 'acc', x'000000000000e03f'),
    (3, 1, 5, 'zero', x'0000000000000080'),
    (3, 0, 0, 'acc', x'000000000000e03f');
  CREATE TABLE checkpoints (workload INTEGER NOT NULL, node INTEGER NOT NULL,
    step INTEGER NOT NULL, file TEXT NOT NULL, bytes INTEGER NOT NULL,
    digest INTEGER NOT NULL, PRIMARY KEY (workload, node, step))
    STRICT, WITHOUT ROWID;
  INSERT INTO checkpoints VALUES (3, 1, 5, 'n1-s5-l1.ckpt', 10, 20);
  CREATE TABLE studies (name TEXT PRIMARY KEY, text TEXT NOT NULL,
    seq INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO studies VALUES
    ('b', 'study: b', 0, '{"file":"b.yaml","metric":"acc"}'),
    ('a', 'study: a', 1, '{"file":"a.yaml","metric":"acc"}');
)";

TEST_F(StateFolderTest, BringsVersion1ToThePresent) {
  std::filesystem::create_directories(path());
  run_sql(version_1_sql);
  // The configuration is in bytes that only the codec can make.
  const auto bytes = encode_configuration(node(1).config);
  std::string hex;
  for (const unsigned char byte : bytes) {
    constexpr auto digits = "0123456789abcdef";
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  run_sql("INSERT INTO nodes VALUES (3, 1, 0, 0, 0, x'" + hex + "')");
  const auto reading = state_reader::open(path());
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.failure().code, errc::incompatible_version);
  EXPECT_NE(reading.failure().message.find("which converts it"),
            std::string::npos);
  for (int again = 0; again < 2; ++again) {
    auto folder = open();
    ASSERT_TRUE(folder);
    const auto plan = load(*folder);
    EXPECT_EQ(plan.nodes, std::vector{node(1)});
    ASSERT_EQ(plan.results.size(), 2u);
    EXPECT_EQ(plan.results[1].values.at("acc"), 0.5);
    EXPECT_TRUE(std::signbit(plan.results[1].values.at("zero")));
    EXPECT_EQ(plan.checkpoints, (std::vector{stored_checkpoint{
                                  node_id{1}, 5, {"n1-s5-l1.ckpt", 10, 20}}}));
    const auto studies = *folder->load_studies();
    ASSERT_EQ(studies.size(), 2u);
    EXPECT_EQ(studies[0].name, "b");
    EXPECT_EQ(studies[1].file, "a.yaml");
    EXPECT_EQ(folder->load_study("b")->text, "study: b");
    commit(*folder, {node_added{key, node(2, 1)}});
    run_sql("DELETE FROM nodes WHERE node = 2");
  }
}

TEST_F(StateFolderTest, AMigrationThatFailsChangesNothing) {
  std::filesystem::create_directories(path());
  run_sql(version_1_sql);
  run_sql("INSERT INTO metrics VALUES (3, 1, 5, 'short', x'01')");
  const auto folder = state_writer::open(path());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.failure().message.find("a metric is not a number"),
            std::string::npos);
  run_sql("DELETE FROM metrics WHERE name = 'short'");
  EXPECT_EQ(open()->load_studies()->size(), 2u);
}

TEST_F(StateFolderTest, SecondOpenNamesTheHolder) {
  auto folder = open();
  const auto second = state_writer::open(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failure().code, errc::in_use);
  EXPECT_NE(second.failure().message.find("process "
                                          + std::to_string(::getpid())),
            std::string::npos)
    << second.failure().message;
  folder.reset();
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, NobodyElseGetsInWhereTheLockFileIsRemovedOrReplaced) {
  auto folder = open();
  const auto file = path() + "/lock";
  for (const std::string holder : {"", "999999999\n"}) {
    std::filesystem::remove(file);
    if (!holder.empty())
      write_file("state/lock", holder);
    const auto second = state_writer::open(path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.failure().code, errc::in_use);
  }
  // It is the folder that is held, whatever it is called by now.
  std::filesystem::rename(path(), path("moved"));
  EXPECT_FALSE(state_writer::open(path("moved")));
  folder.reset();
  EXPECT_TRUE(state_writer::open(path("moved")));
}

TEST_F(StateFolderTest, LockFileOfADeadProcessDoesNotBlock) {
  std::filesystem::create_directories(path());
  write_file("state/lock", "999999999\n");
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, RefusesOtherVersions) {
  open();
  run_sql("UPDATE meta SET value = '99'");
  for (const auto& result :
       {state_writer::open(path()).failure(),
        state_reader::open(path()).failure()}) {
    EXPECT_EQ(result.code, errc::incompatible_version);
    EXPECT_NE(result.message.find("version 99"), std::string::npos);
    EXPECT_NE(result.message.find("version " + std::to_string(state_version)),
              std::string::npos);
  }
}

TEST_F(StateFolderTest, RefusesFoldersFullOfOtherThings) {
  std::filesystem::create_directories(path());
  write_file("state/thesis.tex", "precious");
  const auto result = state_writer::open(path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.failure().code, errc::invalid_argument);
  EXPECT_NE(result.failure().message.find("thesis.tex"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path() + "/lock"));
}

TEST_F(StateFolderTest, GoesOnWhereItsOwnCreationWasCutShort) {
  std::filesystem::create_directories(path() + "/checkpoints");
  write_file("state/lock", "");
  write_file("state/hippo.db.new", "half a database");
  write_file("state/hippo.db.new-journal", "");
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, RefusesPathsThatAreNoFolder) {
  write_file("file", "");
  for (const auto* name : {"file", "file/below", "file/below/deeper"}) {
    const auto result = state_writer::open(path(name));
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.failure().code, errc::io_failed);
    EXPECT_NE(result.failure().message.find(path(name)), std::string::npos);
    EXPECT_FALSE(state_reader::open(path(name)));
  }
}

TEST_F(StateFolderTest, RefusesAFileThatIsNoDatabase) {
  open();
  for (const auto* bytes : {"", "this is not a database, but it is a long text"
                                " that SQLite looks at before it complains"}) {
    write_file("state/hippo.db", bytes);
    const auto result = state_writer::open(path());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.failure().code, errc::io_failed);
    EXPECT_NE(result.failure().message.find("hippo.db"), std::string::npos);
  }
  const auto text = state_reader::open(path()).failure().message;
  EXPECT_NE(text.find("file is not a database"), std::string::npos) << text;
}

/// Whether somebody is told which file is damaged, and what helps.
void expect_told(const error& why, const std::string& state) {
  EXPECT_EQ(why.code, errc::io_failed);
  EXPECT_NE(why.message.find(state), std::string::npos) << why.message;
  EXPECT_NE(why.message.find("hippo restore"), std::string::npos)
    << why.message;
}

TEST_F(StateFolderTest, DamageToTheFirstPageIsToldWithWhatHelps) {
  stored_study study;
  study.id = study_id{1};
  study.name = "a";
  commit(*open(), {study_saved{study}});
  std::ifstream in{path() + "/hippo.db", std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{in}, {}};
  std::mt19937 random{1};
  // Whole, then parts of it: the header, the list of tables.
  for (int i = 0; i < 200; ++i) {
    auto bytes = whole;
    const auto at = i == 0 ? 0 : random() % 4096;
    const auto size
      = i == 0 ? std::size_t{4096}
               : std::min<std::size_t>(1 + random() % 512, 4096 - at);
    for (std::size_t j = at; j < at + size; ++j)
      bytes[j] = static_cast<char>(i % 2 == 0 ? 0 : random());
    write_file("state/hippo.db", bytes);
    for (const auto* beside : {"-wal", "-shm"})
      std::filesystem::remove(path() + "/hippo.db" + beside);
    const auto folder = state_writer::open(path());
    if (!folder) {
      EXPECT_EQ(folder.failure().code, errc::io_failed);
      EXPECT_NE(folder.failure().message.find(path()), std::string::npos)
        << folder.failure().message;
      continue;
    }
    // Or the study is there: it is no fresh state.
    const auto studies = (*folder)->load_studies();
    EXPECT_TRUE(!studies || studies->size() == 1) << "damage " << i;
  }
  write_file("state/hippo.db", std::string(4096, '\x55') + whole.substr(4096));
  expect_told(state_writer::open(path()).failure(), path());
  expect_told(state_reader::open(path()).failure(), path());
}

TEST_F(StateFolderTest, DamageToTheTableOfVersionsIsToldWithWhatHelps) {
  open();
  for (const auto* sql :
       {"UPDATE meta SET value = 'x' WHERE key = 'version'",
        "DELETE FROM meta WHERE key = 'version'", "DROP TABLE meta"}) {
    run_sql(sql);
    expect_told(state_writer::open(path()).failure(), path());
    expect_told(state_reader::open(path()).failure(), path());
  }
}

TEST_F(StateFolderTest, AStudyWhoseTrialsLackItsLastEventIsOutdated) {
  auto folder = open();
  stored_study study;
  study.id = study_id{1};
  study.name = "s";
  stored_trial trial;
  trial.params = "{}";
  trial.steps = 5;
  const auto measured = [](step_t at, std::uint32_t seed_no = 0,
                           bool is_part = false) {
    return event_added{
      study_id{1}, key,
      trial_measured{0, node_id{1}, at, {}, 0, seed_no, is_part}};
  };
  const auto outdated = [&] { return !folder->load_outdated()->empty(); };
  commit(*folder, {node_added{key, node(1)},
                   result_added{key, {node_id{1}, 5, {{"acc", 1}}, "cpu"}},
                   result_added{key, {node_id{1}, 10, {{"acc", 1}}, "cpu"}},
                   result_added{key, {node_id{1}, 15, {{"acc", 1}}, "cpu"}},
                   study_saved{study}, measured(5)});
  EXPECT_FALSE(outdated()); // it goes on anyway
  study.state = study_phase::complete;
  commit(*folder, {study_saved{study}});
  EXPECT_TRUE(outdated()); // the trial is not there
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_FALSE(outdated());
  commit(*folder, {measured(10)});
  EXPECT_EQ(*folder->load_outdated(), std::set<study_id>{study_id{1}});
  trial.steps = 10;
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_FALSE(outdated());
  // A trial with several seeds is there once the last one is.
  commit(*folder, {measured(15, 1, true)});
  EXPECT_FALSE(outdated());
  commit(*folder, {measured(15, 2)});
  EXPECT_TRUE(outdated());
  // A study that does something itself need not have heard of it.
  commit(*folder, {event_added{study_id{1}, {}, study_command{}},
                   event_added{study_id{1}, {}, trial_chosen{0, {}}}});
  EXPECT_TRUE(outdated());
  trial.steps = 15;
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_FALSE(outdated());
  commit(*folder,
         {event_added{
           study_id{1}, {}, trial_failed{1, 5, {errc::io_failed, "no"}}}});
  EXPECT_TRUE(outdated());
  study.state = study_phase::failed;
  commit(*folder, {study_saved{study}});
  EXPECT_FALSE(outdated());
  study.state = study_phase::cancelled;
  trial.trial = 1;
  commit(*folder, {study_saved{study}});
  EXPECT_TRUE(outdated());
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_FALSE(outdated());
  // The last event may be of a trial that is there, the one before it not.
  const auto failed = [](trial_no no) {
    return event_added{
      study_id{1}, {}, trial_failed{no, 5, {errc::io_failed, "no"}}};
  };
  commit(*folder, {failed(2), failed(1)});
  EXPECT_TRUE(outdated());
  trial.trial = 2;
  commit(*folder, {trial_saved{study_id{1}, trial}});
  EXPECT_FALSE(outdated());
  commit(*folder, {failed(3)});
  EXPECT_TRUE(outdated());
  study_command hides;
  hides.what = study_command::verb::remove;
  commit(*folder, {event_added{study_id{1}, {}, hides}});
  EXPECT_TRUE(outdated()); // the study was removed, and no trial
  hides.text = R"({"trials": [2, 3]})";
  commit(*folder, {event_added{study_id{1}, {}, hides}});
  EXPECT_FALSE(outdated());
}

TEST_F(StateFolderTest, AGenerationOfLeasesThatIsNoNumberIsTold) {
  commit(*open(), {lease_epoch_begun{7}});
  EXPECT_EQ(*open()->last_lease_epoch(), 7u);
  run_sql("UPDATE meta SET value = '7x' WHERE key = 'generation'");
  const auto epoch = open()->last_lease_epoch();
  ASSERT_FALSE(epoch) << *epoch;
  expect_told(epoch.failure(), path());
}

TEST_F(StateFolderTest, ADatabaseThatIsMissingBesideItsLogIsNoFreshStart) {
  open();
  std::filesystem::remove(path() + "/hippo.db");
  write_file("state/hippo.db-wal", "committed");
  expect_told(state_writer::open(path()).failure(), path());
  EXPECT_FALSE(std::filesystem::exists(path() + "/hippo.db"));
  std::filesystem::remove(path() + "/hippo.db-wal");
  EXPECT_TRUE(open());
}

TEST_F(StateFolderTest, DamagedPagesAreErrorsNotCrashes) {
  {
    auto folder = open();
    std::vector<journal_record> records;
    for (std::uint64_t id = 1; id <= 500; ++id) {
      records.emplace_back(node_added{key, node(id, id - 1)});
      records.emplace_back(
        result_added{key, {node_id{id}, 10 * id, {{"acc", 0.5}}, "cpu"}});
    }
    commit(*folder, records);
  }
  std::ifstream in{path() + "/hippo.db", std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{in}, {}};
  int refused = 0;
  for (std::size_t page = 4096; page + 4096 <= whole.size(); page += 4096) {
    auto bytes = whole;
    bytes.replace(page, 4096, 4096, '\x55');
    write_file("state/hippo.db", bytes);
    auto folder = state_writer::open(path());
    const auto plan = folder ? (*folder)->load_plan(key)
                             : expected<stored_plan>{folder.failure()};
    if (!plan) {
      EXPECT_EQ(plan.failure().code, errc::io_failed);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

TEST_F(StateFolderTest, DamagedRowsAreLeftOutAndTold) {
  commit(*open(), {node_added{key, node(1)},
                   result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, "cpu"}}});
  const std::pair<const char*, const char*> all[] = {
    {"UPDATE results SET node = 2",
     "the result of node 2 at step 5: there is no such node"},
    {"UPDATE results SET step = -1",
     "the result of node 1 at step 18446744073709551615: there is no such "
     "step"},
    {"UPDATE metrics SET name = ''",
     "the result of node 1 at step 5: the name of a metric is empty"},
    {"UPDATE metrics SET value = NULL",
     "the result of node 1 at step 5: the value of 'acc' is missing"},
    {"DELETE FROM metrics",
     "the result of node 1 at step 5: nothing was measured"},
    {"UPDATE nodes SET parent = 7 WHERE node = 1",
     "node 1: its parent comes after it"},
    {"UPDATE nodes SET parent = NULL", "node 1: it has no parent"},
    {"UPDATE nodes SET begin = -1 WHERE node = 1",
     "node 1: it begins before its parent, or nowhere"},
    {"UPDATE nodes SET node = 1000000000 WHERE node = 1",
     "node 1000000000: no node has that number"},
  };
  for (const auto& [sql, why] : all) {
    std::filesystem::copy(path(), path("copy"),
                          std::filesystem::copy_options::recursive);
    run_sql(sql);
    const auto plan = open()->load_plan(key);
    ASSERT_TRUE(plan) << sql;
    EXPECT_TRUE(plan->results.empty()) << sql;
    ASSERT_FALSE(plan->damage.empty()) << sql;
    EXPECT_EQ(plan->damage[0], why) << sql;
    std::filesystem::remove_all(path());
    std::filesystem::rename(path("copy"), path());
  }
}

TEST_F(StateFolderTest, DamagedPartsOfACheckpointAreTold) {
  const checkpoint file{"n1-s5-l1.ckpt", 4096, 7, {}, 96, {{"n1-s2-l1", 1, 2}}};
  commit(*open(), {node_added{key, node(1)},
                   checkpoint_added{key, {node_id{1}, 5, file, "cpu"}}});
  for (const char* parts :
       {"x", "[]", "{}", "[0]", "[-1]", "[4097]", "[96,1]", "[96,[\"a\",1]]",
        "[96,[1,1,1]]", "[96,[\"a\",-1,1]]", "[96,[\"a\",1,1.5]]",
        "[96,[\"../a\",1,1]]", "[96,[\"\",1,1]]",
        "[96,[\"a\",99999999999999999,1]]"}) {
    run_sql("UPDATE checkpoints SET parts = '" + std::string{parts} + "'");
    const auto plan = open()->load_plan(key);
    ASSERT_TRUE(plan) << parts;
    EXPECT_TRUE(plan->checkpoints.empty()) << parts;
    ASSERT_FALSE(plan->damage.empty()) << parts;
    EXPECT_EQ(plan->damage[0],
              "the checkpoint of node 1 at step 5: its parts are none")
      << parts;
  }
}

TEST_F(StateFolderTest, AResultThatCannotBeReadIsReplacedByTheNextOne) {
  const result_added first{key, {node_id{1}, 5, {{"acc", 0.5}}, "cpu"}};
  const result_added next{key, {node_id{1}, 5, {{"acc", 0.75}}, "cpu"}};
  commit(*open(), {node_added{key, node(1)}, first});
  commit(*open(), {next});
  EXPECT_EQ(load(*open()).results.at(0).values, first.result.values);
  for (const auto* sql : {"UPDATE metrics SET name = ''",
                          "DELETE FROM metrics"}) {
    run_sql(sql);
    EXPECT_TRUE(load(*open()).results.empty()) << sql;
    commit(*open(), {next});
    EXPECT_EQ(load(*open()).results.at(0).values, next.result.values) << sql;
  }
}

TEST_F(StateFolderTest, WhatNobodyReachesIsNoBeginning) {
  auto folder = open();
  stored_trial trial;
  commit(*folder,
         {study_saved{some_study(1, "a")}, trial_saved{study_id{1}, trial},
          node_added{key, node(1)},
          result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, "cpu"}},
          event_added{study_id{1}, key, trial_measured{0, node_id{1}, 5, {}}}});
  for (const std::uint64_t far : {1ull << 63, ~0ull}) {
    EXPECT_TRUE(folder->load_trials(study_id{1}, far, 10)->empty());
    EXPECT_TRUE(folder->load_events(study_id{1}, far, 10)->empty());
    EXPECT_TRUE(folder->load_values(study_id{1}, "acc", far, 10)->empty());
    EXPECT_TRUE(folder->load_output(study_id{1}, 0, far, 10)->empty());
    EXPECT_EQ(folder->load_trials(study_id{1}, 0, far)->size(), 1u);
  }
}

TEST_F(StateFolderTest, AStudyWhoseRowIsDamagedHasFailedAndSaysSo) {
  commit(*open(), {study_saved{some_study(1, "a")},
                   study_saved{some_study(2, "b")}});
  const std::pair<const char*, const char*> all[] = {
    {"state = 'GONE'", "its state is 'GONE'"},
    {"weight = 0", "its weight is '0.0'"},
    {"weight = 9e999", "its weight is 'Inf'"},
    {"active_seconds = -1", "its time is '-1.0'"},
    {"direction = ''", "its direction is ''"},
    {"name = CAST(x'61ff' AS TEXT)", "its name is 'a?'"},
  };
  for (const auto& [change, why] : all) {
    std::filesystem::copy(path(), path("copy"),
                          std::filesystem::copy_options::recursive);
    run_sql(std::string{"UPDATE studies SET "} + change + " WHERE id = 1");
    const auto studies = *open()->load_studies();
    ASSERT_EQ(studies.size(), 2u);
    EXPECT_EQ(studies[0].state, study_phase::failed) << change;
    EXPECT_NE(studies[0].reason.find(why), std::string::npos)
      << studies[0].reason;
    EXPECT_EQ(studies[1], [&] {
      auto x = some_study(2, "b");
      x.text.clear();
      x.submitted = studies[1].submitted;
      return x;
    }());
    std::filesystem::remove_all(path());
    std::filesystem::rename(path("copy"), path());
  }
}

TEST_F(StateFolderTest, ReadersSeeCommitsWhileTheServiceRuns) {
  auto service = open();
  auto reader = state_reader::open(path());
  ASSERT_TRUE(reader) << reader.failure().message;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    commit(*service, {node_added{key, node(id, id - 1)}});
    EXPECT_EQ(load(**reader).nodes.size(), id);
  }
}

TEST_F(StateFolderTest, ReadersNeedNoService) {
  const auto none = state_reader::open(path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failure().code, errc::invalid_argument);
  EXPECT_NE(none.failure().message.find(path()), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path()));
  commit(*open(), {node_added{key, node(1)}});
  auto reader = state_reader::open(path());
  ASSERT_TRUE(reader) << reader.failure().message;
  EXPECT_EQ(load(**reader).nodes.size(), 1u);
  EXPECT_TRUE(open()); // readers hold nothing
}

TEST_F(StateFolderTest, AFailedCommitChangesNothing) {
  auto folder = open();
  run_sql("CREATE TRIGGER refuse BEFORE INSERT ON results"
          " BEGIN SELECT RAISE(ABORT, 'no room'); END");
  const auto done =
    folder->commit({node_added{key, node(1)},
                    result_added{key, {node_id{1}, 5, {{"acc", 0.5}}, "cpu"}}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.failure().code, errc::io_failed);
  EXPECT_NE(done.failure().message.find("no room"), std::string::npos);
  EXPECT_TRUE(load(*folder).nodes.empty());
  run_sql("DROP TRIGGER refuse");
  commit(*folder, {node_added{"other", node(1)}, node_added{key, node(1)}});
  EXPECT_EQ(load(*folder).nodes.size(), 1u);
  EXPECT_EQ(load(*folder, "other").nodes.size(), 1u);
}

} // namespace
} // namespace hippo
