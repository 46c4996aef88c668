// Ranks in Python that several trainers have: their states, and the fate of
// their processes.

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "actors/engine_events.hpp"
#include "hippo/train/process/process_workload.hpp"
#include "train/loopback_gang.hpp"
#include "train/temporary_folder.hpp"
#include "training_engine.hpp"

namespace hippo {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The ranks add up their values at each step, through rank 0. Each leaves a
/// file with its rank and process. Rates below 0 are for trouble.
constexpr const char* plain_text = R"(
import os
import time
from multiprocessing.connection import Client, Listener

import hippo_hpo as hippo

ADDRESS = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        open(os.path.join(args["log"], f"{self.rank}.{os.getpid()}"), "w")
        self.others = []
        if self.rank == 0:
            listener = Listener(ADDRESS, backlog=self.world_size)
            found = [listener.accept() for _ in range(self.world_size - 1)]
            # By rank: sums depend on their order.
            self.others = sorted(found, key=lambda x: x.recv())
        while self.rank > 0 and not self.others:
            try:
                self.others = [Client(ADDRESS)]
                self.others[0].send(self.rank)
            except ConnectionRefusedError:
                time.sleep(0.01)

    def add_up(self, value):
        if self.rank > 0:
            self.others[0].send(value)
            return self.others[0].recv()
        total = value + sum(x.recv() for x in self.others)
        for x in self.others:
            x.send(total)
        return total

    def init(self):
        self.own, self.all = 0.0, 0.0

    def train(self, start, stop, hp):
        for step in range(start, stop):
            lr = hp.lr(step)
            if lr == -1 and self.rank == 3:
                raise ValueError("a negative rate")
            if lr == -2 and self.rank == 3:
                os.kill(os.getpid(), 9)
            if lr > 1:
                time.sleep(lr)
            self.own += lr * (self.rank + 1)
            self.all += self.add_up(self.own)

    def evaluate(self):
        return {"val": self.all + self.rank}

    def state_dict(self):
        return {"own": self.own, "all": self.all, "pad": "x" * self.rank * 999}

    def load_state_dict(self, state):
        self.own, self.all = state["own"], state["all"]
)";

constexpr const char* ddp_text = R"(
import torch
import torch.distributed as dist

import hippo_hpo as hippo
from hippo_hpo.torch import data_loader


@hippo.workload
def train(ctx):
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    torch.manual_seed(ctx.seed)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(0.2),
                              torch.nn.Linear(8, 1))
    model = torch.nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.SGD(model.parameters(), lr=1, momentum=0.9)
    x = torch.linspace(-1, 1, 23 * 6).reshape(23, 6)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True) ** 2)
    seen = {"samples": 0}
    for step in ctx.steps(net=net, opt=opt, seen=seen):
        for group in opt.param_groups:
            group["lr"] = ctx.hp.lr(step) / 100
        for a, b in data_loader(data, ctx.seed, step, 4):
            opt.zero_grad()
            torch.nn.functional.mse_loss(model(a), b).backward()
            opt.step()
            seen["samples"] += len(a) + ctx.rank

        def measure():
            net.eval()
            with torch.no_grad():
                loss = (net(x) - data.tensors[1]).square().mean()
            net.train()
            dist.all_reduce(loss)
            return {"val": float(loss) / ctx.world_size}
        yield measure
)";

std::unique_ptr<training_engine> make_engine(std::shared_ptr<gang_port> port) {
  process_context context;
  context.python = PYTHON;
  workload_registry works;
  add_process_workloads(works, context);
  call_limits limits;
  limits.grace = 5s;
  return std::make_unique<training_engine>(std::move(works), "cpu", folder_of,
                                           0, limits, nullptr, std::move(port));
}

lease make_lease(const std::string& folder, const std::string& name,
                 const std::vector<double>& rates, step_t begin, step_t end,
                 double ranks = 4) {
  lease x;
  x.workload.name = python_workload;
  x.workload.options = {{"class", "train.py:" + name},
                        {"ranks", ranks},
                        {"seed", 1.0},
                        {"args.log", folder + "/log"}};
  x.workload.settings = {{"folder", folder + "/code"}};
  x.folder = folder + "/states";
  for (auto at = begin; at < end; ++at)
    x.stages.push_back(
      {node_id{at + 1}, at, at + 1, {{"lr", form::constant(rates[at])}}});
  x.stops = {{end, true, true}};
  return x;
}

