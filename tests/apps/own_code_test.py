#!/usr/bin/env python3
"""Studies that bring their own training code."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import programs
from own_code import (ASKED, LR, TORCH_TRAINER, TRAIN, UNIQUE, OwnCode, Serving,
                      free_port, python, study)
from programs import TRAINER, is_alive, results, send, trainers, wait_for

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                       "schemas")


class Python(OwnCode):
    """A class of the user's own."""

    def test_sharing_changes_no_bit(self):
        report = self.assert_as_alone(study())
        self.assertEqual(report["asked_steps"], ASKED)
        self.assertEqual(report["unique_steps"], UNIQUE)

    def test_without_libtorch_it_is_the_same(self):
        reports = []
        file = self.write("s.yaml", study())
        for name, program in ("full", TORCH_TRAINER), ("plain", TRAINER):
            self.hippo("run", file, "--state", name, "--trainers", "1",
                       "--trainer-program", program)
            reports.append(self.report(name))
        full, plain = reports
        self.assertEqual(results(full), results(plain))
        self.assertIn("torch", full["trainers"][0]["device"])
        self.assertNotIn("torch", plain["trainers"][0]["device"])
        said = self.hippo("check", file, "--trainer-program", TRAINER)
        self.assertIn("exact", said.out)

    def test_curves_and_words(self):
        """Values that change at each step, and those that are no numbers."""
        self.change("hp.lr(step) * self.state",
                    "hp.lr(step) * len(hp.word(step)) * self.state")
        warm = {"warmup": {"steps": 2, "from": 0.01, "to": 0.1,
                           "then": {"cosine": {"horizon": 4, "end": 0.001}}}}
        self.assert_as_alone(study(
            lr={"choice": [warm, 0.1, LR["choice"][1]]},
            word={"choice": ["a", {"piecewise": [[0, "a"], [4, "bcd"]]}]}))

    def test_studies_share_with_each_other(self):
        files = [self.write(x + ".yaml", study(x)) for x in "ab"]
        self.hippo("run", *files, "--state", "state")
        report = self.report("state")
        self.assertEqual(report["trained_steps"], UNIQUE)
        self.assertEqual(report["asked_steps"], 2 * ASKED)

    def test_what_reaches_the_class(self):
        """Files that travel, arguments as they were written, the seed."""
        self.write("data.py", "SCALE = 2.5\n")
        os.mkdir(self.path("deep"))
        self.write("deep/table.txt", "from a table\n")
        self.change("import hippo_hpo as hippo\n", "import hippo_hpo as hippo\n\nimport data\n")
        self.after("print(data.SCALE, self.seed, sorted(self.args.items()))",
                   "print(open('deep/table.txt').read(), end='')")
        args = {"width": 3, "word": "abc", "part": 0.25, "big": -7,
                "deep": {"er": "x"}}
        self.run_study(study(workload=python(
            args=args, seed=7, files=["data.py", "./deep/table.txt"]),
            steps=1, lr=0.1))
        self.assertEqual(
            self.hippo("logs", "--state", "state", "s", 0).out,
            "2.5 7 [('big', -7), ('deep.er', 'x'), ('part', 0.25), "
            "('width', 3), ('word', 'abc')]\nfrom a table\n")

    def test_interpreter_beside_the_study(self):
        self.program("mine", "#!/bin/sh\n"
                     f"echo used >> {self.path('used')}\n"
                     'exec python3 "$@"\n')
        self.run_study(study(workload=python(python_executable="./mine")))
        self.assertIn("used", self.read("used"))

    def test_the_only_class_needs_no_name(self):
        self.run_study(study(workload={"python": "train.py"}))

    def test_one_of_two_classes_needs_a_name(self):
        self.write("train.py", TRAIN + "\n\nclass Wide(Net):\n    pass\n")
        self.write("s.yaml", study(workload={"python": "train.py"}))
        said = self.hippo("run", "s.yaml", "--state", "state", code=2).err
        self.assertIn("train.py:NAME", said)
        self.assertIn("it has: Net, Wide", said)
        self.run_study(study(workload={"python": "train.py:Wide"}))

    def installed(self, version):
        """Installs a module `toypkg` in a folder of its own.
        @returns the environment that has it"""
        folder = self.path("packages-" + version)
        info = os.path.join(folder, f"toypkg-{version}.dist-info")
        os.makedirs(info)
        with open(os.path.join(info, "METADATA"), "w") as out:
            out.write("Metadata-Version: 2.1\nName: toypkg\n"
                      f"Version: {version}\n")
        with open(os.path.join(folder, "toypkg.py"), "w") as out:
            out.write(TRAIN)
        known = os.environ.get("PYTHONPATH", "")
        return {"PYTHONPATH": folder + os.pathsep + known}

    def test_installed_class(self):
        env = self.installed("1.0")
        x = study(workload={"python": "toypkg:Net", "packages": ["toypkg"]})
        first, _ = self.run_study(x, env=env)
        own, _ = self.run_study(study(), "other")
        self.assertEqual(results(first), results(own))

    def test_best_state_is_exported(self):
        self.run_study(study(), "state")
        told = self.report("state")["studies"][0]
        self.assertTrue(told["exact"])
        self.assertTrue(told["workload"].startswith("python;class=train.py:Net"))
        self.hippo("best", "s", "--state", "state", "--export", "best.bin")
        with open(self.path("best.bin"), "rb") as file:
            state = pickle.load(file)
        self.assertEqual(float(told["best"]["value"]), state["w"] / 3)


class Changes(OwnCode):
    """What is trained again, and what is not, once something has changed."""

    def setUp(self):
        super().setUp()
        self.write("data.py", "SCALE = 1\n")
        self.workload = python(files=["data.py"], args={"width": 3})
        report, _ = self.run_study(study(workload=self.workload))
        self.assertEqual(report["trained_steps"], UNIQUE)

    def trained(self, **more):
        report, _ = self.run_study(study(workload={**self.workload, **more}))
        self.assertEqual(report["trained_steps"] + report["reused_steps"],
                         UNIQUE)
        return report["trained_steps"]

    def test_nothing(self):
        self.assertEqual(self.trained(), 0)

    def test_the_study_around_the_code(self):
        """Its name, its metric and its patience are no part of the code."""
        report, _ = self.run_study(study("other", {
            **self.workload, "silence_seconds": 77}))
        self.assertEqual(report["trained_steps"], 0)

    def test_the_script(self):
        self.write("train.py", TRAIN + "# changed\n")
        self.assertEqual(self.trained(), UNIQUE)
        self.write("train.py", TRAIN)
        self.assertEqual(self.trained(), 0)

    def test_a_listed_file(self):
        self.write("data.py", "SCALE = 2\n")
        self.assertEqual(self.trained(), UNIQUE)

    def test_an_argument(self):
        self.assertEqual(self.trained(args={"width": 4}), UNIQUE)

    def test_the_seed(self):
        self.assertEqual(self.trained(seed=2), UNIQUE)

    def test_the_version_of_a_package(self):
        x = {**self.workload, "packages": ["toypkg"]}
        first, _ = self.run_study(study(workload=x),
                                  env=Python.installed(self, "1.0"))
        self.assertEqual(first["trained_steps"], UNIQUE)
        second, _ = self.run_study(study(workload=x),
                                   env=Python.installed(self, "1.1"))
        self.assertEqual(second["trained_steps"], UNIQUE)


