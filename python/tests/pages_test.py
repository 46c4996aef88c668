"""What README.md and docs/python-workloads.md show runs, given what they leave
to the reader: a model, its data. What needs a framework runs in its own test.

The environment says where the programs are: HIPPO, HIPPO_TRAINER.
"""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import unittest

import hippo_hpo as hippo
from hippo_hpo.workload import HyperParameters

try:
    import torch
    import hippo_hpo.torch
except ImportError:
    torch = None
try:
    import xgboost
except ImportError:
    xgboost = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")

# What the pages leave to the reader.
READER = """
import torch
from torch.nn.functional import cross_entropy

import hippo_hpo as hippo
import hippo_hpo.torch
from hippo_hpo import choice, constant, cosine, multistep


class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(2, 4), torch.nn.Dropout(0.1),
                         torch.nn.Linear(4, 2))


def spots():
    points = torch.linspace(-1, 1, 160).reshape(80, 2)
    return torch.utils.data.TensorDataset(
        points, (points.sum(1) > 0).long())


def share(model, data):
    points, labels = data.tensors
    with torch.no_grad():
        return (model(points).argmax(1) == labels).float().mean().item()


"""


WORKLOADS_READER = """
CNN, accuracy = Net, share


def load_data():
    return spots(), spots()


"""


def blocks(page):
    """The Python that a page shows, block by block."""
    with open(os.path.join(ROOT, page)) as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(),
                          re.DOTALL | re.MULTILINE)


def block_with(page, text):
    found, = (x for x in blocks(page) if text in x)
    return found


class Snippets(unittest.TestCase):
    @unittest.skipUnless(HIPPO and TRAINER, "needs the programs")
    def test_readme_optimizes(self):
        """As it stands, and with the output that the page shows."""
        text = block_with("README.md", "hippo.optimize")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "search.py")
            with open(path, "w") as file:
                file.write(text)
            done = subprocess.run(
                [sys.executable, path], cwd=folder, capture_output=True,
                text=True, timeout=240,
                env={**os.environ, "HIPPO_PROGRAM": HIPPO})
        self.assertEqual(0, done.returncode, done.stderr)
        value, _, params = done.stdout.partition(" ")
        self.assertIn("'multistep'", params)
        for line in ("minimizes loss; algorithm grid, as given; all "
                     "combinations, 16 steps each; page http://",
                     "COMPLETE, 18 finished", f"best loss {float(value):.6g} ",
                     "merging saved 156 of 288 steps (54%)"):
            self.assertIn(line, done.stderr)
            if "best loss" not in line:
                with open(os.path.join(ROOT, "README.md")) as page:
                    self.assertIn(line, page.read())

    def test_classes_are_whole(self):
        for page, text in [("README.md", "class Net(hippo.Workload)"),
                           ("docs/python-workloads.md",
                            "class Net(hippo.Workload)")]:
            names = {"hippo": hippo}
            exec(block_with(page, text), names)
            self.assertFalse(inspect.isabstract(names["Net"]), page)
            for name in vars(names["Net"]):
                if not name.startswith("_"):
                    self.assertTrue(hasattr(hippo.Workload, name), name)

    @unittest.skipUnless(torch and xgboost, "needs PyTorch and XGBoost")
    def test_randomness_has_an_address(self):
        import numpy
        data = xgboost.DMatrix(numpy.eye(4), label=[0, 1, 0, 1])
        exec(block_with("docs/python-workloads.md", "default_rng"), {
            "np": numpy, "hippo": hippo, "seed": 1, "epoch": 2, "step": 3,
            "data": data, "booster": xgboost.Booster({}, [data])})

    @unittest.skipUnless(torch, "needs PyTorch")
    def test_a_workload_of_pytorch(self):
        names = {}
        exec(READER + WORKLOADS_READER
             + block_with("docs/python-workloads.md",
                          "class Net(hippo.torch.Workload)"), names)
        net = names["Net"]()
        net.setup(1, "cpu", {})
        net.init()
        net.train(0, 2, HyperParameters(0, 2, {
            "lr": [0.1], "dropout": [0.2], "batch_size": [16.0]}))
        self.assertEqual({"val_accuracy"}, set(net.evaluate()))
        with self.assertRaisesRegex(ValueError, "nothing has read momentun"):
            net.train(2, 3, HyperParameters(2, 3, {
                "dropout": [0.2], "batch_size": [16.0], "momentun": [0.9]}))

    @unittest.skipUnless(torch, "needs PyTorch")
    def test_a_workload_with_gyro_dropout(self):
        names = {}
        exec(READER + WORKLOADS_READER
             + block_with("docs/python-workloads.md", "class Subnetworks("),
             names)
        trained = []
        for period in 0.3, 0.3, 2.0:
            net = names["Subnetworks"]()
            net.setup(1, "cpu", {})
            net.init()
            net.train(0, 2, HyperParameters(0, 2, {
                "dropout": [0.5], "subnetwork_period": [period]}))
            self.assertEqual({"val_accuracy"}, set(net.evaluate()))
            trained.append(net.model[0].weight.tolist())
        self.assertEqual(trained[0], trained[1])
        self.assertNotEqual(trained[0], trained[2])

    def test_every_block_is_run(self):
        # The blocks of frameworks run in the tests of these frameworks.
        ran = ("hippo.optimize", "class Net(", "class Subnetworks(",
               "default_rng",
               "hippo_hpo.lightning", "hippo_hpo.transformers",
               "class Iterated(", "hippo_hpo.trl")
        for page in "README.md", "docs/python-workloads.md":
            for text in blocks(page):
                self.assertTrue(any(x in text for x in ran), text)


class Doctests(unittest.TestCase):
    """Examples in docstrings give what they say."""

    def test_modules(self):
        examples = 0
        for found in pkgutil.iter_modules(hippo.__path__):
            try:
                module = importlib.import_module(f"hippo_hpo.{found.name}")
            except ImportError:
                continue  # what it is for is not installed here
            with self.subTest(module.__name__):
                result = doctest.testmod(module)
                self.assertEqual(0, result.failed)
                examples += result.attempted
        self.assertGreater(examples, 10)


if __name__ == "__main__":
    unittest.main()
