#!/usr/bin/env python3
"""Studies whose plans are as large as may be, where memory is limited."""

import os
import time
import unittest

from programs import summing, wait_for
from rude import RudeCase, victim


def wide(pieces):
    """A value with so many pieces, no two trials alike."""
    return {"piecewise": [[i, {"uniform": [0.01, 0.1]} if i == 0
                           else 0.05 if i % 2 else 0.025]
                          for i in range(pieces)]}


class PlanBomb(RudeCase):
    limit = 512  # MiB
    options = ("--memory-limit", "512MiB")

    def bomb(self, name, workload=None, pieces=4000):
        return {"study": name,
                "workload": workload or {"files": [self.script()]},
                "objective": {"metric": "total" if workload else "m",
                              "direction": "maximize"},
                "eval_every": 4000,
                "max_steps": 4000, "space": {"lr": wide(pieces)},
                "algorithm": "random", "budget": {"trials": 5000}}

    def script(self):
        """A program that measures without training."""
        name = self.path("run.sh")
        if not os.path.exists(name):
            with open(name, "w") as out:
                out.write("#!/bin/sh\n"
                          "echo '{\"metrics\": {\"m\": 1.5}}' > \"$2\"\n")
            os.chmod(name, 0o755)
        return "run.sh"

    def assert_bounded(self, seconds):
        """The service lives on for a while, and has had no more memory than
        its limit, and some for itself."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertIsNone(self.service.poll(), self.log()[-3000:])
            time.sleep(0.5)
        self.assertLessEqual(self.memory("VmHWM"), self.limit + 300)

    def test_beside_a_victim_of_another_key(self):
        one = victim()
        self.alone(one)
        self.submit(self.bomb("plan0"))
        self.submit(one)
        self.assert_unharmed(one)
        self.assert_bounded(1)
        # Each has its window: those for which there is no room are refused.
        taken = ["plan0"]
        while (said := self.submit(self.bomb(f"plan{len(taken)}", pieces=100),
                                   code=None)).returncode == 0:
            taken.append(f"plan{len(taken)}")
            self.assertLess(len(taken), 7)
        self.assertIn("and this one would take", said.stderr)
        self.assertIn("--memory-limit", said.stderr)
        self.assert_bounded(1)
        # What is gone gives back what it took.
        for name in taken:
            self.ask("cancel", name)
        wait_for("memory to be given back",
                 lambda: self.memory("RssAnon") < self.limit // 2, 30)
        later = victim("later")
        self.submit(later)
        self.assert_unharmed(later)

    def test_beside_a_victim_of_the_same_key(self):
        one = victim()
        self.alone(one)
        self.submit(one)
        self.submit(self.bomb("plan", one["workload"]))
        self.assert_unharmed(one)
        self.assert_bounded(1)


class ManyPlans(RudeCase):
    plans = 300  # by hand: 2000

    def test_no_descriptor_is_held_for_a_plan(self):
        self.kill_service()
        self.serve(wrap=["prlimit", "--nofile=256:256"])
        files = [self.write(f"s{i}.yaml", victim(
            f"s{i}", steps=1, workload=summing(seed=i), space={"lr": 0.1},
            algorithm="random", budget={"trials": 1}))
            for i in range(self.plans)]
        for i in range(0, self.plans, 100):
            self.ask("submit", *files[i:i + 100])
        self.assertLess(len(os.listdir(f"/proc/{self.service.pid}/fd")), 128)
        one = victim()
        self.submit(one)
        self.ask("weight", "victim", 1000, code=None)
        wait_for("the victim to run",
                 lambda: self.state_of("victim") in ("RUNNING", "COMPLETE"))
        self.assertNotIn("Too many open files", self.log())


if __name__ == "__main__":
    unittest.main()
