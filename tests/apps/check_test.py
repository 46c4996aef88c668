#!/usr/bin/env python3
"""`hippo check`: whether it finds out which code may share training."""

import glob
import os
import shutil
import subprocess

import programs
from breakages import BREAKAGES
from own_code import LR, TORCH_TRAINER, TRAIN, OwnCode, study
from programs import read_report

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                        "examples", "python")

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"


class Checking(OwnCode):
    def check(self, *args, code=0):
        return self.hippo("check", *args, code=code)

    def broken(self, *args):
        """@returns what does not hold, with all that is said of it"""
        said = self.check(*args, code=1).out
        self.assertIn("not exact: ", said)
        self.assertIn("'exact: false'", said)
        found, last = {}, None
        for line in said.splitlines():
            if line.startswith("BROKEN  "):
                last = line[len("BROKEN  "):]
                found[last] = []
            elif line.startswith(" " * 8) and last:
                found[last].append(line.strip())
            else:
                last = None
        for what, lines in found.items():
            self.assertTrue(lines[-1].startswith("usually: "), (what, lines))
        return found


class Toys(Checking):
    """Sums that draw a number at each step."""

    def setUp(self):
        super().setUp()
        momentum = {"choice": [0.5, {"piecewise": [[0, 0.5], [4, 0.75]]}]}
        self.write("s.yaml", study(lr=LR, momentum=momentum))

    def found(self, *what):
        """Expects that just this does not hold. @returns what is said of it"""
        found = self.broken("s.yaml", "--steps", 2)
        self.assertEqual(set(found), set(what))
        return [found[x] for x in what]

    def test_exact(self):
        """Words in the order of a set, too: every process orders them alike
        here."""
        self.change("self.seed, self.args = seed, args",
                    "self.seed = ''.join({'a', 'b', 'c', 'd', 'e'})")
        said = self.check("s.yaml")
        self.assertEqual(said.err, "")
        *lines, last = said.out.splitlines()
        self.assertTrue(all(x.startswith("ok      ") for x in lines), lines)
        self.assertEqual(last, f"exact: {len(lines)} checks passed, no bit "
                               "differed. Trials may share training.")
        for what in ["the same steps in another process",
                     "another value of lr makes a difference",
                     "another value of momentum makes a difference"]:
            self.assertIn("ok      " + what, lines)

    def test_more_steps_and_one_value_that_is_not_tried(self):
        self.write("s.yaml", study(lr=0.1))
        said = self.check("s.yaml", "--steps", 6).out
        self.assertIn("goes on from step 5", said)
        self.assertIn("skipped another value of lr makes a difference", said)
        self.check("s.yaml", "--steps", 1, code=2)

    def test_random_numbers_of_the_process(self):
        self.change('random.Random(f"{self.seed} {step}").random()',
                    "random.random()")
        lines, = self.found("the same steps in another process")
        self.assertRegex(lines[0], r"^from step 1 on: .*\b[vw]\b")
        self.assertIn("random numbers", lines[-1])

    def test_random_initial_state(self):
        self.change('"w": 0.0', '"w": random.random()')
        lines, = self.found("the same steps in another process")
        self.assertRegex(lines[0], r"^the initial state: .*\bw\b")

    def test_state_that_is_not_all(self):
        self.change("return dict(self.state)", "return {'w': self.state['w']}")
        self.change("self.state = dict(state)",
                    "self.state = {'v': 0.0, **state}")
        found = self.broken("s.yaml", "--steps", 2)
        lines = found["training goes on from step 1 in another process"]
        self.assertRegex(lines[0], r"^from step 2 on: .*\bw\b")
        self.assertIn("is not in the saved state", lines[-1])

    def test_state_that_is_loaded_otherwise(self):
        self.change("self.state = dict(state)",
                    "self.state = {**state, 'v': 0.0}")
        found = self.broken("s.yaml", "--steps", 2)
        lines = found["what is loaded at step 1 is what was saved"]
        self.assertRegex(lines[0], r"\bv\b")

    def test_evaluation_that_leaves_a_trace_and_value_that_is_not_read(self):
        self.change('return {"val"',
                    'self.state["v"] += 0.125\n        return {"val"')
        self.change('hp.momentum(step) if "momentum" in hp else 0.5', "0.5")
        trace, unread = self.found(
            "evaluations in between",
            "another value of momentum makes a difference")
        self.assertRegex(trace[0], r"^from step 2 on: .*\bv\b")
        self.assertIn("the evaluation changes something", trace[-1])
        self.assertIn("states are the same with other values of momentum",
                      unread[0])
        self.assertIn("the code never reads it", unread[-1])

    def test_value_read_once_in_each_call(self):
        self.change("hp.lr(step) * self.state", "hp.lr(start) * self.state")
        lines, = self.found("the same steps in one call of train()")
        self.assertRegex(lines[0], r"^at step 2: .*\bw\b")
        self.assertIn("is read", lines[-1])

    def test_what_another_trial_leaves(self):
        """That, and an evaluation that differs each time."""
        self.change("def init(self):", "seen = 0\n\n    def init(self):")
        self.change('self.state["v"] = momentum',
                    "self.seen += stop > start\n"
                    '            self.state["v"] = momentum')
        self.change("hp.lr(step) * self.state", "(hp.lr(step) + "
                    "(self.seen > step + 1)) * self.state")
        self.change('self.state["w"] / 3}', 'self.state["w"] + next(TICKS)}')
        self.change("import random\n", "import itertools\nimport random\n")
        self.change("class Net", "TICKS = itertools.count()\n\n\nclass Net")
        found = self.broken("s.yaml", "--steps", 2)
        self.assertIn("the metric val is",
                      " ".join(found["evaluations in between"]))
        lines = found["a fresh start after another trial in that process"]
        self.assertRegex(lines[0], r"^from step 1 on: .*\bw\b")
        self.assertIn("something survives", lines[-1])

    def test_built_in_workload_and_its_members(self):
        x = programs.study("s", "grid", steps=4)
        x["workload"]["parts"] = 4
        self.write("s.yaml", x)
        torch = ("--trainer-program", TORCH_TRAINER)
        said = self.check("s.yaml", "--members", "1,2,4", *torch).out
        self.assertIn("exact: ", said)
        self.assertNotIn("1 members", said)
        for members in (2, 4):
            self.assertIn(f"ok      the same steps with {members} members\n",
                          said)
        said = self.check("s.yaml", "--members", "8", *torch, code=2).err
        self.assertIn("--members 8: at most 4 can train 'fashion-mlp' of this "
                      "study together", said)
        self.assertIn("power of two", self.check(
            "s.yaml", "--members", "1,3", *torch, code=2).err)


