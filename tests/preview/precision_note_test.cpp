#include "hippo/forecast/preview/precision_note.hpp"

#include <string>

#include <gtest/gtest.h>

#include "hippo/model/workload_descriptor.hpp"

namespace hippo {
namespace {

study_spec study_of(const std::string& workload) {
  const auto read =
    admit_study("study: s\nworkload: " + workload
                  + "\nobjective: {metric: val_accuracy}\nmax_steps: 2\n"
                    "space: {lr: 0.1}\nalgorithm: grid\n",
                "s.yaml", built_in_workloads());
  for (const auto& x : read.errors)
    ADD_FAILURE() << to_text(x);
  return read.study.value().spec();
}

TEST(PrecisionNote, AStudyThatDoesNotSayIsTold) {
  for (const auto* name :
       {"cifar-resnet20", "{name: cifar-resnet20, seed: 2}"}) {
    const auto spec = study_of(name);
    const auto note = precision_note(spec);
    ASSERT_TRUE(note) << name;
    EXPECT_EQ(note->line, 2u);
    EXPECT_EQ(note->message.find("float32, since"), 0u) << note->message;
    // It means the same as ever: stored results have this in their keys.
    EXPECT_EQ(spec.workload.options.at("precision"), scalar{"float32"});
  }
}

TEST(PrecisionNote, NobodyElseIs) {
  for (const auto* precision : {"float32", "tf32", "bfloat16"})
    EXPECT_FALSE(precision_note(study_of(
      std::string{"{name: cifar-resnet20, precision: "} + precision + "}")));
  EXPECT_FALSE(precision_note(study_spec{}));
}

} // namespace
} // namespace hippo
