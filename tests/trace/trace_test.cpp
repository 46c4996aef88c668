#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "hippo/search/accepted_study.hpp"
#include "hippo/service/pool/pool_core.hpp"
#include "hippo/service/study/study_core.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "hippo/service/trace/replay.hpp"
#include "hippo/service/trace/trace_lines.hpp"
#include "hippo/service/trace/trace_log.hpp"
#include "hippo/service/trainer/trainer_core.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

std::string text_of_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The replay of a trace's text.
expected<trace_replay> replayed(const std::string& text) {
  std::istringstream in{text};
  return replay_trace(in);
}

/// An event as it comes back from its line.
template <class Variant>
Variant read_back(const Variant& x) {
  const nlohmann::json line
    = nlohmann::json::parse('{' + trace::event_text(x) + '}');
  return trace::read_event<Variant>(line.at("event").get<std::string>(),
                                    line.at("what"));
}

template <class Variant>
void expect_same(const Variant& x) {
  const auto again = read_back(x);
  EXPECT_EQ(again.index(), x.index());
  EXPECT_EQ(trace::event_text(again), trace::event_text(x));
}

template <class Variant, std::size_t... Is>
void expect_all(std::index_sequence<Is...>) {
  (expect_same(Variant{std::variant_alternative_t<Is, Variant>{}}), ...);
  const auto& all = trace::names<Variant>::all;
  EXPECT_EQ((std::set<std::string>{all.begin(), all.end()}.size()), all.size());
}

template <class Variant>
void expect_all() {
  expect_all<Variant>(std::make_index_sequence<std::variant_size_v<Variant>>{});
}

struct TraceTest : testing::Test {
  std::string path =
    std::filesystem::temp_directory_path()
    / ("hippo-trace-" + std::to_string(::getpid()) + '-'
       + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::shared_ptr<trace_log> log = *trace_log::open(path);
  moment now{};

  ~TraceTest() override { std::filesystem::remove(path); }

  std::string text() const { return text_of_file(path); }

  /// Writes what happens to a pool.
  void run_pool(unsigned seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::uint64_t n) { return random() % n; };
    machine_kind l4;
    l4.name = "l4";
    l4.device = "gpu";
    l4.price = 0.1;
    pool_options options;
    options.machines = fleet{{l4}};
    core_trace trace{log, "pool"};
    trace.begin(options, now);
    pool_core core{options, now};
    const auto tell = [&](any_pool_event x) {
      trace.apply(core, std::move(x), now);
    };
    tell(pool_event::introduced{1, {"key", "mlp", "1", ""}});
    for (int i = 0; i < 200; ++i) {
      now += std::chrono::milliseconds{below(700)};
      const trainer_id trainer{below(6) + 1};
      switch (below(6)) {
        case 0: {
          hello x;
          x.host = "h\xc3\xb6st\n\xff";
          x.process_id = below(3);
          x.device = below(2) == 0 ? "gpu" : "cpu";
          x.workloads["mlp"] = "1";
          tell(pool_event::registered{x, {}});
          break;
        }
        case 1:
          tell(pool_event::heard{{trainer, lease_id{below(2)}, 0, 1}});
          break;
        case 2:
          tell(pool_event::demanded{
            below(2) + 1, 1.5, below(4), {}, {{{"gpu", 0.3}}, 2}});
          break;
        case 3:
          tell(pool_event::released{trainer});
          break;
        case 4:
          tell(pool_event::disconnected{trainer, false, "gone"});
          break;
        default:
          tell(pool_event::ticked{});
      }
    }
  }

