#!/usr/bin/env python3
"""The report folder, and what `hippo preview` says before."""

import csv
import json
import math
import os
import xml.etree.ElementTree as ElementTree

import programs
from programs import SHA, Case, study


def value_at(sequence, step):
    """A sequence's value, worked out from docs/study-file.md alone."""
    if not isinstance(sequence, dict):
        return sequence
    (kind, x), = sequence.items()
    if kind == "constant":
        return x
    if kind == "multistep":
        passed = sum(at <= step for at in x["milestones"])
        return x["initial"] * x["gamma"] ** passed
    if kind == "piecewise":
        return [value for begin, value in x if begin <= step][-1]
    if kind == "cosine":
        share = min(step / x["horizon"], 1)
        return x["end"] + (x["initial"] - x["end"]) * (
            1 + math.cos(math.pi * share)) / 2
    assert kind == "warmup", kind
    if step < x["steps"]:
        return x["from"] + (x["to"] - x["from"]) * step / x["steps"]
    (then, y), = x["then"].items()
    return value_at({then: {"initial": x["to"], **y}}, step - x["steps"])


def prefixes(trial):
    """A name for each state that a trial goes through."""
    values = [tuple(f"{name}={value_at(x, step):.9g}"
                    for name, x in trial["params"].items())
              for step in range(trial["steps"])]
    return [tuple(values[:n]) for n in range(1, len(values) + 1)]


