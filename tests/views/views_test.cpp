// Studies, trials and trainers as HTTP, the C++ client and the command line
// show them, beside what release 0.1 showed of the same state: golden/, which
// programs of that release have written.

#include <cstring>
#include <filesystem>
#include <fstream>
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
  return text.empty() ? now.is_null() : json::parse(text) == now;
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

/// Expects that the same fields have the same values.
void expect_fields(const json& expected, const json& shown) {
  ASSERT_EQ(shown.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(shown[i].size(), expected[i].size()) << shown[i];
    for (const auto& [name, value] : expected[i].items())
      EXPECT_EQ(unordered(shown[i].at(name)), unordered(value))
        << name << " of " << shown[i];
  }
}

TEST_F(ViewsTest, HttpShowsTheFieldsOfBefore) {
  auto expected = golden_json("http-studies.json");
  const std::vector<std::uint64_t> failed{1, 0, 0};
  for (std::size_t i = 0; i < failed.size(); ++i)
    expected[i]["failed"] = failed[i]; // which messages alone had
  expect_fields(expected, to_json(studies));
  expect_fields(golden_json("http-trials.json"), to_json(trials));
  expect_fields(golden_json("http-trainers.json"), to_json(trainers));
}

TEST_F(ViewsTest, ClientsGetAllFields) {
  for (const auto& x : studies)
    EXPECT_EQ(sent<schema::StudyView>(x), x) << to_json(x);
  for (const auto& x : trials)
    EXPECT_EQ(sent<schema::TrialView>(x), x) << to_json(x);
  for (const auto& x : trainers)
    EXPECT_EQ(sent<schema::TrainerView>(x), x) << to_json(x);
}

TEST_F(ViewsTest, MessagesAreThoseOfBefore) {
  for (std::size_t i = 0; i < studies.size(); ++i) {
    auto before = decoded<schema::StudyView>(
      golden("study-" + std::to_string(i) + ".bin"));
    EXPECT_TRUE(before.trials_by_state.empty());
    EXPECT_FALSE(before.improved);
    EXPECT_EQ(before.step_seconds, 0);
    before.trials_by_state = studies[i].trials_by_state;
    before.improved = studies[i].improved;
    before.step_seconds = studies[i].step_seconds;
    EXPECT_EQ(before, studies[i]) << to_json(before);
  }
  for (std::size_t i = 0; i < trials.size(); ++i)
    EXPECT_EQ(decoded<schema::TrialView>(
                golden("trial-" + std::to_string(i) + ".bin")),
              trials[i]);
  for (std::size_t i = 0; i < trainers.size(); ++i) {
    auto before = decoded<schema::TrainerView>(
      golden("trainer-" + std::to_string(i) + ".bin"));
    if (before.lease)
      before.lease->study_ids = trainers[i].lease->study_ids;
    EXPECT_EQ(before, trainers[i]) << to_json(before);
  }
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
  EXPECT_EQ(columns_of(x), golden(name + "-columns.txt"));
  listing_view how;
  how.width = 120;
  EXPECT_EQ(*render(x, how), golden(name + ".txt"));
  how.format = listing_format::json;
  for (const auto& y : x.columns)
    how.columns.push_back(y.name);
  EXPECT_EQ(*render(x, how), golden(name + ".json"));
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

} // namespace
} // namespace hippo
