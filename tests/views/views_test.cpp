// Studies, trials and trainers as HTTP, the C++ client and the command line
// show them, beside golden/: JSON that programs of release 0.1 have written of
// the same state, and messages and listings of protocol 2, which this test
// writes itself if HIPPO_WRITE_GOLDEN is set.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <capnp/serialize.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client_listings.hpp"
#include "gateway/archive.hpp"
#include "gateway/live_study.hpp"
#include "gateway/trainer_views.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/model/view/view_wire.hpp"
#include "hippo/search/accepted_study.hpp"
#include "service.capnp.h"
#include "store/folder_fixture.hpp"
#include "views/view_sample.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

std::string golden(const std::string& name) {
  std::ifstream in{VIEWS_GOLDEN "/" + name, std::ios::binary};
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Returns what is golden; first writes it if that is wanted.
std::string golden(const std::string& name, const std::string& now) {
  if (std::getenv("HIPPO_WRITE_GOLDEN") != nullptr)
    std::ofstream{VIEWS_GOLDEN "/" + name, std::ios::binary} << now;
  return golden(name);
}

json golden_json(const std::string& name) {
  return json::parse(golden(name));
}

/// Decodes a message.
template <class Schema>
auto decoded(const std::string& bytes) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  capnp::FlatArrayMessageReader message{words};
  return decode(message.getRoot<Schema>());
}

/// Encodes a view.
template <class Schema, class View>
std::string encoded(const View& x) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Schema>(), x);
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

/// Sends a view, and returns what arrives.
template <class Schema, class View>
View sent(const View& x) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Schema>(), x);
  return decode(message.getRoot<Schema>().asReader());
}

/// Whether a field of the C++ client of 0.1 has the value that JSON has now:
/// texts were empty where there is none, and JSON was a text.
bool is_same(const json& before, const json& now) {
  if (before.is_object()) {
    for (const auto& [name, value] : before.items())
      if (!is_same(value, now.at(name)))
        return false;
    return true;
  }
  if (!before.is_string() || now.is_string())
    return before == now;
  const auto text = before.get<std::string>();
  return text.empty() ? now.is_null()
                      : nlohmann::json::parse(text)
                          == nlohmann::json::parse(now.dump()); // in any order
}

struct ViewsTest : folder_test {
  std::vector<study_view> studies;
  std::vector<trial_view> trials;
  std::vector<trainer_view> trainers;

  ViewsTest() {
    const std::vector<workload_descriptor> workloads{sample_workload()};
    const auto read = admit_study("study: a\nworkload: {name: sum}\n"
                                  "max_steps: 9\n"
                                  "space: {lr: {uniform: [0, 1]}}\n"
                                  "objective: {metric: sum}\n"
                                  "algorithm: random\nbudget: {trials: 8}\n",
                                  "a.yaml", workloads);
    const auto key = key_of(read.study->spec().workload);
    EXPECT_TRUE(open()->commit(view_sample(key)));
    archive from{std::move(*state_reader::open(path())), workloads, ""};
    for (const std::uint64_t id : {1, 2, 3}) {
      auto known = from.describe(study_id{id});
      EXPECT_TRUE(known);
      // Each state has identities and times of its own.
      EXPECT_EQ(known->view.uid.size(), 32u);
      known->view.uid = "0123456789abcdef";
      EXPECT_EQ(known->view.improved.has_value(), id == 1);
      if (known->view.improved)
        known->view.improved = 1700000100.25;
      studies.push_back(live_view_of(std::move(*known), live_sample(key)));
    }
    trials = *from.trials(study_id{1}, 0, 10);
    trainers = trainer_views(live_sample(key), {"lr"});
  }
};

/// Without the order of fields, which says nothing.
nlohmann::json unordered(const json& x) {
  return nlohmann::json::parse(x.dump());
}

/// The names of fields since release 0.1, and those of before.
const std::map<std::string, std::string> former_names{
  {"delivered_steps", "steps"}, {"values", "what"}, {"step", "at"},
  {"to_step", "to"}, {"trainer", "number"}, {"failure", "failed"}};

