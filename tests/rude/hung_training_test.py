#!/usr/bin/env python3
"""Training that never returns, and prints, so that it is not silent: whatever
ends its study, its trainer comes back, and who waits is told why."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from programs import HIPPO, PATIENCE, Case, children, trainers, wait_for
from rude import RudeCase, victim

# A program that is run for each stage (`workload: {files: ...}`).
PROGRAM = """#!/usr/bin/env python3
import time
while True:
    print(".", flush=True)
    time.sleep(0.2)
"""
# Where a class hangs. SIGTERM does not help.
CLASS = """\
import os, signal, subprocess, time
import hippo_hpo as hippo


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        self.call, self.mark = args["call"], args["mark"]
        self.hang_in("setup")

    def hang_in(self, call):
        if call != self.call:
            return
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # What it has started ends with it, in a session of its own too.
        subprocess.Popen(["sleep", self.mark], start_new_session=True)
        while True:
            print(".", flush=True)
            time.sleep(0.2)

    def init(self):
        self.w = 0.0
        self.hang_in("init")

    def train(self, start, stop, hp):
        self.hang_in("train")
        self.w += stop - start

    def evaluate(self):
        self.hang_in("evaluate")
        return {"m": self.w}

    def state_dict(self):
        self.hang_in("state_dict")
        return {"w": self.w}

    def load_state_dict(self, state):
        self.w = state["w"]
        self.hang_in("load_state_dict")
"""
# Forks, so that a state is saved and loaded in any case.
FORKS = {"choice": [0.1, {"multistep": {"initial": 0.1, "milestones": [2],
                                        "gamma": 0.5}}]}
CALLS = ("setup", "init", "train", "evaluate", "state_dict",
         "load_state_dict")
LIBRARY = os.environ.get("HUNG_LIBRARY")
MARKS = (f"{os.getpid()}{time.time_ns()}{i:03}" for i in itertools.count())


def hung(workload, name="hung", **more):
    return {"study": name, "workload": workload,
            "objective": {"metric": "m", "direction": "maximize"},
            "max_steps": 4, "space": {"a": {"choice": [1]}},
            "algorithm": "grid", **more}


class HungCase(RudeCase):
    # How long a trainer is given in these tests; see `--grace`.
    grace = 2

    def serve(self, *options, **more):
        self.write("run.py", PROGRAM)
        os.chmod(self.path("run.py"), 0o755)
        self.write("net.py", CLASS)
        super().serve("--grace", str(self.grace), *options, **more)

    def of(self, call):
        # Seconds to sleep that no other test sleeps, nor any other case here.
        self.mark = f"4711.{next(MARKS)}"
        return {"python": "net.py:Net",
                "args": {"call": call, "mark": self.mark},
                "python_executable": sys.executable}

    def seen(self):
        """The trainers that are there, as the page has them."""
        return [x for x in json.loads(self.get("/api/trainers")[1])
                if not x["lost"]]

    def await_hung(self, count=1, marks=False):
        """Waits until that many trainers have a lease, and are in it.

        @param marks whether the code leaves what `strays` finds
        """
        wait_for("the trainers to hang",
                 lambda: sum(bool(x["lease"]) for x in self.seen()) >= count)
        if marks:
            wait_for("the code to hang",
                     lambda: len(strays(self.mark)) >= count)
        time.sleep(1.5)

    def await_back(self, seconds):
        """@returns how long it takes until no trainer has a lease or is held
        up"""
        begin = time.monotonic()
        wait_for("the trainers to come back",
                 lambda: self.seen() and all(not x["lease"]
                                             and not x["held_up"]
                                             for x in self.seen()), seconds)
        return time.monotonic() - begin

    # From SIGTERM, which comes after a second, to SIGKILL, and some beats.
    @property
    def bound(self):
        return 2 * self.grace + 1 + 15


class Cancelled(HungCase):
    """Each call of code that a study brings; then its study is cancelled."""

    def test_each_call(self):
        for call in CALLS:
            with self.subTest(call):
                self.submit(hung(self.of(call), f"hung-{call}",
                                 space={"lr": FORKS}))
                self.await_hung(marks=True)
                self.ask("cancel", f"hung-{call}")
                self.await_back(self.bound)
                wait_for("what it has started to end",
                         lambda: not strays(self.mark), 10)
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)

    def test_a_program_of_files(self):
        self.submit(hung({"files": ["run.py"]}))
        self.await_hung()
        self.ask("cancel", "hung")
        # It does not ignore SIGTERM.
        self.assertLess(self.await_back(self.bound), 15)


def strays(mark):
    """What `CLASS` has started for a case: all processes are looked at, those
    of other tests too."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as line:
                if line.read() == f"sleep\0{mark}\0".encode():
                    found.append(int(name))
        except OSError:
            pass
    return found


