#include "hippo/deploy/machines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "deploy/samples.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {
namespace {

using namespace test;

constexpr auto ssh = deploy_target::ssh;
constexpr auto slurm = deploy_target::slurm;
constexpr auto kubernetes = deploy_target::kubernetes;

/// Expects one error at that path, whose text is `message`.
void expect_error(deploy_target target, const std::string& text,
                  const std::string& path, const std::string& message) {
  const auto read = read_machines(text, "m.yaml", target);
  EXPECT_FALSE(read.found);
  ASSERT_EQ(read.errors.size(), 1u) << message << '\n' << text;
  EXPECT_EQ(read.errors[0].file, "m.yaml");
  EXPECT_GT(read.errors[0].line, 0);
  EXPECT_EQ(read.errors[0].path, path);
  EXPECT_EQ(read.errors[0].message, message);
}

TEST(MachinesTest, ReadsHosts) {
  const auto found = good(ssh, on_hosts);
  EXPECT_EQ(to_text(found.service), "gpu-lab:4848");
  EXPECT_EQ(found.keys, "hippo-keys");
  ASSERT_EQ(found.trainers.size(), 1u);
  const auto& x = found.trainers[0];
  EXPECT_EQ(x.hosts,
            (std::vector<std::string>{"gpu1", "ada@gpu2.example.org"}));
  EXPECT_EQ(x.gpus, 2u);
  EXPECT_EQ(x.count, 1u);
  EXPECT_EQ(x.notice_seconds, 60u);
  EXPECT_EQ(x.program, "hippo-trainer");
  EXPECT_TRUE(x.gangs);
  EXPECT_FALSE(good(ssh, changed(on_hosts, "gpus: 2", "gangs: false"))
                 .trainers.at(0)
                 .gangs);
}

TEST(MachinesTest, ReadsJobs) {
  const auto found = good(slurm, jobs);
  EXPECT_EQ(found.keys, "/home/ada/hippo-keys");
  const auto& x = found.trainers.at(0);
  EXPECT_EQ(x.count, 16u);
  EXPECT_EQ(x.cpus, 4u);
  EXPECT_EQ(x.memory, "32Gi");
  EXPECT_EQ(x.time, "1-08:00:00");
  EXPECT_EQ(x.partition, "gpu");
  EXPECT_EQ(x.sbatch, std::vector<std::string>{"--account=lab"});
}

TEST(MachinesTest, ReadsPods) {
  const auto found = good(kubernetes, pods);
  EXPECT_EQ(found.pod.storage, "100Gi");
  EXPECT_EQ(found.pod.memory, "4Gi");
  ASSERT_EQ(found.trainers.size(), 2u);
  const auto& x = found.trainers[0];
  EXPECT_EQ(x.count, 0u);
  EXPECT_EQ(x.count_max, 16u);
  EXPECT_EQ(x.nodes.at("cloud.example.org/gpu"), "a100");
  EXPECT_EQ(x.tolerate, std::vector<std::string>{"nvidia.com/gpu"});
  EXPECT_FALSE(found.trainers[1].count_max);
}

TEST(MachinesTest, ReadsTrainersOfRay) {
  const auto found = good(deploy_target::ray, R"(
service: gpu-lab:4848
trainers:
  - {name: gpu, gpus: 1, cpus: 4, memory: 16Gi, count_max: 8, key: /k/gpu.pem}
)");
  const auto& x = found.trainers.at(0);
  EXPECT_EQ(x.count_max, 8u);
  EXPECT_EQ(x.key, "/k/gpu.pem");
  EXPECT_EQ(x.memory, "16Gi");
  const auto read = read_machines(jobs, "m.yaml", deploy_target::ray);
  EXPECT_EQ(read.errors.size(), 3u) << "time, partition and sbatch";
}

TEST(MachinesTest, InsecureHasNoKeys) {
  EXPECT_EQ(good(ssh, "insecure: true" + on_hosts).keys, "");
  EXPECT_EQ(good(ssh, "insecure: false" + on_hosts).keys, "hippo-keys");
}

TEST(MachinesTest, TellsWhatIsWrong) {
  expect_error(ssh, changed(on_hosts, "service: gpu-lab:4848", "keys: x"), "",
               "'service' is missing");
  expect_error(ssh, changed(on_hosts, "gpu-lab:4848", "gpu-lab"), "service",
               "'gpu-lab' is not HOST:PORT: there is no port");
  for (const std::string here : {"localhost", "127.0.0.1", "0.0.0.0"})
    expect_error(ssh, changed(on_hosts, "gpu-lab", here), "service",
                 "must be the name by which other machines know this one, "
                 "found '"
                   + here + ":4848'");
  expect_error(ssh, changed(on_hosts, "gpu-lab:4848", "{image: x}"), "service",
               "must be where trainers connect, HOST:PORT, found a map");
  expect_error(ssh, changed(on_hosts, "gpus: 2", "gpus: two"),
               "trainers[0].gpus",
               "must be a whole number from 0 to 16, found 'two'");
  expect_error(ssh, changed(on_hosts, "gpus: 2", "gangs: auto"),
               "trainers[0].gangs", "must be true or false, found 'auto'");
  expect_error(ssh, changed(on_hosts, "gpus: 2", "gpus: 2\n    count: 3"),
               "trainers[0].count",
               "is more than 1: one process has all GPUs of its host");
  expect_error(ssh, on_hosts + "  - {name: gpu, hosts: [gpu3]}\n",
               "trainers[1].name", "'gpu' is the name of others already");
  expect_error(ssh, "insecure: true\nkeys: x" + on_hosts, "insecure",
               "is true, and there are keys: give one of the two");
  expect_error(slurm, changed(jobs, "1-08:00:00", "8h"), "trainers[0].time",
               "must be HOURS:MINUTES:SECONDS or DAYS-HOURS:MINUTES:SECONDS, "
               "found '8h'");
  expect_error(kubernetes, changed(pods, "100Gi", "100G"), "service.storage",
               "must be a whole number with a unit of Mi, Gi or Ti, such as "
               "16Gi, found '100G'");
  expect_error(kubernetes, changed(pods, "    count_max: 16\n", ""),
               "trainers[0].count",
               "is 0, and without 'count_max' it stays so");
  expect_error(kubernetes, changed(pods, "count_max: 16", "count_max: 0"),
               "trainers[0].count_max",
               "must be a whole number from 1 to 10000, found '0'");
  const auto unscaled =
    changed(pods, "prometheus: http://prometheus.monitoring:9090\n", "");
  good(kubernetes, changed(unscaled, "cpus: 2", "count_max: 2"));
  expect_error(kubernetes, changed(pods, "cpus: 2", "queue: a b"),
               "trainers[1].queue",
               "must be the name of a queue of Kueue, found 'a b'");
  expect_error(kubernetes, changed(pods, "cpus: 2", "count_max: 2"), "trainers",
               "'count_max' of more than one: what waits for trainers is one "
               "number, and each would follow all of it; without 'prometheus' "
               "hippo scale divides it");
}

TEST(MachinesTest, TellsAllThatIsMissing) {
  const auto read = read_machines("{trainers: [{}]}", "m.yaml", kubernetes);
  std::vector<std::string> errors;
  for (const auto& x : read.errors)
    errors.push_back(x.path + ": " + x.message);
  EXPECT_EQ(errors, (std::vector<std::string>{
                      ": 'service' is missing",
                      "trainers[0]: 'name' is missing",
                      "trainers[0]: 'image' is missing"}));
}

/// What belongs to another target is unknown, not ignored.
TEST(MachinesTest, KeysAreThoseOfTheTarget) {
  for (const auto* key : {"time: 08:00:00", "image: x", "count_max: 3",
                          "nodes: {a: b}", "memory: 1Gi"}) {
    const auto read = read_machines(
      changed(on_hosts, "gpus: 2", std::string{"gpus: 2\n    "} + key),
      "m.yaml", ssh);
    ASSERT_EQ(read.errors.size(), 1u) << key;
    EXPECT_NE(read.errors[0].message.find("unknown key"), std::string::npos)
      << read.errors[0].message;
  }
  EXPECT_FALSE(read_machines(on_hosts, "m.yaml", slurm).found);
  EXPECT_FALSE(read_machines(jobs, "m.yaml", kubernetes).found);
}

/// Whatever is written there ends neither a word of a shell nor a value of
/// YAML.
TEST(MachinesTest, NothingGetsOutOfItsWord) {
  const std::vector<std::tuple<deploy_target, std::string, std::string>> places{
    {ssh, "service: gpu-lab:4848", "service: \"gpu-lab"},
    {ssh, "service: gpu-lab:4848", "keys: \"a"},
    {ssh, "name: gpu", "name: \"gpu"},
    {ssh, "gpus: 2", "python: \"python3"},
    {ssh, "gpus: 2", "program: \"trainer"},
    {ssh, "[gpu1, ada@gpu2.example.org]", "- \"gpu1"},
    {slurm, "time: 1-08:00:00", "time: \"1-08:00:00"},
    {slurm, "memory: 32Gi", "memory: \"32Gi"},
    {slurm, "partition: gpu", "partition: \"gpu"},
    {slurm, "[--account=lab]", "- \"--account=lab"},
    {kubernetes, "image: hippo-trainer:1\n", "image: \"hippo-trainer"},
    {kubernetes, "{cloud.example.org/gpu: a100}", "{x: \"a"},
    {kubernetes, "{cloud.example.org/gpu: a100}", "{\"x"},
    {kubernetes, "[nvidia.com/gpu]", "- \"nvidia.com/gpu"},
    {kubernetes, "http://prometheus.monitoring:9090", "\"http://prometheus"}};
  for (const auto& [target, from, to] : places)
    for (const std::string evil :
         {" x", "$(x)", "`x`", "'x", "\\\"x", ";x", "\\n", "&x", "|x", ">x",
          "{x", "#x", "*", "\\\\", "!", "\u00e4"}) {
      auto end = to.starts_with('{') ? "\"}" : "\"";
      auto text = changed(target == ssh     ? on_hosts
                          : target == slurm ? jobs
                                            : pods,
                          from, to + evil + end);
      EXPECT_FALSE(read_machines(text, "m.yaml", target).found) << text;
    }
}

TEST(MachinesTest, SbatchOptionsAreOptions) {
  for (const auto* option : {"account=lab", "-A", "--", "--x y", "--x;y"})
    EXPECT_FALSE(
      read_machines(changed(jobs, "--account=lab",
                            std::string{"\""} + option + '"'),
                    "m.yaml", slurm)
        .found)
      << option;
}

TEST(MachinesTest, TimesAreThoseOfSlurm) {
  for (const auto* x : {"08:00:00", "1-00:00:00", "100:00:00", "00:30:00"})
    EXPECT_EQ(good(slurm, changed(jobs, "1-08:00:00", x)).trainers[0].time, x);
  for (const auto* x : {"08:00", "1-08", "8:0:0", "::", "a-08:00:00",
                        "-08:00:00", "08::00", "1-1-08:00:00", "08:00:00:00",
                        "0800:00:00", "08:00:000"})
    EXPECT_FALSE(
      read_machines(changed(jobs, "1-08:00:00", std::string{"\""} + x + '"'),
                    "m.yaml", slurm)
        .found)
      << x;
}

} // namespace
} // namespace hippo
