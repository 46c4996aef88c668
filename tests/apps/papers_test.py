#!/usr/bin/env python3
"""The studies of examples/papers, with few images and epochs: no result depends
on merging, or on the number of trainers and of their threads."""

import dataclasses
import json
import pathlib

import programs
from programs import Case, fashion, results

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "papers"


def changed(text, **others):
    """Replaces parts of a study that are there once."""
    for old, new in others.items():
        if text.count(old) != 1:
            raise ValueError(f"{old} is in the study {text.count(old)} times")
        text = text.replace(old, new)
    return text


class Papers(Case):
    def test_all_are_taken_and_have_the_merge_rate_of_their_comment(self):
        files = sorted(FOLDER.glob("*.yaml"))
        self.assertTrue(files)
        for file in files:
            with self.subTest(file.name):
                said = self.hippo("preview", file, "-f", "json")
                self.assertEqual(said.err, "", "a warning")
                rate = json.loads(said.out)["merge_rate"]
                self.assertIn(f"p = {rate:.2f}.", file.read_text())


@dataclasses.dataclass
class Small:
    """A study of examples/papers, made small by `changes`."""

    name: str
    changes: dict
    trials: int
    asked: int
    unique: int
    exact: list  # some of its hyper-parameters, which `hippo check` tries
    data: str = "{train: 20000, validation: 5000}"
    small_data: dict = dataclasses.field(default_factory=lambda: fashion(256))

    def text(self):
        return changed((FOLDER / f"{self.name}.yaml").read_text(), **{
            self.data: json.dumps(self.small_data), **self.changes})


GRAPH = {"data": "{set: sbm, nodes: 2000, train: 1000, validation: 1000}",
         "small_data": {"set": "sbm", "nodes": 2000, "train": 1000,
                        "validation": 500}}
STUDIES = [
    # Linear models on several machines.
    Small("adsaga", {
        "max_steps: 20": "max_steps: 6", "eval_every: 5": "eval_every: 2",
        "[10, 0.0001]": "[4, 0.0001]"},
          8, 48, 32, ["lr", "optimizer", "updates"]),
    # Clients whose data come in cycles of blocks.
    Small("block-cyclic", {
        "max_steps: 20": "max_steps: 6", "eval_every: 20": "eval_every: 6",
        "[10, 0.0001]": "[2, 0.0001]", "[15, mm]": "[4, mm]",
        "[15, last]": "[4, last]"},
          12, 72, 36, ["lr", "sync_every", "predictor"],
          "{train: 20000, validation: 5000, blocks: 5, skew: 0.5}",
          fashion(256) | {"blocks": 5, "skew": 0.5}),
    # A click model whose parts exchange their weights.
    Small("shadowsync", {
        "max_steps: 20": "max_steps: 4", "eval_every: 5": "eval_every: 2",
        "[10, 0.05]": "[2, 0.05]", "batch_size: 32": "batch_size: 8",
        "sync_every: 30": "sync_every: 5", "[0, 25]": "[0, 3]"},
          12, 48, 36, ["lr", "sync", "sync_lag"],
          "{train: 200000, validation: 20000}",
          {"train": 512, "validation": 256, "step": 256, "rows": 100}),
    # Batches of a graph, prepared by other threads.
    Small("salient", {
        "max_steps: 20": "max_steps: 6", "[10, 0.001]": "[2, 0.001]"},
          12, 72, 60, ["lr", "fanouts", "dropout"], **GRAPH),
    # A whole graph in parts, whose messages are under way for epochs.
    Small("distgnn", {
        "max_steps: 100": "max_steps: 10", "[50, 1]": "[5, 1]"},
          8, 80, 70, ["delay", "lr"], **GRAPH),
    # Trials that turn to gyro dropout share 3 epochs with ordinary ones.
    Small("gyro-dropout", {
        "max_steps: 40": "max_steps: 6", "eval_every: 10": "eval_every: 2",
        "[20, 256]": "[3, 256]"},
          12, 72, 66, ["dropout", "subnetworks", "subnetwork_period",
                       "subnetwork_draw"]),
]


class Studies(Case):
    """All of them in one run."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.files = {x.name: case.write(f"{x.name}.yaml", x.text())
                     for x in STUDIES}
        cls.reference = case.run_studies(cls.files.values(), "state",
                                         "--trainers", 1,
                                         "--prepare-threads", 0)

    def refused(self, name, code=2, **changes):
        """What is said of a study of examples/papers with these changes."""
        self.write("refused.yaml", changed(
            (FOLDER / f"{name}.yaml").read_text(), **changes))
        said = self.hippo("run", self.path("refused.yaml"), "--trainers", 1,
                          "--state", self.path("state"), code=code)
        return said.out + said.err

    def test_each_unique_step_is_trained_once(self):
        found = {x["name"]: x for x in self.reference["studies"]}
        for x in STUDIES:
            with self.subTest(x.name):
                of_it = found[x.name]
                self.assertEqual(of_it["asked_steps"], x.asked)
                self.assertEqual(of_it["asked_steps"] - of_it["shared_steps"],
                                 x.unique)
                last = {y["results"][-1]["metrics"]["train_loss"]
                        for y in of_it["trials"]}
                self.assertEqual(len(of_it["trials"]), x.trials)
                self.assertEqual(len(last), x.trials)
        for key in "trained_steps", "unique_steps":
            self.assertEqual(self.reference[key],
                             sum(x.unique for x in STUDIES), key)

    def test_alone_with_other_numbers_of_trainers_and_threads(self):
        """Threads prepare batches of graphs and of impressions."""
        report = self.run_studies(self.files.values(), "alone", "--merge",
                                  "off", "--trainers", 2, "--prepare-threads",
                                  3)
        self.assertEqual(report["trained_steps"], report["asked_steps"])
        wanted = results(self.reference)
        for name, found in results(report).items():
            with self.subTest(name):
                self.assertEqual(found, wanted[name])

    def test_exact(self):
        for x in STUDIES:
            with self.subTest(x.name):
                said = self.hippo("check", self.files[x.name]).out
                self.assertIn("ok      training goes on from step", said)
                for name in x.exact:
                    self.assertIn(f"another value of {name} makes a "
                                  "difference", said)
                self.assertIn("exact: ", said)

    def test_blocks_and_parts_that_images_do_not_suffice_for(self):
        self.assertIn("workload.data.blocks: must be at most 10, found '11'",
                      self.refused("block-cyclic", **{"blocks: 5":
                                                      "blocks: 11"}))
        self.assertIn("workload: parts: 1000 of ",
                      said := self.refused("block-cyclic", **{
                          "parts: 10": "parts: 1000", "20000": "600"}))
        self.assertIn("images of block 0 of data.blocks 5 that are not held "
                      "out: each part needs one; data.train is 600", said)

    def test_fanouts_of_another_length(self):
        self.assertIn("fanouts '3,2,1' is for 3 layers, and the workload has "
                      "2", self.refused("salient", 1, **{
                          '["3,2", "10,5", "all"]': '["3,2,1"]'}))

    def test_values_that_do_not_go_together(self):
        self.assertIn("space.subnetworks.choice: is 8, and subnetworks_at_once "
                      "is 16 unless the study gives it",
                      self.refused("gyro-dropout", **{"value: 256":
                                                      "value: 8"}))


if __name__ == "__main__":
    programs.main()
