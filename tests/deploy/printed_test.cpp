#include "hippo/deploy/deploy.hpp"

#include <gtest/gtest.h>

#include "deploy/samples.hpp"
#include "hippo/deploy/template_text.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {
namespace {

using namespace test;

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(('\n' + text).find('\n' + line + '\n'), std::string::npos)
    << "no line '" << line << "' in\n" << text;
}

TEST(TemplateTextTest, FillsLinesAndPartsOfLines) {
  EXPECT_EQ(filled("a{{X}}b{{X}} {{Y}}\n", {{"X", "1"}, {"Y", "{{X}}"}}),
            "a1b1 {{X}}\n");
  EXPECT_EQ(filled("a\n  {{X}}\nb\n", {{"X", "1\n\n 2\n"}}),
            "a\n  1\n\n   2\nb\n");
  EXPECT_EQ(filled("a\n  {{X}}\nb\n", {{"X", ""}}), "a\nb\n");
  EXPECT_EQ(filled("a\n  x{{X}}\nb\n", {{"X", ""}}), "a\n  x\nb\n");
  EXPECT_EQ(filled("{a: {{X}}}\n", {{"X", "1"}}), "{a: 1}\n");
}

TEST(TemplateTextTest, AWordOfAShellIsNoPattern) {
  EXPECT_EQ(lines_of({"a", "--b", "[::1]:1", "c"}), "a \\\n--b '[::1]:1' c");
}

TEST(TrainerCommandTest, SaysWhatIsTrainedOn) {
  const auto line = [](const trainer_group& x, const std::string& key) {
    std::string result;
    for (const auto& word : trainer_command(x, "s:1", key))
      result += (result.empty() ? "" : " ") + word;
    return result;
  };
  trainer_group x;
  EXPECT_EQ(line(x, ""), "hippo-trainer --connect s:1 --threads 1 "
                         "--gang-listen auto --notice 120");
  x.gangs = false;
  x.gpus = 2;
  x.cpus = 4;
  x.python = "/venv/bin/python";
  x.notice_seconds = 30;
  EXPECT_EQ(line(x, "k.pem"),
            "hippo-trainer --connect s:1 --keys k.pem --device cuda:0 "
            "--device cuda:1 --python /venv/bin/python --notice 30");
  const auto words = trainer_command(x, "s:1", "", "lab-17");
  EXPECT_EQ(words[words.size() - 2], "--name");
  EXPECT_EQ(words.back(), "lab-17");
}

TEST(SlurmTest, AsksForWhatTheTrainersAre) {
  const auto x = good(deploy_target::slurm, jobs);
  const auto text = slurm_script(x, x.trainers[0]);
  for (const auto* line :
       {"#SBATCH --array=1-16", "#SBATCH --partition=gpu", "#SBATCH --gpus=1",
        "#SBATCH --cpus-per-task=4", "#SBATCH --mem=32G",
        "#SBATCH --time=1-08:00:00", "#SBATCH --account=lab",
        "#SBATCH --signal=TERM@120", "exec srun --kill-on-bad-exit=1 \\",
        "  --connect gpu-lab:4848 \\", "  --keys \"$key\" \\",
        "  --device cuda:0 \\", "  --gang-listen auto \\"})
    expect_line(text, line);
  const auto open = good(deploy_target::slurm,
                         changed(changed(jobs, "    partition: gpu\n", ""),
                                 "keys: /home/ada/hippo-keys",
                                 "insecure: true"));
  const auto other = slurm_script(open, open.trainers[0]);
  EXPECT_EQ(other.find("key"), std::string::npos) << other;
  EXPECT_EQ(other.find("partition"), std::string::npos) << other;
}

TEST(SlurmTest, ATrainerOfAFleetIsTheBatchScriptItself) {
  const auto x = good(deploy_target::slurm, jobs);
  const auto text = slurm_script(x, x.trainers[0], {"lab", "lab-17"});
  for (const auto* line :
       {"#SBATCH --job-name=lab-17", "#SBATCH --comment=hippo:lab:a100",
        "#SBATCH --signal=B:TERM@120", "#SBATCH --dependency=singleton",
        "#SBATCH --requeue", "#SBATCH --gpus=1", "#SBATCH --account=lab",
        "exec \\", "  hippo-trainer \\", "  --connect gpu-lab:4848 \\",
        "  --name lab-17"})
    expect_line(text, line);
  EXPECT_EQ(text.find("--array"), std::string::npos);
  EXPECT_EQ(text.find("srun"), std::string::npos) << "it would get the signal";
}

TEST(SshTest, NamesHostsAndKeys) {
  const auto text = ssh_script(good(deploy_target::ssh, on_hosts));
  expect_line(text, "for host in gpu1 ada@gpu2.example.org; do");
  expect_line(text, "  trainers \"$host\" gpu 1 60 \\");
  expect_line(text, "for name in gpu; do");
  expect_line(text, "    --gang-listen auto \\");
  const auto open
    = ssh_script(good(deploy_target::ssh, "insecure: true" + on_hosts));
  EXPECT_EQ(open.find(".pem"), std::string::npos) << open;
}