class OverBudget(HungCase):
    """The study ends, complete, by the time that it was given."""

    def test_the_next_one_is_trained(self):
        study = victim()
        self.alone(study)
        self.submit(hung({"files": ["run.py"]}, budget={"seconds": 4}))
        self.await_hung()
        self.submit(study)
        self.assert_unharmed(study)
        self.assertEqual(self.state_of("hung"), "COMPLETE")


class Stalled(HungCase):
    """It makes no step for too long: that is an attempt at it, and the last of
    them fails its trial. There are more paths than trainers."""

    trainers = 2
    options = ("--stall-timeout", "4", "--first-step-timeout", "4")

    def test_it_fails_and_the_victim_does_not(self):
        study = victim()
        self.alone(study)
        self.submit(hung(self.of("train"), space={"a": {"choice": [1, 2, 3]}}))
        self.await_hung(2)
        self.submit(study)
        self.assert_unharmed(study)
        wait_for("the hung study to end",
                 lambda: self.state_of("hung") not in ("RUNNING", "WAITING"))
        trials = json.loads(self.ask("trials", "hung", "-f", "json",
                                     code=None).stdout)
        self.assertEqual({x["state"] for x in trials}, {"FAILED"})
        self.assertIn("made no step for", self.log())
        self.await_back(self.bound)


class Told(HungCase):
    """Who looks is told that a trainer does not return, and who waits why."""

    grace = 25

    def test_everywhere(self):
        self.submit(hung(self.of("train")))
        self.await_hung(marks=True)
        study = victim()
        self.submit(study)
        self.ask("cancel", "hung")
        word = "does not return since"
        wait_for("the page to say so", lambda: word in json.dumps(self.seen()))
        self.assertIn(word, self.ask("top", "--once").stdout)
        self.assertIn("held up", self.ask("top", "--once").stdout)
        listed = json.loads(self.ask("ls", "-f", "json").stdout)
        waits = next(x for x in listed if x["name"] == study["study"])
        self.assertIn("the only trainer is held up", json.dumps(waits))
        self.assertIn(word, json.dumps(waits))
        self.assertIn("hippo_trainers_held_up 1", self.get("/metrics")[1])
        self.assert_unharmed(study)


@unittest.skipUnless(LIBRARY, "needs the library that hangs")
class InProcess(HungCase):
    """Training inside of the trainer, which nothing else ends than its end: it
    starts anew, as the same process."""

    trainers = 0
    options = ("--workload", LIBRARY)

    def test_each_call_beside_an_external_trainer(self):
        trainer = self.trainer(f"127.0.0.1:{self.port}", "--workload", LIBRARY,
                               "--grace", self.grace)
        for count, call in enumerate(("make", "init", "train", "evaluate",
                                      "save")):
            name = f"hung-{call}"
            with self.subTest(call):
                # Two trials that part: a state is saved in any case.
                self.submit(hung({"name": name}, name,
                                 objective={"metric": "loss",
                                            "direction": "minimize"},
                                 space={"lr": FORKS}))
                self.await_hung()
                self.ask("cancel", name)
                self.await_word(trainer, "starting anew", count + 1)
                self.await_word(trainer, "registered as", count + 2)
                self.await_back(self.bound)
                self.assertIsNone(trainer.poll(), "it is the same process")
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)