/// The parent of a process; nothing: it has ended.
std::optional<pid_t> parent_of(pid_t pid) {
  std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  std::istringstream rest{text.substr(text.rfind(')') + 1)};
  char state = 0;
  pid_t parent = 0;
  if (!(rest >> state >> parent) || state == 'Z')
    return std::nullopt;
  return parent;
}

bool is_alive(pid_t pid) {
  return parent_of(pid).has_value();
}

void wait_until(const std::function<bool()>& holds) {
  while (!holds())
    std::this_thread::sleep_for(20ms);
}

/// Trains steps of rates by several engines of this process, or of others.
struct RankProcesses : testing::Test {
  RankProcesses() {
    for (const auto* x : {"/log", "/code", "/states"})
      fs::create_directory(folder.path + x);
    ::setenv("PYTHONPATH", PACKAGE, 1);
    gang_limits limits;
    limits.silence = 20s;
    ports = std::make_unique<loopback_gang>(4, false, limits);
    for (const auto& port : ports->ports)
      engines.push_back(make_engine(port));
  }

  void SetUp() override {
    if (!fs::exists(PYTHON) || !fs::exists(PACKAGE))
      GTEST_SKIP() << "there is no .cache/workload-venv, or no package";
    write(plain_text, "Net");
  }

  void write(const char* text, const std::string& called) {
    std::ofstream{folder.path + "/code/train.py"} << text;
    name = called;
  }

  /// Starts a lease at the first engines; those that are null are elsewhere.
  gang_place start(step_t begin, step_t end, std::size_t size) {
    auto x = make_lease(folder.path, name, rates, begin, end, rank_count);
    if (begin > 0)
      x.start = saved;
    gang_place place;
    place.secret = "s3cret";
    place.lead = lease_id{++last_lease};
    for (std::size_t i = 0; i < size; ++i)
      place.members.push_back(ports->ports[i]->address());
    for (std::size_t i = 0; i < size; ++i) {
      x.number = lease_id{i == 0 ? last_lease : ++last_lease};
      if (size > 1)
        x.gang = place;
      if (engines[i])
        engines[i]->start(x, events[i].sink());
      ++place.rank;
    }
    return place;
  }

  void expect_trained(step_t end, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      const auto x = events[i].wait_for_end();
      ASSERT_FALSE(x.failure) << i << ": " << x.failure->message;
      EXPECT_EQ(x.at, end);
    }
    saved = events[0].reports().back().saved.value();
  }

  /// Trains a path. @returns the metrics at its end
  metrics train(step_t begin, step_t end, std::size_t size) {
    start(begin, end, size);
    expect_trained(end, size);
    return events[0].reports().back().values;
  }

  std::string bytes() const {
    std::ifstream in{folder.path + "/states/" + saved.file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  /// The ranks that were started since the last call, by process.
  std::map<pid_t, int> started() {
    std::map<pid_t, int> result;
    for (const auto& x : fs::directory_iterator{folder.path + "/log"}) {
      const auto file = x.path().filename().string();
      result[std::stoi(file.substr(file.find('.') + 1))] = std::stoi(file);
      fs::remove(x.path());
    }
    return result;
  }

  static void expect_ended(const std::map<pid_t, int>& ranks) {
    for (const auto& [pid, rank] : ranks)
      EXPECT_FALSE(is_alive(pid)) << "rank " << rank;
  }

  temporary_folder folder;
  std::string name;
  std::vector<double> rates = {1, 0.5, 0.25, 1, 0.5, 0.25};
  double rank_count = 4;
  std::unique_ptr<loopback_gang> ports;
  event_log events[4];
  std::vector<std::unique_ptr<training_engine>> engines;
  checkpoint saved;
  std::uint64_t last_lease = 0;
};

TEST_F(RankProcesses, MembersGiveTheBytesOfOneTrainer) {
  const auto measured = train(0, 6, 1);
  const auto expected = bytes();
  train(0, 1, 4);
  train(1, 3, 1);
  train(3, 4, 2);
  EXPECT_EQ(train(4, 6, 4), measured);
  EXPECT_TRUE(bytes() == expected);
}

TEST_F(RankProcesses, SoDoThoseOfPyTorch) {
  if (std::system(PYTHON " -c 'import importlib.util, sys;"
                         " sys.exit(not importlib.util.find_spec(\"torch\"))'")
      != 0)
    GTEST_SKIP() << "there is no PyTorch";
  write(ddp_text, "train");
  rank_count = 2; // of PyTorch, which takes long to import
  const auto measured = train(0, 5, 1);
  const auto expected = bytes();
  train(0, 2, 2);
  EXPECT_EQ(train(2, 5, 2), measured);
  EXPECT_TRUE(bytes() == expected);
}

TEST_F(RankProcesses, LiveOnBetweenLeasesUntilOneEnds) {
  train(0, 2, 2);
  const auto first = started();
  std::set<int> ranks;
  for (const auto& x : first)
    ranks.insert(x.second);
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2, 3}));
  train(2, 3, 2);
  const auto at_3 = saved;
  train(3, 4, 2);
  saved = at_3;
  train(3, 4, 2);
  EXPECT_TRUE(started().empty());
  for (const auto& x : first)
    EXPECT_TRUE(is_alive(x.first));
  // One ends while there is nothing to do, and its member with it.
  const auto killed = first.rbegin()->first;
  const auto member = *parent_of(killed);
  ::kill(killed, SIGKILL);
  wait_until([&] { return !is_alive(member); });
  train(4, 6, 2);
  expect_ended(first);
  EXPECT_EQ(started().size(), 4);
  train(0, 6, 1);
  const auto expected = bytes();
  train(0, 6, 2);
  EXPECT_TRUE(bytes() == expected);
}

