#!/usr/bin/env python3
"""Published configurations of other tools, as study files
(examples/translated)."""

import glob
import json
import os
import shutil

import programs
from own_code import OwnCode

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                      "examples", "translated")


class Translated(OwnCode):
    def setUp(self):
        super().setUp()
        self.names = []
        for path in glob.glob(os.path.join(FOLDER, "*")):
            shutil.copy(path, self.folder)
            if path.endswith(".yaml"):
                self.names.append(os.path.basename(path))
        self.assertEqual(len(self.names), 7)

    def test_all_are_taken_without_a_warning(self):
        said = self.hippo("preview", *self.names)
        for line in (said.out + said.err).splitlines():
            if line.startswith("warning"):  # few of them share: that is told
                self.assertIn("no two trials share a step", line)

    def trials_of(self, name):
        self.hippo("run", name, "--state", "state")
        with open(self.path("state", "report", "latest",
                            "report.json")) as file:
            return json.load(file)["studies"][0]["trials"]

    def test_katib(self):
        for trial in self.trials_of("katib-distributions.yaml"):
            params = trial["params"]
            # Four deviations of each, to the nearest multiple.
            self.assertIn(params["lr"], [0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
            self.assertIn(params["epochs"], [1, 2, 3])
            self.assertIsInstance(params["epochs"], int)
            self.assertTrue(28 <= params["batch_size"] <= 72, params)
            self.assertIsInstance(params["batch_size"], int)

    def test_wandb(self):
        for trial in self.trials_of("wandb-yolo.yaml"):
            params = trial["params"]
            line = params["lr"]["linear"]
            self.assertEqual(line["from"], params["lr0"])
            self.assertAlmostEqual(line["to"], params["lr0"] * params["lrf"],
                                   delta=1e-11 * line["to"])

    def test_ray(self):
        forks = 0
        for trial in self.trials_of("ray-pbt.yaml"):
            params = trial["params"]
            if "forked" in params:
                forks += 1
                self.assertIn(params["momentum"], [0.8, 0.9, 0.99])
        self.assertGreater(forks, 0)

    def test_too_many_failed_trials(self):
        """As Katib's maxFailedTrialCount."""
        self.change("    def evaluate(self):\n",
                    "    def evaluate(self):\n"
                    "        raise ValueError(self.state)\n",
                    "measure.py")
        with open(self.path("katib-distributions.yaml")) as file:
            text = file.read()
        self.write("katib-distributions.yaml", text + "on_error: continue\n")
        self.hippo("run", "katib-distributions.yaml", "--state", "state",
                   code=1)
        shown = json.loads(self.hippo("show", "katib-distributions", "--state",
                                      "state", "-f", "json").out)
        self.assertIn("budget.failed, 3", json.dumps(shown))


if __name__ == "__main__":
    programs.main()