  /// Writes what happens to a trainer.
  void run_trainer(unsigned seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::uint64_t n) { return random() % n; };
    hello self_description;
    self_description.device = "gpu";
    self_description.workloads["mlp"] = "1";
    core_trace trace{log, "trainer 1"};
    trace.begin(self_description, now);
    trainer_core core{self_description, now};
    std::uint64_t registration = 0, beats = 0;
    const auto tell = [&](any_trainer_event x) {
      for (const auto& y : trace.apply(core, std::move(x), now))
        if (const auto* asked = std::get_if<trainer_effect::send_hello>(&y))
          registration = asked->registration;
        else if (const auto* due = std::get_if<trainer_effect::beat_after>(&y))
          beats = due->registration;
    };
    tell(trainer_event::connected{});
    for (owner_number i = 1; i <= 200; ++i) {
      now += std::chrono::milliseconds{below(700)};
      const lease_id lease{i - below(std::min<std::uint64_t>(i, 4))};
      switch (below(6)) {
        case 0:
          tell(trainer_event::answered{registration,
                                       {std::nullopt, trainer_id{i}, 1000}});
          break;
        case 1: {
          hippo::lease work;
          work.number = lease;
          work.workload.name = "mlp";
          work.lane = static_cast<std::uint32_t>(below(2));
          work.stages = {{node_id{i}, 0, 9, {{"lr", form::constant(0.1)}}, 5}};
          work.stops = {{.at = 9, .save = true}};
          tell(trainer_event::leased{i, std::move(work)});
          break;
        }
        case 2: {
          stop_report report;
          report.lease = lease;
          report.at = below(9) + 1;
          report.values["loss"] = 0.1 * static_cast<double>(i);
          tell(trainer_event::reported{std::move(report)});
          break;
        }
        case 3:
          tell(trainer_event::ended{
            {lease, 4, error{errc::training_failed, "h\xc3\xb6st\n\xff"}}});
          break;
        case 4:
          tell(trainer_event::beat_due{beats});
          break;
        default:
          tell(trainer_event::given_up{});
      }
    }
  }

  /// Writes what happens to a client's study.
  /// @returns the events that were stored
  std::vector<stored_event> run_study(std::vector<stored_event> history) {
    const auto source =
      test::with_space("  lr: {choice: [0.1, 0.2]}\nalgorithm: client\n");
    const auto workloads = test::workloads();
    const auto admitted =
      admit_study(source, "study", {workloads.front()}, {.has_clients = true});
    EXPECT_TRUE(admitted.study);
    study_options options;
    options.spec = admitted.study->spec();
    options.search = admitted.study->search();
    options.workload = workloads.front();
    options.stored.id = study_id{7};
    options.stored.text = source;
    options.stored.algorithm = admitted.study->chosen();
    options.stored.typed = options.spec.typed;
    options.stored.trials_ahead = options.spec.trials_ahead;
    options.history = history;
    core_trace trace{log, "study 7"};
    trace.begin(options, now);
    study_core core{std::move(options), now};
    core.catch_up();
    std::deque<study_news> stored;
    const auto tell = [&](any_study_event x) {
      for (auto& y : trace.apply(core, std::move(x), now))
        if (auto* commit = std::get_if<study_effect::commit>(&y);
            commit && !commit->news.empty())
          stored.push_back(std::move(commit->news));
    };
    tell(study_core_event::registered{});
    for (int i = 0; i < 3; ++i) {
      now += 1s;
      study_command ask;
      tell(study_core_event::commanded{ask, study_token{1}});
      while (!stored.empty()) {
        auto news = std::move(stored.front());
        stored.pop_front();
        for (const auto& y : news)
          history.push_back({history.size() + 1, study_id{7}, 0, y});
        tell(study_core_event::received{std::move(news)});
      }
      tell(study_core_event::train_wanted{0, 1, study_token{2}});
      tell(study_core_event::filled{i == 1 ? "no room" : ""});
    }
    return history;
  }
};

// -- events as text -----------------------------------------------------------

TEST(TraceText, EveryEventComesBack) {
  expect_all<any_pool_event>();
  expect_all<any_study_event>();
  expect_all<any_merge_event>();
  expect_all<any_trainer_event>();
  expect_all<any_coordinator_event>();
}