class Classes(Checking):
    """`hippo check FILE.py`, without a study."""

    def test_class(self):
        self.change("momentum = ", "print('width', self.args['n'] + 1)\n"
                    "            momentum = ")
        for name in ["train.py", "train.py:Net", self.path("train.py")]:
            self.assertIn("another value of lr makes a difference", self.check(
                name, "--set", "lr=0.1,0.01", "--args", "n=3", "--steps",
                2).out)

    def test_words(self):
        self.change("hp.lr(step) * self.state",
                    "hp.lr(step) * len(hp.kind(step)) * self.state")
        self.assertIn("ok      another value of kind makes a difference",
                      self.check("train.py", "--set", "lr=0.1,0.01", "--set",
                                 "kind=sgd,adam", "--steps", 2).out)

    def test_broken(self):
        """There is no study that would say that values stay as they are."""
        self.change("hp.lr(step) * self.state", "hp.lr(start) * self.state")
        self.assertIn("the same steps in one call of train()", self.broken(
            "train.py", "--set", "lr=0.1,0.01", "--steps", 2))

    def test_nothing_to_set(self):
        said = self.check("train.py", code=2).err
        self.assertIn("which hyper-parameters train.py reads", said)
        self.assertIn("--set lr=0.1,0.01", said)

    def test_settings(self):
        for text in ["lr", "lr=", "=3"]:
            self.assertIn(f"--set takes NAME=VALUE, found '{text}'",
                          self.check("train.py", "--set", text, code=2).err)
        self.assertIn("--args takes NAME=VALUE", self.check(
            "train.py", "--set", "lr=1,2", "--args", "n", code=2).err)
        self.write("s.yaml", study())
        self.assertIn("a study says it itself", self.check(
            "s.yaml", "--set", "lr=1,2", code=2).err)

    def test_bad_file(self):
        said = self.check("none.py", "--set", "lr=1,2", code=2).err
        self.assertIn("none.py", said)
        said = self.check("none.yaml", code=2).err
        self.assertIn("none.yaml", said)

    def test_unknown_class(self):
        said = self.check("train.py:Nat", "--set", "lr=1,2", code=1).err
        self.assertIn("train.py has no subclass of hippo.Workload or "
                      "function with @hippo.workload that is called Nat; it "
                      "has: Net", said)

    def test_exception(self):
        self.change("    def after(self, step, lr):\n        pass",
                    "    def after(self, step, lr):\n"
                    "        print('so far', step)\n"
                    "        raise ValueError('no luck')")
        said = self.check("train.py", "--set", "lr=1,2", code=1).err
        self.assertIn("ValueError: no luck", said)
        self.assertRegex(said, r'train\.py", line \d+, in after\n')

    def test_nothing_is_trained(self):
        self.change("return dict(self.state)", "return {}")
        self.change("self.state = dict(state)", "pass")
        said = self.check("train.py", "--set", "lr=1,2", code=1).err
        self.assertIn("training changes nothing that is saved", said)


