#!/usr/bin/env python3
"""`hippo ask-tell`: requests and answers, one JSON object a line."""

import json
import os
import subprocess
import tempfile
import unittest

HIPPO = os.environ["HIPPO"]

STUDY = """
study: s
objective: {metric: loss, direction: minimize}
max_steps: 4
eval_every: 2
space: {lr: {choice: [1, {multistep: {initial: 1, milestones: [3], gamma: 2}}]}}
algorithm: ALGORITHM
"""


class AskTell(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def say(self, *requests, algorithm="grid", more="", args=()):
        """Runs the verb with these lines on its input."""
        path = os.path.join(self.folder, "s.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STUDY.replace("ALGORITHM", algorithm) + more)
        lines = [x if isinstance(x, str) else json.dumps(x) for x in requests]
        return subprocess.run(
            [HIPPO, "ask-tell", "s.yaml", *args], cwd=self.folder, text=True,
            input="".join(x + "\n" for x in lines), capture_output=True,
            timeout=120)

    def answers(self, *requests, **options):
        done = self.say(*requests, **options)
        self.assertEqual(0, done.returncode, done.stderr)
        hello, *rest = map(json.loads, done.stdout.splitlines())
        self.assertEqual("s", hello["study"])
        return rest

    def test_a_study_from_the_first_request_to_its_end(self):
        ask = {"do": "ask"}

        def tell(trial, to, loss):
            return {"do": "tell", "trial": trial, "to": to,
                    "values": {"loss": loss}}
        asked, waits, _, shared, own, _, end, none, best = self.answers(
            ask, ask, tell(0, 2, .5), ask, ask, tell(1, 4, .25),
            tell(0, 4, .375), ask, {"do": "best"})
        self.assertEqual({"trial": 0, "from": 0, "to": 2, "start": None,
                          "params": {"lr": 1}, "values": {"lr": [1]}},
                         asked["work"])
        self.assertEqual({"work": None, "end": ""}, waits)
        schedule = {"multistep": {"initial": 1, "milestones": [3], "gamma": 2}}
        self.assertEqual({"trial": 1, "from": 2, "to": 4, "start": 0,
                          "params": {"lr": schedule}, "values": {"lr": [1, 2]}},
                         shared["work"])
        self.assertEqual((0, 0), (own["work"]["trial"], own["work"]["start"]))
        why = "its algorithm has nothing left to train"
        self.assertEqual({"end": why}, end)
        self.assertEqual({"work": None, "end": why}, none)
        self.assertEqual([{"trial": 1, "step": 4, "values": {"loss": .25},
                           "params": {"lr": schedule}}], best["best"])

    def test_bad_requests_are_answered_and_change_nothing(self):
        tell = {"do": "tell", "trial": 0, "to": 2}
        found = self.answers(
            "no json", "[]", "{}", {"do": "stop"}, {"do": 3},
            {"do": "ask"}, tell, {**tell, "values": {"loss": None}},
            {**tell, "trial": -1, "failed": True}, {**tell, "values": {}},
            {**tell, "trial": 7, "failed": True}, {**tell, "failed": True})
        for answer in found[:5] + found[6:-1]:
            self.assertEqual(["error"], list(answer))
        self.assertIn("is none of ask, tell, best", found[3]["error"])
        self.assertIn("'loss' is missing", found[9]["error"])
        self.assertEqual({"end": ""}, found[-1])

    def test_studies_that_need_a_service_are_refused_with_their_place(self):
        for more, text in (
                ("budget: {seconds: 3}\n",
                 "error: s.yaml:8:19: budget.seconds: ask and tell ends"),
                ("repeats: 3\n", "error: s.yaml:8:10: repeats: ask and tell"),
                ("workload: toy\n", "unknown workload 'toy'")):
            with self.subTest(more):
                done = self.say(more=more)
                self.assertEqual(2, done.returncode)
                self.assertIn(text, done.stderr)
        done = self.say(algorithm="client")
        self.assertEqual(2, done.returncode)
        self.assertIn("algorithm", done.stderr)

    def test_a_workload_says_what_its_study_may_have(self):
        done = self.say(more="workload: fashion-mlp\n")
        self.assertEqual(2, done.returncode)
        self.assertIn("unknown metric 'loss'", done.stderr)

    def test_a_journal_without_a_journal_is_refused(self):
        self.assertEqual(2, self.say(args=["--journal", "s.yaml"]).returncode)
        self.assertEqual(2, self.say(args=["--journal", "."]).returncode)
        self.assertEqual([], self.answers(args=["--journal", "j"]))
        with open(os.path.join(self.folder, "j"), encoding="utf-8") as file:
            self.assertEqual(1, len(file.readlines()))


if __name__ == "__main__":
    unittest.main()