TEST(TraceText, NumbersComeBackBitForBit) {
  using limits = std::numeric_limits<double>;
  for (const auto x :
       {0.1, -0.0, 1e300, 5e-324, 123456789012345680000.0, 9007199254740993.0,
        limits::infinity(), -limits::infinity()}) {
    const auto event =
      read_back(any_pool_event{pool_event::demanded{1, x, UINT64_MAX, {}, {}}});
    const auto& again = std::get<pool_event::demanded>(event);
    EXPECT_EQ(again.weight, x);
    EXPECT_EQ(std::signbit(again.weight), std::signbit(x));
    EXPECT_EQ(again.trainers, UINT64_MAX);
  }
  const auto event = read_back(any_study_event{study_core_event::received{
    {trial_measured{1, node_id{2}, 3, {{"loss", limits::quiet_NaN()}}, 4}}}});
  const auto& news = std::get<study_core_event::received>(event).news;
  const auto& measured = std::get<trial_measured>(news.at(0));
  EXPECT_TRUE(std::isnan(measured.values.at("loss")));
  EXPECT_EQ(measured.shared, 4u);
}

TEST(TraceText, StringsComeBackByteForByte) {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  const auto event = read_back(
    any_pool_event{pool_event::disconnected{trainer_id{3}, true, all}});
  EXPECT_EQ(std::get<pool_event::disconnected>(event).why, all);
}

TEST(TraceText, OrdersComeBackWithTheirConfigurations) {
  merge_event::orders_given x{study_no{2}, {}};
  x.orders.added.push_back(
    {5, join({{"lr", sequence{form::constant(0.1)}}}, 4), trial_no{3}, true});
  x.orders.asked.push_back({5, 4, 1, false, 2, true});
  x.orders.acked = 9;
  const auto event = read_back(any_merge_event{x});
  const auto& again = std::get<merge_event::orders_given>(event).orders;
  ASSERT_EQ(again.added.size(), 1u);
  EXPECT_EQ(again.added[0].segments, x.orders.added[0].segments);
  EXPECT_EQ(again.added[0].fork_of, 3u);
  EXPECT_TRUE(again.asked.at(0).again);
  EXPECT_EQ(again.acked, 9u);
}

// -- the file -----------------------------------------------------------------

TEST_F(TraceTest, TheFileEndsAtItsSizeAndSaysSo) {
  int told = 0;
  const auto small = *trace_log::open(path, 10, [&] { ++told; });
  small->write("1234");
  small->write("5678");
  EXPECT_EQ(told, 0);
  small->write("9");
  small->write("");
  EXPECT_EQ(told, 1);
  EXPECT_EQ(text(), "1234\n5678\n");
}

TEST_F(TraceTest, OnlyTheOwnerMayReadTheFile) {
  std::filesystem::remove(path);
  const auto made = trace_log::open(path);
  ASSERT_TRUE(made);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions()
              & (perms::group_all | perms::others_all),
            perms::none);
}

TEST_F(TraceTest, AFileThatCannotBeMadeIsAnError) {
  const auto made = trace_log::open("/nowhere/trace");
  ASSERT_FALSE(made);
  EXPECT_NE(made.failure().message.find("/nowhere/trace"), std::string::npos);
}

TEST_F(TraceTest, NothingIsWrittenWithoutALog) {
  core_trace none;
  none.begin(pool_options{}, now);
  pool_core core{pool_options{}, now};
  none.apply(core, any_pool_event{pool_event::ticked{}}, now);
  EXPECT_EQ(text(), "");
}

// -- doing it again -----------------------------------------------------------

TEST_F(TraceTest, APoolDoesTheSameAgain) {
  run_pool(1);
  const auto came = replayed(text());
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_EQ(came->difference, "");
  EXPECT_EQ(came->cores, 1u);
  EXPECT_EQ(came->events, 201u);
  EXPECT_EQ(came->lines, 202u);
}

TEST_F(TraceTest, ATrainerDoesTheSameAgain) {
  run_trainer(1);
  const auto came = replayed(text());
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_EQ(came->difference, "");
  EXPECT_EQ(came->events, 201u);
}

TEST_F(TraceTest, AnotherAnswerToATrainerIsFound) {
  run_trainer(2);
  auto changed = text();
  const auto answer = changed.find("\"event\":\"answered\"");
  ASSERT_NE(answer, std::string::npos);
  const std::string number = "\"trainer\":";
  changed.insert(changed.find(number, answer) + number.size(), "9");
  const auto came = replayed(changed);
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_NE(came->difference.find(", trainer 1, answered: "), std::string::npos)
    << came->difference;
}