def without_log(failure):
    """What a trainer says of a failure, without output and log."""
    return failure.partition("\nprinted before that:")[0].partition(
        "\nlog of trainer")[0]


class Failures(OwnCode):
    """Code that goes wrong in one trial of three, once it is trained."""

    BAD = {"choice": [0.1, 0.2, 0.3]}

    def run_bad(self, *lines, head="", **more):
        """@returns the failure of the trial whose rate is 0.2"""
        self.after("if lr == 0.2 and step == 2:",
                   *["    " + x for x in lines], head=head)
        report, done = self.run_study(
            study(workload=python(**more), steps=4, lr=self.BAD))
        trials = {x["params"]["lr"]: x
                  for x in report["studies"][0]["trials"]}
        self.assertEqual({k: x["state"] for k, x in trials.items()},
                         {"0.1": "COMPLETE", "0.2": "FAILED",
                          "0.3": "COMPLETE"})
        failed = trials["0.2"]
        self.assertEqual(len(failed["results"]), 2)
        self.assertIn("Failed trials", done.out)
        self.assertIn(f"Trial {failed['id']} failed: ", done.err)
        return without_log(failed["failure"])

    def test_exception(self):
        why = self.run_bad("raise ValueError('no luck')")
        first, *lines = why.splitlines()
        self.assertEqual(first, "in step 2: ValueError: no luck")
        rows = json.loads(self.hippo("trials", "s", "--state", "state", "-f",
                                     "json").out)
        self.assertEqual(
            {"COMPLETE": None, "FAILED": first},
            {x["state"]: x["failure"] and x["failure"].split("\n")[0]
             for x in rows})
        self.assertRegex(self.hippo("trials", "s", "--state", "state").out,
                         r"\bfailure\n[^$]*FAILED .*  in step 2: V")
        line = self.read("train.py").splitlines().index(
            "            raise ValueError('no luck')") + 1
        self.assertRegex("\n".join(lines),
                         rf'File ".*/train\.py", line {line}, in after\n'
                         r" +raise ValueError\('no luck'\)\n")
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertNotIn("workload_process", why)

    def test_crash(self):
        why = self.run_bad("os.kill(os.getpid(), 11)", head="import os")
        self.assertEqual(why, "in step 2: the workload's process ended with "
                              "signal 11 (Segmentation fault)")

    def test_exit(self):
        why = self.run_bad("os._exit(3)", head="import os")
        self.assertEqual(why, "in step 2: the workload's process ended with "
                              "exit code 3")

    def test_killed(self):
        """As the system does it when memory is short."""
        why = self.run_bad("os.kill(os.getpid(), 9)", head="import os")
        self.assertIn("signal 9 (Killed)", why)
        self.assertIn("takes too much memory", why)

    def test_hang(self):
        why = self.run_bad("time.sleep(1000)", head="import time",
                           silence_seconds=3)  # to start takes time, too
        self.assertEqual(why, "in step 2: the workload's process said nothing "
                              "for 3 s and was killed")

    def test_who_prints_does_not_hang(self):
        self.after("for i in range(8):",
                   "    print(i)",
                   "    time.sleep(0.25)", head="import time")
        report, _ = self.run_study(study(
            workload=python(silence_seconds=1.5), steps=1, lr=0.1))
        self.assertEqual(report["studies"][0]["trials"][0]["state"],
                         "COMPLETE")

    # Each call that may fail, as it is told of, and where it is in train.py.
    CALLS = {"evaluating step 3": "    def evaluate(self):\n",
             "saving step 4": "    def state_dict(self):\n"}
    # What it does there, and a part of what is told.
    WAYS = {
        "1 / 0": "ZeroDivisionError: division by zero",
        "os._exit(3)": "exit code 3",
        "os.kill(os.getpid(), 9)": "signal 9",
        "os.kill(os.getpid(), 11)": "signal 11",
        "time.sleep(1000)": "said nothing",
    }

    def test_every_call_in_every_way(self):
        """What fails anywhere but in training ends as well: its trial fails,
        with what is known, and the others are as alone."""
        for call, head in self.CALLS.items():
            for line, told in self.WAYS.items():
                state = f"{call} {list(self.WAYS).index(line)}"
                with self.subTest(call=call, line=line):
                    self.write("train.py", TRAIN)
                    self.after("self.at = step + 1, lr",
                               head="import os\nimport time")
                    self.change(head, f"    at = 0, 0\n\n{head}"
                                      f"        if self.at == ({call[-1]}, 0.2):\n"
                                      f"            {line}\n")
                    more = {"silence_seconds": 3} if "sleep" in line else {}
                    report, _ = self.run_study(
                        study(workload=python(**more), steps=4, lr=self.BAD),
                        state)
                    states = {x["params"]["lr"]: x for x in
                              report["studies"][0]["trials"]}
                    self.assertEqual(
                        [x["state"] for x in states.values()],
                        ["COMPLETE", "FAILED", "COMPLETE"])
                    failed = states["0.2"]
                    self.assertIn(f"{call} failed: ", failed["failure"])
                    self.assertIn(told, failed["failure"])
                    # The last step is saved before it is told of.
                    self.assertEqual(len(failed["results"]),
                                     int(call[-1]) - 1)
                    # Three attempts, and no line for each of a thousand.
                    self.assertLessEqual(
                        self.log_of(state).count(" failed at "), 3)

    def log_of(self, state):
        """All that hippo has logged in a state."""
        return "".join(self.read(state, name)
                       for name in os.listdir(self.path(state))
                       if name.startswith("hippo") and name.endswith(".log"))

    def test_every_evaluation(self):
        """Whether it is a class or a function: it ends, and says why."""
        self.change("        return {\"val\": self.state[\"w\"] / 3}\n",
                    "        return {\"val\": 1 / 0}\n")
        self.write("function.py", """\
import hippo_hpo as hippo


@hippo.workload
def train(ctx):
    s = {"x": 0.0}
    for step in ctx.steps(s=s):
        s["x"] += ctx.hp.lr(step)
        yield lambda: {"val": 1 / 0}
""")
        # A function is tried where it is first run, and says so itself.
        for name, workload, reason in [
                ("class", python(), "evaluating step 1 failed"),
                ("function", {"python": "function.py:train"}, "in step 0"),
                ("untried", {"python": "function.py:train", "check": False},
                 "evaluating step 1 failed")]:
            with self.subTest(name):
                report, done = self.run_study(
                    study(name, workload, steps=3, lr=self.BAD), name, code=1)
                self.assertEqual(
                    [x["state"] for x in report["studies"][0]["trials"]],
                    ["FAILED"] * 3)
                self.assertRegex(
                    report["studies"][0]["trials"][0]["failure"],
                    reason + ": (in step 0: )?ZeroDivisionError")
                self.assertIn("every trial of study", done.err)

    def test_metric_that_cannot_be_told(self):
        self.change("{\"val\": self", "{2000 * \"m\": 1.0, \"val\": self")
        report, _ = self.run_study(study(steps=2, lr=0.1), code=1)
        self.assertIn("evaluating step 1 failed: ",
                      report["studies"][0]["trials"][0]["failure"])

    def test_evaluations_fail_alike(self):
        """As training that fails: the study pauses."""
        self.change("        return {\"val\": self.state[\"w\"] / 3}\n",
                    "        import time\n        time.sleep(0.3)\n"
                    "        return {\"val\": 1 / 0}\n")
        x = study(lr={"choice": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
        _, done = self.run_study(x, "state", "--trainers", 1, code=1)
        self.assertRegex(done.err, "its first 3 trials failed alike: .*"
                                   "ZeroDivisionError")

    def test_every_trial(self):
        """There is nothing to go on with."""
        self.after("1 / 0")
        _, done = self.run_study(study(lr=self.BAD), code=1)
        self.assertIn("every trial of study 's' failed", done.err)

    def test_the_first_trials_fail_alike(self):
        """There are more, but they would fail likewise."""
        # Each lasts longer than it takes to hear of the one before.
        self.after("time.sleep(0.3)", "1 / 0", head="import time")
        x = study(lr={"choice": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
        report, done = self.run_study(x, "state", "--trainers", 1, code=1)
        self.assertRegex(done.err, "its first 3 trials failed alike: .*"
                                   "ZeroDivisionError.*on_error: continue")
        states = [y["state"] for y in report["studies"][0]["trials"]]
        self.assertLess(states.count("FAILED"), 6)
        report, done = self.run_study({**x, "on_error": "continue"}, "other",
                                      "--trainers", 1, code=1)
        self.assertEqual([y["state"] for y in report["studies"][0]["trials"]],
                         ["FAILED"] * 6)
        self.assertNotIn("failed alike", done.err)

    def test_metric_that_nothing_measures(self):
        x = study()
        x["objective"]["metric"] = "vall"
        _, done = self.run_study(x, code=1)
        self.assertIn("vall", done.err)


class Studies(OwnCode):
    """Studies of one code and of several seeds, arguments and the like."""

    def test_the_code_is_imported_once_and_nothing_is_left(self):
        """The class changes all that it can reach, and says what it finds."""
        self.write("train.py", """\
import os
import random

import base
import hippo_hpo as hippo

with open(os.environ["IMPORTED"], "a") as file:
    file.write("x")
random.seed(5)
found = []


class Net(base.Net):
    def setup(self, seed, device, args):
        super().setup(seed, device, args)
        found.append(seed)
        self.drawn = random.random() + len(found) + os.path.exists("left")
        open("left", "w").close()
        with open("base.py", "a") as file:
            file.write("1 / 0")

    def evaluate(self):
        return {"val": self.state["w"] / 3 + self.drawn}
""")
        self.write("base.py", TRAIN)
        studies = [study(name, workload=python(
            python="train.py:Net", files=["base.py"], **more))
            for name, more in (("a", {"seed": 1}), ("b", {"seed": 2}),
                               ("c", {"seed": 1, "args": {"x": 3}}))]
        files = [self.write(x["study"] + ".yaml", x) for x in studies]
        env = {"IMPORTED": self.path("imported")}
        self.hippo("run", *files, "--state", "state", "--trainers", 1,
                   env=env)
        # Once for each when it is submitted, and once to train.
        self.assertEqual(self.read("imported"), "xxx" + "x")
        found = {x["name"]: x["trials"] for x in self.report("state")["studies"]}
        for x in studies:
            alone, _ = self.run_study(x, x["study"], "--trainers", 1, env=env)
            self.assertEqual(
                [y["results"] for y in alone["studies"][0]["trials"]],
                [y["results"] for y in found[x["study"]]])
        self.assertEqual(self.read("imported"), "xxx" + "x" + 3 * "xx")


class Processes(OwnCode):
    """What runs beside a trainer does not outlive it."""

    def test_child_of_the_workload(self):
        self.after("child = subprocess.Popen(['sleep', '1000'])",
                   "open(self.args['pid'], 'a').write(f'{child.pid}\\n')",
                   head="import subprocess")
        self.run_study(study(workload=python(args={"pid": self.path("pid")}),
                             lr=0.1))
        self.assert_gone(6)

    def assert_gone(self, count):
        """Expects that nothing runs any more whose number is in the file."""
        pids = [int(x) for x in self.read("pid").split()]
        self.assertEqual(len(pids), count)
        try:
            wait_for("their end", lambda: not any(map(is_alive, pids)), 5)
        finally:
            for pid in filter(is_alive, pids):
                os.kill(pid, signal.SIGKILL)

    def test_child_of_a_workload_that_crashes(self):
        self.after("child = subprocess.Popen(['sleep', '1000'])",
                   "open(self.args['pid'], 'a').write(f'{child.pid}\\n')",
                   "os.kill(os.getpid(), 11)",
                   head="import os\nimport subprocess")
        self.run_study(study(workload=python(args={"pid": self.path("pid")}),
                             lr=0.1), code=1)
        self.assert_gone(len(self.read("pid").split()))

    def at_work(self):
        """@returns a run in the midst of a long step, and the process of its
        workload"""
        self.after("open(self.args['pid'], 'w').write(f'{os.getpid()}\\n')",
                   "time.sleep(1000)", head="import os\nimport time")
        self.write("s.yaml", study(workload=python(
            args={"pid": self.path("pid")}), lr=0.1))
        run = self.begin("run", "s.yaml", "--state", "state", "--trainers", 1)
        pid = int(self.await_file("pid"))
        self.assertTrue(is_alive(pid))
        return run, pid

    def test_trainer_dies(self):
        run, pid = self.at_work()
        os.kill(trainers(run.pid)[0], signal.SIGKILL)
        wait_for("the end of the workload", lambda: not is_alive(pid))
        self.finish(run, 1)

    def test_hippo_dies(self):
        run, pid = self.at_work()
        started = trainers(run.pid)
        run.kill()
        run.wait()
        wait_for("the end of the workload", lambda: not any(
            map(is_alive, [pid, *started])))

    def test_interrupted_twice(self):
        run, pid = self.at_work()
        send(run, signal.SIGINT)
        wait_for("the word", lambda: "interrupted" in self.stderr())
        send(run, signal.SIGINT)
        self.finish(run, 130)
        wait_for("the end of the workload", lambda: not is_alive(pid))


class Errors(OwnCode):
    """Mistakes that are told before anything starts."""

    TEXT = """\
study: s
workload:
{}
objective: {{metric: val, direction: maximize}}
max_steps: 2
space: {{lr: 0.1}}
algorithm: grid
"""

    def refused(self, text):
        """@returns what hippo says about a study file"""
        self.write("s.yaml", text)
        done = self.hippo("run", "s.yaml", "--state", "state", code=2)
        self.assertEqual(done.out, "")
        self.assertFalse(os.path.exists(self.path("state")))
        return done.err

    def check(self, lines, where, *words):
        """Expects that something is wrong at LINE:COLUMN: PATH."""
        said = self.refused(self.TEXT.format("  " + "\n  ".join(lines)))
        self.assertTrue(said.startswith(f"error: s.yaml:{where}: "), said)
        for word in words:
            self.assertIn(word, said)

    def test_missing_file(self):
        self.check(["python: trian.py:Net"], "3:11: workload.python",
                   "there is no file trian.py beside the study file")
        self.check(["python: train.py:Net", "files: [data.py]"],
                   "4:11: workload.files[0]", "there is no file data.py")
        self.check(["command: [./mine]"], "3:13: workload.command[0]",
                   "there is no file mine")

    def test_path_out_of_the_folder(self):
        for path in ["../train.py", self.path("train.py"), "a/../train.py"]:
            self.check([f"python: {path}:Net"], "3:11: workload.python",
                       "must be a path within the study's folder")
        self.check(["python: train.py", "files: [../data.py]"],
                   "4:11: workload.files[0]", "found '../data.py'")

    def test_link_out_of_the_folder(self):
        with tempfile.TemporaryDirectory() as other:
            secret = os.path.join(other, "secret")
            with open(secret, "w") as file:
                file.write("mine")
            os.symlink(other, self.path("lib"))
            os.symlink(secret, self.path("near"))
            os.symlink("train.py", self.path("inside.py"))
            for name in ["near", "lib/secret"]:
                self.check(["python: inside.py:Net", f"files: [{name}]"],
                           "3:3: workload", f"the file '{name}' is a symbolic "
                           f"link that leads to {os.path.realpath(secret)}",
                           "copy it into the folder")
        self.check(["python: inside.py:Net", "files: [near]"],
                   "4:11: workload.files[0]", "there is no file near")

    def test_unknown_package(self):
        self.check(["python: train.py",
                    "packages: [hippo-hpo, no-such-package]"],
                   "4:25: workload.packages[1]",
                   "the interpreter has no package 'no-such-package'",
                   "install it", "'name: version'")

    def test_unknown_keys(self):
        for wrong, right in [("file", "files"), ("packges", "packages"),
                             ("silence_second", "silence_seconds"),
                             ("arg", "args")]:
            self.check(["python: train.py", f"{wrong}: 1"],
                       f"4:3: workload.{wrong}",
                       f"unknown key '{wrong}', did you mean '{right}'?")
        self.check(["files: [train.py]", "python_executable: python3"],
                   "4:3: workload.python_executable", "unknown key")

    def test_two_kinds_at_once(self):
        self.check(["python: train.py", "command: [train]"],
                   "4:3: workload.command")

    def test_no_class(self):
        for name in ["train", "'train.py:'", "':Net'"]:
            self.check([f"python: {name}"], "3:11: workload.python",
                       "must be FILE.py, FILE.py:CLASS, or MODULE:CLASS")
        self.check(["python: [train.py]"], "3:11: workload.python")

    def test_sharing(self):
        self.check(["python: train.py", "share: always"],
                   "4:10: workload.share", "goes with 'exact: false'")
        self.check(["python: train.py", "exact: false", "share: often"],
                   "5:10: workload.share", "must be 'always'")
        self.check(["python: train.py", "exact: maybe"],
                   "4:10: workload.exact", "must be true or false")

    def test_values(self):
        self.check(["python: train.py", "args: {a: {b: 1}, widths: 2, a.b: 3}"],
                   "4:32: workload.args.a.b",
                   "there are two arguments 'a.b'", "line 4, column 14")
        self.check(["python: train.py", "args: {widths: [1, .nan]}"],
                   "4:22: workload.args.widths[1]", "finite")
        self.check(["python: train.py", "args: 3"], "4:9: workload.args")
        self.check(["python: train.py", "seed: 1.5"],
                   "4:9: workload.seed", "must be a whole number")
        self.check(["python: train.py", "silence_seconds: 0"],
                   "4:20: workload.silence_seconds", "above 0")
        self.check(["command: []"], "3:12: workload.command", "at least one")
        self.check(["files: []"], "3:10: workload.files", "at least one")

    def test_no_direction(self):
        said = self.refused(self.TEXT.format("  python: train.py").replace(
            ", direction: maximize", ""))
        self.assertTrue(said.startswith("error: s.yaml:4:12: objective"), said)
        self.assertIn("'direction' is missing", said)

    def test_installed_code_without_packages(self):
        self.check(["python: json:JSONDecoder"], "3:11: workload.python",
                   "does not travel", "under 'packages'")
        self.check(["command: [cat]"], "3:12: workload.command",
                   "does not travel", "under 'packages'")

    def test_large_file(self):
        self.write("big.txt", "x" * ((1 << 20) + 1))
        self.check(["python: train.py", "files: [big.txt]"],
                   "3:3: workload", "more than 1048576",
                   "their path in 'args'")

    def test_large_files_together(self):
        for name in ["one.txt", "other.txt"]:
            self.write(name, "x" * (600 << 10))
        self.check(["python: train.py", "files: [one.txt, other.txt]"],
                   "3:3: workload", "more than 1048576",
                   "their path in 'args'")

    def test_interpreter_without_hippo(self):
        self.program("bare", "#!/bin/sh\nunset PYTHONPATH\n"
                     f'exec {sys.base_prefix}/bin/python3 -I -S "$@"\n')
        self.check(["python: train.py", "python_executable: ./bare"],
                   "4:22: workload.python_executable", self.path("bare"),
                   "No module named 'hippo_hpo'", "pip install")

    def test_no_interpreter(self):
        self.check(["python: train.py", "python_executable: ./none"],
                   "4:22: workload.python_executable", self.path("none"),
                   "No such file")


class BadCode(OwnCode):
    """Code that cannot even be imported: told before anything starts."""

    def refused(self, old, new, **more):
        if old:
            self.change(old, new)
        self.write("s.yaml", study(workload=python(**more)))
        done = self.hippo("run", "s.yaml", "--state", "state", code=2)
        self.assertFalse(os.path.exists(self.path("state")))
        self.assertTrue(done.err.startswith("error: s.yaml:3:"), done.err)
        return done.err

    def test_syntax(self):
        said = self.refused("def init(self):", "def init(self:")
        self.assertIn("SyntaxError", said)
        self.assertRegex(said, r'train\.py", line 10')

    def test_import(self):
        said = self.refused("import hippo_hpo as hippo\n", "import hippo_hpo as hippo\nimport nix_da\n")
        self.assertIn("ModuleNotFoundError: No module named 'nix_da'", said)
        self.assertRegex(said, r'train\.py", line 4, in <module>')
        self.assertNotIn("importlib", said)

    def test_error_when_imported(self):
        said = self.refused("import hippo_hpo as hippo\n", "import hippo_hpo as hippo\nhippo.none\n")
        self.assertIn("AttributeError", said)
        self.assertRegex(said, r'train\.py", line 4, in <module>')

    def test_class(self):
        said = self.refused("class Net(", "class Nat(")
        self.assertIn("train.py has no subclass of hippo.Workload or "
                      "function with @hippo.workload that is called Net; it "
                      "has: Nat", said)

    def test_missing_method(self):
        said = self.refused("def evaluate(self)", "def evaluat(self)")
        self.assertIn("TypeError", said)
        self.assertIn("evaluate", said)

    def test_setup(self):
        said = self.refused("self.seed, self.args = seed, args",
                            "self.width = args['width']")
        self.assertIn("KeyError: 'width'", said)
        self.assertRegex(said, r'train\.py", line 8, in setup')

    def test_setup_that_ends_the_process(self):
        said = self.refused("self.seed, self.args = seed, args",
                            "raise SystemExit(5)")
        self.assertIn("the workload's process ended with exit code 5", said)

    def test_other_version(self):
        said = self.refused("", "", packages={"hippo-hpo": "9.9"})
        self.assertRegex(said, r"this trainer has hippo-hpo \d[.\d]*, the "
                               r"study was made for hippo-hpo 9\.9")


class Prints(Serving):
    """What code prints, by trial."""

    def setUp(self):
        super().setUp()
        self.after("print(f'step {step} with {lr}')")

    def expected(self, falls_at=6):
        return "".join(f"step {i} with {0.1 if i < falls_at else 0.1 * 0.1}\n"
                       for i in range(6))

    def outputs(self, *where, count=3):
        return [self.hippo("logs", *where, "s", i).out for i in range(count)]

    def test_of_a_run(self):
        """Shared steps are in the log of each trial, once and in order."""
        report, _ = self.run_study(study(), "state", "--trainers", 2)
        shown = self.outputs("--state", "state")
        self.assertEqual([x["params"]["lr"]
                          for x in report["studies"][0]["trials"]].count("0.1"),
                         1)
        by_params = dict(zip(
            [json.dumps(x["params"]["lr"])
             for x in report["studies"][0]["trials"]], shown))
        for params, text in by_params.items():
            falls = 3 if "[3]" in params else 4 if "[4]" in params else 6
            self.assertEqual([x.split(" with ") [0] for x in
                              text.splitlines()],
                             [f"step {i}" for i in range(6)], params)
            self.assertEqual([float(x.split(" with ")[1]) == 0.1 for x in
                              text.splitlines()],
                             [i < falls for i in range(6)], params)

    def test_of_studies_that_share(self):
        files = [self.write(x + ".yaml", study(x, lr=0.1)) for x in "ab"]
        self.hippo("run", *files, "--state", "state")
        for name in "ab":
            self.assertEqual(
                self.hippo("logs", "--state", "state", name, 0).out,
                self.expected())

    def test_of_a_study_that_finds_all_trained(self):
        self.run_study(study(lr=0.1))
        report, _ = self.run_study(study("later", lr=0.1))
        self.assertEqual(report["trained_steps"], 0)
        self.assertEqual(self.hippo("logs", "--state", "state", "later",
                                    0).out, self.expected())

    def test_of_a_trial_that_fails(self):
        self.change("print(f'step", "step > 1 and 1 / 0; print(f'step")
        self.run_study(study(lr=0.1), code=1)
        said = self.hippo("logs", "--state", "state", "s", 0).out
        self.assertTrue(said.startswith("step 0 with 0.1\nstep 1 with 0.1\n"),
                        said)

    def test_much_and_strange(self):
        """The end of it is kept, as text."""
        self.change("print(f'step {step} with {lr}')",
                    "print('x' * 99 + '\\n' * (step == 0), end='') or "
                    "[print(i) for i in range(50000 * step)]; "
                    "sys.stdout.buffer.write(b'\\xff\\xc3\\xa4\\n')")
        self.change("import random\n", "import random\nimport sys\n")
        self.run_study(study(steps=2, lr=0.1))
        said = self.hippo("logs", "--state", "state", "s", 0).out
        self.assertIn("x" * 99, said)
        self.assertRegex(said, r"\[\d+ bytes are left out\]\n")
        self.assertTrue(said.endswith("49998\n49999\n?ä\n"), said[-40:])
        self.assertLess(len(said), 80000)

    def test_of_a_service(self):
        self.run_study(study(), "reference")
        self.serve()
        self.trainer()
        self.submit(study(), "--wait")
        over_network = self.outputs()
        self.assertEqual(sorted(over_network),
                         sorted(self.outputs("--state", "reference")))
        self.assertEqual(over_network, self.outputs("--state", "state"))
        self.assertEqual(over_network[0],
                         self.hippo("logs", "-f", "s", 0).out)
        for where in [(), ("--state", "state")]:
            self.assertIn("there is no trial 9",
                          self.hippo("logs", *where, "s", 9, code=2).err)
            self.assertIn("'zzz'",
                          self.hippo("logs", *where, "zzz", 0, code=2).err)
        self.hippo("logs", "s", "word", code=2)
        self.assertIn("number of one of its trials",
                      self.hippo("logs", "s", code=2).err)

    def test_follows_until_the_trial_has_ended(self):
        self.change("print(f'step {step} with {lr}')",
                    "print(f'step {step} with {lr}'); self.wait(step)")
        self.change("    def evaluate(self):",
                    "    def wait(self, step):\n"
                    "        while step == 3 and not "
                    "os.path.exists(self.args['gate']):\n"
                    "            time.sleep(0.01)\n\n"
                    "    def evaluate(self):")
        self.change("import random\n",
                    "import os\nimport random\nimport time\n")
        self.serve()
        self.trainer()
        self.submit(study(workload=python(args={"gate": self.path("gate")}),
                          lr=0.1))
        for where in [(), ("--state", "state")]:
            with open(self.path("out"), "w+") as out:
                follower = self.begin_following(out, *where)
                wait_for("the first steps", lambda: "step 1 with 0.1" in
                         self.read("out"))
                if not where:
                    self.assertIsNone(follower.poll())
                    self.write("gate", "")
                self.assertEqual(follower.wait(60), 0)
            self.assertEqual(self.read("out"), self.expected())

    def begin_following(self, out, *where):
        process = subprocess.Popen(
            [programs.HIPPO, "logs", "-f", *where, "s", "0"], stdout=out,
            stdin=subprocess.DEVNULL, cwd=self.folder,
            env={**os.environ, **self.env})
        self.addCleanup(self.end, process)
        return process


class Service(Serving):
    """Code that travels to a service and on to trainers."""

    def reference(self, x):
        self.write("s.yaml", x)
        self.hippo("run", "s.yaml", "--state", "reference")
        return results(self.report("reference"))

    def assert_as_reference(self, service, wanted):
        """Nothing is left to train, and all is as it should be."""
        send(service, signal.SIGTERM)
        service.wait(60)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report), wanted)
        self.assertEqual(report["trained_steps"], 0)

    def test_trainer_without_the_folder(self):
        self.write("data.py", "SCALE = 3\n")
        self.change("import hippo_hpo as hippo\n", "import hippo_hpo as hippo\n\nimport data\n")
        self.after("self.state['w'] *= data.SCALE")
        x = study(workload=python(files=["data.py"]))
        wanted = self.reference(x)
        service = self.serve()
        # What it does see is not what the study needs.
        os.remove(self.path("data.py"))
        trainer = self.trainer(around=self.elsewhere())
        self.write("data.py", "SCALE = 3\n")
        self.submit(x)
        os.remove(self.path("data.py"))
        os.remove(self.path("train.py"))
        self.await_end()
        with open(trainer.log) as log:
            self.assertIn("checkpoints come over the network", log.read())
        self.assert_as_reference(service, wanted)

    def test_service_comes_back(self):
        self.after("open(self.args['at'], 'a').write(f'{step}\\n')",
                   "while step == 3 and not os.path.exists("
                   "self.args['gate']):",
                   "    time.sleep(0.01)", head="import os\nimport time")
        self.write("gate", "")
        x = study(workload=python(args={"at": self.path("at"),
                                        "gate": self.path("gate")}))
        wanted = self.reference(x)
        os.remove(self.path("gate"))
        os.remove(self.path("at"))
        ports = free_port(), free_port()
        service = self.serve(ports=ports)
        trainer = self.trainer()
        self.submit(x)
        wait_for("step 3", lambda: os.path.exists(self.path("at"))
                 and "3" in self.read("at"))
        for process in [service, trainer]:
            process.kill()
            process.wait()
        os.remove(self.path("train.py"))
        self.write("gate", "")
        service = self.serve(ports=ports)
        self.trainer()
        self.await_end()
        self.assert_as_reference(service, wanted)

    def test_what_failed_is_tried_again(self):
        """Once its cause is mended, of a study that has ended; whatever the
        service has been through meanwhile."""
        self.after("open(self.args['data']).close()")
        x = {**study(workload=python(args={"data": self.path("data")})),
             "on_error": "continue"}
        self.write("data", "")
        wanted = self.reference(x)
        os.remove(self.path("data"))
        ports = free_port(), free_port()
        service = self.serve(ports=ports)
        self.trainer()
        self.submit(x)
        self.await_end(state="FAILED")
        trainer, = json.loads(self.hippo(
            "top", "--columns", "failures,failure", "-f", "json").out)
        self.assertGreater(trainer["failures"], 0)
        self.assertIn("No such file", trainer["failure"])
        service.kill()
        service.wait()
        service = self.serve(ports=ports)
        self.assertIn("study s has no trial 9",
                      self.hippo("retry", "s", 9, code=2).err)
        self.assertEqual(self.listed("s")["state"], "FAILED")
        self.write("data", "")
        self.assertIn("study s: 3 trials are tried again",
                      self.hippo("retry", "s").err)
        self.await_end()
        self.assertIn("no trial of study s has failed",
                      self.hippo("retry", "s", code=2).err)
        self.assertEqual(self.listed("s")["state"], "COMPLETE")
        self.assert_as_reference(service, wanted)

    def test_who_shares_with_whom(self):
        self.serve()
        self.trainer()
        for name, args in [("one", {"n": 1}), ("same", {"n": 1}),
                           ("two", {"n": 2})]:
            self.submit(study(name, python(args=args), lr=0.1), "--wait")
        self.write("train.py", TRAIN + "# changed\n")
        self.submit(study("changed", python(args={"n": 1}), lr=0.1), "--wait")
        said = self.hippo("show", "one").out
        self.assertIn("shares with 2 (same)\n", said)
        self.assertIn("does not share with 3 (two):\n  args.n: 1 and 2\n",
                      said)
        self.assertRegex(said, r"does not share with 4 \(changed\):\n"
                               r"  file\.train\.py: \w+ and \w+\n")
        self.assertEqual(self.listed("same")["shared"], 6)
        text = self.hippo("show", "one", "--text").out
        self.assertEqual(json.loads(text)["workload"]["args"], {"n": 1})

    def test_bad_study(self):
        """The client tells it, with the place, and nothing is submitted."""
        self.serve()
        said = self.submit(study(workload=python(files=["none.py"])),
                           code=2).err
        self.assertIn("there is no file none.py", said)
        self.assertIn("s.yaml:", said)
        self.assertEqual(json.loads(self.hippo("ls", "-f", "json").out), [])


class Killers(Serving):
    """Training that takes its trainer along, as the system does where memory is
    short."""

    def test_trainers_that_die_of_it(self):
        """Three of them, or little more; others' studies do not notice."""
        self.after("if lr == 0.2 and step == 2:",
                   "    # Above: what it is a fork of, the keeper, the trainer.",
                   "    pid = os.getpid()",
                   "    for _ in range(3):",
                   "        stat = open(f'/proc/{pid}/stat').read()",
                   "        pid = int(stat.rpartition(')')[2].split()[1])",
                   "    os.kill(pid, 9)", head="import os")
        self.write("other.py", TRAIN)
        other = study("other", {"python": "other.py:Net", "seed": 1})
        alone, _ = self.run_study(other, "alone", "--merge", "off")
        service = self.serve()
        started = [self.trainer() for _ in range(2)]

        def dead():
            return [x for x in started if x.poll() is not None]
        self.submit(study(steps=4, lr={"choice": [0.1, 0.2, 0.3]}))
        self.submit(other)

        def is_over():
            while len(started) < 2 + len(dead()):
                started.append(self.trainer())
            return all(self.listed(x)["state"] == "COMPLETE"
                       for x in ("s", "other"))
        wait_for("the end of both", is_over)
        wait_for("the end of those that were killed", lambda: len(dead()) >= 3)
        # Not counted is one that is gone before it has said that it began.
        self.assertLessEqual(len(dead()), 5)
        send(service, signal.SIGTERM)
        service.wait(60)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report)["other"], results(alone)["other"])
        told = next(x for x in report["studies"] if x["name"] == "s")
        trials = {x["params"]["lr"]: x for x in told["trials"]}
        self.assertEqual([x["state"] for x in trials.values()],
                         ["COMPLETE", "FAILED", "COMPLETE"])
        self.assertRegex(trials["0.2"]["failure"],
                         "at step .: 3 trainers died on the way from step "
                         ". to step .: .*connection.*\nthe last one was ")


