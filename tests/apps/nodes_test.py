#!/usr/bin/env python3
"""Trainers that come and go: by themselves, beside a run, and of a service."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sqlite3
import time
import unittest

import programs
from programs import (HIPPO, PATIENCE, SHA, TRAINER, Case, is_alive, results,
                      send, study, trainers, wait_for)

# One step of these takes about 25 ms.
TRAIN = 1024


def served():
    """Whether this hippo has a service to connect to."""
    return subprocess.run([HIPPO, "serve", "--help"],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


class NodeCase(Case):
    def setUp(self):
        super().setUp()
        self.started = 0

    def trainer(self, address, *args, job_end=None):
        """Starts a trainer; `log` of it is the path of what it says.

        Args:
            job_end: the end of the Slurm job that it is in.
        """
        self.started += 1
        log = self.path(f"trainer-{self.started}.log")
        with open(log, "w") as err:
            process = subprocess.Popen(
                [TRAINER, "--connect", address, *map(str, args)],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                env=os.environ | ({} if job_end is None else
                                  {"SLURM_JOB_END_TIME": str(job_end)}))
        process.log = log
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def said(process):
        with open(process.log) as log:
            return log.read()

    def await_word(self, process, word, count=1):
        try:
            wait_for(f"'{word}'",
                     lambda: self.said(process).count(word) >= count)
        except AssertionError:
            self.fail(f"{word!r} is not in\n{self.said(process)}")

    def assert_leaves(self, process, code=0, seconds=PATIENCE):
        self.assertEqual(process.wait(seconds), code, self.said(process))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Alone(NodeCase):
    """A trainer without a service."""

    def test_waits_for_a_service_and_says_so_once(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))  # nobody listens
            port = listener.getsockname()[1]
            process = self.trainer(f"127.0.0.1:{port}")
            self.await_word(process, "cannot reach")
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(4)  # it has tried again by then
            self.assertEqual(self.said(process).count("cannot reach"), 1)
            self.assertIn(f"cannot reach 127.0.0.1:{port}", self.said(process))
        send(process, signal.SIGTERM)
        self.assert_leaves(process)
        self.assertIn("has left", self.said(process))

    def test_leaves_when_interrupted(self):
        process = self.trainer(f"[::1]:{free_port()}")
        self.await_word(process, "cannot reach [::1]:")
        send(process, signal.SIGINT)
        self.assert_leaves(process)

    def test_says_what_is_wrong_with_an_address(self):
        for address, why in {
                "nowhere": "there is no port",
                "host:0": "from 1 to 65535",
                "host:66666": "from 1 to 65535",
                "::1:4848": "[::1]:4848",
                "ho st:4848": "a name or an address"}.items():
            process = self.trainer(address)
            self.assert_leaves(process, 2)
            self.assertIn(f"--connect: '{address}' is not HOST:PORT",
                          self.said(process))
            self.assertIn(why, self.said(process))

    def test_says_what_is_wrong_with_a_device(self):
        for args, why in {
                ("--device", "cpuu"): "no device 'cpuu'",
                ("--device", "cuda:98", "--device", "cuda:99"): "cuda:98",
                ("--threads", "0"): "--threads",
                ("--grace-seconds", "-1"): "--grace-seconds"}.items():
            process = self.trainer("127.0.0.1:1", *args)
            self.assert_leaves(process, 2)
            self.assertIn(why, self.said(process))


    def test_leaves_before_its_time_limit(self):
        address = f"[::1]:{free_port()}"
        limited = [self.trainer(address, "--until", "9s", "--notice", 2),
                   self.trainer(address, "--grace-seconds", 3,
                                job_end=int(time.time()) + 12)]
        free = self.trainer(address)
        ends = time.time() + 12
        for process in limited:
            self.assert_leaves(process)
            self.assertLess(time.time(), ends)
            self.assertIn("leaving at its time limit", self.said(process))
            self.assertIn("has left", self.said(process))
        self.assertIsNone(free.poll())

    def test_says_what_is_wrong_with_a_time_limit(self):
        now = int(time.time())
        for args, job_end, why in (
                (("--until", "soon"), None,
                 "--until: must be a span such as 55m, a time such as "
                 "2030-01-31T18:00Z, or seconds since 1970, found 'soon'"),
                (("--until", "2020-01-31T18:00Z"), None,
                 "--until: this time has passed"),
                (("--until", now + 15, "--notice", 60), None,
                 "and leaving takes 1 min (--notice): give a later one"),
                (("--until", "nan"), None, "found 'nan'"),
                (("--until", "1e300"), None, "found '1e300'"),
                ((), now - 10, "SLURM_JOB_END_TIME: this time has passed"),
                ((), "later", "SLURM_JOB_END_TIME: must be a span")):
            with self.subTest(args=args, job_end=job_end):
                process = self.trainer("127.0.0.1:1", *args, job_end=job_end)
                self.assert_leaves(process, 2)
                self.assertIn(why, self.said(process))


class Joining(NodeCase):
    """A further trainer beside those of a run, which it finds by their
    command lines."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.files = case.studies(study("sha", SHA, every=2, train=TRAIN),
                                 study("grid", "grid", every=3, train=TRAIN))
        cls.reference = case.run_studies(cls.files, "state", "--trainers", 1)

    def join(self, *args):
        """@returns a run, and a trainer that has joined it"""
        run = self.start("run", *self.files, "--state", self.path("state"),
                         "--trainers", 1)
        own = wait_for("a trainer", lambda: run.poll() or trainers(run.pid))
        with open(f"/proc/{own[0]}/cmdline") as line:
            words = line.read().split("\0")
        guest = self.trainer(words[words.index("--connect") + 1], *args)
        self.await_word(guest, "registered as number")
        return run, guest

    def test_leaves_in_good_order(self):
        run, guest = self.join()
        send(guest, signal.SIGTERM)
        self.assert_leaves(guest)
        self.assertIn("has left", self.said(guest))
        self.finish(run, 0)
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        # What it had begun is saved, so nothing is trained twice.
        self.assertEqual(report["trained_steps"], report["unique_steps"])
        with open(self.path("state", "hippo.log")) as log:
            said = log.read()
        self.assertIn("has left", said)
        self.assertNotIn("lost trainer", said)

    def test_leaves_at_its_time_limit(self):
        run, guest = self.join("--until", "6s", "--notice", 3)
        self.assert_leaves(guest)
        self.assertIn("leaving at its time limit", self.said(guest))
        self.finish(run, 0)
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        self.assertEqual(report["trained_steps"], report["unique_steps"])

    def test_dies(self):
        run, guest = self.join()
        send(guest, signal.SIGKILL)
        self.finish(run, 0)
        self.assertEqual(results(self.report("state")),
                         results(self.reference))

    def test_stands_still_for_a_while(self):
        run, guest = self.join()
        send(guest, signal.SIGSTOP)
        self.first_trial(run)
        send(guest, signal.SIGCONT)
        self.finish(run, 0)
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        self.assertEqual(report["trained_steps"], report["unique_steps"])

    def test_waits_for_the_next_service(self):
        run, guest = self.join()
        self.finish(run, 0)
        self.await_word(guest, "lost the service")
        self.await_word(guest, "cannot reach")
        self.assertIsNone(guest.poll())
        send(guest, signal.SIGTERM)
        self.assert_leaves(guest)

    def test_does_not_wait_for_a_long_step(self):
        self.files = self.studies(
            study("slow", "grid", train=50000, batch_size=8,
                  lr={"choice": [0.01, 0.02]}))
        _, guest = self.join("--grace-seconds", 0.2)
        wait_for("work", lambda: self.seconds_of(guest) > 1)
        send(guest, signal.SIGTERM)
        self.assert_leaves(guest, 1, 5)
        self.assertIn("takes too long", self.said(guest))

    def test_a_second_signal_ends_it_at_once(self):
        self.files = self.studies(
            study("slow", "grid", train=50000, batch_size=8,
                  lr={"choice": [0.01, 0.02]}))
        _, guest = self.join("--grace-seconds", 600)
        wait_for("work", lambda: self.seconds_of(guest) > 1)
        send(guest, signal.SIGTERM)
        self.await_word(guest, "leaving")
        send(guest, signal.SIGTERM)
        self.assert_leaves(guest, -signal.SIGTERM, 5)

    @staticmethod
    def seconds_of(process):
        """The processor time that it has used."""
        with open(f"/proc/{process.pid}/stat") as stat:
            ticks = int(stat.read().rpartition(")")[2].split()[11])
        return ticks / os.sysconf("SC_CLK_TCK")


