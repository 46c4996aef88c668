#!/usr/bin/env python3
"""What a user sees while studies run."""

import json
import os
import re
import subprocess

import programs
from programs import HIPPO, SHA, Case, on_terminal, study

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(Case):
    def watch(self, *args, columns=100, env=None, train=512):
        """Runs hippo on a terminal. @returns all that it writes to it"""
        files = self.studies(study("with-sha", SHA, train=train),
                             study("a-rather-long-name-of-a-study", "grid",
                                   train=train))
        environment = {x: y for x, y in os.environ.items() if x != "NO_COLOR"}
        code, text = on_terminal(
            [HIPPO, "run", *files, "--state", self.path("s"), "--trainers",
             "2", *args], columns, stderr=subprocess.STDOUT,
            env={**environment, **(env or {})})
        self.assertEqual(code, 0, text)
        return text

    def widths(self, text):
        """The widths of the lines but the last, which holds the path, and those
        before the view, which name files."""
        lines = re.split(r"[\r\n]+", CONTROL.sub("", text))
        return [len(x) for x in lines
                if not x.startswith(("report: ", "warning: ",
                                     "hippo: page "))]

    def test_live_view(self):
        text = self.watch(train=4096)
        frames = len(re.findall(r"\x1b\[[0-9]+A", text))
        self.assertGreater(frames, 3, "it is redrawn in place")
        for part in ["with-sha", "trainers", "unique", "asked for", "saved",
                     "step ", "/s", "val_accuracy"]:
            self.assertIn(part, text)
        self.assertLessEqual(max(self.widths(text)), 80)
        self.assertRegex(text, COLOUR)
        self.assertNotIn("finished with value", text)

    def test_narrow_terminal(self):
        view = CONTROL.sub("", self.watch(columns=60)).split("sha, maximize")
        self.assertEqual(len(view), 2)
        self.assertLessEqual(max(self.widths(view[0])), 60)

    def test_no_colour(self):
        text = self.watch(env={"NO_COLOR": "1"})
        self.assertNotRegex(text, COLOUR)
        self.assertRegex(text, r"\x1b\[[0-9]+A")

    def test_quiet(self):
        text = self.watch("--quiet", train=256)
        self.assertNotRegex(text, r"\x1b\[[0-9]+A")
        self.assertNotIn("trainers ", text.split("Merging")[0])


class Lines(Case):
    def test_a_line_for_each_trial(self):
        files = self.studies(study("one", "grid"))
        done = self.hippo("run", *files, "--state", self.path("s"))
        place, *lines = done.err.splitlines()
        self.assertRegex(place, "^hippo: page http")
        self.assertEqual(len(lines), 12, done.err)
        seen = set()
        for line in lines:
            match = re.fullmatch(
                r"Trial (\d+) finished with value: (\S+) and parameters: "
                r"(\{.*\})\. Best is trial (\d+) with value: (\S+)\.", line)
            self.assertTrue(match, line)
            self.assertEqual(sorted(json.loads(match[3])),
                             ["batch_size", "lr", "momentum"])
            self.assertLessEqual(float(match[2]), float(match[5]))
            seen.add(int(match[1]))
        self.assertEqual(seen, set(range(12)))
        best = self.report("s")["studies"][0]["best"]
        self.assertEqual((int(match[4]), match[5]),
                         (best["trial"], best["value"]))
        self.assertNotIn("\x1b", done.err + done.out)

    def test_lines_name_the_study(self):
        files = self.studies(study("one", SHA), study("two", "grid"))
        done = self.hippo("run", *files, "--state", self.path("s"))
        warnings, _, *lines = done.err.splitlines()
        self.assertIn("one.yaml:", warnings)
        self.assertIn("at step 1, the first rung, these 12 trials are 4 "
                      "different states", warnings)
        self.assertEqual(len(lines), 24)
        self.assertEqual(sum(x.startswith("one: Trial ") for x in lines), 12)
        self.assertEqual(sum(x.startswith("two: Trial ") for x in lines), 12)
        self.assertEqual(
            len([x for x in lines if re.match(
                r"one: Trial \d+ pruned at step [13] with value: \S+\. "
                r"Best is trial \d+ with value: \S+\.$", x)]), 11, lines)

    def test_quiet(self):
        files = self.studies(study("one", SHA))
        done = self.hippo("run", *files, "--state", self.path("s"), "--quiet")
        self.assertEqual(done.err, "")
        self.assertIn("report: ", done.out)

    def test_said_when_there_is_nothing_to_train(self):
        files = self.studies(study("one", SHA))
        self.hippo("run", *files, "--state", self.path("s"))
        done = self.hippo("run", *files, "--state", self.path("s"))
        self.assertIn("results of earlier runs; they are not trained again",
                      done.err)


if __name__ == "__main__":
    programs.main()
