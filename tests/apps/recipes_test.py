#!/usr/bin/env python3
"""The studies of examples/recipes, with a tiny model and a tenth of the steps:
what they share, and that no result depends on it."""

import json
import pathlib
import re
import subprocess
import sys

import programs
from own_code import OwnCode
from programs import read_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "recipes"
METRICS = {"val_loss", "prose_loss", "python_loss", "perl_loss"}


# Fewer trials of two studies, to be trained alone: cooldown-law has the code of
# both, and but one of their schedules.
FEWER = {"microanneals": ("trials: 19", "trials: 3"),
         "critical-batch-size": ("[6, 12, 18, 24, 30, 36]", "[6, 12]")}


def changed(text, *changes):
    """A study with other words in some places."""
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{old} is in the study {text.count(old)} times")
        text = text.replace(old, new)
    return text


def with_less_decay(text):
    """Cooldowns of half the length, as another study."""
    return changed(text, ("decay: 20%", "decay: 10%"),
                   ("study: cooldown-law", "study: cooldown-law-10"))


def by_params(study):
    """What became of trials, by their hyper-parameters."""
    return {json.dumps(x["params"]): (x["state"], x["steps"], x["results"])
            for x in study["trials"]}


class Recipes(OwnCode):
    """Few runs, and one of them without merging, since each start of PyTorch
    takes seconds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case(OwnCode)
        subprocess.run([sys.executable, "-B", FOLDER / "quick.py", case.folder],
                       check=True, stdout=subprocess.DEVNULL)
        case.write("cooldown-law-10.yaml",
                   with_less_decay(case.read("cooldown-law.yaml")))
        cls.expected, cls.studies = {}, {}
        for names in (("cooldown-law", "cooldown-law-10"), tuple(FEWER)):
            expected, studies = case.run_recipes("on", *names)
            cls.expected |= expected
            cls.studies |= studies
        for name, change in FEWER.items():
            case.write(f"{name}.yaml",
                       changed(case.read(f"{name}.yaml"), change))
        _, cls.alone = case.run_recipes("off", *FEWER)

    def setUp(self):
        pass  # all is in the folder of the class

    def run_recipes(self, merge, *names):
        """Runs studies and expects each step that they need once.
        @returns of each what `hippo preview` says, and what became of it"""
        files = [x + ".yaml" for x in names]
        expected = json.loads(self.hippo("preview", *files, "-f", "json").out)
        state = f"{merge}-{names[0]}"
        self.hippo("run", *files, "--merge", merge, "--state", state,
                   "--trainers", 1, "--threads", 1)
        report = read_report(
            self.path(state, "report", "latest", "report.json"))
        steps = {"on": "unique_steps", "off": "asked_steps"}[merge]
        self.assertEqual(report["trained_steps"], expected[steps])
        self.assertEqual(report["delivered_steps"], expected["asked_steps"])
        if merge == "on":
            self.assertEqual(report["unique_steps"], expected["unique_steps"])
            self.assertEqual(float(report["merge_rate"]),
                             expected["merge_rate"])
        return ({x["name"]: x for x in expected["studies"]},
                {x["name"]: x for x in report["studies"]})

    def check(self, name, trials, merge_rate):
        """Expects whole trials, and at least as much merging."""
        study = self.studies[name]
        self.assertEqual([x["state"] for x in study["trials"]],
                         ["COMPLETE"] * trials)
        for trial in study["trials"]:
            self.assertEqual(set(trial["results"][-1]["metrics"]), METRICS)
        expected = self.expected[name]
        self.assertEqual(study["unique_steps"], expected["unique_steps"])
        self.assertGreaterEqual(expected["merge_rate"], merge_rate)
        return study

    def check_alone(self, name, trials):
        """Expects the results that trials have without each other."""
        alone = by_params(self.alone[name])
        self.assertEqual(len(alone), trials)
        shared = by_params(self.studies[name])
        self.assertEqual(alone, {x: shared[x] for x in alone})

    def test_cooldown_law(self):
        for study in (self.check("cooldown-law", 15, 3.4),
                      self.check("cooldown-law-10", 15, 4.9)):
            self.assertEqual(
                [x["length"] for x in study["best_of_each_length"]],
                [40, 80, 120, 160, 200])

    def test_microanneals(self):
        study = self.check("microanneals", 19, 6.5)
        ends = {tuple(sorted(x["results"][-1]["metrics"].items()))
                for x in study["trials"]}
        self.assertEqual(len(ends), 19)
        self.check_alone("microanneals", 3)

    def test_critical_batch_size(self):
        study = self.check("critical-batch-size", 30, 7)
        self.assertEqual({x["steps"] for x in study["trials"]},
                         {6, 12, 18, 24, 30, 36})
        self.check_alone("critical-batch-size", 10)


class Page(OwnCode):
    """docs/branching.md."""

    def test_studies_are_short(self):
        paths = list(FOLDER.glob("*.yaml"))
        self.assertEqual(len(paths), 3)
        for path in paths:
            with self.subTest(path.name):
                self.assertLess(len(path.read_text().splitlines()), 25)

    def test_merge_rates_are_those_of_preview(self):
        text = (ROOT / "docs" / "branching.md").read_text()
        rows = re.findall(r"(?m)^\| \[[\w-]+\]\(\.\./examples/recipes/"
                          r"([\w-]+\.yaml)\)(.*?) \|.*\| ([\d,]+) \| ([\d,]+) "
                          r"\| ([\d.]+) \|$", text)
        self.assertEqual(len(rows), 4)
        for name, variant, *figures in rows:
            with self.subTest(name + variant):
                study = (FOLDER / name).read_text()
                if "10%" in variant:
                    study = with_less_decay(study)
                self.write("gpt.py", (FOLDER / "gpt.py").read_text())
                said = self.hippo("preview", self.write(name, study), "-f",
                                  "json")
                self.assertNotIn("warning", said.err)
                x = json.loads(said.out)
                self.assertEqual(
                    [f"{x['asked_steps']:,}", f"{x['unique_steps']:,}",
                     f"{x['merge_rate']:.2f}"], figures)


if __name__ == "__main__":
    programs.main()