TEST_F(RankProcesses, AnExceptionOfARankIsTheLeadsAndEndsAll) {
  rates[2] = -1;
  for (const std::size_t size : {2, 4}) {
    start(0, 3, size);
    const auto end = events[0].wait_for_end();
    ASSERT_TRUE(end.failure);
    EXPECT_EQ(end.failure->code, errc::training_failed);
    EXPECT_EQ(end.at, 2);
    EXPECT_TRUE(end.failure->message.starts_with(
      "in step 2: ValueError: a negative rate (rank 3 of 4)\nTraceback"))
      << end.failure->message;
    EXPECT_NE(end.failure->message.find("train.py"), std::string::npos);
    for (std::size_t i = 1; i < size; ++i)
      EXPECT_FALSE(events[i].wait_for_end().failure);
    expect_ended(started());
  }
}

TEST_F(RankProcesses, ARankThatIsKilledIsAFailureAndTheNextLeaseIsGood) {
  rates[2] = -2;
  start(0, 3, 2);
  const auto end = events[0].wait_for_end();
  EXPECT_EQ(end.failure.value().code, errc::training_failed);
  EXPECT_EQ(end.at, 2);
  EXPECT_FALSE(events[1].wait_for_end().failure);
  expect_ended(started());
  rates[2] = 0.25;
  train(0, 6, 2);
  const auto expected = bytes();
  train(0, 6, 1);
  EXPECT_TRUE(bytes() == expected);
}

TEST_F(RankProcesses, CodeThatCannotBeImportedIsNoFailureOfAStage) {
  train(0, 1, 2);
  const auto first = started();
  std::ofstream{folder.path + "/code/train.py"} << "import no_such_module\n";
  engines[1] = make_engine(ports->ports[1]);
  // The lead has its ranks already, but not in a world with the others.
  start(1, 2, 2);
  const auto lead = events[0].wait_for_end().failure.value();
  const auto other = events[1].wait_for_end().failure;
  EXPECT_TRUE(lead.code == errc::cannot_start
              || (other && other->code == errc::cannot_start
                  && lead.code == errc::gang_lost))
    << lead.message;
  EXPECT_NE(lead.message.find("no_such_module"), std::string::npos);
  expect_ended(first);
}

