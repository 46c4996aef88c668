#!/usr/bin/env python3
"""Trials of several processes, which add up their values at each step."""

import os
import signal
import subprocess
import time

import hippo_hpo
from own_code import ASKED, UNIQUE, OwnCode, Serving, python, study
from programs import (HIPPO, is_alive, main, results, wait_for,
                      with_variable)

# Each rank has a value of its own. The sum of all, which each step ends with,
# goes through rank 0.
TRAIN = """\
import os
import time
from multiprocessing.connection import Client, Listener

import hippo_hpo as hippo

ADDRESS = (os.environ.get("MASTER_ADDR"), int(os.environ.get("MASTER_PORT", 0)))


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        self.seconds = args.get("seconds", 0)
        self.others = []
        if self.rank == 0 < self.world_size - 1:
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
        self.state = {"own": 0.0, "all": 0.0}

    def train(self, start, stop, hp):
        for step in range(start, stop):
            time.sleep(self.seconds)
            self.state["own"] += hp.lr(step) * (self.rank + 1)
            self.state["all"] += self.add_up(self.state["own"])
            self.after(step, hp.lr(step))

    def after(self, step, lr):
        pass

    def evaluate(self):
        return {"val": self.state["all"] / 3 + self.rank}

    def state_dict(self):
        return dict(self.state)

    def load_state_dict(self, state):
        self.state = dict(state)
"""

RANKS = 3


def ranks_study(name="s", ranks=RANKS, **more):
    return study(name, python(ranks=ranks, **more))