class Report(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        files = case.studies(study("with-sha", SHA, every=2),
                             study("with-grid", "grid", every=4))
        cls.out = case.hippo("run", *files, "--state", case.path("s"),
                             "--report", case.path("r"), "--trainers", 2).out
        cls.report_folder = case.path("r")
        cls.state_folder = case.path("s")
        with open(case.path("r", "report.json")) as text:
            cls.json = json.load(text)

    def test_files(self):
        self.assertEqual(sorted(os.listdir(self.report_folder)),
                         ["report.json", "stage-tree.svg", "timeline.svg",
                          "trials.csv"])
        self.assertFalse(os.path.exists(self.state_folder + "/report"))
        self.assert_nothing_half_written("s")

    def test_fields(self):
        self.assertLessEqual(
            {"asked_steps", "unique_steps", "trained_steps", "merge_rate",
             "k_wise_merge_rate", "wall_seconds", "device_seconds",
             "studies"}, self.json.keys())
        for x in self.json["studies"]:
            self.assertLessEqual({"name", "algorithm", "asked_steps", "best",
                                  "trials"}, x.keys())
            self.assertEqual(list(x["best"]),
                             ["trial", "step", "value", "params"])
            self.assertEqual([y["id"] for y in x["trials"]], list(range(12)))
            for y in x["trials"]:
                self.assertEqual(list(y), ["id", "state", "params", "steps",
                                           "shared_steps", "results",
                                           "failure", "chosen", "predicted",
                                           "untrained"])
                for z in y["results"]:
                    self.assertEqual(list(z), ["step", "metrics"])
                    self.assertEqual(sorted(z["metrics"]),
                                     ["train_loss", "val_accuracy",
                                      "val_loss"])
        self.assertEqual([(x["name"], x["algorithm"])
                          for x in self.json["studies"]],
                         [("with-sha", "sha"), ("with-grid", "grid")])
        self.assertIs(self.json["interrupted"], False)

    def test_figures_add_up(self):
        """Counted anew, with nothing that the program says but the values."""
        all_states, sum_of_studies, asked, shared = {}, 0, 0, 0
        for x in self.json["studies"]:
            own = set()
            for trial in x["trials"]:
                for state in prefixes(trial):
                    own.add(state)
                    all_states[state] = all_states.get(state, 0) + 1
            steps = sum(y["steps"] for y in x["trials"])
            self.assertEqual(x["asked_steps"], steps)
            self.assertEqual(x["delivered_steps"], steps)
            self.assertEqual(x["unique_steps"], len(own))
            self.assertEqual(x["shared_steps"],
                             sum(y["shared_steps"] for y in x["trials"]))
            sum_of_studies += len(own)
            asked += steps
            shared += x["shared_steps"]
        self.assertEqual(self.json["asked_steps"], asked)
        self.assertEqual(self.json["delivered_steps"], asked)
        self.assertEqual(self.json["unique_steps"], len(all_states))
        self.assertEqual(self.json["trained_steps"], len(all_states))
        self.assertEqual(self.json["merge_rate"], asked / len(all_states))
        self.assertEqual(self.json["k_wise_merge_rate"],
                         sum_of_studies / len(all_states))
        # Of the trials that have a step one has trained it, the others not.
        self.assertEqual(self.json["shared_steps"], asked - len(all_states))
        self.assertEqual(shared, asked - len(all_states))
        for x in self.json["studies"]:
            for trial in x["trials"]:
                most = sum(all_states[s] > 1 for s in prefixes(trial))
                self.assertLessEqual(trial["shared_steps"], most, trial)
        self.assertAlmostEqual(
            self.json["saved_device_seconds"]
            / self.json["alone_device_seconds"], shared / asked)

    def test_results_hold_what_was_asked_for(self):
        for x, every, rungs in zip(self.json["studies"], [2, 4],
                                   [{1, 3, 9}, {9}]):
            for trial in x["trials"]:
                wanted = rungs | set(range(every, 10, every))
                self.assertEqual([y["step"] for y in trial["results"]],
                                 [at for at in sorted(wanted)
                                  if at <= trial["steps"]])

    def test_states_of_sha(self):
        trials = self.json["studies"][0]["trials"]
        self.assertEqual(sorted(y["steps"] for y in trials),
                         [1] * 8 + [3] * 3 + [9])
        for y in trials:
            self.assertEqual(y["state"],
                             "COMPLETE" if y["steps"] == 9 else "PRUNED")

    def test_best(self):
        for x in self.json["studies"]:
            best = max(((z["metrics"]["val_accuracy"], -y["id"], -z["step"],
                         y["params"])
                        for y in x["trials"] for z in y["results"]),
                       key=lambda entry: entry[:3])
            self.assertEqual(x["best"], {"trial": -best[1], "step": -best[2],
                                         "value": best[0], "params": best[3]})

    def test_trials_csv(self):
        with open(self.report_folder + "/trials.csv", newline="") as text:
            rows = list(csv.DictReader(text))
        trials = [(x["name"], y) for x in self.json["studies"]
                  for y in x["trials"]]
        self.assertEqual(list(rows[0]),
                         ["study", "trial", "state", "steps", "shared_steps",
                          "best_step", "best_value", "lr", "batch_size",
                          "momentum"])
        self.assertEqual(len(rows), len(trials))
        for row, (name, y) in zip(rows, trials):
            self.assertEqual(
                (row["study"], row["trial"], row["state"], row["steps"],
                 row["shared_steps"]),
                (name, str(y["id"]), y["state"], str(y["steps"]),
                 str(y["shared_steps"])))
            self.assertEqual(
                float(row["best_value"]),
                max(z["metrics"]["val_accuracy"] for z in y["results"]))
            for parameter in ["lr", "batch_size", "momentum"]:
                self.assertEqual(json.loads(row[parameter]),
                                 y["params"][parameter])

    def test_pictures(self):
        for name in ["stage-tree.svg", "timeline.svg"]:
            root = ElementTree.parse(f"{self.report_folder}/{name}").getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertGreater(
                len(root.findall(".//{http://www.w3.org/2000/svg}rect")), 5)

    def test_summary(self):
        for text in ["with-sha", "with-grid", "merge rate p",
                     "k-wise merge rate q", "saved by merging",
                     "report: " + self.report_folder]:
            self.assertIn(text, self.out)
        self.assertNotIn("\x1b", self.out)
        self.assertLessEqual(max(map(len, self.out.splitlines()[:-1])), 80)

    def test_times(self):
        x = self.json
        self.assertGreater(x["wall_seconds"], 0)
        self.assertGreater(x["device_seconds"], 0)
        parts = x["overhead"]
        self.assertEqual(sorted(parts), ["dispatch", "evaluate", "idle",
                                         "load", "save", "train"])
        self.assertTrue(all(y >= 0 for y in parts.values()), parts)
        self.assertLessEqual(x["data_wait_seconds"], parts["train"])
        self.assertAlmostEqual(
            sum(parts.values()), x["wall_seconds"] * len(x["trainers"]),
            delta=0.1 * x["wall_seconds"] * len(x["trainers"]) + 0.1)


class Preview(Case):
    def check(self, *studies):
        files = self.studies(*studies)
        said = self.hippo("preview", *files, "-f", "json")
        self.assertNotIn("error", said.err)
        preview = json.loads(said.out)
        self.hippo("run", *files, "--state", self.path("s"))
        with open(self.path("s", "report", "latest", "report.json")) as text:
            report = json.load(text)
        for name in ["asked_steps", "unique_steps", "merge_rate",
                     "k_wise_merge_rate"]:
            self.assertEqual(preview[name], report[name], name)
        self.assertEqual(preview["trials"],
                         sum(len(x["trials"]) for x in report["studies"]))
        self.assertEqual(len(preview["studies"]), len(report["studies"]))
        for x, y in zip(preview["studies"], report["studies"]):
            self.assertEqual(
                (x["name"], x["trials"], x["asked_steps"], x["unique_steps"]),
                (y["name"], len(y["trials"]), y["asked_steps"],
                 y["unique_steps"]))
            self.assertIn("merge_rate", x)
            self.assertIn("k_wise_merge_rate", x)

    def test_grid(self):
        self.check(study("a", "grid"), study("b", "grid", steps=6))

    def test_random(self):
        first, second = study("a", "random"), study("b", "random")
        first["budget"] = {"trials": 5}
        second["budget"] = {"trials": 7}
        second["seed"] = 3
        self.check(first, second)

    def test_nothing_shared(self):
        second = study("b", "grid", steps=3)
        second["workload"]["seed"] = 2
        self.check(study("a", "grid", steps=3), second)

    def test_early_stops(self):
        files = self.studies(study("a", SHA), study("b", "grid"))
        preview = json.loads(self.hippo("preview", *files, "-f", "json").out)
        self.assertEqual(preview["asked_steps"], 216)
        self.assertEqual(preview["estimate"]["asked_steps"], 134)
        self.assertEqual(preview["studies"][0]["estimate"]["asked_steps"], 26)
        self.assertNotIn("estimate", preview["studies"][1])

    def test_table(self):
        files = self.studies(study("one", SHA), study("two", "grid"))
        said = self.hippo("preview", *files)
        for text in ["one", "two", "asked for", "unique", "216",
                     "k-wise merge rate q"]:
            self.assertIn(text, said.out)
        self.assertLessEqual(max(map(len, said.out.splitlines())), 80)

    def test_leaves_nothing(self):
        files = self.studies(study("a", SHA))
        self.hippo("preview", *files)
        self.assertEqual(os.listdir(self.folder), ["a.yaml"])


if __name__ == "__main__":
    programs.main()