TEST_F(TraceTest, AStudyDoesTheSameAgainAlsoAfterARestart) {
  const auto history = run_study({});
  EXPECT_GE(history.size(), 2u);
  run_study(history);
  const auto came = replayed(text());
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_EQ(came->difference, "");
  EXPECT_EQ(came->cores, 2u);
  EXPECT_GT(came->events, 15u);
  EXPECT_EQ(came->left_out, 0u);
}

TEST_F(TraceTest, AChangedEventIsFound) {
  run_pool(2);
  auto changed = text();
  // The first demand that is above 0 in a pool with an idle trainer.
  const auto place = changed.find("\"seconds_between");
  EXPECT_EQ(place, std::string::npos) << "effects are digests";
  const auto device = changed.find("\"device\":\"gpu\",\"workloads\"");
  ASSERT_NE(device, std::string::npos);
  const auto line =
    std::count(changed.begin(),
               changed.begin() + static_cast<std::ptrdiff_t>(device), '\n')
    + 1;
  changed.replace(device, 14, "\"device\":\"tpu\"");
  const auto came = replayed(changed);
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_TRUE(came->difference.starts_with("line " + std::to_string(line)
                                           + ", pool, registered: "))
    << came->difference;
}

TEST_F(TraceTest, ALineThatWasCutIsNoError) {
  run_pool(3);
  auto cut = text();
  cut.resize(cut.size() - 20);
  const auto came = replayed(cut);
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_EQ(came->difference, "");
  EXPECT_EQ(came->events, 200u);
}

TEST_F(TraceTest, WhatIsNoTraceIsAnErrorWithItsLine) {
  EXPECT_EQ(replayed("nonsense\n").failure().message, "line 1, is no JSON");
  run_pool(4);
  auto without = text();
  without.erase(0, without.find('\n') + 1);
  EXPECT_EQ(replayed(without).failure().message,
            "line 1, 'pool' has not begun");
  auto wrong = text();
  wrong.replace(wrong.find("introduced"), 10, "intruduced");
  EXPECT_EQ(replayed(wrong).failure().message,
            "line 2, there is no event 'intruduced'");
}

// A study that is begun again may be while the one before is told of its end.
TEST_F(TraceTest, TwoCoresOfOneNameAreToldApart) {
  core_trace traces[]{{log, "pool"}, {log, "pool"}};
  std::vector<std::unique_ptr<pool_core>> cores;
  for (auto& x : traces) {
    x.begin(pool_options{}, now);
    cores.push_back(std::make_unique<pool_core>(pool_options{}, now));
  }
  const any_pool_event event{
    pool_event::introduced{1, {"key", "mlp", "1", ""}}};
  traces[0].apply(*cores[0], event, now);
  traces[1].apply(*cores[1], event, now);
  traces[0].apply(*cores[0], any_pool_event{pool_event::ticked{}}, now);
  const auto came = replayed(text());
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_EQ(came->difference, "");
  EXPECT_EQ(came->cores, 2u);
  EXPECT_EQ(came->events, 3u);
}

/// A core that cannot go on.
struct broken_core {
  using effects = pool_core::effects;
  effects apply(any_pool_event, moment) { throw std::runtime_error{"broken"}; }
};

TEST_F(TraceTest, AnExceptionIsWrittenAndNothingAfterItIsDoneAgain) {
  core_trace trace{log, "pool"};
  trace.begin(pool_options{}, now);
  broken_core core;
  EXPECT_THROW(trace.apply(core, any_pool_event{pool_event::ticked{}}, now),
               std::runtime_error);
  pool_core other{pool_options{}, now};
  trace.apply(other, any_pool_event{pool_event::ticked{}}, now);
  const auto came = replayed(text());
  ASSERT_TRUE(came) << came.failure().message;
  EXPECT_EQ(came->events, 0u);
  EXPECT_EQ(came->left_out, 2u);
}

} // namespace
} // namespace hippo
