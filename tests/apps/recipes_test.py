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
    def setUp(self):
        super().setUp()
        subprocess.run([sys.executable, "-B", FOLDER / "quick.py", self.folder],
                       check=True, stdout=subprocess.DEVNULL)

    def run_recipes(self, *names, merge="on"):
        """Runs studies and expects each step that they need once."""
        files = [x + ".yaml" for x in names]
        expected = json.loads(self.hippo("preview", *files, "-f", "json").out)
        self.hippo("run", *files, "--merge", merge, "--state", merge,
                   "--trainers", 2, "--threads", 1)
        report = read_report(
            self.path(merge, "report", "latest", "report.json"))
        steps = {"on": "unique_steps", "off": "asked_steps"}[merge]
        self.assertEqual(report["trained_steps"], expected[steps])
        self.assertEqual(report["delivered_steps"], expected["asked_steps"])
        if merge == "on":
            self.assertEqual(report["unique_steps"], expected["unique_steps"])
            self.assertEqual(float(report["merge_rate"]),
                             expected["merge_rate"])
        self.expected = {x["name"]: x for x in expected["studies"]}
        return {x["name"]: x for x in report["studies"]}

    def check(self, study, trials, merge_rate):
        """Expects whole trials, and at least as much merging."""
        self.assertEqual([x["state"] for x in study["trials"]],
                         ["COMPLETE"] * trials)
        for trial in study["trials"]:
            self.assertEqual(set(trial["results"][-1]["metrics"]), METRICS)
        expected = self.expected[study["name"]]
        self.assertEqual(study["unique_steps"], expected["unique_steps"])
        self.assertGreaterEqual(expected["merge_rate"], merge_rate)

    def check_alone(self, study):
        """Expects the results that trials have without each other."""
        name = study["name"]
        alone = self.run_recipes(name, merge="off")[name]
        self.assertEqual(results({"studies": [study]}),
                         results({"studies": [alone]}))

    def test_cooldown_law(self):
        self.write("cooldown-law-10.yaml",
                   with_less_decay(self.read("cooldown-law.yaml")))
        studies = self.run_recipes("cooldown-law", "cooldown-law-10")
        self.check(studies["cooldown-law"], 15, 3.4)
        self.check(studies["cooldown-law-10"], 15, 4.9)
        for study in studies.values():
            self.assertEqual(
                [x["length"] for x in study["best_of_each_length"]],
                [40, 80, 120, 160, 200])
        self.check_alone(studies["cooldown-law"])

    def test_microanneals(self):
        study, = self.run_recipes("microanneals").values()
        self.check(study, 19, 6.5)
        ends = {tuple(sorted(x["results"][-1]["metrics"].items()))
                for x in study["trials"]}
        self.assertEqual(len(ends), 19)
        self.check_alone(study)

    def test_critical_batch_size(self):
        study, = self.run_recipes("critical-batch-size").values()
        self.check(study, 30, 7)
        self.assertEqual({x["steps"] for x in study["trials"]},
                         {6, 12, 18, 24, 30, 36})
        self.check_alone(study)


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
