"""Frameworks that train with several ranks, driven as a trainer drives them."""

import importlib.util
import os
import shutil
import unittest

from pages_test import block_with
from ranks_test import CutCase

TRANSFORMERS = """
    import tempfile

    import transformers

    import hippo_hpo.transformers
    from small_bert import Parities, accuracy, bert

    class Epochs(hippo_hpo.transformers.Workload):
        def arguments(self):
            return transformers.TrainingArguments(
                output_dir=tempfile.gettempdir(), use_cpu=True,
                per_device_train_batch_size=4)

        def model_init(self, constant):
            return bert(8)

        def datasets(self):
            return Parities(21, 1), Parities(13, 2)

        def trainer_options(self):
            return {"compute_metrics": accuracy}

    class Iterations(Epochs):
        step_is = "iteration"
"""

LIGHTNING = """
    import hippo_hpo.lightning
    from small_net import Data, Net

    class Synced(Net):
        synced = True

    class Epochs(hippo_hpo.lightning.Workload):
        kind = Synced
        trainer_options = {"strategy": "ddp"}

        def module(self, constant):
            return self.kind(4)

        def datamodule(self):
            return Data(21)

    class Iterations(Epochs):
        step_is = "iteration"

    class Apart(Epochs):
        kind = Net
"""


def weights(state):
    """The tensors of a module in a state, of all ranks but those that each has
    for itself, such as the statistics of its batches."""
    found = state["trained"]
    for name in ("model", "module", "state_dict"):
        if name in found:
            return {key: x for key, x in found[name].items()
                    if "running" not in key}
    raise KeyError(list(found))


class Frameworks(CutCase):
    rates = CutCase.rates[:3]

    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(os.path.dirname(__file__), self.module),
                    self.folder)

    def assert_the_same_cut(self, *args):
        import torch
        whole = super().assert_the_same_cut(*args)
        first, *others = self.states()
        for other in others:  # each has seen other samples
            for key, x in weights(first).items():
                self.assertTrue(torch.equal(x, weights(other)[key]), key)
        return whole


@unittest.skipUnless(importlib.util.find_spec("transformers"),
                     "Transformers is not installed")
class Transformers(Frameworks):
    text = TRANSFORMERS
    module = "small_bert.py"
    rate = "learning_rate"

    def test_epochs_and_iterations(self):
        pair = self.pair()
        # Of 13 samples one is in no pair.
        self.assertEqual(13, self.assert_the_same_cut(
            "Epochs", *pair)[1]["eval_count"])
        metrics = self.assert_the_same_cut("Iterations", *pair)[1]
        self.assertEqual(13, metrics["eval_count"])
        # Three steps of 4 samples on each rank.
        self.assertEqual(24, self.states()[0]["samples"])


@unittest.skipUnless(importlib.util.find_spec("pytorch_lightning"),
                     "Lightning is not installed")
class Lightning(Frameworks):
    text = LIGHTNING
    module = "small_net.py"

    def test_two_ranks(self):
        pair = self.pair()
        for name in "Epochs", "Iterations":
            self.assert_the_same_cut(name, *pair)
        trainer, _ = pair
        self.choose(trainer, "Apart")
        self.step(trainer, 0, 1)
        self.assertRegex(trainer.ask("evaluate").failed.message,
                         r"val_loss is .* on rank 0 and .* on rank 1: log it "
                         "with sync_dist=True")

    def test_three_ranks(self):
        self.assert_the_same_cut("Iterations", self.ranks(3))


@unittest.skipUnless(importlib.util.find_spec("accelerate"),
                     "Accelerate is not installed")
class Accelerate(CutCase):
    rates = CutCase.rates[:3]

    def test_what_the_page_shows(self):
        self.add(block_with("docs/own-code.md", "Accelerator("))
        self.assert_the_same_cut("train", self.ranks(3))


del Frameworks  # has no tests of its own

if __name__ == "__main__":
    unittest.main()
