#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "hippo/train/process/process_workload.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Adds up learning rates; what goes wrong is a word in args.trouble.
constexpr auto program = R"(#!/usr/bin/env python3
import json, os, subprocess, sys, time
request = json.load(open(sys.argv[1]))
total = 0.0
if request["load"]:
    total = float.fromhex(open(request["load"] + "/deep/total").read())
for step in range(request["to"] - request["from"]):
    total += request["values"]["lr"][step] * request["args"].get("scale", 1)
print("from", request["from"], "to", request["to"], flush=True)
trouble = request["args"].get("trouble") if request["to"] else None
if trouble == "hang":
    time.sleep(600)
if trouble == "daemon":
    daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print("daemon", daemon.pid, os.getpid(), flush=True)
    if request["args"].get("tell"):
        open(request["args"]["tell"] + ".new", "w").write(
            f"{daemon.pid} {os.getpid()}")
        os.rename(request["args"]["tell"] + ".new", request["args"]["tell"])
        time.sleep(600)
if trouble == "pipe":
    os.mkfifo(sys.argv[2])
    sys.exit()
if trouble == "exit":
    sys.exit(5)
os.mkdir(request["save"] + "/deep")
open(request["save"] + "/deep/total", "w").write(total.hex())
answer = {"metrics": {"total": total, "nothing": None}}
if trouble == "error":
    answer = {"error": "too large", "details": "line 7"}
if trouble == "empty":
    answer = {"metrics": {}}
json.dump(answer, open(sys.argv[2], "w"))
)";

struct FileWorkload : testing::Test {
  temporary_folder folder;

  FileWorkload() {
    const auto path = folder.path + "/train.py";
    std::ofstream{path} << program;
    fs::permissions(path, fs::perms::owner_all);
  }

  std::unique_ptr<workload> make(std::map<std::string, scalar> args = {},
                                 std::chrono::milliseconds silence = 60s) {
    process_options x;
    x.command = {"./train.py"};
    x.folder = folder.path;
    x.silence_max = silence;
    return make_file_workload(x, {7, std::move(args), {}});
  }
};

configuration lr(double x) { return {{"lr", form::constant(x)}}; }

std::string failure_of(workload& x) {
  try {
    x.init();
    x.train(lr(1), 0, 2);
  } catch (const std::exception& why) {
    return why.what();
  }
  return {};
}

TEST_F(FileWorkload, ExportIsACopyOfTheFolder) {
  const auto x = make();
  x->init();
  x->train(lr(0.5), 0, 3);
  const auto path = folder.path + "/exported";
  x->export_weights(path);
  std::string total;
  std::ifstream{path + "/deep/total"} >> total;
  EXPECT_EQ(std::stod(total), 1.5);
  EXPECT_THROW(x->export_weights(path), std::runtime_error); // it is there
}

TEST_F(FileWorkload, TrainsMeasuresAndTellsWhatWasPrinted) {
  const auto x = make({{"scale", 2.0}});
  EXPECT_TRUE(x->trains_in_one_go());
  x->init();
  EXPECT_EQ(x->evaluate().at("total"), 0);
  x->train(lr(0.5), 0, 3);
  x->train(lr(1), 3, 4);
  EXPECT_EQ(x->evaluate().at("total"), 5);
  EXPECT_TRUE(std::isnan(x->evaluate().at("nothing")));
  EXPECT_EQ(x->take_output(), "from 0 to 0\nfrom 0 to 3\nfrom 3 to 4\n");
}

TEST_F(FileWorkload, GoesOnFromWhatAnotherHasSaved) {
  const auto x = make();
  x->init();
  x->train(lr(0.1), 0, 3);
  const auto state = x->save();
  const auto y = make();
  y->load(state);
  EXPECT_EQ(y->save(), state);
  EXPECT_EQ(y->evaluate().at("total"), x->evaluate().at("total"));
  x->train(lr(0.3), 3, 5);
  y->train(lr(0.3), 3, 5);
  EXPECT_EQ(x->save(), y->save());
}

TEST_F(FileWorkload, SaysWhatWentWrong) {
  EXPECT_EQ(failure_of(*make({{"trouble", std::string{"error"}}})),
            "too large\nline 7");
  EXPECT_EQ(failure_of(*make({{"trouble", std::string{"exit"}}})),
            "the program ended with exit code 5");
  EXPECT_EQ(failure_of(*make({{"trouble", std::string{"hang"}}}, 2s)),
            "the program printed nothing for 2 s and was killed");
  EXPECT_NE(failure_of(*make({{"trouble", std::string{"empty"}}}))
              .find("'metrics', a map of numbers"),
            std::string::npos);
}

/// Waits until a process that is no child of this one has ended.
bool ends(pid_t id) {
  for (int i = 0; i < 1000 && ::kill(id, 0) == 0; ++i)
    std::this_thread::sleep_for(10ms);
  return ::kill(id, 0) != 0;
}

TEST_F(FileWorkload, AnAnswerThatIsNoFileIsNotWaitedFor) {
  EXPECT_NE(failure_of(*make({{"trouble", std::string{"pipe"}}}))
              .find("it is no regular file"),
            std::string::npos);
}

TEST_F(FileWorkload, WhatAProgramLeavesBehindEndsWithIt) {
  const auto x = make({{"trouble", std::string{"daemon"}}});
  EXPECT_EQ(failure_of(*x), "");
  const auto said = x->take_output();
  const auto at = said.find("daemon ");
  ASSERT_NE(at, said.npos) << said;
  EXPECT_TRUE(ends(std::stoi(said.substr(at + 7))));
}

TEST_F(FileWorkload, AProgramDoesNotOutliveATrainerThatIsKilled) {
  const auto tell = folder.path + "/told";
  const auto trainer = ::fork();
  if (trainer == 0) {
    failure_of(*make({{"trouble", std::string{"daemon"}}, {"tell", tell}}));
    ::_exit(1);
  }
  for (int i = 0; i < 3000 && !fs::exists(tell); ++i)
    std::this_thread::sleep_for(10ms);
  pid_t daemon = 0;
  pid_t program_id = 0;
  std::ifstream{tell} >> daemon >> program_id;
  ASSERT_GT(program_id, 0);
  EXPECT_EQ(::kill(program_id, 0), 0);
  ::kill(trainer, SIGKILL);
  ::waitpid(trainer, nullptr, 0);
  EXPECT_TRUE(ends(program_id));
  EXPECT_TRUE(ends(daemon));
}

TEST_F(FileWorkload, AStateThatIsNoneIsRefused) {
  const auto x = make();
  EXPECT_THROW(x->load("not a state"), std::runtime_error);
  EXPECT_THROW(x->load(std::string(64, '\xff')), std::runtime_error);
  EXPECT_THROW(x->load(""), std::runtime_error);
}

TEST_F(FileWorkload, AProgramThatIsNotThereIsToldAtOnce) {
  fs::remove(folder.path + "/train.py");
  EXPECT_THROW(make(), std::runtime_error);
}

} // namespace
} // namespace hippo
