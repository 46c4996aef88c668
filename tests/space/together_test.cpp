#include "hippo/space/together.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

std::string study(const std::string& space,
                  const std::string& workload = "fashion-mlp") {
  return "study: s\nworkload: " + workload
         + "\nobjective: {metric: val_accuracy}\nmax_steps: 12\nspace:\n  "
         + space + '\n';
}

/// The errors of a study with built-in workloads.
std::vector<std::string> errors(const std::string& space,
                                const std::string& workload = "fashion-mlp") {
  return test::texts(
    read_study(study(space, workload), "s.yaml", built_in_workloads()).errors);
}

using texts = std::vector<std::string>;

TEST(Together, MoreAtOnceThanThereAreIsRefused) {
  EXPECT_EQ(errors("{subnetworks: 8, subnetworks_at_once: 16}"),
            texts{"s.yaml:6:41: space.subnetworks_at_once: is 16 in a trial "
                  "whose subnetworks is 8: it must be at most subnetworks"});
  EXPECT_EQ(errors("{subnetworks: 8}"),
            texts{"s.yaml:6:17: space.subnetworks: is 8, and "
                  "subnetworks_at_once is 16 unless the study gives it: give "
                  "subnetworks_at_once, at most 8, or a larger subnetworks"});
  EXPECT_EQ(errors("{subnetworks: 8, subnetworks_at_once: 8}"), texts{});
  EXPECT_EQ(errors("{subnetworks: {choice: [0, 256]}}"), texts{});
}

TEST(Together, EveryTrialAndEveryPieceCounts) {
  const std::string at_once = "subnetworks_at_once: {choice: [4, 16]}";
  EXPECT_EQ(errors("{subnetworks: {choice: [64, 8]}, " + at_once + "}").size(),
            1u);
  EXPECT_EQ(errors("{subnetworks: {choice: [64, 16]}, " + at_once + "}"),
            texts{});
  // From step 6 on there are fewer.
  EXPECT_EQ(errors("{subnetworks: {piecewise: [[0, 64], [6, 4]]},"
                   " subnetworks_at_once: 16}")
              .size(),
            1u);
  EXPECT_EQ(errors("{subnetworks: {piecewise: [[0, 64], [6, 0]]},"
                   " subnetworks_at_once: 16}"),
            texts{});
  // Of a range some are drawn.
  EXPECT_EQ(errors("{lr: {log_uniform: [0.001, 0.1]},"
                   " subnetworks: {int_uniform: [64, 65536]},"
                   " subnetworks_at_once: {int_uniform: [1, 64]}}"),
            texts{});
  EXPECT_EQ(errors("{lr: {log_uniform: [0.001, 0.1]},"
                   " subnetworks: {int_uniform: [1, 64]},"
                   " subnetworks_at_once: {int_uniform: [1, 64]}}")
              .size(),
            1u);
}

TEST(Together, ValuesOfOneTrialAreComparedToo) {
  const auto read = read_study(study("{subnetworks: {choice: [32, 64]}}"),
                               "s.yaml", built_in_workloads())
                      .study;
  ASSERT_TRUE(read);
  const auto workloads = built_in_workloads();
  const auto workload = std::find_if(
    workloads.begin(), workloads.end(),
    [](const workload_descriptor& x) { return x.name == "fashion-mlp"; });
  const auto refusal = [&](const std::string& values) {
    const auto trial = read_parameters(values, read->lengths(), *workload,
                                       name_rules::today, read->typed);
    const auto why = refusal_together(*trial, *workload);
    return why ? why->message : "";
  };
  EXPECT_EQ(refusal(R"({"subnetworks": 4, "subnetworks_at_once": 8})"),
            "subnetworks_at_once is 8 in a trial whose subnetworks is 4: it "
            "must be at most subnetworks");
  EXPECT_EQ(refusal(R"({"subnetworks": 4})"),
            "subnetworks_at_once is 16 in a trial whose subnetworks is 4: it "
            "must be at most subnetworks");
  EXPECT_EQ(refusal(R"({"subnetworks": 8, "subnetworks_at_once": 8})"), "");
  EXPECT_EQ(refusal(R"({"lr": 0.1})"), "");
}