class Ranks(OwnCode):
    """Runs on this machine."""

    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN)
        # By which its processes are known.
        self.env["RANKS_TEST"] = self.folder

    def rank(self, number):
        return [x for x in with_variable("RANKS_TEST", self.folder)
                if x in with_variable("RANK", number)]

    def test_sharing_changes_no_bit(self):
        report = self.assert_as_alone(ranks_study())
        self.assertEqual(report["asked_steps"], ASKED)
        self.assertEqual(report["unique_steps"], UNIQUE)
        self.assertIn(f";ranks={RANKS};", report["studies"][0]["workload"])
        # Six steps of .1: the ranks' own values add up to 6 (1 + 2 + ... + 6).
        values = [float(x["results"][-1]["metrics"]["val"])
                  for x in report["studies"][0]["trials"]]
        self.assertAlmostEqual(max(values), 6 * 21 * 0.1 / 3)
        wait_for("the end of all ranks", lambda: not with_variable(
            "RANKS_TEST", self.folder))

    def test_one_rank_is_what_it_was(self):
        one, _ = self.run_study(ranks_study(ranks=1), "one")
        none, _ = self.run_study(study("s", python()), "none")
        self.assertEqual(one["studies"][0]["workload"],
                         none["studies"][0]["workload"])
        self.assertEqual(results(one), results(none))

    def test_a_rank_that_dies_costs_steps_alone(self):
        expected, _ = self.run_study(ranks_study(), "expected")
        self.write("s.yaml", ranks_study(args={"seconds": 0.2}))
        run = self.begin("run", "s.yaml", "--state", "state", "--trainers", 1)
        self.first_trial(run)
        for number in 1, 0:
            (other,) = wait_for("the last rank", lambda: self.rank(2))
            (victim,) = self.rank(number)
            os.kill(victim, signal.SIGKILL)
            begun = time.monotonic()
            wait_for("the other's end", lambda: not is_alive(other))
            wait_for("the next one", lambda: self.rank(2))
            self.assertLess(time.monotonic() - begun, 45)
        self.finish(run, 0)
        # Only an argument of the code differs.
        found = self.report("state")["studies"][0]["trials"]
        for trial, other in zip(found, expected["studies"][0]["trials"]):
            self.assertEqual("COMPLETE", trial["state"])
            self.assertEqual(trial["results"], other["results"])

    def test_what_a_rank_raises_is_the_trials_error(self):
        self.after("if self.rank == 2 and step == 3: raise ValueError('no')",
                   "if step == 3: time.sleep(1000)")
        report, done = self.run_study(ranks_study(), "state", code=1)
        for trial in report["studies"][0]["trials"]:
            self.assertEqual("FAILED", trial["state"])
            self.assertIn("in step 3: ValueError: no (rank 2 of 3)",
                          trial["failure"])
            self.assertIn("train.py", trial["failure"])
        self.assertIn("(rank 2 of 3)", done.err)

    def test_check_compares_the_states_of_all(self):
        self.write("s.yaml", ranks_study())
        said = self.hippo("check", "s.yaml").out
        self.assertIn("exact", said)
        self.assertNotIn("warning", said)
        self.change("self.state = dict(state)",
                    "self.state = dict(state)\n"
                    "        if self.rank == 2:\n"
                    "            self.state['own'] += 1e-9")
        said = self.hippo("check", "s.yaml", code=1)
        self.assertIn("rank 2: ", said.out + said.err)

    def test_check_warns_of_ranks_that_train_alone(self):
        # As far as PyTorch knows.
        self.change("import os\n", "import os\nimport torch\n")
        self.write("s.yaml", ranks_study(ranks=2))
        check = subprocess.Popen(
            [HIPPO, "check", "s.yaml"], cwd=self.folder, text=True,
            env={**os.environ, **self.env}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        for clean_up in (check.stdout.close, check.wait,
                         lambda: os.killpg(check.pid, signal.SIGKILL)):
            self.addCleanup(clean_up)
        # It is said first; all else takes long, with PyTorch.
        self.assertEqual("warning the ranks train together\n",
                         check.stdout.readline())
        self.assertIn("they have joined no process group",
                      check.stdout.readline())

    def test_says_what_is_wrong(self):
        for workload, why in (
                (python(ranks=0), "must be a whole number from 1 to 1024"),
                (python(ranks=2000), "1024"),
                (python(ranks=1.5), "whole number"),
                ({"command": ["/bin/true"], "ranks": 2,
                  "packages": {"x": "1"}}, "ranks"),
                ({"name": "fashion-mlp", "ranks": 2}, "ranks")):
            with self.subTest(workload=workload):
                self.write("s.yaml", study(workload=workload))
                said = self.hippo("run", "s.yaml", "--state", "x", code=2).err
                self.assertIn("s.yaml:", said)
                self.assertIn(why, said)
        self.write("a.yaml", ranks_study("a"))
        self.write("b.yaml", study("b"))
        said = self.hippo("run", "a.yaml", "b.yaml", "--state", "x",
                          "--trainers", 1, code=1).err
        self.assertIn("studies of different ranks (1 and 3) need a trainer "
                      "each: give --trainers 2", said)
        self.hippo("run", "a.yaml", "--state", "both")
        self.hippo("run", "a.yaml", "b.yaml", "--state", "x", "--trainers", 2)
        report = self.report("x")
        self.assertEqual(["COMPLETE"] * 6, [
            trial["state"] for x in report["studies"] for trial in x["trials"]])


class Service(Serving):
    """Trainers of a service."""

    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN)

    def demand(self):
        with hippo_hpo.connect(self.env["HIPPO_SERVER"]) as client:
            return client.demand()

    def test_waits_for_a_trainer_of_so_many(self):
        self.serve()
        self.trainer()
        self.submit(ranks_study())
        self.await_line("none of the 1 trainers can train 'python', whose "
                        "trials are 3 ranks each: start one with --ranks 3 "
                        "(there are trainers of 1)")
        demand = self.demand()
        self.assertEqual([3], [x.ranks for x in demand.work])
        self.assertEqual([1], [x.ranks for x in demand.connected])
        self.trainer("--ranks", RANKS)
        self.await_end()
        # A study of one rank is none of that trainer's.
        self.submit(study("single"))
        self.await_end("single")
        self.assertEqual([1, RANKS], sorted(
            x.ranks for x in self.demand().connected))


if __name__ == "__main__":
    main()