@unittest.skipUnless(served(), "this hippo has no `serve`")
class Service(NodeCase):
    """Trainers of a service that goes on with what a run has left."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case(NodeCase)
        cls.files = case.studies(study("sha", SHA, every=2, train=TRAIN),
                                 study("grid", "grid", every=3, train=TRAIN))
        cls.reference = case.run_studies(cls.files, "state", "--trainers", 1)

    def setUp(self):
        super().setUp()
        run = self.start("run", *self.files, "--state", self.path("state"),
                         "--trainers", 1)
        self.first_trial(run)
        send(run, signal.SIGINT)
        self.finish(run, 130)
        self.before = self.results()

    def serve(self, address="127.0.0.1:0", own_trainers=0):
        """Starts a service."""
        with open(self.path("stderr"), "w"):
            pass  # what the last one said
        service = self.start("serve", "--state", self.path("state"),
                             "--listen", address, "--rpc", "127.0.0.1:0",
                             "--http", "127.0.0.1:0", "--trainers",
                             own_trainers)
        pattern = re.compile(r"trainers connect to (127\.0\.0\.1:\d+)")

        def find():
            self.assertIsNone(service.poll(), self.stderr())
            return pattern.findall(self.stderr())

        service.address = wait_for("the service", find)[0]
        return service

    def ask(self, question):
        with sqlite3.connect(f"file:{self.path('state', 'hippo.db')}?mode=ro",
                             uri=True) as db:
            return db.execute(question).fetchall()

    def results(self):
        """How many results are stored."""
        return self.ask("SELECT count(*) FROM results")[0][0]

    def await_end(self):
        wait_for("the studies' end", lambda: all(
            state == "COMPLETE" for (state,) in
            self.ask("SELECT state FROM studies")))

    def assert_as_reference(self, service):
        """Nothing is left to train, and all is as it should be."""
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)
        self.hippo("run", "--resume", self.path("state"), "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        self.assertEqual(report["trained_steps"], 0)

    def test_a_trainer_may_come_first(self):
        address = f"127.0.0.1:{free_port()}"
        early = self.trainer(address)
        self.await_word(early, "cannot reach")
        service = self.serve(address)
        self.await_word(early, "registered as number 1")
        self.await_end()
        self.assert_as_reference(service)

    def test_own_trainers_are_started_again(self):
        service = self.serve(own_trainers=1)
        for _ in range(2):
            first = wait_for("a trainer", lambda: trainers(service.pid))
            os.kill(first[0], signal.SIGKILL)
            wait_for("its end", lambda: not is_alive(first[0]))
        self.await_end()
        self.assertEqual(self.stderr().count("trainer 1 died with signal 9 "
                                             "(Killed); it is started again"),
                         2)
        self.assert_as_reference(service)

    def test_trainers_outlive_their_service(self):
        address = f"127.0.0.1:{free_port()}"
        service = self.serve(address)
        node = self.trainer(address)
        wait_for("results", lambda: self.results() > self.before + 2)
        service.kill()
        service.wait()
        self.await_word(node, "lost the service")
        stored = self.results()
        service = self.serve(address)
        self.await_word(node, "registered as number", 2)
        self.await_end()
        self.assertGreater(self.results(), stored)
        self.assert_as_reference(service)

    def test_leaving_hands_the_rest_to_another(self):
        service = self.serve()
        first = self.trainer(service.address)
        wait_for("results", lambda: self.results() > self.before + 2)
        send(first, signal.SIGTERM)
        self.assert_leaves(first)
        saved = self.ask("SELECT count(*) FROM checkpoints")[0][0]
        self.assertGreater(saved, 0)
        self.trainer(service.address)
        self.await_end()
        self.assert_as_reference(service)

    def test_a_stopped_trainer_loses_its_work_and_comes_back(self):
        service = self.serve()
        stopped = self.trainer(service.address)
        wait_for("results", lambda: self.results() > self.before + 2)
        send(stopped, signal.SIGSTOP)
        self.trainer(service.address)
        # The other one ends what this one has begun, after 15 s of silence.
        self.await_end()
        send(stopped, signal.SIGCONT)
        self.await_word(stopped, "registered as number", 2)
        self.assert_as_reference(service)


@unittest.skipUnless(served(), "this hippo has no `serve`")
class TwoKinds(NodeCase):
    """Trainers of two kinds in one pool: whoever is killed, and whatever rule
    places them, a trial has the results of one kind, as alone on it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.files = case.studies(study("sha", SHA, every=2, train=128),
                                 study("grid", "grid", every=3, train=128))
        # All of the space, measured at each step.
        every = case.studies(study("all", "grid", train=128))
        cls.alone = {
            threads: cls.by_params(case.run_studies(
                every, f"alone-{threads}", "--merge", "off", "--trainers", 1,
                "--threads", threads))
            for threads in (1, 2)}

    @staticmethod
    def by_params(report):
        """The results by step of each trial, by its values."""
        return {json.dumps(y["params"]):
                {z["step"]: z["metrics"] for z in y["results"]}
                for x in report["studies"] for y in x["trials"]}

    def serve(self, state, rule):
        service = self.start("serve", "--state", self.path(state),
                             "--listen", "127.0.0.1:0", "--rpc",
                             "127.0.0.1:0", "--http", "127.0.0.1:0",
                             "--placement", rule)

        def find(word):
            self.assertIsNone(service.poll(), self.stderr())
            return re.findall(word + r" connect to (127\.0\.0\.1:\d+)",
                              self.stderr())

        service.address = wait_for("the service", lambda: find("trainers"))[-1]
        service.rpc = wait_for("the service", lambda: find("clients"))[-1]
        return service

    def kinds(self, state):
        """By study and trial, the kinds that its results are of."""
        with sqlite3.connect(f"file:{self.path(state, 'hippo.db')}?mode=ro",
                             uri=True) as db:
            found = db.execute(
                "SELECT s.name, e.trial, r.device FROM events e "
                "JOIN studies s ON s.id = e.study "
                "JOIN results r USING (workload, node, step) "
                "WHERE e.kind = 'measured'").fetchall()
        result = {}
        for name, trial, device in found:
            result.setdefault((name, trial), set()).add(
                2 if "2-thread" in device else 1)
        return result

    def check(self, rule):
        state = f"state-{rule}"
        service = self.serve(state, rule)
        nodes = [self.trainer(service.address, "--threads", threads)
                 for threads in (1, 2, 1, 2)]

        def joined():
            with open(self.path(state, "hippo.log")) as log:
                return len(re.findall(r"pool: trainer \d+ is ", log.read()))

        # Or the first ones may have trained all before the others are there.
        wait_for("the trainers", lambda: joined() >= len(nodes))
        for file in self.files:
            self.hippo("submit", file, "--server", service.rpc)
        draw = random.Random(rule)
        for count in (4, 12):
            wait_for("results", lambda: len(self.kinds(state)) > count)
            victim = draw.randrange(len(nodes))
            nodes[victim].kill()
            nodes[victim] = self.trainer(service.address, "--threads",
                                         1 + victim % 2)
        for file in self.files:
            name = os.path.basename(file)[:-len(".yaml")]
            self.hippo("watch", name, "--server", service.rpc)
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)
        self.hippo("run", "--resume", self.path(state), "--trainers", 1)
        kinds = self.kinds(state)
        self.assertEqual({x for y in kinds.values() for x in y}, {1, 2})
        for x in self.report(state)["studies"]:
            for y in x["trials"]:
                used = kinds[(x["name"], y["id"])]
                self.assertEqual(len(used), 1, (x["name"], y["id"]))
                expected = self.alone[min(used)][json.dumps(y["params"])]
                self.assertTrue(y["results"])
                for z in y["results"]:
                    self.assertEqual(z["metrics"], expected[z["step"]],
                                     (x["name"], y["id"], z["step"], used))

    def test_placed_by_advantage(self):
        self.check("advantage")

    def test_placed_by_complexity(self):
        self.check("complexity")

    def test_placed_by_turns(self):
        self.check("fair")


if __name__ == "__main__":
    programs.main()