class Refusals(Serving):
    """Trainers that cannot train what a study brings."""

    def test_trainer_that_takes_no_code(self):
        self.serve()
        self.trainer("--no-code")
        self.await_line("pool: trainer 1 is")
        self.submit(study(lr=0.1))
        wait_for("the reason", lambda: "none of the 1 trainers can train "
                 "'python'" in self.stderr() or " failed at " in self.stderr())
        self.assertNotIn(" failed at ", self.stderr())
        self.assertEqual(self.listed("s")["state"], "RUNNING")
        self.trainer()
        self.await_end()

    def test_why_it_waits_is_told_anew(self):
        """First nobody is there, then somebody who takes no code."""
        self.serve()
        self.submit(study(lr=0.1))
        self.await_line("has to wait: no trainer is connected")
        self.trainer("--no-code")
        self.await_line("pool: trainer 1 is")
        self.submit(study("other", lr=0.1))
        wait_for("the reason", lambda: re.search(
            r"has to wait: .*--no-code", self.stderr()), 5)

    def assert_refused(self, workload, *texts):
        """Expects that a trainer cannot begin with a workload, whoever tries
        again; that the study waits meanwhile; and that the log says why."""
        self.serve()
        self.trainer()
        self.submit(study(workload=workload, lr=0.1))
        wait_for("the reason", lambda: re.search(
            r"has to wait: .*" + re.escape(texts[0]), self.stderr()), 30)
        wait_for("another attempt", lambda: len(
            [x for x in self.stderr().splitlines() if " failed at " in x])
            > 1, 30)
        for text in texts:
            self.assertIn(text, self.stderr())
        trial = json.loads(self.hippo("trials", "s", "-f", "json").out)[0]
        self.assertNotEqual(trial["state"], "FAILED")
        self.assertEqual(trial["steps"], 0)

    def test_trainer_with_another_version(self):
        """It takes part in nothing that was made for other packages."""
        self.assert_refused(python(packages={"hippo-hpo": "9.9"}),
                  "the study was made for hippo-hpo 9.9", "this trainer has hippo")

    def test_trainer_that_cannot_set_up(self):
        """Nothing is trained then, not even at the second attempt."""
        self.change("self.seed, self.args = seed, args", "self.x = args['x']")
        self.change("import hippo_hpo as hippo\n",
                    "import hippo_hpo as hippo\n\nSEED = args = None\n")
        self.assert_refused(python(), "KeyError: 'x'")

    def test_program_that_ends_at_once(self):
        """It takes no trainer with it."""
        self.serve()
        trainer = self.trainer()
        self.program("mine", "#!/bin/sh\nexit 1\n")
        self.submit(study(workload={"command": ["./mine"]}, lr=0.1))
        wait_for("the reason", lambda: trainer.poll() is not None
                 or re.search(r"has to wait: .*exit code 1", self.stderr()), 30)
        self.assertIsNone(trainer.poll(), self.stderr())
        self.assertEqual(self.listed("s")["state"], "RUNNING")


