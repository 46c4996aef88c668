#!/usr/bin/env python3
"""Verbs that look into a state folder, without any service."""

import csv
import io
import json
import os

import programs
from programs import SHA, Case, study


def digits(text):
    """Reads JSON with its numbers as they are written."""
    return json.loads(text, parse_float=str)


class Verbs(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.state = case.path("s")
        report = case.run_studies(
            case.studies(study("with-sha", SHA, every=2),
                         study("with-grid", "grid")), "s")
        cls.studies = {x["name"]: x for x in report["studies"]}

    def look(self, verb, *args, code=0):
        return self.hippo(verb, *args, "--state", self.state, code=code)

    def test_ls(self):
        rows = digits(self.look("ls", "-f", "json").out)
        self.assertEqual([x["name"] for x in rows], list(self.studies))
        for row in rows:
            known = self.studies[row["name"]]
            self.assertEqual(row["state"], "COMPLETE")
            self.assertEqual(row["trials"], len(known["trials"]))
            self.assertEqual(row["best"], known["best"]["value"])

    def test_trials_and_export(self):
        for name, known in self.studies.items():
            states = [x["state"] for x in known["trials"]]
            rows = json.loads(self.look("trials", name, "-f", "json").out)
            self.assertEqual([x["state"] for x in rows], states)
            table = csv.DictReader(
                io.StringIO(self.look("export", name, "--csv").out))
            self.assertEqual([x["state"] for x in table], states)
            whole = digits(self.look("export", name, "--json").out)
            self.assertEqual([x["results"] for x in whole["trials"]],
                             [x["results"] for x in known["trials"]])

    def test_show(self):
        done = self.look("show", "with-sha")
        self.assertRegex(done.out, r"state +COMPLETE\n")
        self.assertIn("shares with 2 (with-grid)", done.out)
        text = json.loads(self.look("show", "with-sha", "--text").out)
        self.assertEqual(text["study"], "with-sha")

    def test_logs(self):
        self.assertIn("study 1 (with-sha) has ended: COMPLETE",
                      self.look("logs").out)
        self.assertEqual(self.look("logs", "with-sha", 0).out, "")

    def test_says_nothing_else_and_leaves_nothing_behind(self):
        os.mkdir(self.path("tmp"))
        before = sorted(os.listdir(self.state))
        done = self.hippo("ls", "--state", self.state,
                          env={"TMPDIR": self.path("tmp")})
        self.assertEqual(done.err, "")
        self.assertEqual(os.listdir(self.path("tmp")), [])
        self.assertEqual(sorted(os.listdir(self.state)), before)

    def test_weights_of_any_trial_and_step(self):
        best = self.studies["with-sha"]["best"]
        self.look("best", "with-sha", "--export", self.path("best.pt"))
        self.look("export", "with-sha", best["trial"], "--step", best["step"],
                  "--weights", self.path("same.pt"))
        with open(self.path("best.pt"), "rb") as a, \
                open(self.path("same.pt"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        done = self.look("export", "with-sha", 0, "--weights",
                         self.path("last.pt"))
        steps = self.studies["with-sha"]["trials"][0]["steps"]
        self.assertIn(f"trial 0 at step {steps}", done.err)

    def test_weights_that_are_not_there(self):
        for args, code, why in [
                ((99, "--weights", "x.pt"), 2, "has no trial 99"),
                ((0, "--weights", "x.pt", "--step", 999), 2,
                 "trial 0 was not measured at step 999"),
                (("--weights", "x.pt"), 2, "the number of a trial"),
                ((0,), 2, "--weights goes with")]:
            done = self.look("export", "with-sha", *args, code=code)
            self.assertIn(why, done.err)
        self.assertFalse(os.path.exists("x.pt"))

    def test_a_folder_changes_nothing(self):
        for args in [["pause", "with-sha"], ["submit", "x.yaml"],
                     ["cancel", "with-sha"]]:
            self.hippo(*args, "--state", self.state, code=2)

    def test_bad_folders(self):
        for verb in [["ls"], ["show", "x"], ["logs"]]:
            done = self.hippo(*verb, "--state", self.path("none"), code=2)
            self.assertIn(self.path("none"), done.err)
            self.assertFalse(os.path.exists(self.path("none")))


class Reports(Case):
    def test_each_run_has_its_own(self):
        files = self.studies(study("with-grid", "grid"))
        first = self.run_studies(files, "s")
        self.assertGreater(float(first["device_seconds"]), 0)
        folder = self.path("s", "report")
        one = [x for x in os.listdir(folder) if x != "latest"]
        self.assertEqual(len(one), 1)
        self.hippo("run", "--resume", self.path("s"))
        two = [x for x in os.listdir(folder) if x != "latest"]
        self.assertEqual(len(two), 2)
        self.assertEqual(
            programs.read_report(os.path.join(folder, one[0], "report.json")),
            first)
        latest = os.path.basename(os.path.realpath(folder + "/latest"))
        self.assertEqual([latest], [x for x in two if x not in one])


if __name__ == "__main__":
    programs.main()
