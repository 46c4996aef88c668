// Names on their way through everything: a study's text, admission, messages,
// the store, a restart, HTTP, the page's answers, CSV and JSON.

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <kj/encoding.h>
#include <nlohmann/json.hpp>

#include "base/odd_names.hpp"
#include "gateway/http_target.hpp"
#include "gateway/study_history.hpp"
#include "hippo/base/name.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/report/report.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/store/state_writer.hpp"
#include "train/temporary_folder.hpp"

namespace hippo::test {
namespace {

using json = nlohmann::ordered_json;

/// So many names are made from each seed.
constexpr int names_made = 1500;

/// Names that may be, and texts that are none, of a seed.
std::set<std::string> texts_of(unsigned seed) {
  std::mt19937_64 rng{seed};
  std::set<std::string> result{odd_names.begin(), odd_names.end()};
  for (int i = 0; i < names_made; ++i)
    result.insert(made_name(rng));
  return result;
}

std::vector<std::string> names_of(unsigned seed) {
  std::vector<std::string> result;
  for (const auto& x : texts_of(seed))
    if (!refused_name(x))
      result.push_back(x);
  return result;
}

/// Writes a text as YAML has it in quotes.
std::string quoted(const std::string& x) { return json(x).dump(); }

/// A study of a metric and a hyper-parameter.
std::string study_of(const std::string& metric, const std::string& parameter) {
  return "study: s\nworkload: {command: [sleep], packages: {a: '1'}}\n"
         "objective: {metric: "
         + metric
         + ", direction: minimize}\n"
           "max_steps: 2\nspace:\n  ? "
         + parameter
         + "\n  : 0.5\n"
           "algorithm: grid\n";
}

study_admission admitted(const std::string& text) {
  return admit_study(text, "names.yaml", built_in_workloads(), {true, {}});
}

/// Reads what RFC 4180 calls a file.
std::vector<std::vector<std::string>> csv_in(const std::string& text) {
  std::vector<std::vector<std::string>> result{{""}};
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto& field = result.back().back();
    const bool is_quote = text[i] == '"';
    if (is_quoted && is_quote && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (is_quote) {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text[i] == ',') {
      result.back().emplace_back();
    } else if (!is_quoted && text.compare(i, 2, "\r\n") == 0) {
      result.push_back({""});
      ++i;
    } else {
      field += text[i];
    }
  }
  result.pop_back(); // behind the last line
  return result;
}

struct Names : testing::TestWithParam<unsigned> {};

TEST_P(Names, WhatTheGrammarTakesPassesAdmissionAndMessages) {
  for (const auto& name : names_of(GetParam())) {
    SCOPED_TRACE(name);
    const auto read = admitted(study_of(quoted(name), quoted(name)));
    ASSERT_TRUE(read.study) << to_text(read.errors.at(0));
    const auto& spec = read.study->spec();
    EXPECT_EQ(spec.objective.metric, name);
    const auto trial = spec.space.at(0);
    ASSERT_EQ(trial.sequences.size(), 1u);
    EXPECT_EQ(trial.sequences.begin()->first, name);
    EXPECT_EQ(trial.shown.begin().key(), name);
    // As a client gives them.
    workload_descriptor any;
    any.open = true;
    const auto asked
      = read_parameters(trial.shown.dump(), spec.max_steps, any,
                        name_rules::today, spec.typed);
    ASSERT_TRUE(asked) << asked.failure().message;
    EXPECT_EQ(asked->sequences, trial.sequences);
    const auto config = join(trial.sequences, spec.max_steps).at(0).config;
    const auto back = decode_configuration(encode_configuration(config));
    ASSERT_TRUE(back) << back.failure().message;
    EXPECT_EQ(*back, config);
    stop_report report;
    report.lease = lease_id{1};
    report.node = node_id{1};
    report.device = "cpu";
    report.values[name] = 0.5;
    const auto told = decode(encode(resent{"key", report}));
    ASSERT_TRUE(told) << told.failure().message;
    EXPECT_EQ(told->report.values, report.values);
  }
}

TEST_P(Names, WhatItRefusesIsRefusedAtAdmissionWithItsReason) {
  int refused = 0;
  for (const auto& text : texts_of(GetParam())) {
    const auto why = refused_name(text);
    // What is no UTF-8 is no text of a study at all.
    if (!why || utf8_prefix(text) != text.size())
      continue;
    SCOPED_TRACE(text);
    ++refused;
    const auto metric = admitted(study_of(quoted(text), "a"));
    EXPECT_FALSE(metric.study);
    const auto key = admitted(study_of("loss", quoted(text)));
    ASSERT_FALSE(key.study);
    EXPECT_EQ(key.errors.at(0).message, "a key " + *why);
  }
  EXPECT_GT(refused, 10);
}

TEST_P(Names, WhatIsStoredIsReadBackAskedForAndWrittenOut) {
  const auto names = names_of(GetParam());
  const temporary_folder where;
  const std::string key = "key";
  stored_study study;
  study.id = study_id{1};
  study.name = "s";
  study.metric = names.front();
  json params;
  metrics values;
  configuration config;
  for (std::size_t i = 0; i < names.size(); ++i) {
    params[names[i]] = i;
    values[names[i]] = 0.5 + static_cast<double>(i);
    config[names[i]] = form::constant(static_cast<double>(i));
  }
  ASSERT_EQ(values.size(), names.size());
  {
    const auto store = std::move(*state_writer::open(where.path));
    stored_trial trial;
    trial.params = params.dump();
    trial.steps = trial.asked_to = 1;
    ASSERT_TRUE(store->commit(
      {study_saved{study}, trial_saved{study.id, trial},
       node_added{key, {node_id{1}, root_node, 0, 0, config}},
       result_added{key, {node_id{1}, 1, values, "cpu"}},
       event_added{study.id, key, trial_measured{0, node_id{1}, 1, {}, 0}}}));
  }
  const auto store = std::move(*state_reader::open(where.path));
  const auto plan = *store->load_plan(key);
  EXPECT_TRUE(plan.damage.empty());
  ASSERT_EQ(plan.nodes.size(), 1u);
  EXPECT_EQ(plan.nodes[0].config, config);
  ASSERT_EQ(plan.results.size(), 1u);
  EXPECT_EQ(plan.results[0].values, values);
  const auto events = *store->load_events(study.id, 0, 10);
  EXPECT_EQ(std::get<trial_measured>(events.at(0).what).values, values);
  const auto trials = *store->load_trials(study.id, 0, 10);
  EXPECT_EQ(json::parse(trials.at(0).params), params);

  study_history history{study, key, {}};
  const auto table = json::parse(*history.answer(*store, "table", 0));
  EXPECT_EQ(table.at("params").size(), names.size());
  for (const auto& name : names) {
    SCOPED_TRACE(name);
    const auto bytes = kj::arrayPtr(name.data(), name.size());
    const auto asked = read_http_target(
      std::string{"/api/studies/1/curves?metric="}
      + kj::encodeUriComponent(bytes).cStr());
    ASSERT_TRUE(asked) << asked.failure().message;
    ASSERT_EQ(asked->query.at("metric"), name);
    const auto curves = json::parse(
      *history.answer(*store, "curves", 0, asked->query.at("metric")));
    EXPECT_EQ(curves.at("metric"), name);
    EXPECT_EQ(curves.at("value").at(0), values.at(name));
    EXPECT_EQ(table.at("params").at(name).at(0), params.at(name));
  }

  run_record run;
  study_record record;
  record.name = "s";
  record.metric = names.front();
  trial_record trial;
  trial.params = params;
  trial.results = {{1, values}};
  trial.steps = 1;
  record.trials = {trial};
  run.studies = {record};
  const auto csv = csv_in(trials_csv(run));
  ASSERT_EQ(csv.size(), 2u);
  ASSERT_EQ(csv[0].size(), csv[1].size());
  EXPECT_EQ(std::set<std::string>(csv[0].begin(), csv[0].end()).size(),
            csv[0].size())
    << "two columns have one name";
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto column = std::find(csv[0].begin() + 7, csv[0].end(), names[i]);
    if (column == csv[0].end())
      column = std::find(csv[0].begin(), csv[0].end(), "params_" + names[i]);
    ASSERT_NE(column, csv[0].end()) << names[i];
    EXPECT_EQ(csv[1][static_cast<std::size_t>(column - csv[0].begin())],
              std::to_string(i))
      << names[i];
  }
  const auto told = json::parse(study_json(record));
  const auto& first = told.at("trials").at(0);
  EXPECT_EQ(first.at("params"), params);
  EXPECT_EQ(first.at("results").at(0).at("metrics").size(), names.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Names, testing::Range(1u, 3u));

TEST(NamesOfAddresses, WhatIsNoEscapeIsRefused) {
  for (const auto* url : {"/a%", "/a%2", "/%zz", "/?a=%", "/?a=%f", "/?%=1",
                          "/%ff", "/?a=%c3%28", "/%00", "/?a=%00", "/?a=1&a=2",
                          "/?a=1&%61=2"})
    EXPECT_FALSE(read_http_target(url)) << url;
}

TEST(NamesOfAddresses, EachPartIsDecodedOnce) {
  const auto x = *read_http_target("/a%2Fb/c+d/%2525?e%20f=g+h%2B&i=%2520&j");
  EXPECT_EQ(x.path, (std::vector<std::string>{"a/b", "c+d", "%25"}));
  EXPECT_EQ(x.query, (std::map<std::string, std::string>{
                       {"e f", "g h+"}, {"i", "%20"}, {"j", ""}}));
}

} // namespace
} // namespace hippo::test
