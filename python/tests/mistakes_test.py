"""What a person sees who makes an ordinary mistake: scripts in processes of
their own, with the real programs.

The environment says where they are: HIPPO, HIPPO_TRAINER.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import hippo_hpo as hippo
from hippo_hpo._arguments import direction_of, goals_of, steps_of
from hippo_hpo._expressions import expression_of
from hippo_hpo._failures import failure_of, remedy_of

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")

# A busy machine is slow; nothing of this takes half a minute of its own.
PATIENCE = 120

# Functions f_NAME are cases: what each raises is shown as Python shows it.
HEAD = """
import argparse, functools, os, random, sys, time, traceback, types
import hippo_hpo as hippo
from hippo_hpo import (choice, constant, int_uniform, log_uniform, multistep,
                       option, uniform)

LR = {"lr": choice(0.1, 0.2, 0.3, 0.4)}
LESS = {"loss": "minimize"}
WIDE = argparse.Namespace(width=3)
DRAW = random.Random(1)
TWICE = functools.partial(max, 2)
WORDS = {"b", "a", "c"}
INF = float("inf")


@hippo.workload(seed=1)
def good(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"loss": net["w"]}


@hippo.workload
def once(ctx):
    return ctx.hp.lr(0)


def optimize(function, space=LR, max_steps=4, objective=LESS, **more):
    return hippo.optimize(function, space, max_steps=max_steps,
                          objective=objective, algorithm="grid", trainers=2,
                          state=STATE, **more)
"""

TAIL = """

if __name__ == "__main__":
    for name, case in list(vars(sys.modules["__main__"]).items()):
        if name.startswith("f_"):
            print(f"== {name[2:]}", file=sys.stderr, flush=True)
            begin = time.monotonic()
            try:
                case()
            except Exception:
                traceback.print_exc()
            print(f"took {time.monotonic() - begin:.1f}", file=sys.stderr,
                  flush=True)
"""

ARGUMENTS = """
def f_direction():
    hippo.optimize(good, LR, max_steps=4, objective="score")

def f_no_direction():
    hippo.optimize(once, LR, objective={})

def f_no_objective():
    hippo.optimize(good, LR, max_steps=4)

def f_pair():
    hippo.optimize(good, LR, max_steps=4, objective=("loss", "minimize"))

def f_names():
    hippo.optimize(good, LR, max_steps=4, objective=["loss", "accuracy"])

def f_min():
    hippo.optimize(good, LR, max_steps=4, objective={"loss": "min"})

def f_steps():
    hippo.optimize(good, LR, objective=LESS)

def f_no_yield():
    hippo.optimize(once, LR, max_steps=4, objective="minimize")

def f_list():
    hippo.optimize(good, {"lr": [0.1, 0.2]}, max_steps=4, objective=LESS)

def f_lambda():
    hippo.optimize(good, {"lr": lambda x: 0.1}, max_steps=4, objective=LESS)

def f_several():
    hippo.optimize(good, {"lr": choice(0.1, max), "n": range(1, 5)},
                   max_steps=4,
                   objective=LESS)

def f_object():
    hippo.optimize(good, {"lr": object()}, max_steps=4, objective=LESS)

def f_function_as_space():
    hippo.optimize(good, lambda trial: 1, max_steps=4, objective=LESS)

def f_optuna():
    made = type("FloatDistribution", (), {
        "__module__": "optuna.distributions", "low": 1e-5, "high": 0.1,
        "log": True})
    hippo.optimize(good, {"lr": made()}, max_steps=4, objective=LESS)

def f_timeout():
    hippo.optimize(good, LR, max_steps=4, objective=LESS, timeout=3)

def f_n_trials():
    hippo.preview(good, LR, max_steps=4, objective=LESS, n_trials=3)

def f_trialz():
    hippo.optimize(good, LR, max_steps=4, objective=LESS, trialz=3)

def f_sampler():
    made = type("TPESampler", (), {})
    hippo.optimize(good, LR, max_steps=4, objective=LESS, algorithm=made())

def f_trials():
    hippo.optimize(good, LR, max_steps=4, objective=LESS, trials=0)

def f_seconds():
    hippo.optimize(good, LR, max_steps=4, objective=LESS, seconds="10")