/// Returns JSON in which fields have their former names alone, where they have
/// one, having seen that both have one value.
json with_former_names(const json& x) {
  if (!x.is_object())
    return x;
  auto result = x;
  for (const auto& [now, before] : former_names)
    if (x.contains(now) && x.contains(before)) {
      EXPECT_EQ(x.at(now), x.at(before)) << now;
      if (x.at(now) == x.at(before))
        result.erase(now);
    }
  for (auto& [name, value] : result.items())
    value = with_former_names(value);
  return result;
}

/// Expects that the same fields have the same values.
void expect_fields(const json& expected, const json& shown) {
  ASSERT_EQ(shown.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(unordered(with_former_names(shown[i])), unordered(expected[i]));
}

TEST_F(ViewsTest, HttpShowsTheFieldsOfBefore) {
  auto expected = golden_json("http-studies.json");
  const std::vector<std::uint64_t> failed{1, 0, 0};
  for (std::size_t i = 0; i < failed.size(); ++i) {
    expected[i]["failed"] = failed[i]; // which messages alone had
    expected[i]["initial_state"] = nullptr; // which has come since
    expected[i]["note"] = nullptr;
    expected[i]["tags"] = json::array();
    expected[i]["removed"] = false;
    expected[i]["seeds"] = 1;
    if (expected[i]["best"].is_object())
      expected[i]["best"]["spread"] = nullptr;
  }
  expect_fields(expected, to_json(studies));
  auto of_trials = golden_json("http-trials.json");
  for (auto& x : of_trials)
    x["spread"] = nullptr;
  expect_fields(of_trials, to_json(trials));
  auto of_trainers = golden_json("http-trainers.json");
  for (auto& x : of_trainers) {
    x["seconds_left"] = nullptr;
    if (x["lease"].is_object())
      x["lease"]["members"] = 1;
  }
  expect_fields(of_trainers, to_json(trainers));
}

TEST_F(ViewsTest, ClientsGetAllFields) {
  for (const auto& x : studies)
    EXPECT_EQ(sent<schema::StudyView>(x), x) << to_json(x);
  for (const auto& x : trials)
    EXPECT_EQ(sent<schema::TrialView>(x), x) << to_json(x);
  trainers.front().seconds_left = 5400;
  ASSERT_TRUE(trainers.front().lease);
  trainers.front().lease->members = 4;
  for (const auto& x : trainers)
    EXPECT_EQ(sent<schema::TrainerView>(x), x) << to_json(x);
}

/// Expects that views are read from messages that were written before.
template <class Schema, class View>
void expect_messages(const std::string& name, const std::vector<View>& views) {
  for (std::size_t i = 0; i < views.size(); ++i)
    EXPECT_EQ(decoded<Schema>(golden(name + "-" + std::to_string(i) + ".bin",
                                     encoded<Schema>(views[i]))),
              views[i])
      << to_json(views[i]);
}

TEST_F(ViewsTest, MessagesOfProtocol2AreRead) {
  ASSERT_EQ(std::uint32_t{schema::SERVICE_PROTOCOL_VERSION}, 2u);
  expect_messages<schema::StudyView>("study", studies);
  expect_messages<schema::TrialView>("trial", trials);
  expect_messages<schema::TrainerView>("trainer", trainers);
}

/// Events of all kinds.
std::vector<event_view> event_sample() {
  std::vector<event_view> result(4);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = {10 * i + 1, 1.7e9, i, 3, {}, {}, {}, {}};
  result[0].measured = metrics{{"acc", 0.5}, {"loss", 0.25}};
  result[1].failure = "loss is nan";
  result[2].command = command_view{"weight", "2"};
  result[3].chosen = "startup";
  return result;
}

TEST_F(ViewsTest, EventsHaveTheFieldsOfTheirKind) {
  const auto events = event_sample();
  for (const auto& x : events)
    EXPECT_EQ(sent<schema::EventView>(x), x) << to_json(x);
  expect_messages<schema::EventView>("event", events);
  const auto shown = to_json(events);
  const auto head = [](int id, int trial) {
    return json{{"id", id}, {"time", 1.7e9}, {"trial", trial}, {"step", 3}};
  };
  auto measured = head(1, 0), failed = head(11, 1), command = head(21, 2),
       chosen = head(31, 3);
  measured["measured"] = {{"acc", 0.5}, {"loss", 0.25}};
  failed["failure"] = "loss is nan";
  failed["failed"] = failed["failure"];
  command["command"] = "weight";
  command["text"] = "2";
  chosen["chosen"] = "startup";
  EXPECT_EQ(shown, (json{measured, failed, command, chosen}));
}

TEST_F(ViewsTest, TheClientShowsTheFieldsOfBefore) {
  const auto all = golden_json("client-studies.json");
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto now = to_json(studies[i]);
    now.emplace("front", nullptr); // left out if there is none
    now["deadline_left"] = now.at("deadline_seconds_left");
    for (const auto& [name, value] : all[i].items())
      EXPECT_TRUE(is_same(value, now.at(name)))
        << name << " of study " << i << ": " << value << now.at(name);
  }
  const auto of_trials = golden_json("client-trials.json");
  const auto now = to_json(trials);
  for (std::size_t i = 0; i < of_trials.size(); ++i)
    EXPECT_TRUE(is_same(of_trials[i], now[i])) << now[i];
  const auto of_trainers = golden_json("client-trainers.json");
  for (std::size_t i = 0; i < of_trainers.size(); ++i) {
    auto now_of = to_json(trainers[i]);
    for (const auto* name : {"price", "work_cost", "idle_cost"})
      if (now_of.at(name).is_null()) // 0 where its machine is unknown
        now_of[name] = 0.0;
    EXPECT_TRUE(is_same(of_trainers[i], now_of)) << now_of;
  }
}

