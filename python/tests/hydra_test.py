"""The sweeper of Hydra with real applications, on services of this machine:
HIPPO and HIPPO_TRAINER name the programs."""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from hippo_hpo import hydra as reporting
from hippo_hpo._hydra_app import number_of, override_of
from hippo_hpo._hydra_sweep import space_of
from hippo_hpo.errors import InvalidStudy

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")

PATIENCE = 300

# An application that knows nothing of Hippo.
PLAIN = """
import logging
import hydra

@hydra.main(version_base=None, config_path=".", config_name="config")
def main(cfg):
    logging.getLogger("app").info("trained with %s", cfg.lr)
    if cfg.lr == cfg.bad:
        raise ValueError("no good")
    value = (cfg.lr - 0.3) ** 2 + (cfg.net.width - 3) ** 2 + len(cfg.word) / 1e3
    return (value, -cfg.net.width) if cfg.both else value

if __name__ == "__main__":
    main()
"""

CONFIG = """
lr: 0.1
bad: -1.0
word: a
both: false
steps: 9
defaults: [_self_, {net: small}]
"""

# An application that reports, and says what it trains.
REPORTS = """
import os
import hydra
from hippo_hpo.hydra import report

@hydra.main(version_base=None, config_path=".", config_name="config")
def main(cfg):
    with open(cfg.log, "a") as file:
        file.write(f"begin {cfg.lr}\\n")
    x = 1.0
    for step in range(cfg.steps):
        x *= 1 - cfg.lr
        with open(cfg.log, "a") as file:
            file.write(f"step {cfg.lr} {step + 1}\\n")
        report(step + 1, {"error": x, "lr": cfg.lr})
    with open("end-%s" % cfg.lr, "w"):
        pass

if __name__ == "__main__":
    main()
"""


class Grammar(unittest.TestCase):
    def space(self, *overrides):
        return space_of(OverridesParser.create().parse_overrides(
            list(overrides)))

    def test_sweeps_are_spaces(self):
        for text, wanted in [
                ("x=choice(0.1,0.01)", {"choice": [0.1, 0.01]}),
                ("x=1,2", {"choice": [1, 2]}),
                ("x=shuffle(1,2,3)", {"choice": [1, 2, 3]}),
                ("x=true,null,abc", {"choice": [True, None, "abc"]}),
                ("x='a b',[1,2],{a:1}", {"choice": ["'a b'", "[1,2]",
                                                    "{a:1}"]}),
                ("x=range(1,10,3)", {"int_uniform": [1, 7], "step": 3}),
                ("x=shuffle(range(1,4))", {"int_uniform": [1, 3], "step": 1}),
                ("x=range(10,1,-3)", {"int_uniform": [4, 10], "step": 3}),
                ("x=range(0,1,0.25)", {"uniform": [0.0, 0.75], "points": 4}),
                ("x=range(3,4)", {"choice": [3]}),
                ("x=interval(1e-5,1e-2)", {"uniform": [1e-5, 1e-2]}),
                ("x=tag(log,interval(1e-5,1e-2))",
                 {"log_uniform": [1e-5, 1e-2]}),
                ("x=int(interval(1,8))", {"int_uniform": [1, 8]}),
                ("x=int(tag(log,interval(1,8)))",
                 {"log_int_uniform": [1, 8]})]:
            with self.subTest(text):
                space, fixed = self.space(text, "y=3", "~z")
                self.assertEqual({"x": wanted}, space)
                self.assertEqual(["y=3", "~z"], fixed)
                self.assertEqual({type(y) for y in wanted.get("choice", [])},
                                 {type(y) for y in space["x"].get(
                                     "choice", [])})

    def test_the_last_override_counts(self):
        self.assertEqual(({"x": {"choice": [1, 2]}}, ["y=4"]),
                         self.space("x=3", "y=5,6", "y=4", "x=1,2"))
        self.assertEqual({"+a.b", "db@c"},
                         self.space("+a.b=1,2", "db@c=x,y")[0].keys())
        with self.assertRaisesRegex(InvalidStudy, "nothing is swept"):
            self.space("x=3")
        with self.assertRaisesRegex(InvalidStudy, "has no value"):
            self.space("x=range(3,3)")

    def test_values_return_as_overrides(self):
        parser = OverridesParser.create()
        for text in ("x='a b',\"it's\",a\\,b,[1,'2'],{a:'b c'},1e-7,3,-0.5,"
                     "true,null,a/b,1_000",):
            parsed = parser.parse_override(text)
            found = [parser.parse_override(f"x={override_of(y)}").value()
                     for y in space_of([parsed])[0]["x"]["choice"]]
            self.assertEqual([parser.parse_override("x=" + y).value() for y in
                              parsed.sweep_string_iterator()], found)


