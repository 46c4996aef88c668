"""Frameworks that train with several ranks, driven as a trainer drives them."""

import importlib.util
import unittest

from pages_test import block_with
from ranks_test import CutCase

TRANSFORMERS = """
    import random
    import tempfile

    import torch
    import transformers

    import hippo_hpo.transformers

    class Parities(torch.utils.data.Dataset):
        def __init__(self, count, seed):
            draw = random.Random(seed)
            self.rows = [[draw.randrange(2) for _ in range(6)]
                         for _ in range(count)]

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return {"input_ids": torch.tensor(self.rows[i]) + 1,
                    "attention_mask": torch.ones(6, dtype=torch.long),
                    "labels": int(sum(self.rows[i]) > 3)}

    def accuracy(prediction):
        right = prediction.predictions.argmax(-1) == prediction.label_ids
        return {"accuracy": float(right.mean()), "count": len(right)}

    class Epochs(hippo_hpo.transformers.Workload):
        given = {}

        def arguments(self):
            return transformers.TrainingArguments(
                output_dir=tempfile.gettempdir(), use_cpu=True,
                per_device_train_batch_size=4, **self.given)

        def model_init(self, constant):
            return transformers.BertForSequenceClassification(
                transformers.BertConfig(
                    vocab_size=4, hidden_size=8, num_hidden_layers=1,
                    num_attention_heads=2, intermediate_size=16,
                    max_position_embeddings=8))

        def datasets(self):
            return Parities(21, 1), Parities(13, 2)

        def trainer_options(self):
            return {"compute_metrics": accuracy}

    class Iterations(Epochs):
        step_is = "iteration"

    class Sharded(Epochs):
        given = {"fsdp": "full_shard"}
"""

LIGHTNING = """
    import torch

    import hippo_hpo.lightning

    lightning = hippo_hpo.lightning.lightning

    class Net(lightning.LightningModule):
        synced = True

        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4),
                torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))

        def training_step(self, batch, i):
            x, y = batch
            return (self.layers(x) - y).square().mean()

        def validation_step(self, batch, i):
            x, y = batch
            self.log("val_loss", (self.layers(x) - y).square().mean(),
                     sync_dist=self.synced)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1.0, momentum=0.9)

    class Unsynced(Net):
        synced = False

    class Data(lightning.LightningDataModule):
        def setup(self, stage):
            x = torch.linspace(-1, 1, 63).reshape(21, 3)
            self.data = torch.utils.data.TensorDataset(
                x, x.sum(1, keepdim=True))

        def train_dataloader(self):
            return torch.utils.data.DataLoader(self.data, 4, shuffle=True)

        def val_dataloader(self):
            return torch.utils.data.DataLoader(self.data, 8)

    class Epochs(hippo_hpo.lightning.Workload):
        kind = Net
        trainer_options = {"strategy": "ddp"}

        def module(self, constant):
            return self.kind()

        def datamodule(self):
            return Data()

    class Iterations(Epochs):
        step_is = "iteration"

    class Apart(Epochs):
        kind = Unsynced

    class Sharded(Epochs):
        trainer_options = {"strategy": "fsdp"}
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

    def assert_the_same_cut(self, name, ranks=2):
        import torch
        whole = super().assert_the_same_cut(name, ranks)
        first, *others = self.states()
        for other in others:  # each has seen other samples
            for key, x in weights(first).items():
                self.assertTrue(torch.equal(x, weights(other)[key]), key)
        return whole

    def refused(self, name):
        """What is said of a class that cannot be trained or measured."""
        trainer = self.begin(name)
        for ask in (trainer.setup, lambda: trainer.ask("init"),
                    lambda: trainer.train(0, 1, **{self.rate: [0.01]}),
                    lambda: trainer.ask("evaluate")):
            said = ask()
            if said.which() == "failed":
                trainer.close()
                return said.failed.message
        return self.fail(f"{name} is trained")


@unittest.skipUnless(importlib.util.find_spec("transformers"),
                     "Transformers is not installed")
class Transformers(Frameworks):
    text = TRANSFORMERS
    rate = "learning_rate"

    def test_epochs(self):
        # Of 13 samples one is in no pair.
        self.assertEqual(13, self.assert_the_same_cut(
            "Epochs")[1]["eval_count"])

    def test_iterations(self):
        metrics = self.assert_the_same_cut("Iterations")[1]
        self.assertEqual(13, metrics["eval_count"])
        # Three steps of 4 samples on each rank.
        self.assertEqual(24, self.states()[0]["samples"])

    def test_models_that_it_would_shard_are_refused(self):
        self.assertRegex(self.refused("Sharded"),
                         "fsdp is none of the arguments that ranks can have")


@unittest.skipUnless(importlib.util.find_spec("pytorch_lightning"),
                     "Lightning is not installed")
class Lightning(Frameworks):
    text = LIGHTNING

    def test_epochs(self):
        self.assert_the_same_cut("Epochs")

    def test_iterations_of_three_ranks(self):
        self.assert_the_same_cut("Iterations", ranks=3)

    def test_errors(self):
        self.assertRegex(self.refused("Apart"),
                         r"val_loss is .* on rank 0 and .* on rank 1: log it "
                         "with sync_dist=True")
        self.assertRegex(self.refused("Sharded"),
                         "strategy is 'fsdp': with ranks it must be \"ddp\"")


@unittest.skipUnless(importlib.util.find_spec("accelerate"),
                     "Accelerate is not installed")
class Accelerate(CutCase):
    rates = CutCase.rates[:3]

    def test_what_the_page_shows(self):
        with open(self.file, "w") as file:
            file.write(block_with("docs/own-code.md", "Accelerator("))
        self.assert_the_same_cut("train", ranks=3)


del Frameworks  # has no tests of its own

if __name__ == "__main__":
    unittest.main()