TEST(Together, WhatHasNoEffectIsRefused) {
  EXPECT_EQ(errors("{subnetwork_period: 2}"),
            texts{"s.yaml:6:23: space.subnetwork_period: has no effect without "
                  "subnetworks, which is 0 unless the study gives it: give "
                  "subnetworks too, above 0"});
  EXPECT_EQ(errors("{dropout_block: 4, subnetworks: 64}"), texts{});
  // Dropout of the networks for CIFAR is 0 unless a study says otherwise.
  EXPECT_EQ(errors("{subnetworks: 64}", "cifar-resnet20"),
            texts{"s.yaml:6:17: space.subnetworks: has no effect without "
                  "dropout, which is 0 unless the study gives it: give dropout "
                  "too, above 0"});
  EXPECT_EQ(errors("{subnetworks: 64, dropout: 0.2}", "cifar-resnet20"),
            texts{});
}

constexpr auto exchanging = "{name: fashion-mlp, parts: 4, sync: average}";

TEST(Together, AnExchangeArrivesBeforeTheNextLeaves) {
  EXPECT_EQ(errors("{sync_every: 5, sync_lag: 5}", exchanging),
            texts{"s.yaml:6:29: space.sync_lag: is 5 in a trial whose "
                  "sync_every is 5: it must be below sync_every"});
  EXPECT_EQ(errors("{sync_lag: 30}", exchanging),
            texts{"s.yaml:6:14: space.sync_lag: is 30 in a trial whose "
                  "sync_every is 30: it must be below sync_every"});
  EXPECT_EQ(errors("{sync_every: 5, sync_lag: 4}", exchanging), texts{});
  EXPECT_EQ(errors("{sync_lag: 29}", exchanging), texts{});
  EXPECT_EQ(errors("{sync_every: {choice: [5, 30]},"
                   " sync_lag: {piecewise: [[0, 4], [6, 5]]}}",
                   exchanging)
              .size(),
            1u);
  EXPECT_EQ(errors("{sync_every: 0}", exchanging),
            texts{"s.yaml:6:16: space.sync_every: must be at least 1, found "
                  "0"});
  EXPECT_EQ(errors("{sync_every: 2, sync_lag: 2}", "clicks-dlrm").back(),
            "s.yaml:6:29: space.sync_lag: is 2 in a trial whose sync_every is "
            "2: it must be below sync_every");
}

TEST(Together, ExchangesAreOfPartsOfTheirOwn) {
  EXPECT_EQ(errors("{sync_every: 5}"),
            texts{"s.yaml:6:16: space.sync_every: has no effect without the "
                  "option sync of the workload: give that too"});
  EXPECT_EQ(
    errors("{sync_alpha: 0.3}", "{name: fashion-mlp, parts: 4, sync: step}")
      .size(),
    1u);
}

TEST(Together, ANetworkWithoutThemSaysWhatItHas) {
  const auto found = errors("{subnetworks: 64}", "squad-bert-tiny");
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found.back().find("space.subnetworks: unknown hyper-parameter "
                              "'subnetworks'"),
            std::string::npos)
    << found.back();
  EXPECT_NE(found.back().find("dropout, clip"), std::string::npos)
    << found.back();
}

TEST(Together, BlocksHaveToFillLayers) {
  EXPECT_EQ(errors("{subnetworks: 64, dropout_block: 48}"),
            texts{"s.yaml:6:36: space.dropout_block: must divide 128, found "
                  "48"});
  EXPECT_EQ(errors("{subnetworks: 64, dropout_block: 256}", "fashion-mlp-wide"),
            texts{});
}

} // namespace
} // namespace hippo