class Numbers(unittest.TestCase):
    def test_a_job_keeps_its_number(self):
        with tempfile.TemporaryDirectory() as folder:
            jobs = os.path.join(folder, "jobs")
            keys = ["c", "a", "b", "a", "c"]
            self.assertEqual([0, 1, 2, 1, 0],
                             [number_of(jobs, x) for x in keys])

    def test_report_does_nothing_outside_of_a_sweep(self):
        self.assertNotIn(reporting.JOB, os.environ)
        reporting.report(3, 0.5)
        reporting.report(1, {"a": 0.5})


class Case(unittest.TestCase):
    def setUp(self):
        if not (HIPPO and TRAINER):
            self.skipTest("HIPPO and HIPPO_TRAINER name nothing")
        folder = tempfile.TemporaryDirectory(prefix="hippo-hydra-",
                                             ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("config.yaml", CONFIG)
        for name, width in ("small", 2), ("large", 4):
            self.write(f"net/{name}.yaml", f"width: {width}\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def sweep(self, app, *arguments, code=0):
        """Runs an application's sweep, in the folder `sweep`."""
        self.write("app.py", app)
        done = subprocess.run(
            [sys.executable, "app.py", "-m", "hydra/sweeper=hippo",
             f"hydra.sweep.dir={self.folder}/sweep", *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "HIPPO_PROGRAM": HIPPO})
        self.assertEqual(code == 0, done.returncode == 0,
                         done.stdout + done.stderr)
        return done.stdout + done.stderr

    def results(self):
        with open(f"{self.folder}/sweep/optimization_results.yaml") as file:
            return yaml.safe_load(file)

    def job(self, number, name):
        with open(f"{self.folder}/sweep/{number}/{name}") as file:
            return file.read()


class Sweeps(Case):
    def test_an_unchanged_application(self):
        """A grid over numbers, words and a group of configurations."""
        said = self.sweep(
            PLAIN, "hydra.sweeper.algorithm=grid", "lr=choice(0.1,0.25)",
            "word='a b',c", "net=small,large", "bad=7")
        found = self.results()
        self.assertEqual("hippo", found["name"])
        self.assertAlmostEqual(0.05 ** 2 + 1 + 0.001, found["best_value"])
        self.assertEqual((0.25, "c"), (found["best_params"]["lr"],
                                       found["best_params"]["word"]))
        self.assertIn("Best value", said)
        # Jobs are those of Hydra: folders, configurations, logs.
        jobs = [x for x in os.listdir(f"{self.folder}/sweep")
                if x.isdigit()]
        self.assertEqual(set(map(str, range(8))), set(jobs))
        seen = set()
        for number in jobs:
            config = yaml.safe_load(self.job(number, ".hydra/config.yaml"))
            self.assertEqual(7, config["bad"])
            seen.add((config["lr"], config["word"], config["net"]["width"]))
            hydra = yaml.safe_load(self.job(number, ".hydra/hydra.yaml"))
            self.assertEqual(int(number), hydra["hydra"]["job"]["num"])
            self.assertIn(f"trained with {config['lr']}",
                          self.job(number, "app.log"))
        self.assertEqual({(lr, word, width) for lr in (0.1, 0.25)
                          for word in ("a b", "c") for width in (2, 4)}, seen)

    def test_ranges_and_several_objectives(self):
        self.sweep(PLAIN, "hydra.sweeper.algorithm=random",
                   "hydra.sweeper.trials=3", "both=true",
                   "hydra.sweeper.direction=[minimize,minimize]",
                   "lr=tag(log,interval(0.01,1))", "net.width=range(1,9)")
        found = self.results()["solutions"]
        self.assertGreaterEqual(len(found), 1)
        for x in found:
            lr, width = x["params"]["lr"], x["params"]["net.width"]
            self.assertTrue(0.01 <= lr <= 1 and 1 <= width <= 8)
            self.assertAlmostEqual((lr - 0.3) ** 2 + (width - 3) ** 2 + 0.001,
                                   x["values"][0])
            self.assertEqual(-width, x["values"][1])

    def test_a_failed_job_is_a_failed_trial(self):
        said = self.sweep(PLAIN, "hydra.sweeper.algorithm=grid", "bad=0.3",
                          "lr=choice(0.3,0.4)")
        self.assertEqual({"lr": 0.4}, self.results()["best_params"])
        self.assertIn("1 failed", said)
        said = self.sweep(PLAIN, "hydra.sweeper.algorithm=grid", "bad=0.3",
                          "lr=choice(0.3)", code=1)
        self.assertIn("ValueError: no good", said)

    def test_mistakes_are_found_first(self):
        for arguments, wanted in [
                (["lrr=1,2"], "lrr"),
                (["lr=1,2", "hydra.sweeper.algorithm=tpp"], "tpp"),
                (["lr=1,2", "hydra.sweeper.algorithm={pbt:{interval:1}}"],
                 "changes values during training"),
                (["lr=1,2", "hydra.sweeper.direction=[minimize,maximize]",
                  "hydra.sweeper.metric=a"], "1 metrics and 2 directions")]:
            said = self.sweep(PLAIN, *arguments, code=1)
            self.assertIn(wanted, said)
            self.assertEqual([], glob.glob(f"{self.folder}/sweep/[0-9]*"))


class Pruning(Case):
    def steps(self):
        """The steps of the log by learning rate, in their order."""
        found = {}
        with open(f"{self.folder}/log") as file:
            for line in file:
                kind, rate, *step = line.split()
                if kind == "step":
                    found.setdefault(float(rate), []).append(int(step[0]))
        return found

    def test_bad_trials_end_early(self):
        rates = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        self.sweep(
            REPORTS, "hydra.sweeper.algorithm={sha:{eta:3,min:1}}",
            "hydra.sweeper.max_steps=9", "hydra.sweeper.metric=error",
            "hydra.sweeper.trials=9", f"+log={self.folder}/log",
            f"lr=choice({','.join(map(str, rates))})")
        found = self.results()
        self.assertEqual({"lr": 0.6}, found["best_params"])
        self.assertAlmostEqual(0.4 ** 9, found["best_value"])
        steps = self.steps()
        self.assertEqual(rates, sorted(steps))
        # Rungs of 1, 3 and 9 steps: nine trials, the best three, the best.
        self.assertEqual({0.4: 3, 0.5: 3, 0.6: 9},
                         {x: max(y) for x, y in steps.items()
                          if max(y) > 1})
        # The application of the best has gone to its own end.
        self.assertEqual([f"{self.folder}/end-0.6"],
                         glob.glob(f"{self.folder}/end-*"))
        # A trial that goes on has the number that it had.
        self.assertEqual(9, len(glob.glob(f"{self.folder}/sweep/[0-9]*")))

    def test_waiting_applications_repeat_nothing(self):
        self.sweep(
            REPORTS, "hydra.sweeper.algorithm={sha:{eta:2,min:3}}",
            "hydra.sweeper.max_steps=6", "hydra.sweeper.metric=error",
            "hydra.sweeper.trainers=1", "hydra.sweeper.keep=4", "steps=6",
            f"+log={self.folder}/log", "lr=choice(0.1,0.2,0.3,0.4)")
        self.assertEqual({0.1: [1, 2, 3], 0.2: [1, 2, 3],
                          0.3: [1, 2, 3, 4, 5, 6], 0.4: [1, 2, 3, 4, 5, 6]},
                         self.steps())

    def test_an_end_before_the_last_step_keeps_its_value(self):
        self.sweep(
            REPORTS, "hydra.sweeper.algorithm=grid",
            "hydra.sweeper.max_steps=9", "hydra.sweeper.metric=error",
            "steps=2", f"+log={self.folder}/log", "lr=choice(0.1,0.2)")
        self.assertAlmostEqual(0.64, self.results()["best_value"])


class Page(unittest.TestCase):
    def test_every_option_is_on_it(self):
        import dataclasses

        from hippo_hpo._hydra_sweep import Options
        from hydra_plugins.hippo_sweeper import HippoSweeperConf

        root = os.path.dirname(os.path.dirname(os.path.dirname(
            os.path.abspath(__file__))))
        with open(os.path.join(root, "docs", "hydra.md")) as file:
            text = file.read().partition("## Options")[2]
        shown = {x for line in text.splitlines() if line.startswith("| `")
                 for x in re.findall(r"`(\w+)`", line.split("|")[1])}
        others = {"_target_", "steps", "every"}  # former names, too
        for conf, more in (Options, set()), (HippoSweeperConf, others):
            fields = {x.name: x.default for x in dataclasses.fields(conf)}
            self.assertEqual(shown | more, set(fields))
        self.assertEqual(
            {x.name: x.default for x in dataclasses.fields(Options)},
            {x.name: x.default for x in dataclasses.fields(HippoSweeperConf)
             if x.name not in others})


if __name__ == "__main__":
    unittest.main()