class Warnings(Checking):
    """Whoever has not checked is told to."""

    def warnings(self):
        self.write("s.yaml", study(lr=LR))
        said = self.hippo("run", "s.yaml", "--state", "state",
                          "--trainers", 1).err
        return said.count("hippo check s.yaml does")

    def test_until_checked(self):
        self.assertEqual(self.warnings(), 1)
        self.check("s.yaml", "--steps", 2)
        self.assertEqual(self.warnings(), 0)
        self.assertTrue(os.listdir(self.path("known", "hippo", "exact")))
        self.write("train.py", TRAIN + "# changed\n")
        self.assertEqual(self.warnings(), 1)
        self.write("train.py", TRAIN)
        self.assertEqual(self.warnings(), 0)

    def test_what_is_broken_is_not_marked(self):
        self.change("hp.lr(step) * self.state", "hp.lr(start) * self.state")
        self.assertEqual(self.warnings(), 1)
        self.broken("s.yaml", "--steps", 2)
        self.assertEqual(self.warnings(), 1)


class Examples(Checking):
    """Those that users begin with, and copies of them with mistakes in."""

    NEEDS = {"pytorch-cnn": ["torch"], "boosting": ["xgboost", "sklearn"],
             "sklearn": ["sklearn"]}

    def copy(self, name):
        """Copies an example here; little data, where that takes long."""
        done = subprocess.run(
            ["python3", "-c", "import capnp, " + ", ".join(self.NEEDS[name])],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            self.skipTest(f"python3 has not all of {self.NEEDS[name]}")
        if name == "pytorch-cnn" and not os.path.isdir(FASHION_MNIST):
            self.skipTest(f"there is no {FASHION_MNIST}")
        for path in glob.glob(os.path.join(EXAMPLES, name, "*")):
            shutil.copy(path, self.folder)
        if name == "pytorch-cnn":
            self.change("{train: 6000, validation: 2000}",
                        "{train: 500, validation: 100}", "study.yaml")


class ExactExamples(Examples):
    def check_example(self, name):
        self.copy(name)
        self.assertIn("exact: ", self.check("study.yaml", "--steps", 2).out)

    def test_pytorch(self):
        self.check_example("pytorch-cnn")

    def test_boosting(self):
        self.check_example("boosting")

    def test_sklearn(self):
        self.check_example("sklearn")


class WithMistakes(Examples):
    def check_broken(self, name, *together):
        """Expects for each mistake that its test does not hold; those that
        stand together are made in one copy."""
        mistakes = {x[0]: x[1:] for x in BREAKAGES[name]}
        self.assertEqual(set(mistakes), {x for xs in together for x in xs})
        for expected in together:
            with self.subTest(tuple(expected)):
                self.copy(name)
                for mistake in expected:
                    self.change(*mistakes[mistake])
                found = self.broken("study.yaml", "--steps", 2)
                for mistake, test in expected.items():
                    self.assertIn(test, found, mistake)


class BrokenPyTorch(WithMistakes):
    def test_mistakes(self):
        self.check_broken("pytorch-cnn", {
            "the optimiser is not in the state":
                "training goes on from step 1 in another process",
            "evaluation in training mode": "evaluations in between",
            "dropout is read and not used":
                "another value of dropout makes a difference"})


class BrokenBoosting(WithMistakes):
    def test_mistakes(self):
        self.check_broken(
            "boosting",
            {"a booster that lives from round to round":
                 "the same steps in one call of train()"},
            {"values of the first step only":
                 "the same steps in one call of train()"},
            {"another seed in each process":
                 "the same steps in another process"})


class BrokenSklearn(WithMistakes):
    def test_mistakes(self):
        self.check_broken(
            "sklearn",
            {"the order within partial_fit is drawn from the global stream":
                 "the same steps in another process"},
            {"alpha is not passed on":
                 "another value of alpha makes a difference"},
            {"values of the first step only":
                 "the same steps in one call of train()"})


class ExampleStudies(Examples):
    """The studies of the examples, from beginning to end."""

    def run_example(self, name):
        self.copy(name)
        self.hippo("run", "study.yaml", "--state", "state", "--trainers", 1)
        report = read_report(self.path("state", "report", "latest",
                                       "report.json"))
        self.assertEqual(report["trained_steps"], report["unique_steps"])
        self.assertGreater(float(report["merge_rate"]), 1.5)
        for trial in report["studies"][0]["trials"]:
            self.assertEqual(trial["state"], "COMPLETE")

    def test_pytorch(self):
        self.run_example("pytorch-cnn")

    def test_boosting(self):
        self.run_example("boosting")

    def test_sklearn(self):
        self.run_example("sklearn")


if __name__ == "__main__":
    programs.main()