class Interrupted(HungCase):
    """Ctrl-C of a run, and what is left behind by one that is killed."""

    trainers = 0

    def test_a_run_ends_within_the_grace(self):
        file = self.write("hung.yaml", hung(self.of("train")))
        run = self.start("run", file, "--state", self.path("run"),
                         "--trainers", 1, "--grace-seconds", 3, "--quiet")
        wait_for("training", lambda: trainers(run.pid)
                 and children(trainers(run.pid)[0]))
        time.sleep(2)
        run.send_signal(signal.SIGINT)
        begin = time.monotonic()
        self.assertEqual(run.wait(PATIENCE), 130)
        self.assertLess(time.monotonic() - begin, 30)

    def test_what_a_killed_one_leaves_is_removed_by_the_next(self):
        place = self.path("tmp")
        os.mkdir(place)
        env = {**os.environ, "TMPDIR": place}
        file = self.write("hung.yaml", hung(self.of("train")))
        run = self.start("run", file, "--state", self.path("run"),
                         "--trainers", 1, "--quiet", env=env)

        def left():
            return [x for x in os.listdir(place) if x.startswith("hippo")]

        wait_for("code to be unpacked", lambda: len(left()) >= 2)
        own = trainers(run.pid)
        for pid in [*own, run.pid]:
            os.kill(pid, signal.SIGKILL)
        run.wait()
        killed = set(left())
        self.assertGreaterEqual(len(killed), 2)
        again = self.start("run", self.write("next.yaml", victim()), "--state",
                           self.path("next"), "--trainers", 1, "--quiet",
                           env=env)
        self.assertEqual(again.wait(PATIENCE), 0, self.stderr())
        self.assertEqual(killed & set(left()), set())


class Optimized(Case):
    """Functions, with a service of their own."""

    SCRIPT = """\
import sys
import time

import hippo_hpo as hippo


@hippo.workload
def hangs(ctx):
    for step in ctx.steps():
        while True:
            print(".", flush=True)
            time.sleep(0.2)
        yield lambda: {"loss": 1.0}


@hippo.workload
def trains(ctx):
    for step in ctx.steps():
        a = ctx.hp.a(step)
        yield lambda: {"loss": a + step}


how = dict(state=sys.argv[1], trainers=1, max_steps=3, algorithm="grid",
           progress=False, check=False, objective={"loss": "minimize"})
begin = time.monotonic()
try:
    hippo.optimize(hangs, {"a": hippo.choice(1, 2)}, seconds=3, **how)
except hippo.StudyFailed as why:  # nothing was measured
    print("ended", time.monotonic() - begin, why, flush=True)
begin = time.monotonic()
done = hippo.optimize(trains, {"a": hippo.choice(1, 2)}, **how)
print("next", time.monotonic() - begin, done.state, done.best_value)
"""

    def test_the_next_call_does_not_wait_for_one_that_hangs(self):
        script = self.write("optimizes.py", self.SCRIPT)
        done = subprocess.run(
            [sys.executable, script, self.path("state")], text=True,
            capture_output=True, timeout=PATIENCE,
            env={**os.environ, "HIPPO_PROGRAM": HIPPO})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = dict(x.split(" ", 1) for x in done.stdout.splitlines())
        # The time it was given, the start of a service, and some.
        self.assertLess(float(said["ended"].split()[0]), 3 + 30)
        self.assertLess(float(said["next"].split()[0]), 30)
        self.assertEqual(said["next"].split()[1:], ["COMPLETE", "1.0"])


if __name__ == "__main__":
    unittest.main()