/// A follower that is a program of its own.
class other_program {
public:
  other_program(const RankProcesses& test, const gang_place& place,
                std::vector<double> rates) {
    std::string listed;
    for (const auto& x : place.members)
      listed += (listed.empty() ? "" : ",") + x;
    std::string told;
    for (const auto x : rates)
      told += (told.empty() ? "" : ",") + std::to_string(x);
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl("/proc/self/exe", "member", "--member", test.folder.path.c_str(),
              test.name.c_str(), std::to_string(number_of(place.lead)).c_str(),
              listed.c_str(), told.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~other_program() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  other_program(const other_program&) = delete;
  other_program& operator=(const other_program&) = delete;

  void signal(int number) const { ::kill(pid_, number); }

  int exit_code() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

private:
  pid_t pid_ = -1;
};

/// The last of two members is another program.
struct RankPrograms : RankProcesses {
  static constexpr auto silence = 4s;

  RankPrograms() {
    gang_limits limits;
    limits.silence = silence;
    engines.clear();
    ports = std::make_unique<loopback_gang>(2, false, limits);
    engines.push_back(make_engine(ports->ports[0]));
    engines.emplace_back();
    other = ports->ports[1]->address();
    rates = {0.5, 3, 3, 3, 3, 3};
  }

  /// Starts both. The steps last for seconds.
  std::unique_ptr<other_program> start_both() {
    return std::make_unique<other_program>(*this, start_lead(), rates);
  }

  gang_place start_lead() {
    auto x = make_lease(folder.path, name, rates, 0, 6);
    gang_place place;
    place.secret = "s3cret";
    place.lead = lease_id{++last_lease};
    place.members = {ports->ports[0]->address(), other};
    x.number = place.lead;
    x.gang = place;
    ports->ports.resize(1); // the other program listens there now
    engines[0]->start(x, events[0].sink());
    return place;
  }

  std::string other; ///< the address of the other program
};

TEST_F(RankPrograms, OneThatIsKilledIsLostAndNothingIsLeft) {
  const auto program = start_both();
  std::map<pid_t, int> ranks;
  wait_until([&] {
    ranks.merge(started());
    return ranks.size() == 4;
  });
  program->signal(SIGKILL);
  const auto end = events[0].wait_for_end();
  EXPECT_EQ(end.failure.value().code, errc::gang_lost);
  EXPECT_NE(end.failure->message.find("member 1 of 2"), std::string::npos);
  for (const auto& x : ranks)
    wait_until([&] { return !is_alive(x.first); });
}

TEST_F(RankPrograms, OneThatIsStoppedIsLostAndLeavesWhenItGoesOn) {
  const auto program = start_both();
  std::map<pid_t, int> ranks;
  wait_until([&] {
    ranks.merge(started());
    return ranks.size() == 4;
  });
  program->signal(SIGSTOP);
  const auto end = events[0].wait_for_end();
  EXPECT_EQ(end.failure.value().code, errc::gang_lost);
  EXPECT_NE(end.failure->message.find("is silent since"), std::string::npos)
    << end.failure->message;
  for (const auto& [pid, rank] : ranks)
    EXPECT_FALSE(rank < 2 && is_alive(pid));
  program->signal(SIGCONT);
  EXPECT_EQ(program->exit_code(), static_cast<int>(errc::gang_lost));
  expect_ended(ranks);
}

TEST_F(RankPrograms, OneThatIsLateTrains) {
  rates = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
  const auto place = start_lead();
  std::this_thread::sleep_for(1s);
  other_program program{*this, place, rates};
  EXPECT_FALSE(events[0].wait_for_end().failure);
  EXPECT_EQ(program.exit_code(), 0);
  EXPECT_EQ(started().size(), 4);
}

/// Trains a lease as the second member of a gang. @returns the code of its end
int follow_lead(char** words) {
  const auto split = [](const std::string& text) {
    std::vector<std::string> result{""};
    for (const char x : text)
      if (x == ',')
        result.emplace_back();
      else
        result.back() += x;
    return result;
  };
  std::vector<double> rates;
  for (const auto& x : split(words[4]))
    rates.push_back(std::stod(x));
  auto x = make_lease(words[0], words[1], rates, 0, rates.size());
  gang_place place;
  place.lead = lease_id{std::stoull(words[2])};
  place.members = split(words[3]);
  place.rank = 1;
  place.secret = "s3cret";
  x.number = lease_id{1000};
  x.gang = place;
  gang_limits limits;
  limits.silence = RankPrograms::silence;
  auto port =
    gang_port::listen(*parse_endpoint(place.members[1]), false, limits);
  if (!port)
    return 126;
  event_log events;
  const auto engine = make_engine(std::move(*port));
  engine->start(x, events.sink());
  const auto end = events.wait_for_end();
  return end.failure ? static_cast<int>(end.failure->code) : 0;
}

} // namespace
} // namespace hippo

int main(int argc, char** argv) {
  if (argc == 7 && std::string_view{argv[1]} == "--member")
    return hippo::follow_lead(argv + 2);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
