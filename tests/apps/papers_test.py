#!/usr/bin/env python3
"""The studies of examples/papers, with few images and epochs: no result depends
on merging, on the number of trainers or on the death of one."""

import json
import os
import pathlib
import signal
import unittest

import programs
from programs import Case, fashion, results, trainers

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "papers"


def changed(text, **others):
    """Replaces parts of a study that are there once."""
    for old, new in others.items():
        if text.count(old) != 1:
            raise ValueError(f"{old} is in the study {text.count(old)} times")
        text = text.replace(old, new)
    return text


class Papers(Case):
    def test_all_are_taken_without_a_warning(self):
        files = sorted(FOLDER.glob("*.yaml"))
        self.assertTrue(files)
        for file in files:
            with self.subTest(file.name):
                said = self.hippo("preview", file)
                self.assertEqual(said.err, "")

    def test_the_figure_in_a_comment(self):
        for file in FOLDER.glob("*.yaml"):
            with self.subTest(file.name):
                found = json.loads(
                    self.hippo("preview", file, "-f", "json").out)
                self.assertIn(f"p = {found['merge_rate']:.2f}.",
                              file.read_text())


class Study(Case):
    """A study of examples/papers, made small by `CHANGES`."""

    NAME = ""
    CHANGES: dict = {}
    DATA = "{train: 20000, validation: 5000}"
    SMALL_DATA = fashion(512)

    @classmethod
    def setUpClass(cls):
        if not cls.NAME:
            raise unittest.SkipTest("of the classes below")
        super().setUpClass()
        case = cls.first_case()
        text = changed((FOLDER / f"{cls.NAME}.yaml").read_text(), **{
            cls.DATA: json.dumps(cls.SMALL_DATA), **cls.CHANGES})
        cls.file = case.write("small.yaml", text)
        cls.reference = case.run_studies([cls.file], "state", "--trainers", 1)

    def check(self, report):
        self.assertEqual(results(report), results(self.reference))

    def check_steps(self, asked, unique):
        self.assertEqual(self.reference["trained_steps"],
                         self.reference["unique_steps"])
        self.assertEqual(self.reference["asked_steps"], asked)
        self.assertEqual(self.reference["unique_steps"], unique)

    def check_differences(self, trials):
        last = [x["results"][-1]["metrics"]["train_loss"]
                for x in self.reference["studies"][0]["trials"]]
        self.assertEqual(len(last), trials)
        self.assertEqual(len(set(last)), trials)

    def check_exact(self, names):
        said = self.hippo("check", self.file).out
        self.assertIn("ok      training goes on from step", said)
        for name in names:
            self.assertIn(f"another value of {name} makes a difference", said)
        self.assertIn("exact: ", said)

    def test_alone_and_on_other_trainers(self):
        self.check(self.run_studies([self.file], "alone", "--merge", "off",
                                    "--trainers", 2))

    def test_a_trainer_dies(self):
        process = self.start("run", self.file, "--state", self.path("state"),
                             "--trainers", 2)
        self.first_trial(process)
        os.kill(trainers(process.pid)[0], signal.SIGKILL)
        self.finish(process, 0)
        self.check(self.report("state"))


class Adsaga(Study):
    """Linear models on several machines."""

    NAME = "adsaga"
    CHANGES = {"max_steps: 20": "max_steps: 6", "eval_every: 5":
               "eval_every: 2", "[10, 0.0001]": "[4, 0.0001]"}

    def test_reference(self):
        self.check_steps(48, 32)
        self.check_differences(8)

    def test_exact(self):
        self.check_exact(["lr", "optimizer", "updates"])


