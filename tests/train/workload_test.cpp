#include "hippo/train/workload.hpp"

#include <gtest/gtest.h>

#include "train/summing_workload.hpp"

namespace hippo {

namespace {

workload_descriptor named(const std::string& name) {
  workload_descriptor x;
  x.name = name;
  return x;
}

workload_registry registry() {
  workload_registry result;
  result.add(named("summing"), [](const workload_spec&) {
    return std::make_unique<summing_workload>();
  });
  result.add(named("lost"),
             [](const workload_spec&) -> std::unique_ptr<workload> {
               throw missing_data_error("no data, install some");
             });
  result.add(named("broken"),
             [](const workload_spec&) -> std::unique_ptr<workload> {
               throw std::invalid_argument("cannot be");
             });
  return result;
}

error failure_of(const std::string& name) {
  const auto made = registry().make({name, {}});
  return made ? error{} : made.failure();
}

} // namespace

TEST(Workload, KeepsItsStateAsBytesByDefault) {
  class plain final : public workload {
  public:
    void init() override {}
    void train(const configuration&, step_t, step_t) override {}
    metrics evaluate() override { return {}; }
    std::string save() override { return state; }
    void load(const std::string& bytes) override { state = bytes; }
    std::string state = "first";
  };
  plain work;
  const auto kept = work.snapshot();
  work.state = "second";
  EXPECT_EQ(kept->bytes(), "first");
  EXPECT_EQ(kept->bytes(), "first");
  EXPECT_EQ(kept->size(), 0u) << "nothing is gained by keeping it";
  work.restore(*kept);
  EXPECT_EQ(work.state, "first");
}

TEST(WorkloadRegistry, Makes) {
  const auto made = registry().make({"summing", {}});
  ASSERT_TRUE(made);
  EXPECT_NE(dynamic_cast<summing_workload*>(made->get()), nullptr);
}

TEST(WorkloadRegistry, DescribesByName) {
  const auto all = registry().descriptors();
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0].name, "broken");
  EXPECT_EQ(all[2].name, "summing");
}

TEST(WorkloadRegistry, ReplacesTheOneOfThatName) {
  auto x = registry();
  auto other = named("lost");
  other.meaning = "found";
  x.add(other, [](const workload_spec&) {
    return std::make_unique<summing_workload>();
  });
  EXPECT_EQ(x.descriptors().size(), 3);
  EXPECT_EQ(x.descriptors()[1].meaning, "found");
  EXPECT_TRUE(x.make({"lost", {}}));
}

TEST(WorkloadRegistry, NamesTheNearest) {
  const auto failure = failure_of("suming");
  EXPECT_EQ(failure.code, errc::unknown_workload);
  EXPECT_EQ(failure.message,
            "no workload is named 'suming', did you mean 'summing'?");
}

TEST(WorkloadRegistry, TellsMissingDataFromOtherFailures) {
  EXPECT_EQ(failure_of("lost").code, errc::missing_data);
  EXPECT_EQ(failure_of("lost").message, "no data, install some");
  EXPECT_EQ(failure_of("broken").code, errc::training_failed);
  EXPECT_EQ(failure_of("broken").message, "cannot be");
}

TEST(Workload, RefusesToExportByDefault) {
  summing_workload x;
  EXPECT_THROW(x.export_weights("weights.pt"), std::runtime_error);
}

TEST(WorkloadKey, HoldsEveryOption) {
  EXPECT_EQ(key_of({"x", {}}), "x");
  EXPECT_EQ(key_of({"x", {{"numerics", "native"}}}), "x");
  EXPECT_EQ(key_of({"x", {{"numerics", "portable"}}}), "x;numerics=portable");
  EXPECT_EQ(key_of({"x", {{"seed", 1.0}}, {}, true}), "x;seed=1;devices=any");
  EXPECT_EQ(key_of({"x", {{"seed", 1.0}, {"data.folder", "/a"}}}),
            "x;data.folder=/a;seed=1");
}

TEST(WorkloadSpec, NumericsAreOneOfTwoWords) {
  EXPECT_EQ(numerics_of({"x", {}}), "");
  EXPECT_EQ(numerics_of({"x", {{"numerics", "native"}}}), "native");
  EXPECT_EQ(numerics_of({"x", {{"numerics", "portable"}}}), "portable");
  EXPECT_EQ(numerics_of({"x", {{"numerics", "fast"}}}), "");
  EXPECT_EQ(numerics_of({"x", {{"numerics", 1.0}}}), "");
}

TEST(WorkloadKey, WordsCannotPassForOptions) {
  EXPECT_NE(key_of({"x", {{"a", "1;b=2"}}}),
            key_of({"x", {{"a", "1"}, {"b", 2.0}}}));
  EXPECT_NE(key_of({"x", {{"a", "1\\;b=2"}}}), key_of({"x", {{"a", "1;b=2"}}}));
}

TEST(WorkloadSpec, SettingsAreNoPartOfTheKey) {
  workload_spec x{"x", {{"seed", 1.0}}, {{"python_executable", "/a"}}};
  EXPECT_EQ(key_of(x), "x;seed=1");
}

TEST(WorkloadSpec, SaysInWhatKeysDiffer) {
  using lines = std::vector<std::string>;
  const auto key = [](std::map<std::string, scalar> options) {
    return key_of({"python", std::move(options)});
  };
  const auto one = key({{"args.a", "x;y\\"}, {"file.a.py", "12"}, {"seed", 1.0}});
  EXPECT_EQ(key_differences(one, one), lines{});
  EXPECT_EQ(key_differences(one, key({{"args.a", "x;y\\"}, {"seed", 2.0}})),
            (lines{"file.a.py: 12 and none", "seed: 1 and 2"}));
  EXPECT_EQ(key_differences(one, key({{"args.a", "a=b"}, {"file.a.py", "12"},
                                      {"seed", 1.0}})),
            lines{"args.a: x;y\\ and a=b"});
  EXPECT_EQ(key_differences(one, key_of({"other", {}})), lines{});
}


} // namespace hippo
