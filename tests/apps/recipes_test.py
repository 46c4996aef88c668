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
from programs import read_report, results

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "recipes"
METRICS = {"val_loss", "prose_loss", "python_loss", "perl_loss"}


def with_less_decay(text):
    """Cooldowns of half the length, as another study."""
    for old, new in [("decay: 20%", "decay: 10%"),
                     ("study: cooldown-law", "study: cooldown-law-10")]:
        if text.count(old) != 1:
            raise ValueError(f"{old} is in the study {text.count(old)} times")
        text = text.replace(old, new)
    return text


class Recipes(OwnCode):
    """All of them in one run, and in another one that merges nothing, since
    each start of PyTorch takes seconds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case(OwnCode)
        subprocess.run([sys.executable, "-B", FOLDER / "quick.py", case.folder],
                       check=True, stdout=subprocess.DEVNULL)
        case.write("cooldown-law-10.yaml",
                   with_less_decay(case.read("cooldown-law.yaml")))
        cls.expected, cls.studies = case.run_recipes(
            "on", "cooldown-law", "cooldown-law-10", "microanneals",
            "critical-batch-size")
        # cooldown-law has the code of the others, and but one of their
        # schedules.
        _, cls.alone = case.run_recipes("off", "microanneals",
                                        "critical-batch-size")

    def setUp(self):
        pass  # all is in the folder of the class

    def run_recipes(self, merge, *names):
        """Runs studies and expects each step that they need once.
        @returns of each what `hippo preview` says, and what became of it"""
        files = [x + ".yaml" for x in names]
        expected = json.loads(self.hippo("preview", *files, "-f", "json").out)
        self.hippo("run", *files, "--merge", merge, "--state", merge,
                   "--trainers", 1, "--threads", 1)
        report = read_report(
            self.path(merge, "report", "latest", "report.json"))
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

    def check_alone(self, name):
        """Expects the results that trials have without each other."""
        self.assertEqual(results({"studies": [self.studies[name]]}),
                         results({"studies": [self.alone[name]]}))

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
        self.check_alone("microanneals")

    def test_critical_batch_size(self):
        study = self.check("critical-batch-size", 30, 7)
        self.assertEqual({x["steps"] for x in study["trials"]},
                         {6, 12, 18, 24, 30, 36})
        self.check_alone("critical-batch-size")


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