class Cyclic(Study):
    """Clients whose data come in cycles of blocks."""

    NAME = "block-cyclic"
    CHANGES = {"max_steps: 20": "max_steps: 6", "eval_every: 20":
               "eval_every: 6", "[10, 0.0001]": "[2, 0.0001]",
               "[15, mm]": "[4, mm]", "[15, last]": "[4, last]"}
    DATA = "{train: 20000, validation: 5000, blocks: 5, skew: 0.5}"
    SMALL_DATA = fashion(512) | {"blocks": 5, "skew": 0.5}

    def test_reference(self):
        self.check_steps(72, 36)
        self.check_differences(12)

    def test_exact(self):
        self.check_exact(["lr", "sync_every", "predictor"])

    def refusal(self, **changes):
        self.write("refused.yaml", changed(
            (FOLDER / f"{self.NAME}.yaml").read_text(), **changes))
        return self.hippo("run", self.path("refused.yaml"), code=2).err

    def test_blocks_and_parts_that_images_do_not_suffice_for(self):
        self.assertIn("workload.data.blocks: must be at most 10, found '11'",
                      self.refusal(**{"blocks: 5": "blocks: 11"}))
        self.assertIn("workload: parts: 1000 of ",
                      said := self.refusal(**{"parts: 10": "parts: 1000",
                                              "20000": "600"}))
        self.assertIn("images of block 0 of data.blocks 5 that are not held "
                      "out: each part needs one; data.train is 600", said)


class ShadowSync(Study):
    """A click model whose parts exchange their weights."""

    NAME = "shadowsync"
    DATA = "{train: 200000, validation: 20000}"
    SMALL_DATA = {"train": 1024, "validation": 512, "step": 512, "rows": 100}
    CHANGES = {"max_steps: 20": "max_steps: 4", "eval_every: 5":
               "eval_every: 2", "[10, 0.05]": "[2, 0.05]",
               "batch_size: 32": "batch_size: 8",
               "sync_every: 30": "sync_every: 5", "[0, 25]": "[0, 3]"}

    def test_reference(self):
        self.check_steps(48, 36)
        self.check_differences(12)

    def test_exact(self):
        self.check_exact(["lr", "sync", "sync_lag"])


class Salient(Study):
    """Batches of a graph, prepared by other threads."""

    NAME = "salient"
    DATA = "{set: sbm, nodes: 2000, train: 1000, validation: 1000}"
    SMALL_DATA = {"set": "sbm", "nodes": 2000, "train": 1000,
                  "validation": 500}
    CHANGES = {"max_steps: 20": "max_steps: 15", "[10, 0.001]":
               "[5, 0.001]"}

    def test_reference(self):
        self.check_steps(180, 150)
        self.check_differences(12)

    def test_exact(self):
        self.check_exact(["lr", "fanouts", "dropout"])

    def test_no_result_depends_on_threads_that_prepare(self):
        for threads in 0, 3:
            self.check(self.run_studies(
                [self.file], f"threads-{threads}", "--trainers", 1,
                "--prepare-threads", threads))

    def test_fanouts_of_another_length(self):
        self.write("long.yaml", changed(pathlib.Path(self.file).read_text(), **{
            '["3,2", "10,5", "all"]': '["3,2,1"]'}))
        said = self.hippo("run", self.path("long.yaml"), "--trainers", 1,
                          "--state", self.path("long"), code=1)
        self.assertIn("fanouts '3,2,1' is for 3 layers, and the workload has "
                      "2", said.out + said.err)


class Distgnn(Study):
    """A whole graph in parts, whose messages are under way for epochs."""

    NAME = "distgnn"
    DATA = Salient.DATA
    SMALL_DATA = Salient.SMALL_DATA
    CHANGES = {"eval_every: 25": "eval_every: 50"}

    def test_reference(self):
        self.check_steps(800, 700)
        self.check_differences(8)

    def test_exact(self):
        self.check_exact(["delay", "lr"])


class Gyro(Study):
    """Gyro dropout."""

    NAME = "gyro-dropout"
    CHANGES = {"max_steps: 40": "max_steps: 6", "eval_every: 10":
               "eval_every: 2", "[20, 256]": "[3, 256]"}

    def test_reference(self):
        # Trials that turn to gyro dropout share 3 epochs with ordinary ones.
        self.check_steps(72, 66)
        self.check_differences(12)

    def test_exact(self):
        self.check_exact(["dropout", "subnetworks", "subnetwork_period",
                          "subnetwork_draw"])

    def test_values_that_do_not_go_together(self):
        self.write("gyro.yaml", changed(
            (FOLDER / "gyro-dropout.yaml").read_text(),
            **{"value: 256": "value: 8"}))
        said = self.hippo("run", self.path("gyro.yaml"), code=2).err
        self.assertIn("space.subnetworks.choice: is 8, and subnetworks_at_once "
                      "is 16 unless the study gives it", said)


if __name__ == "__main__":
    programs.main()
