#!/usr/bin/env python3
"""Trainers that train a path together, as real processes."""

import json
import os
import re
import shutil
import signal

import programs
from nodes_test import NodeCase, free_port
from programs import (PATIENCE, fashion, results, send, wait_for,
                      with_variable)

# One trial is left after its first rung, and lasts long enough for others to
# help: also where machines are busy and to hand a trial over takes time.
STUDY = {
    "study": "halving",
    "workload": {"name": "fashion-cnn", "parts": 4, "data": fashion(2048)},
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


# Parts have weights of their own, which are averaged behind training.
SYNC = {
    **STUDY,
    "workload": {**STUDY["workload"], "sync": "average"},
    "space": {**STUDY["space"], "sync_every": 4, "sync_lag": 2},
}


class GangCase(NodeCase):
    """A study that trainers train together, and its results by one alone."""

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

    def begin(self, service):
        """Starts trainers and the study.
        @returns the trainers, and the processes of those that are in a gang"""
        trainers = [self.trainer(service.address, "--gang-listen", "127.0.0.1")
                    for _ in range(self.trainers)]
        for x in trainers:
            self.await_word(x, "registered as number")
        self.hippo("submit", *self.files, "--server", service.rpc)
        members = wait_for("a gang", lambda: self.members(service))
        self.assertIn(len(members), (2, 4))
        return trainers, members

    def finish(self, service):
        """Waits for the study and ends the service.
        @returns the log of the service"""
        wait_for("the end", lambda: all(x["state"] == "COMPLETE" for x in
                                        self.ask(service, "ls")))
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)
        self.hippo("run", "--resume", self.path("state"), "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        self.assertEqual(report["trained_steps"], 0)
        with open(self.path("state", "hippo.log")) as log:
            return log.read()

    def lose_one(self):
        service = self.serve()
        _, members = self.begin(service)
        os.kill(members[-1], signal.SIGKILL)
        self.assertRegex(
            self.finish(service), r"lease \d+ of trainer \d+: member \d of \d "
            r"\(127\.0\.0\.1:\d+\)")


class Gangs(GangCase):
    def test_a_member_that_is_killed_costs_no_result(self):
        self.lose_one()

    def test_auto_is_where_the_trainer_reaches_its_service(self):
        service = self.serve()
        trainers = [self.trainer(service.address, "--gang-listen", x)
                    for x in ("auto", f"auto:{free_port()}")]
        places = []
        for x in trainers:
            self.await_word(x, "registered as number")
            places += re.findall(r"other trainers reach this one at "
                                 r"(127\.0\.0\.1:\d+)\n", self.said(x))
        self.assertEqual(len(places), 2, places)
        self.assertIn(f"auto:{places[1].rpartition(':')[2]}",
                      trainers[1].args)
        # A port that is taken leaves a trainer alone.
        late = self.trainer(service.address, "--gang-listen",
                            "auto:" + places[0].rpartition(":")[2])
        self.await_word(late, "registered as number")
        self.assertIn(f"trains with no other trainer: cannot listen at "
                      f"{places[0]}: Address already in use", self.said(late))
        send(late, signal.SIGTERM)
        self.assert_leaves(late)
        self.hippo("submit", *self.files, "--server", service.rpc)
        members = wait_for("a gang", lambda: self.members(service))
        self.assertEqual({x.pid for x in trainers}, set(members))


class Averaged(GangCase):
    """Members whose parts have weights of their own."""

    study = SYNC
    trainers = 2

    def test_members_that_are_killed_or_stopped_cost_no_result(self):
        # By which processes of this test are known, those of trainers too.
        os.environ["GANGS_TEST"] = self.folder
        self.addCleanup(os.environ.pop, "GANGS_TEST")
        for number, place in (signal.SIGKILL, 0), (signal.SIGSTOP, -1):
            with self.subTest(number=number, place=place):
                self.lose(number, place)

    def lose(self, number, place):
        service = self.serve()
        trainers, members = self.begin(service)
        victim, = (x for x in trainers if x.pid == members[place])
        send(victim, number)
        wait_for("the end of its gang", lambda: victim.pid not in
                 self.members(service))
        said = self.finish(service)
        self.assertRegex(said, rf"trainer \d+ \(\S+:{victim.pid}\)")
        send(victim, signal.SIGKILL)
        for x in trainers:
            if x is not victim:
                send(x, signal.SIGTERM)
                self.assert_leaves(x)
        victim.wait(PATIENCE)
        wait_for("the end of all programs", lambda: not with_variable(
            "GANGS_TEST", self.folder))
        shutil.rmtree(self.path("state"))


class GangsOfSpans(GangCase):
    """Two trainers of a BERT, of which one is killed."""

    study = SPANS
    trainers = 2

    def test_a_member_that_is_killed_costs_no_result(self):
        self.lose_one()


if __name__ == "__main__":
    programs.main()
