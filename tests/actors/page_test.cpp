// What the page of a service is made of: its files, studies by columns, news.

#include "actors/gateway_fixture.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>
#include <zlib.h>

#include "gateway/web_files.hpp"

namespace hippo::test {
namespace {

using json = nlohmann::json;

const std::string dozen_text = R"(
study: dozen
workload: {name: sum}
objective: {metric: sum}
max_steps: 2
space: {lr: {uniform: [0.1, 0.2], points: 12}}
algorithm: grid
)";

class PageTest : public gateway_test {
public:
  PageTest() { options.http_port = 0; }

  static std::string body_of(const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }
  /// Returns the value of a header, empty if there is none.
  static std::string header_of(const std::string& answer,
                               const std::string& name) {
    const auto at = answer.find("\r\n" + name + ": ");
    if (at == std::string::npos || at > answer.find("\r\n\r\n"))
      return {};
    const auto from = at + name.size() + 4;
    return answer.substr(from, answer.find("\r\n", from) - from);
  }
  std::string get_with(const std::string& path, const std::string& headers) {
    return http("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers
                + "Connection: close\r\n\r\n");
  }
  json columns(const std::string& path) {
    const auto answer = get(path);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
    return json::parse(body_of(answer));
  }
  int status_of(const std::string& answer) {
    return std::stoi(answer.substr(9, 3));
  }
  void train(const std::string& text) {
    auto me = enter();
    EXPECT_EQ(wait(submit(me, text)), "COMPLETE");
  }
};

std::string unzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string result(1 << 20, '\0');
  auto input = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

// -- files --------------------------------------------------------------------

TEST_F(PageTest, ServesEachFileWithItsTypeAndWithoutOtherHosts) {
  open();
  EXPECT_EQ(body_of(get("/")), body_of(get("/index.html")));
  ASSERT_GE(web_files().size(), 10u);
  for (const auto& x : web_files()) {
    const auto name = std::string{x.name};
    const auto answer = get('/' + name);
    EXPECT_EQ(body_of(answer), x.bytes) << name;
    const auto type = header_of(answer, "Content-Type");
    EXPECT_TRUE(type.starts_with(name.ends_with(".js")    ? "text/javascript"
                                 : name.ends_with(".css") ? "text/css"
                                                          : "text/html"))
      << type;
    const auto policy = header_of(answer, "Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << policy;
    EXPECT_EQ(policy.find("http"), std::string::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(header_of(answer, "X-Content-Type-Options"), "nosniff");
  }
}

TEST_F(PageTest, HasWhatItsFilesImport) {
  std::set<std::string> names;
  for (const auto& x : web_files())
    names.emplace(x.name);
  for (const auto& x : web_files()) {
    const std::string text{x.bytes};
    for (std::size_t at = 0; (at = text.find("\"./", at)) != std::string::npos;
         ++at) {
      const auto from = at + 3;
      const auto name = text.substr(from, text.find('"', from) - from);
      EXPECT_TRUE(names.contains(name)) << x.name << " imports " << name;
    }
  }
}

TEST_F(PageTest, AsksForNothingThatIsNotThere) {
  open();
  for (const auto* path : {"/none.js", "/web/app.js", "/../app.js", "/api",
                           "/api/studies/1/columns", "/app.js/x"})
    EXPECT_EQ(status_of(get(path)), 404) << path;
}

// -- one study, one trial, the service ----------------------------------------

TEST_F(PageTest, AStudySaysWhenItImprovedAndInWhichStatesItsTrialsAre) {
  open();
  train(grid_text);
  const auto study = columns("/api/studies/grid");
  EXPECT_EQ(study.at("trials_by_state"), (json{{"COMPLETE", 3}}));
  const auto& best = study.at("best");
  const auto all = columns("/api/studies/grid/events");
  double heard = 0;
  for (const auto& x : all.at("events"))
    if (x.at("trial") == best.at("trial")
        && x.at("step") == best.at("best").at("step"))
      heard = x.at("time");
  EXPECT_EQ(study.at("improved"), heard);
}

TEST_F(PageTest, EventsOfATrial) {
  open();
  train(grid_text);
  const auto all = columns("/api/studies/grid/events").at("events");
  const std::string path = "/api/studies/grid/events?trial=2&after=";
  const auto mine = columns(path + "0");
  std::vector<int> steps;
  for (const auto& x : mine.at("events")) {
    EXPECT_EQ(x.at("trial"), 2);
    EXPECT_NE(std::find(all.begin(), all.end(), x), all.end());
    steps.push_back(x.at("step"));
  }
  EXPECT_EQ(steps, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(mine.at("next"), mine.at("events").back().at("id"));
  const auto rest = columns(path + mine.at("next").dump());
  EXPECT_TRUE(rest.at("events").empty());
  EXPECT_EQ(rest.at("next"), mine.at("next"));
  EXPECT_EQ(status_of(get("/api/studies/grid/events?trial=two")), 400);
}

TEST_F(PageTest, TheServiceSaysWhatItKeeps) {
  open();
  const auto none = columns("/api/service");
  EXPECT_TRUE(none.at("checkpoints").empty());
  EXPECT_TRUE(none.at("merge_rate").is_null());
  EXPECT_TRUE(none.at("checkpoint_bytes_max").is_null()) << "no limit";
  train(grid_text);
  // 12 steps were delivered, and 10 of them trained, all by one study.
  const auto x = columns("/api/service");
  EXPECT_DOUBLE_EQ(x.at("merge_rate"), 1.2);
  EXPECT_DOUBLE_EQ(x.at("k_wise_merge_rate"), 1);
  ASSERT_EQ(x.at("checkpoints").size(), 1u);
  EXPECT_EQ(x.at("checkpoints")[0].at("workload"),
            columns("/api/studies/grid").at("workload"));
  EXPECT_GT(x.at("memory_bytes"), 0);
}

// -- studies by columns -------------------------------------------------------

TEST_F(PageTest, ATableHasARowForEachTrial) {
  open();
  train(grid_text);
  const auto x = columns("/api/studies/grid/table");
  EXPECT_EQ(x.at("trial"), (json{0, 1, 2}));
  EXPECT_EQ(x.at("state"), (json{"COMPLETE", "COMPLETE", "COMPLETE"}));
  EXPECT_EQ(x.at("delivered_steps"), (json{4, 4, 4}));
  EXPECT_EQ(x.at("asked_steps"), (json{4, 4, 4}));
  EXPECT_EQ(x.at("params").at("lr").at(1), 0.2);
  EXPECT_TRUE(x.at("params").at("lr").at(2).is_string()); // a schedule
  EXPECT_TRUE(x.at("failures").empty());
  for (const auto& [name, column] : x.items())
    EXPECT_TRUE(!column.is_array() || column.size() == 3) << name;
}

TEST_F(PageTest, CurvesHaveARowForEachResult) {
  open();
  train(grid_text);
  const auto x = columns("/api/studies/1/curves");
  EXPECT_EQ(x.at("metric"), "sum");
  EXPECT_EQ(x.at("whole"), true);
  ASSERT_EQ(x.at("trial").size(), 12u);
  for (const auto* name : {"step", "value", "seconds"})
    EXPECT_EQ(x.at(name).size(), 12u) << name;
  std::set<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < 12; ++i) {
    const auto trial = x.at("trial")[i].get<int>();
    const auto step = x.at("step")[i].get<int>();
    EXPECT_TRUE(seen.emplace(trial, step).second);
    if (trial == 1) {
      EXPECT_NEAR(x.at("value")[i].get<double>(), 0.2 * step, 1e-9);
    }
  }
}

TEST_F(PageTest, CurvesAreOfAnyMetricThatIsMeasured) {
  open();
  EXPECT_EQ(status_of(get("/api/studies/1/curves?metric=sum")), 404);
  train(grid_text);
  const auto objective = columns("/api/studies/1/curves");
  EXPECT_EQ(objective.at("metrics"), (json{"other", "sum"}));
  EXPECT_EQ(columns("/api/studies/1/curves?metric=sum"), objective);
  auto other = columns("/api/studies/1/curves?metric=other");
  EXPECT_NE(other.at("value"), objective.at("value"));
  EXPECT_EQ(other.at("metric"), "other");
  other["metric"] = "sum";
  other["value"] = objective.at("value");
  EXPECT_EQ(other, objective); // in all else
  const auto next = objective.at("next").get<std::uint64_t>();
  EXPECT_EQ(columns("/api/studies/1/curves?metric=sum&after="
                    + std::to_string(next - 1)),
            columns("/api/studies/1/curves?after=" + std::to_string(next - 1)));
  const auto refused = get("/api/studies/1/curves?metric=summ");
  EXPECT_EQ(status_of(refused), 400);
  EXPECT_NE(refused.find("did you mean 'sum'?"), std::string::npos) << refused;
  EXPECT_EQ(status_of(get("/api/studies/1/tree?metric=sum")), 400);
}

TEST_F(PageTest, WhatAPageHasIsNotToldAgain) {
  open();
  gate.open(false);
  auto me = enter();
  auto study = submit(me, grid_text);
  const auto first = columns("/api/studies/1/table");
  EXPECT_EQ(first.at("whole"), true);
  const auto version = std::to_string(first.at("version").get<std::uint64_t>());
  gate.open(true);
  EXPECT_EQ(wait(study), "COMPLETE");
  const auto later = columns("/api/studies/1/table?after=" + version);
  EXPECT_EQ(later.at("whole"), false);
  EXPECT_EQ(later.at("trial"), (json{0, 1, 2}));
  EXPECT_EQ(later.at("state"), (json{"COMPLETE", "COMPLETE", "COMPLETE"}));
  const auto last = std::to_string(later.at("version").get<std::uint64_t>());
  EXPECT_TRUE(
    columns("/api/studies/1/table?after=" + last).at("trial").empty());
  // Of a version that is not of this service, nothing is known.
  for (const auto* other : {"1", "99999999999999999"}) {
    const auto x
      = columns("/api/studies/1/table?after=" + std::string{other});
    EXPECT_EQ(x.at("whole"), true);
    EXPECT_EQ(x.at("trial").size(), 3u);
  }
  const auto curves = columns("/api/studies/1/curves");
  const auto next = curves.at("next").get<std::uint64_t>();
  const auto rest = columns("/api/studies/1/curves?after="
                            + std::to_string(next - 1));
  EXPECT_EQ(rest.at("trial").size(), 1u);
  EXPECT_EQ(rest.at("start"), curves.at("start"));
  EXPECT_EQ(rest.at("next"), next);
  EXPECT_EQ(status_of(get("/api/studies/1/tree?after=1")), 400);
}

TEST_F(PageTest, TheTreeOfAnEndedStudyHasEachStageOnce) {
  open();
  train(grid_text);
  const auto x = columns("/api/studies/1/tree");
  const auto nodes = x.at("id").size();
  EXPECT_EQ(x.at("all_nodes"), nodes);
  for (const auto* name : {"parent", "begin", "end", "trials", "label"})
    ASSERT_EQ(x.at(name).size(), nodes) << name;
  // Trial 1 is alone; the other two share two steps: 4 + 2 + 2 + 2 are trained,
  // in nodes that go on until their last step.
  std::map<int, std::size_t> place;
  int trials_at_roots = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    EXPECT_LT(x.at("begin")[i], x.at("end")[i]);
    const auto parent = x.at("parent")[i].get<int>();
    if (parent == 0) {
      EXPECT_EQ(x.at("begin")[i], 0);
      trials_at_roots += x.at("trials")[i].get<int>();
    } else {
      ASSERT_TRUE(place.contains(parent)) << "a parent comes first";
      EXPECT_GE(x.at("trials")[place.at(parent)], x.at("trials")[i]);
    }
    place[x.at("id")[i].get<int>()] = i;
  }
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(trials_at_roots, 3);
  EXPECT_EQ(x.at("at").at("trial"), (json{0, 1, 2}));
  EXPECT_EQ(x.at("at").at("step"), (json{4, 4, 4}));
  EXPECT_EQ(columns("/api/studies/1").at("state"), "COMPLETE");
}

TEST_F(PageTest, StagesTellWhichStudiesPassThemAndWhoTrainedThem) {
  open();
  train(grid_text);
  const auto ids = columns("/api/studies/1/tree").at("id");
  const auto done = columns("/api/timeline");
  ASSERT_GE(done.at("node").size(), 3u);
  for (const auto& where : done.at("node"))
    EXPECT_TRUE(std::ranges::find(ids, where) != ids.end()) << where;
  // Passes the stage of trial 1, and is measured behind it alone.
  train(R"(
study: late
workload: {name: sum}
objective: {metric: sum}
eval_every: 4
max_steps: 4
space: {lr: {multistep: {initial: 0.2, milestones: [2], gamma: 0.5}}}
algorithm: grid
)");
  const auto x = columns("/api/studies/1/sharing");
  EXPECT_EQ(x.at("node"), ids);
  std::vector<json> studies{x.at("studies").begin(), x.at("studies").end()};
  std::ranges::sort(studies);
  EXPECT_EQ(studies, (std::vector<json>{{1}, {1}, {1, 2}}));
}

TEST_F(PageTest, StagesKeepWhoTrainedThemAndWhen) {
  open();
  train(grid_text);
  const auto ids = columns("/api/studies/1/tree").at("id");
  const auto names = columns("/api/trainers");
  const auto x = columns("/api/studies/1/work");
  std::set<std::uint64_t> nodes;
  for (std::size_t i = 0; i < x.at("node").size(); ++i) {
    nodes.insert(x.at("node")[i].get<std::uint64_t>());
    EXPECT_LE(x.at("from_step")[i], x.at("to_step")[i]);
    EXPECT_EQ(x.at("from"), x.at("from_step")); // their former names
    EXPECT_EQ(x.at("to"), x.at("to_step"));
    EXPECT_GT(x.at("begin")[i], 1.6e9);
    EXPECT_LE(x.at("begin")[i], x.at("end")[i]);
    EXPECT_TRUE(std::ranges::any_of(names, [&](const json& y) {
      return y.at("name") == x.at("trainer")[i];
    })) << x.at("trainer")[i];
  }
  EXPECT_EQ(nodes, ids.get<std::set<std::uint64_t>>());
  for (const auto& y : names) {
    EXPECT_EQ(y.at("failures"), 0);
    EXPECT_TRUE(y.at("failure").is_null());
  }
}

TEST_F(PageTest, SchedulesAreThoseThatTrialsWereTrainedWith) {
  open();
  train(grid_text);
  const auto x = columns("/api/studies/1/schedules").at("parameters");
  ASSERT_EQ(x.size(), 1u) << x;
  const auto& lr = x.at("lr");
  EXPECT_EQ(lr.at("trial"), (json{0, 1, 2}));
  EXPECT_EQ(lr.at("all_curves"), 3);
  const auto of_last = lr.at("curve").at(2).get<std::size_t>();
  EXPECT_EQ(lr.at("step").at(of_last), (json{0, 1, 2, 3}));
  EXPECT_EQ(lr.at("value").at(of_last), (json{0.1, 0.1, 0.05, 0.05}));
}

TEST_F(PageTest, OutputOfATrialIsAskedForInParts) {
  open();
  train(grid_text);
  const auto none = columns("/api/studies/1/output?trial=1");
  EXPECT_EQ(none.at("text"), "");
  EXPECT_EQ(none.at("ended"), true);
  EXPECT_EQ(status_of(get("/api/studies/1/output?trial=99")), 400);
  EXPECT_EQ(status_of(get("/api/studies/1/output?step=1")), 400);
}

TEST_F(PageTest, APreviewHasATreeThatSaysWhatIsKnown) {
  open();
  train(grid_text);
  const auto preview = [&](const std::string& text) {
    const auto body = json{{"text", text}, {"name", "x.yaml"}}.dump();
    const auto answer
      = http("POST /api/preview HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Type: application/json\r\nHippo-Page: 1\r\n"
             "Connection: close\r\nContent-Length: "
             + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(status_of(answer), 200) << answer;
    return json::parse(body_of(answer));
  };
  const auto known = preview(grid_text).at("tree");
  EXPECT_EQ(known.at("known_to"), known.at("end"));
  auto longer = grid_text;
  longer.replace(longer.find("max_steps: 4"), 12, "max_steps: 6");
  const auto found = preview(longer);
  const auto& tree = found.at("tree");
  std::uint64_t steps = 0, steps_known = 0;
  for (std::size_t i = 0; i < tree.at("id").size(); ++i) {
    const auto begin = tree.at("begin")[i].get<std::uint64_t>();
    steps += tree.at("end")[i].get<std::uint64_t>() - begin;
    steps_known += tree.at("known_to")[i].get<std::uint64_t>() - begin;
  }
  EXPECT_EQ(steps, found.at("unique_steps"));
  EXPECT_EQ(steps_known, found.at("known_steps"));
  EXPECT_EQ(steps_known, 10u);
  // It is drawn among what the other study has, which passes all of that.
  EXPECT_EQ(known.at("others"), known.at("trials"));
  auto other = grid_text;
  other.replace(other.find("- 0.2"), 5, "- 0.3");
  const auto beside = preview(other).at("tree");
  std::multiset<std::pair<int, int>> trials; // of it, and of others
  for (std::size_t i = 0; i < beside.at("id").size(); ++i)
    trials.emplace(beside.at("trials")[i], beside.at("others")[i]);
  EXPECT_EQ(trials, (std::multiset<std::pair<int, int>>{
                      {2, 2}, {1, 1}, {1, 1}, {0, 1}, {1, 0}}));
}

TEST_F(PageTest, APreviewHasWhatStudiesThatRunAskFor) {
  open();
  gate.open(false);
  auto me = enter();
  auto study = submit(me, grid_text);
  const auto body = json{{"text", grid_text}, {"name", "x.yaml"}}.dump();
  const auto answer
    = http("POST /api/preview HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Type: application/json\r\nHippo-Page: 1\r\n"
           "Connection: close\r\nContent-Length: "
           + std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_EQ(status_of(answer), 200) << answer;
  const auto found = json::parse(body_of(answer));
  EXPECT_EQ(found.at("known_steps"), 0);
  EXPECT_EQ(found.at("tree").at("others"), found.at("tree").at("trials"));
  gate.open(true);
  EXPECT_EQ(wait(study), "COMPLETE");
}

TEST_F(PageTest, OfNothingThereAreEmptyColumns) {
  open();
  gate.open(false);
  auto me = enter();
  auto study = submit(me, grid_text);
  EXPECT_TRUE(columns("/api/studies/1/curves").at("trial").empty());
  EXPECT_TRUE(columns("/api/studies/1/tree").at("id").empty());
  gate.open(true);
  EXPECT_EQ(wait(study), "COMPLETE");
  // Answers that are kept are those of now.
  EXPECT_EQ(columns("/api/studies/1/curves").at("trial").size(), 12u);
  EXPECT_EQ(columns("/api/studies/1/tree").at("id").size(), 3u);
  for (const auto* what : {"table", "curves", "tree", "importance"})
    EXPECT_EQ(status_of(get(std::string{"/api/studies/9/"} + what)), 404);
}

TEST_F(PageTest, ImportanceComparesTrialsAtAStep) {
  open();
  train(dozen_text);
  const auto x = columns("/api/studies/dozen/importance");
  EXPECT_EQ(x.at("step"), 2);
  EXPECT_EQ(x.at("trials"), 12);
  EXPECT_EQ(x.at("best"), 2);
  ASSERT_EQ(x.at("importance").size(), 1u);
  EXPECT_EQ(x.at("importance")[0].at("parameter"), "lr");
  EXPECT_EQ(x.at("importance")[0].at("share"), 1.0);
  EXPECT_EQ(columns("/api/studies/1/importance?step=1").at("step"), 1);
  // Its former name is taken, too.
  EXPECT_EQ(columns("/api/studies/1/importance?at=1").at("step"), 1);
  const auto nobody = get("/api/studies/1/importance?step=3");
  EXPECT_EQ(status_of(nobody), 400);
  EXPECT_NE(nobody.find("has 0 results at step 3"), std::string::npos)
    << nobody;
  EXPECT_EQ(status_of(get("/api/studies/1/importance?step=x")), 400);
  EXPECT_EQ(status_of(get("/api/studies/1/importance?steps=1")), 400);
  EXPECT_EQ(columns("/api/studies/1/importance?metric=sum"), x);
  const auto other = get("/api/studies/1/importance?metric=loss");
  EXPECT_EQ(status_of(other), 400);
  EXPECT_NE(other.find("'loss' is no goal of study 'dozen': sum"),
            std::string::npos)
    << other;
}

TEST_F(PageTest, TooFewTrialsHaveNoImportance) {
  open();
  train(grid_text);
  const auto answer = get("/api/studies/1/importance");
  EXPECT_EQ(status_of(answer), 400);
  EXPECT_NE(answer.find("has 3 results at step 4"), std::string::npos);
  EXPECT_NE(answer.find("at least 10"), std::string::npos);
}

// -- how it comes -------------------------------------------------------------

TEST_F(PageTest, WhatIsKnownIsNotSentAgain) {
  open();
  train(grid_text);
  const std::string path = "/api/studies";
  const auto first = get(path);
  const auto tag = header_of(first, "ETag");
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(header_of(first, "Cache-Control"), "no-cache");
  const auto again = get_with(path, "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(status_of(again), 304);
  EXPECT_TRUE(body_of(again).empty());
  EXPECT_EQ(status_of(get_with(path, "If-None-Match: \"other\"\r\n")), 200);
  train(dozen_text);
  const auto changed = get_with(path, "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(status_of(changed), 200);
  EXPECT_NE(header_of(changed, "ETag"), tag);
}

TEST_F(PageTest, CompressesForThoseWhoTakeIt) {
  open();
  const auto plain = get("/charts.js");
  EXPECT_EQ(header_of(plain, "Content-Encoding"), "");
  const auto zipped = get_with("/charts.js", "Accept-Encoding: br, gzip\r\n");
  EXPECT_EQ(header_of(zipped, "Content-Encoding"), "gzip");
  EXPECT_EQ(header_of(zipped, "Vary"), "Accept-Encoding");
  EXPECT_LT(body_of(zipped).size() * 2, body_of(plain).size());
  EXPECT_EQ(unzip(body_of(zipped)), body_of(plain));
  const auto refused
    = get_with("/charts.js", "Accept-Encoding: gzip;q=0\r\n");
  EXPECT_EQ(header_of(refused, "Content-Encoding"), "");
}

TEST_F(PageTest, IsAskedByANameOfThisMachineOnly) {
  open();
  const auto asked = [&](const std::string& host) {
    return status_of(http("GET /api/studies HTTP/1.1\r\nHost: " + host
                          + "\r\nConnection: close\r\n\r\n"));
  };
  for (const auto* host : {"localhost", "localhost:4850", "127.0.0.1",
                           "127.0.0.1:80", "[::1]:4850"})
    EXPECT_EQ(asked(host), 200) << host;
  for (const auto* host :
       {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
        "127.evil.example:4850", "[::1].evil.example", "[::1]evil", ""})
    EXPECT_EQ(asked(host), 403) << host;
}

// -- news ---------------------------------------------------------------------

TEST_F(PageTest, TheStreamTellsWhenSomethingWasStored) {
  open();
  raw_socket page{node->server().http_port()};
  page.send("GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto first = page.read_until("\n\n");
  EXPECT_NE(first.find("text/event-stream"), std::string::npos) << first;
  EXPECT_NE(first.find("event: news\n"), std::string::npos) << first;
  gate.open(false);
  auto me = enter();
  submit(me, grid_text);
  const auto next = page.read_until("\n\n");
  EXPECT_NE(next.find("id: "), std::string::npos) << next;
  EXPECT_NE(next, first);
}

TEST_F(PageTest, AStreamGoesOnWhereItWasBroken) {
  open();
  const auto listen = [&](const std::string& heard) {
    auto page = std::make_unique<raw_socket>(node->server().http_port());
    page->send("GET /api/stream HTTP/1.1\r\nHost: localhost\r\n" + heard
               + "\r\n");
    auto head = page->read_until("\r\n\r\n");
    const auto end = head.find("\r\n\r\n") + 4;
    return std::pair{std::move(page), head.substr(end)};
  };
  auto [first, rest] = listen("");
  const auto news = rest.empty() ? first->read_until("\n\n") : rest;
  const auto from = news.find("id: ") + 4;
  const auto id = news.substr(from, news.find('\n', from) - from);
  EXPECT_NE(id.find('.'), std::string::npos) << news;
  auto [same, hello] = listen("Last-Event-ID: " + id + "\r\n");
  EXPECT_EQ((hello.empty() ? same->read_until("\n\n") : hello).find("news"),
            std::string::npos);
  // What another service has told means nothing here.
  auto [other, told] = listen("Last-Event-ID: 1.7\r\n");
  EXPECT_NE((told.empty() ? other->read_until("\n\n") : told).find("news"),
            std::string::npos);
}

TEST_F(PageTest, APageIsToldWhatItHasHeardOf) {
  open();
  train(grid_text);
  raw_socket page{node->server().http_port()};
  page.send("GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto news = page.read_until("data: {}\n\n");
  const auto from = news.find("id: ") + 4;
  const auto heard = "Hippo-News: "
                     + news.substr(from, news.find('\n', from) - from)
                     + "\r\n";
  const auto studies = [&](const std::string& headers) {
    return json::parse(body_of(get_with("/api/studies", headers))).size();
  };
  EXPECT_EQ(studies(heard), 1u);
  train(dozen_text);
  // Whoever has not heard of it may be told what was; all others are told all.
  EXPECT_GE(studies(heard), 1u);
  EXPECT_EQ(studies(""), 2u);
  EXPECT_EQ(studies("Hippo-News: 1.7\r\n"), 2u);
}

TEST_F(PageTest, PagesThatListenDoNotKeepAServiceFromEnding) {
  open();
  raw_socket page{node->server().http_port()};
  page.send("GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  page.read_until("\n\n");
  node.reset();
  page.read_all();
}

} // namespace
} // namespace hippo::test