struct KubernetesTest : testing::Test {
  machines x = good(deploy_target::kubernetes, pods);
  key_texts keys;

  void SetUp() override {
    for (const auto& name : needed_keys(x))
      keys[name] = "-----BEGIN-----\nof " + name + "\n-----END-----\n";
  }
};

TEST_F(KubernetesTest, KeysOfAuthoritiesStayAtHome) {
  EXPECT_EQ(needed_keys(x),
            (std::vector<std::string>{"authority/client.crt",
                                      "authority/service.crt",
                                      "authority/trainer.crt", "service.pem",
                                      "spot.pem", "cpu.pem"}));
  const auto text = kubernetes_manifests(x, keys);
  expect_line(text, "  client.crt: |");
  expect_line(text, "    of authority/client.crt");
  // A trainer gets its own key and no other.
  const auto spot = text.substr(text.find("  name: hippo-trainer-spot\n"));
  EXPECT_EQ(spot.substr(0, spot.find("---\n")).find("service.pem"),
            std::string::npos);
}

TEST_F(KubernetesTest, WhatScalesHasNoReplicas) {
  const auto text = kubernetes_manifests(x, keys);
  const auto spot = text.find("kind: Deployment\nmetadata:\n"
                              "  name: hippo-trainer-spot\n");
  const auto cpu = text.find("kind: Job\nmetadata:\n"
                             "  name: hippo-trainer-cpu\n");
  ASSERT_NE(spot, std::string::npos);
  ASSERT_NE(cpu, std::string::npos);
  EXPECT_EQ(text.substr(spot, cpu - spot).find("replicas:"),
            std::string::npos);
  EXPECT_NE(text.substr(cpu).find("  parallelism: 1\n"), std::string::npos);
  expect_line(text, "  minReplicaCount: 0");
  expect_line(text, "  maxReplicaCount: 16");
  EXPECT_EQ(text.find("ScaledObject", text.find("ScaledObject") + 1),
            std::string::npos);
}

TEST_F(KubernetesTest, AFixedNumberIsAJob) {
  x.trainers[1].count = 8;
  x.trainers[1].notice_seconds = 45;
  const auto all = kubernetes_manifests(x, keys);
  const auto text = all.substr(all.find("kind: Job\n"));
  for (const auto* line :
       {"  parallelism: 8", "  completions: 8", "  completionMode: Indexed",
        "      terminationGracePeriodSeconds: 45", "      restartPolicy: Never",
        "            - --leave-code=143", "        runAsNonRoot: true",
        "            readOnlyRootFilesystem: true", "  minAvailable: 6"})
    expect_line(text, line);
  EXPECT_EQ(text.find("suspend"), std::string::npos);
  EXPECT_EQ(text.find("kueue"), std::string::npos);
}

TEST_F(KubernetesTest, AQueueHoldsJobsBack) {
  x.trainers[1].queue = "gpus";
  const auto job = kubernetes_job(x, x.trainers[1], {"lab", "lab-17"}, "");
  for (const auto& text : {kubernetes_manifests(x, keys), job}) {
    expect_line(text, "    kueue.x-k8s.io/queue-name: gpus");
    expect_line(text, "  suspend: true");
  }
}

TEST_F(KubernetesTest, TrainersOfAFleetAreJobsOfTheirOwn) {
  const auto text =
    kubernetes_job(x, x.trainers[0], {"lab", "lab-17"}, "hippo.b:4848");
  for (const auto* line :
       {"kind: Job", "  name: lab-17", "    hippo-fleet: lab",
        "    hippo-group: spot", "  backoffLimit: 0",
        "            - \"hippo.b:4848\"", "            - \"lab-17\"",
        "            - \"--gang-listen\"", "            - \"auto\"",
        "          secret: {secretName: hippo-trainer-spot}"})
    expect_line(text, line);
  EXPECT_EQ(text.find("leave-code"), std::string::npos) << "it may end";
  EXPECT_NE(kubernetes_job(x, x.trainers[0], {"lab", "lab-17"}, "")
              .find("\"hippo:4848\""),
            std::string::npos);
}

TEST_F(KubernetesTest, RightsAreThoseOfTheCalls) {
  EXPECT_EQ(kubernetes_manifests(x, keys).find("kind: Role"),
            std::string::npos);
  x.prometheus.clear();
  const auto text = kubernetes_manifests(x, keys);
  expect_line(text, "    verbs: [list, create, delete]");
  expect_line(text, "    resources: [jobs]");
  EXPECT_EQ(text.find("kind: Deployment"), std::string::npos);
  EXPECT_EQ(text.find("ScaledObject"), std::string::npos);
}

TEST_F(KubernetesTest, WithoutKeysEverybodyIsAdmitted) {
  x = good(deploy_target::kubernetes, "insecure: true" + pods);
  EXPECT_TRUE(needed_keys(x).empty());
  const auto text = kubernetes_manifests(x, {});
  expect_line(text, "            - --insecure");
  for (const auto* word : {"Secret", "initContainers", "--keys", "HTTPS"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
}

} // namespace
} // namespace hippo