# Adds what the values say to a sum that is in a folder of its state.
SUM = '''\
import json
import os
import sys
import tempfile

with open(sys.argv[1]) as file:
    request = json.load(file)
total = 0.0
if request["load"] is not None:
    with open(os.path.join(request["load"], "deep", "total")) as file:
        total = float(file.read())
for at, lr in enumerate(request["values"].get("lr", []), request["from"]):
    total += lr * (at + request["args"]["n"]) / 3
    print("step", at)
os.mkdir(os.path.join(request["save"], "deep"))
with open(os.path.join(request["save"], "deep", "total"), "w") as file:
    file.write(repr(total))
with open(sys.argv[2], "w") as file:
    json.dump({"metrics": {"val": total}}, file)
'''

# The same over a socket.
SOCKET = '''\
#!/usr/bin/env python3
import os
import sys
import tempfile

import capnp

schema = capnp.SchemaParser().load(
    os.environ["SCHEMAS"] + "/process.capnp",
    imports=[os.path.dirname(os.path.dirname(capnp.__file__))])
stream = os.fdopen(int(os.environ["HIPPO_SOCKET"]), "r+b", buffering=0)
args, total = {}, 0.0
while True:
    try:
        request = schema.Request.read(stream)
    except Exception:
        break
    what = request.which()
    answer = schema.Answer.new_message(number=request.number)
    answer.done = None
    if what == "describe":
        answer.init("description").protocol = 1
    elif what == "setup":
        args = {x.name: x.value.number for x in request.setup.args}
    elif what == "init":
        total = 0.0
    elif what == "train":
        x = request.train
        start, stop = getattr(x, "from"), x.to
        numbers = list(x.values[0].numbers)
        for at in range(start, stop):
            lr = numbers[min(at - start, len(numbers) - 1)]
            total += lr * (at + args["n"]) / 3
            print("step", at)
            schema.Answer.new_message(number=request.number,
                                      progress=at + 1).write(stream)
    elif what == "evaluate":
        metric = answer.init("metrics", 1)[0]
        metric.name, metric.value = "val", total
    elif what == "save":
        with open(request.save, "w") as file:
            file.write(repr(total))
    elif what == "load":
        with open(request.load) as file:
            total = float(file.read())
    elif what == "compare":
        answer.init("differences").unknown = None
    answer.write(stream)
'''


