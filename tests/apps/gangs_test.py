#!/usr/bin/env python3
"""Trainers that train a path together, as real processes."""

import json
import os
import re
import signal

import programs
from nodes_test import NodeCase
from programs import PATIENCE, fashion, results, send, wait_for

# One trial is left after its first rung, and lasts long enough for others to
# help.
STUDY = {
    "study": "halving",
    "workload": {"name": "fashion-cnn", "parts": 4, "data": fashion(4096)},
    "objective": {"metric": "val_accuracy", "direction": "maximize"},
    "max_steps": 48,
    "eval_every": 10,
    "space": {"lr": {"choice": [0.02, 0.05]}, "batch_size": 64},
    "algorithm": {"sha": {"eta": 2, "min": 10}},
}


# A warm-up and a decay of one trial.
SPANS = {
    "study": "spans",
    "workload": {"name": "squad-bert-tiny", "parts": 2,
                 "data": {"train": 256, "validation": 64, "length": 32}},
    "objective": {"metric": "val_f1", "direction": "maximize"},
    "max_steps": 40,
    "eval_every": 10,
    "space": {"lr": {"warmup": {"steps": 5, "from": 0, "to": 0.002, "then": {
                  "linear": {"to": 0, "horizon": 35}}}},
              "batch_size": 16},
    "algorithm": "grid",
}


class Gangs(NodeCase):
    study = STUDY
    trainers = 4

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case(NodeCase)
        cls.files = case.studies(cls.study)
        cls.reference = case.run_studies(cls.files, "alone", "--gangs", "off",
                                         "--trainers", 1)

    def serve(self):
        service = self.start("serve", "--state", self.path("state"),
                             "--listen", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
                             "--http", "127.0.0.1:0", "--trainers", 0)

        def find(whose):
            self.assertIsNone(service.poll(), self.stderr())
            return re.findall(whose + r" connect to (127\.0\.0\.1:\d+)",
                              self.stderr())

        service.address = wait_for("the service", lambda: find("trainers"))[0]
        service.rpc = wait_for("the service", lambda: find("clients"))[0]
        return service

    def ask(self, service, *words):
        return json.loads(self.hippo(*words, "--server", service.rpc, "-f",
                                     "json").out)

    def members(self, service):
        """The processes of trainers that train with others."""
        return [int(re.search(r":(\d+)$", x["name"])[1])
                for x in self.ask(service, "top", "--once")
                if (x.get("members") or 1) > 1]

    def test_a_member_that_is_killed_costs_no_result(self):
        service = self.serve()
        for _ in range(self.trainers):
            self.await_word(
                self.trainer(service.address, "--gang-listen", "127.0.0.1"),
                "registered as number")
        self.hippo("submit", *self.files, "--server", service.rpc)
        members = wait_for("a gang", lambda: self.members(service))
        self.assertIn(len(members), (2, 4))
        os.kill(members[-1], signal.SIGKILL)
        wait_for("the end", lambda: all(x["state"] == "COMPLETE" for x in
                                        self.ask(service, "ls")))
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)
        with open(self.path("state", "hippo.log")) as log:
            said = log.read()
        self.assertRegex(said, r"lease \d+ of trainer \d+: member \d of \d "
                         r"\(127\.0\.0\.1:\d+\)")
        self.hippo("run", "--resume", self.path("state"), "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        self.assertEqual(report["trained_steps"], 0)


class GangsOfSpans(Gangs):
    """Two trainers of a BERT, of which one is killed."""

    study = SPANS
    trainers = 2


if __name__ == "__main__":
    programs.main()
