#include "hippo/deploy/engine_answers.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using state = listed_trainer::state;
using trainers = std::vector<listed_trainer>;

TEST(SqueueTest, JobsOfAFleetInTheFormsOfSeveralVersions) {
  const auto read = read_squeue(R"({"jobs": [
    {"job_id": 4, "name": "lab-1", "comment": "hippo:lab:a100",
     "job_state": "RUNNING", "cluster": "c"},
    {"job_id": {"set": true, "infinite": false, "number": 5}, "name": "lab-2",
     "comment": "hippo:lab:a100", "job_state": ["PENDING"]},
    {"job_id": 6, "name": "lab-3", "comment": "hippo:lab:h",
     "job_state": ["RUNNING", "COMPLETING"]},
    {"job_id": 7, "name": "lab-4", "comment": "hippo:lab:h",
     "job_state": "PREEMPTED"},
    {"job_id": 8, "name": "lab-5", "comment": "hippo:lab-2:h",
     "job_state": "RUNNING"},
    {"job_id": 9, "name": "lab-6", "comment": "", "job_state": "RUNNING"},
    {"job_id": 10, "name": "lab-7", "job_state": "RUNNING"}
  ], "errors": []})",
                                "lab");
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(*read, (trainers{{"4", "lab-1", "a100", state::running},
                             {"5", "lab-2", "a100", state::waiting},
                             {"6", "lab-3", "h", state::ended},
                             {"7", "lab-4", "h", state::ended}}));
}

TEST(SqueueTest, OtherTextsAreNoLists) {
  for (const auto* text : {"", "slurm_load_jobs error", "{}", "{\"jobs\": 3}",
                           "{\"jobs\": [{\"comment\": \"hippo:lab:a\"}]}"})
    EXPECT_FALSE(read_squeue(text, "lab")) << text;
}

TEST(JobListTest, StatesFollowFromPods) {
  const auto read = read_job_list(R"({"metadata": {"continue": "abc"},
    "items": [
    {"metadata": {"name": "lab-1", "labels": {"hippo-fleet": "lab",
     "hippo-group": "spot"}}, "status": {"active": 1, "ready": 1}},
    {"metadata": {"name": "lab-2", "labels": {"hippo-fleet": "lab"}},
     "spec": {"suspend": true}, "status": {}},
    {"metadata": {"name": "lab-3", "labels": {"hippo-fleet": "lab"}},
     "status": {"active": 1}},
    {"metadata": {"name": "lab-4", "labels": {"hippo-fleet": "lab"}},
     "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
    {"metadata": {"name": "lab-5", "labels": {"hippo-fleet": "lab"}},
     "status": {"conditions": [{"type": "Failed", "status": "True"}]}},
    {"metadata": {"name": "lab-6", "deletionTimestamp": "2030-01-01T00:00:00Z",
     "labels": {"hippo-fleet": "lab"}}, "status": {"ready": 1}},
    {"metadata": {"name": "lab-7", "labels": {"hippo-fleet": "other"}}},
    {"metadata": {"name": "lab-8"}}]})",
                                  "lab");
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(read->next, "abc");
  EXPECT_EQ(read->trainers,
            (trainers{{"lab-1", "lab-1", "spot", state::running},
                      {"lab-2", "lab-2", "", state::waiting},
                      {"lab-3", "lab-3", "", state::waiting},
                      {"lab-4", "lab-4", "", state::ended},
                      {"lab-5", "lab-5", "", state::ended},
                      {"lab-6", "lab-6", "", state::ended}}));
  for (const auto* text : {"", "<html>", "{}", "{\"items\": [{}]}"})
    EXPECT_FALSE(read_job_list(text, "lab")) << text;
}

TEST(JobListTest, ARefusalIsASentence) {
  EXPECT_EQ(read_refusal(R"({"kind": "Status", "message": "no quota"})"),
            "no quota");
  EXPECT_EQ(read_refusal("<html>"), "<html>");
  EXPECT_EQ(read_refusal("[1]"), "[1]");
}

TEST(RayListTest, HasNamesAndStates) {
  const auto read = read_ray_list(R"({"trainers": [
    {"id": "a", "name": "lab-1", "group": "gpu", "state": "running"},
    {"id": "b", "name": "lab-2", "state": "waiting"},
    {"id": "c", "name": "lab-3", "group": "gpu", "state": "ended"}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (trainers{{"a", "lab-1", "gpu", state::running},
                             {"b", "lab-2", "", state::waiting},
                             {"c", "lab-3", "gpu", state::ended}}));
  EXPECT_FALSE(read_ray_list("{\"trainers\": [{\"id\": 3}]}"));
}

TEST(QuantityTest, HasABinaryUnit) {
  EXPECT_EQ(bytes_of_quantity(""), 0u);
  EXPECT_EQ(bytes_of_quantity("3Mi"), 3u << 20);
  EXPECT_EQ(bytes_of_quantity("16Gi"), std::uint64_t{16} << 30);
  EXPECT_EQ(bytes_of_quantity("2Ti"), std::uint64_t{2} << 40);
}

} // namespace
} // namespace hippo