class OtherLanguages(OwnCode):
    """Programs that know nothing of Hippo's Python package."""

    SHELL = '#!/bin/sh\nexec python3 -I sum.py "$1" "$2"\n'

    def files(self, **more):
        self.program("train.sh", self.SHELL)
        self.write("sum.py", SUM)
        return {"files": ["./train.sh", "sum.py"], "args": {"n": 2}, **more}

    def test_files(self):
        self.assert_as_alone(study(workload=self.files()))
        self.assertEqual(
            self.hippo("logs", "--state", "shared", "s", 0).out,
            "".join(f"step {i}\n" for i in range(6)))

    def test_files_may_be_checked(self):
        self.write("s.yaml", study(workload=self.files()))
        self.assertIn("exact:", self.hippo("check", "s.yaml").out)

    def test_changed_file(self):
        x = study(workload=self.files())
        self.run_study(x)
        again, _ = self.run_study(x)
        self.assertEqual(again["trained_steps"], 0)
        self.write("sum.py", SUM + "# changed\n")
        report, _ = self.run_study(x)
        self.assertEqual(report["trained_steps"], UNIQUE)

    def failure(self, line):
        """@returns what a trial says whose program does this at state 2"""
        x = study(workload=self.files(silence_seconds=3), lr=0.1)
        self.change("json.dump(", f"if request['to'] == 2:\n        {line}\n"
                                  "    json.dump(", "sum.py")
        report, _ = self.run_study(x, code=1)
        why = without_log(report["studies"][0]["trials"][0]["failure"])
        where, _, what = why.partition(": ")
        self.assertEqual(where, "at step 2")
        return what

    def test_error_of_its_own(self):
        why = self.failure("sys.exit(json.dump({'error': 'no luck', "
                           "'details': 'here'}, file))")
        self.assertEqual(why, "no luck\nhere")

    def test_exit_code(self):
        self.assertEqual(self.failure("sys.exit(3)"),
                         "the program ended with exit code 3")

    def test_no_answer(self):
        self.assertIn("no JSON object with 'metrics'",
                      self.failure("sys.exit(0)"))

    def test_hang(self):
        why = self.failure("__import__('time').sleep(1000)")
        self.assertIn("printed nothing for", why)
        self.assertIn("for 3 s", why)

    def test_what_a_program_prints_before_it_fails(self):
        """Why it cannot start is in there."""
        self.program("mine", "#!/bin/sh\necho no library for that >&2\n"
                     "exit 1\n")
        self.write("s.yaml", study(workload={"command": ["./mine"]}))
        for verb, code in [(("run", "--state", "state"), 2), (("check",), 1)]:
            said = self.hippo(*verb, "s.yaml", code=code).err
            self.assertIn("the workload's process ended with exit code 1",
                          said)
            self.assertIn("no library for that", said)

    def test_program_that_cannot_be_run(self):
        x = self.files()
        os.chmod(self.path("train.sh"), 0o644)
        self.write("s.yaml", study(workload=x))
        said = self.hippo("run", "s.yaml", "--state", "state", code=2).err
        self.assertIn("train.sh", said)
        self.assertIn("the file cannot be run: chmod +x train.sh", said)

    def test_command(self):
        self.program("mine", SOCKET)
        self.env["SCHEMAS"] = SCHEMAS
        x = {"command": ["./mine", "--flag"], "args": {"n": 2}}
        self.assert_as_alone(study(workload=x))
        self.assertEqual(
            self.hippo("logs", "--state", "shared", "s", 0).out,
            "".join(f"step {i}\n" for i in range(6)))
        files, _ = self.run_study(study(workload=self.files()))
        self.assertEqual(results(files), results(self.report("shared")))
        self.write("c.yaml", study("c", x))
        self.assertIn("exact:", self.hippo("check", "c.yaml").out)

    @unittest.skipUnless(os.environ.get("SUM_PROCESS"),
                         "SUM_PROCESS names no program")
    def test_command_in_cpp(self):
        x = study(workload={"command": [os.environ["SUM_PROCESS"]],
                            "packages": {"sum": "1"}})
        x["objective"]["metric"] = "total"
        self.assert_as_alone(x)