def f_client():
    hippo.optimize(good, LR, max_steps=4, objective=LESS, client="host:4849")

def f_no_workload():
    hippo.optimize(lambda trial: 1, LR, max_steps=4, objective=LESS)

def f_files():
    hippo.optimize(good, LR, max_steps=4, objective=LESS, files=["none.csv"])

def f_namespace():
    @hippo.workload
    def train(ctx): ...
    hippo.optimize(uses_namespace, LR, objective="minimize")

def f_generator():
    hippo.optimize(uses_generator, LR, objective="minimize")

def f_partial():
    hippo.optimize(uses_partial, LR, objective="minimize")


@hippo.workload
def uses_namespace(ctx):
    return WIDE.width * ctx.hp.lr(0)

@hippo.workload
def uses_generator(ctx):
    return DRAW.random() * ctx.hp.lr(0)

@hippo.workload
def uses_partial(ctx):
    return TWICE(ctx.hp.lr(0))
"""

# What the first lines of each must say.
SAID = {
    "direction": r"objective='score': say whether more or less .* better",
    "no_direction": "say whether more or less is better of what once returns",
    "no_objective": "name the metric that good measures",
    "pair": r"are a map, objective=\{'loss': 'minimize'\}",
    "names": r"\{'loss': 'minimize', 'accuracy': 'maximize'\}",
    "min": "direction of 'loss' is 'min': write 'minimize'",
    "steps": r"max_steps is not given: good yields .* max_steps=12",
    "no_yield": "once has no `yield`, so that it is one step",
    "list": r"space\['lr'\] is a list: write choice\(0.1, 0.2\)",
    "lambda": r"space\['lr'\] is a lambda: a space has values",
    "several": r"choice\(\) is max, a function(.|\n)*"
               r"space\['n'\] is a range: write int_uniform\(1, 4\)",
    "object": r"space\['lr'\] is an object, .*: must be a number",
    "function_as_space": "space is a function: .* write it as a map",
    "optuna": r"of Optuna: write log_uniform\(1e-05, 0.1\)",
    "timeout": r"no argument timeout=: seconds= is what says that here"
               r"\nIt takes train, space, client, .*objective",
    "n_trials": r"no argument n_trials=: trials= is what says that here",
    "trialz": r"no argument trialz=: did you mean trials=\?",
    "sampler": "algorithm='tpe'",
    "trials": "trials=0: must be a whole number",
    "seconds": "seconds='10': must be a number above 0",
    "client": r"client=hippo.connect\('host:4849'\)",
    "no_workload": "put @hippo.workload above its",
    "files": "'none.csv' is not there",
    "namespace": r"WIDE, a global Namespace, .*args=vars\(WIDE\).*ctx\.args",
    "generator": "DRAW, a global Random, .*which are seeded for each step",
    "partial": "TWICE, a global partial, .*write it as a function",
}

TRAINING = """
@hippo.workload
def misspelt(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.learning_rat(step)
        yield lambda: {"loss": net["w"]}

def f_misspelt():
    optimize(misspelt, {"learning_rate": choice(1, 2, 3, 4)})


@hippo.workload
def uncalled(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += 2 * ctx.hp.lr
        yield lambda: {"loss": net["w"]}

def f_uncalled():
    optimize(uncalled, {"lr": choice(1, 2, 3, 4)})


@hippo.workload
def relative(ctx):
    with open("data/numbers.csv") as file:
        return float(file.read()) + ctx.hp.lr(0)

def f_relative():
    hippo.optimize(relative, LR, objective="minimize", state=STATE)

def f_given():
    study = hippo.optimize(relative, LR, objective="minimize", state=STATE,
                           files=["data/numbers.csv"])
    assert study.best_value == 3.1


@hippo.workload
def plain_loop(ctx):
    w = 0.0
    for epoch in range(4):
        w += ctx.hp.lr(epoch)
        yield lambda: {"loss": w}

def f_plain_loop():
    optimize(plain_loop)


@hippo.workload
def early(ctx):
    lr = ctx.hp.lr(0)
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += lr
        yield lambda: {"loss": net["w"]}

def f_early():
    optimize(early)


@hippo.workload
def at_three(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        print("this is step", step)
        net["w"] += ctx.hp.lr(step)
        if step == 3:
            raise ValueError(f"too much: {net['w']}")
        yield lambda: {"loss": net["w"]}

def f_all_fail():
    optimize(at_three)


@hippo.workload
def sometimes(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        if step == 2 and net["w"] > 0.7:
            net["w"] = float("nan") if net["w"] > 1 else 1 / 0
        yield lambda: {"loss": net["w"]}

def f_sometimes():
    study = optimize(sometimes)
    assert study.best_value == 0.1, study.best_value

def f_metric():
    optimize(good, objective={"los": "minimize"})


@hippo.workload
def forgets(ctx):
    net, speed = {"w": 0.0}, {"v": 0.0}
    for step in ctx.steps(net=net):
        speed["v"] = 0.9 * speed["v"] + ctx.hp.lr(step)
        net["w"] += speed["v"]
        yield lambda: {"loss": net["w"]}

def f_forgets():
    optimize(forgets)

def f_forgets_unchecked():
    optimize(forgets, check=False, progress=False)


@hippo.workload
def slow(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        time.sleep(5)
        yield lambda: {"loss": net["w"]}

def f_slow():
    optimize(slow, seconds=1)


@hippo.workload
def ends(ctx):
    os._exit(3)

def f_ends():
    hippo.optimize(ends, LR, objective="minimize", state=STATE)


class Travels:
    if os.path.exists("script.py"):
        pass
    else:
        raise RuntimeError("only here")

@hippo.workload
def cannot_start(ctx):
    return Travels() and 1.0

def f_cannot_start():
    import hippo_hpo._telling
    hippo_hpo._telling.STUCK_SECONDS = 1
    hippo.optimize(cannot_start, LR, objective="minimize", state=STATE)


@hippo.workload
def constants(ctx):
    net = {"w": 0.0, "n": len(WORDS)}
    for step in ctx.steps(net=net):
        net["w"] += ctx.constant("lr") * min(INF, 1)
        yield lambda: {"loss": net["w"]}

def f_right():
    study = optimize(constants, {"lr": choice(constant(0.3), constant(0.1))},
                     objective="loss")
    assert study.best_params == {"lr": 0.1}, study.best_params
    assert study.trials[0].params == {"lr": 0.3}, study.trials[0]
    assert study.best_state() == {"net": {"w": 0.1, "n": 3}}, \\
        study.best_state()
    assert study.load(study.trials[0])["net"]["w"] == 1.2
    hippo.optimize(constants, {"lr": uniform(1, 2)}, objective="loss",
                   max_steps=2, trials=2, state=STATE)
"""

TOLD = {
    "misspelt": r"the first 3 trials failed alike; trial \d in step 0: "
                r"AttributeError: .*'learning_rat'.*\n"
                r"did you mean ctx\.hp\.learning_rate\?",
    "uncalled": r"in step 0: TypeError: .*'function'.*\n"
                r".*its value is ctx\.hp\.NAME\(step\)",
    "relative": r"FileNotFoundError: .*numbers\.csv'\n.*folder of its own: "
                r"name the file in files=\['data/numbers.csv'\], or give its "
                r"absolute path, '/",
    "plain_loop": r"read outside of the loop over ctx\.steps\(\): read "
                  r"ctx\.hp\.lr\(step\) in `for step in ctx\.steps\(",
    "early": r"before step 0: TypeError: ctx\.hp\.lr is read outside .*"
             r"use ctx\.constant\('lr'\) before it",
    "all_fail": r"all 4 trials failed; trial 0 in step 3: ValueError: too much",
    "metric": r"does not measure 'los', did you mean 'loss'\?; it measures "
              "loss",
    "forgets": r"two steps in one go and in parts, net\.w",
    "slow": "nothing was measured: its time, 1 s, is spent",
    "ends": "the workload's process ended with exit code 3",
    "cannot_start": "RuntimeError: only here",
}


def error_in(said):
    """The message of the exception that ends a text, by its lines."""
    found = re.search(r"^(?:hippo_hpo\.errors\.\w+|TypeError): (.*)", said,
                      re.MULTILINE | re.DOTALL)
    return found.group(1).split("\n") if found else []


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.state = os.path.join(self.folder, "state")
        self.environment = {**os.environ, "HIPPO_PROGRAM": HIPPO}

    def write(self, text):
        path = os.path.join(self.folder, "script.py")
        with open(path, "w") as file:
            file.write(text.replace("STATE", repr(self.state)))
        return path

    def cases(self, text):
        """Runs all cases of a text. @returns what each of them has said"""
        done = subprocess.run(
            [sys.executable, self.write(HEAD + text + TAIL)], text=True,
            cwd=self.folder, capture_output=True, timeout=2 * PATIENCE,
            env=self.environment)
        self.assertEqual(0, done.returncode, done.stderr)
        parts = re.split(r"^== (\w+)\n", done.stderr, flags=re.MULTILINE)
        said = dict(zip(parts[1::2], parts[2::2]))
        for name, x in said.items():
            took = float(re.search(r"took (\S+)", x)[1])
            if name in SAID or name in TOLD:
                self.assertLess(took, 30, name)
        return said

    def await_end(self):
        end = time.monotonic() + PATIENCE
        while os.path.exists(os.path.join(self.state, "service.json")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)


class Arguments(Scripts):
    def test_each_is_told_in_the_first_lines(self):
        said = self.cases(ARGUMENTS)
        self.assertEqual(SAID.keys(), said.keys())
        for name, x in said.items():
            with self.subTest(name):
                lines = error_in(x)
                self.assertRegex("\n".join(lines[:3]), SAID[name], x)
                # The caller's line, and one of ours.
                self.assertLessEqual(x.count('  File "'), 3, x)
        self.assertFalse(os.path.exists(self.folder + "/hippo-state"))

    def test_directions_that_names_tell(self):
        for name in ("loss", "val_loss", "valLoss", "eval/loss", "MSE",
                     "val_rmse", "error_rate", "top5_error", "log_loss",
                     "cross_entropy", "val.perplexity"):
            self.assertEqual("minimize", direction_of(name), name)
        for name in ("accuracy", "val_acc", "acc@1", "roc_auc", "F1",
                     "macro_f1_score", "validation/top1-Accuracy", "r2"):
            self.assertEqual("maximize", direction_of(name), name)

    def test_no_direction_is_guessed(self):
        """A name is evident only if all of it is known."""
        known = ["loss", "accuracy", "error", "auc"]
        for name in [*(f"{x}_{y}" for x in known for y in
                       ("score2", "drop", "gain", "reduction", "free")),
                     *(f"{x}_{y}" for x in ("neg", "minus", "one_minus",
                                            "inverse", "anti") for y in known),
                     "score", "reward", "value", "w", "", "accuracy_loss",
                     "lossless", "1", "mean_test_score", "likelihood"]:
            self.assertIsNone(direction_of(name), name)
            with self.assertRaises(hippo.InvalidStudy):
                goals_of(name, None)
        self.assertEqual({"score": "maximize"},
                         goals_of({"score": "maximize"}, None))

    def test_steps_that_cannot_be(self):
        for bad in (0, -1, 1.5, "4", True, None, float("nan")):
            with self.assertRaises(hippo.InvalidStudy):
                steps_of(hippo.Workload, bad)
        self.assertEqual(7, steps_of(hippo.Workload, 7))

    def test_the_signature_has_every_argument(self):
        import inspect
        for call in hippo.optimize, hippo.preview:
            names = inspect.signature(call).parameters
            for name in ("train", "space", "objective", "max_steps", "trials",
                         "seconds", "on_error", "files"):
                self.assertIn(name, names)


class Texts(unittest.TestCase):
    def test_globals_that_travel_are_equal_there(self):
        import datetime
        import decimal
        import pathlib
        for x in (1, "a", [1, (2,)], {"a": {"c", "b"}}, frozenset({"x", "y"}),
                  float("inf"), [float("-inf")], pathlib.Path("/a/b"),
                  {"at": pathlib.PurePosixPath("c")}, re.compile("a+", re.I),
                  datetime.timedelta(hours=2), decimal.Decimal("1.10"), set(),
                  ()):
            text, modules = expression_of(x)
            found = eval(text, {name: __import__(name) for name in modules})
            self.assertEqual(x, found)
            self.assertIs(type(x), type(found))

    def test_sets_of_words_have_one_order(self):
        texts = {subprocess.run(
            [sys.executable, "-c",
             "from hippo_hpo._expressions import expression_of\n"
             "print(expression_of([{'a', 'b', 'c', 'd'}]))"],
            capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)}).stdout
            for seed in (1, 2, 3)}
        self.assertEqual(1, len(texts), texts)

    def test_a_failure_is_taken_apart(self):
        found = failure_of("in step 3: ValueError: x\nTraceback (most recent "
                           "call last):\n  line\n\nprinted before that:\na\nb\n"
                           "\nlog of trainer 1:\n2026 warning trainer: lease "
                           "4294967314 failed\n")
        self.assertEqual("in step 3: ValueError: x", found.line)
        self.assertEqual("Traceback (most recent call last):\n  line",
                         found.traceback)
        self.assertEqual("a\nb", found.printed)
        self.assertEqual("", failure_of("").line)
        self.assertEqual("", remedy_of("ValueError: x"))


@unittest.skipUnless(HIPPO and TRAINER, "HIPPO and HIPPO_TRAINER name nothing")
class Training(Scripts):
    def test_each_is_told_in_the_first_lines(self):
        os.makedirs(self.folder + "/data")
        with open(self.folder + "/data/numbers.csv", "w") as file:
            file.write("3")
        said = self.cases(TRAINING)
        self.await_end()
        for name, pattern in TOLD.items():
            with self.subTest(name):
                x = said[name]
                self.assertRegex("\n".join(error_in(x)[:3]), pattern, x)
                self.assertNotIn("lease", x)
                self.assertNotIn("log of trainer", x)
        for name in said.keys() - TOLD.keys():
            with self.subTest(name):
                self.assertNotIn("Traceback", said[name])
        # Places are those of the script, and output is the trial's.
        x = said["all_fail"]
        with open(self.folder + "/script.py") as file:
            line = 1 + file.read().split("\n").index(
                "            raise ValueError(f\"too much: {net['w']}\")")
        self.assertIn(f'script.py", line {line}, in at_three', x)
        self.assertIn("It has printed:\nthis is step 0\n", x)
        self.assertIn("With lr=0.1\n", x)
        # Some fail: how many, and how the first did.
        self.assertRegex(
            said["sometimes"],
            r"sometimes: COMPLETE, 2 finished, 2 failed; first: trial \d "
            r"(in|at) step \d: ")
        # The first line and the last ones.
        x = said["right"]
        lines = x.split("\n")
        self.assertRegex(lines[0], r"^constants: study \d+ minimizes loss; "
                         r"algorithm grid, as given; all combinations, 4 steps "
                         r"each; page http://127\.0\.0\.1:\d+/$")
        self.assertIn("\nconstants: best loss 0.1 in trial 1 after 1 step, "
                      "lr=", x)
        self.assertIn("; merging saved 0 of 8 steps (0%)", x)
        self.assertRegex(x, r"algorithm \w+.*, since ")
        self.assertEqual(1, len(re.findall(
            r"note: script\.py:\d+: no two trials have any training in common, "
            r"since they differ from step 0 on in lr\. If they differed from "
            r"step 1 on only, merging would save \d+% ", x)), x)
        self.assertNotIn("Warning", "".join(said.values()))

    def test_an_interrupt_says_how_to_go_on(self):
        path = self.write(HEAD + textwrap.dedent("""
            @hippo.workload
            def slow(ctx):
                time.sleep(1000)

            hippo.optimize(slow, LR, objective="minimize", state=STATE)
            """))
        script = subprocess.Popen([sys.executable, path], cwd=self.folder,
                                  stderr=subprocess.PIPE, text=True,
                                  env=self.environment)
        said = script.stderr.readline()
        self.assertIn("study 1 minimizes value", said)
        script.send_signal(signal.SIGINT)
        said = script.communicate(timeout=PATIENCE)[1]
        self.assertTrue(said.endswith(
            "interrupted; run it again to go on\n"), said)
        self.assertNotIn("Traceback", said)
        self.assertEqual(-signal.SIGINT, script.returncode)


if __name__ == "__main__":
    unittest.main()