TEST_F(ViewsTest, AWordThatIsUnknownIsMalformed) {
  capnp::MallocMessageBuilder message;
  message.initRoot<schema::TrialView>().setState("SLEEPING");
  try {
    decode(message.getRoot<schema::TrialView>().asReader());
    FAIL();
  } catch (const kj::Exception& why) {
    EXPECT_EQ(kj::str(why.getDescription()),
              kj::str("malformed_message: the service speaks of a trial that "
                      "is 'SLEEPING', which this client does not know"));
  }
}

std::string columns_of(const listing& x) {
  std::string result;
  for (const auto& y : x.columns)
    result += y.name + ", look " + std::to_string(static_cast<int>(y.look))
              + (y.shown ? ", shown" : "") + ", spare "
              + std::to_string(y.spare) + (y.whole ? ", whole" : "")
              + (y.in_data ? ", in data" : "") + "\n";
  return result;
}

void expect_listing(const std::string& name, const listing& x) {
  SCOPED_TRACE(name);
  const auto expect_golden = [](const std::string& file,
                                const std::string& now) {
    EXPECT_EQ(now, golden(file, now));
  };
  expect_golden(name + "-columns.txt", columns_of(x));
  listing_view how;
  how.width = 120;
  expect_golden(name + ".txt", *render(x, how));
  how.format = listing_format::json;
  for (const auto& y : x.columns)
    how.columns.push_back(y.name);
  expect_golden(name + ".json", *render(x, how));
}

TEST_F(ViewsTest, ListingsAreThoseOfBefore) {
  expect_listing("ls", list_studies(studies));
  // Where no row has a value, the column is not shown.
  expect_listing("ls-plain", list_studies({studies[2]}));
  expect_listing("trials", list_trials(trials));
  expect_listing("top", list_trainers(trainers, false));
  expect_listing("top-all", list_trainers(trainers, true));
  expect_listing("top-plain", list_trainers({trainers[1]}, true));
}

TEST_F(ViewsTest, ColumnsHaveTheirFormerNamesToo) {
  const auto expect_same = [](const listing& x, const std::string& now,
                              const std::string& before) {
    listing_view how;
    how.format = listing_format::json;
    how.columns = {now};
    auto old = how;
    old.columns = {before};
    old.sort = before;
    EXPECT_EQ(*render(x, old), *render(x, how)) << before;
  };
  const auto of_studies = list_studies({studies[0]});
  expect_same(of_studies, "finished", "done");
  expect_same(of_studies, "seconds_left", "left");
  expect_same(of_studies, "deadline_seconds_left", "deadline");
  expect_same(of_studies, "saved_seconds", "saved");
  const auto of_trainers = list_trainers({trainers[0]}, true);
  expect_same(of_trainers, "trainer", "number");
  expect_same(of_trainers, "values", "what");
  expect_same(of_trainers, "to_step", "to");
  expect_same(of_trainers, "notice_seconds", "notice");
  expect_same(of_trainers, "failure", "failed");
}

} // namespace
} // namespace hippo