class Inexact(OwnCode):
    """Code that does not promise to be exact."""

    def test_trains_alone(self):
        report, done = self.run_study(study(workload=python(exact=False)))
        self.assertFalse(report["studies"][0]["exact"])
        self.assertEqual(report["asked_steps"], ASKED)
        self.assertEqual(report["trained_steps"], ASKED)
        self.assertEqual(done.out.splitlines()[-1],
                         "study s is not exact, as it says: its results depend "
                         "on how training was cut, and no two trials shared "
                         "any")
        self.assertNotIn("hippo check", done.err)

    def test_shares_always(self):
        x = python(exact=False, share="always")
        report, done = self.run_study(study(workload=x))
        self.assertEqual(report["trained_steps"], UNIQUE)
        self.assertEqual(done.out.splitlines()[-1],
                         "study s is not exact, as it says: its results depend "
                         "on which trials shared training")

    def test_does_not_share_with_the_exact(self):
        self.run_study(study())
        report, _ = self.run_study(study(workload=python(exact=False)))
        self.assertEqual(report["trained_steps"], ASKED)

    def test_two_studies(self):
        x = python(exact=False)
        files = [self.write(y + ".yaml", study(y, x)) for y in "ab"]
        said = self.hippo("run", *files, "--state", "state").out
        self.assertEqual(self.report("state")["trained_steps"], 2 * ASKED)
        for name in "ab":
            self.assertIn(f"study {name} is not exact", said)

    def test_the_exact_are_not_named(self):
        _, done = self.run_study(study(workload=python(exact=True)))
        self.assertNotIn("exact", done.out)


if __name__ == "__main__":
    programs.main()
