"""Whether the examples keep the promise, bit for bit, in real processes: and
whether copies of them that are broken do not."""

import glob
import importlib.util
import io
import os
import pickle
import shutil
import tempfile
import unittest

from breakages import BREAKAGES
from trainer_end import Trainer

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "..", "..", "examples", "python")

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"


class Broken(Exception):
    """What was asked for cannot be done."""


class Process:
    """A workload process whose failures are exceptions."""

    def __init__(self, case, folder):
        self.trainer = Trainer(f"{folder}/train.py:{case.name}", cwd=folder)
        self.path = os.path.join(folder, "state")
        self._done(self.trainer.setup(**case.args))

    def _done(self, answer):
        if answer.which() != "done":
            raise Broken(answer.failed.message)

    def init(self):
        self._done(self.trainer.ask("init"))

    def train(self, start, stop, values):
        self._done(self.trainer.train(
            start, stop, **{k: v[start:stop] for k, v in values.items()}))

    def save(self):
        """Returns the present state."""
        self._done(self.trainer.ask("save", self.path))
        with open(self.path, "rb") as file:
            return State(file.read())

    def load(self, state):
        with open(self.path, "wb") as file:
            file.write(state.bytes)
        self._done(self.trainer.ask("load", self.path))

    def metrics(self):
        answer = self.trainer.ask("evaluate")
        if answer.which() != "metrics":
            raise Broken(answer.failed.message)
        return {x.name: x.value for x in answer.metrics}


class State:
    """What a process has saved; equal if its content is, bit for bit."""

    def __init__(self, saved):
        self.bytes = saved

    def __eq__(self, other):
        return content(self.bytes) == content(other.bytes)


def content(state):
    """The same bytes for the same content of a state that pickle has saved.

    Pickle writes an object once, so its bytes depend on which strings happen to
    be one object. Here everything is written as often as it is there.
    """
    if not state.startswith(b"\x80"):
        return state  # torch.save's: equal anyway
    written = io.BytesIO()
    pickler = pickle.Pickler(written, protocol=5)
    pickler.fast = True
    pickler.dump(pickle.loads(state))
    return written.getvalue()


class Case:
    """How to try an example: `values` and `others` by step, for each
    hyper-parameter."""

    def __init__(self, name, args, values, others, needs):
        self.name, self.args, self.needs = name, args, needs
        self.values, self.others = values, others
        self.steps = len(next(iter(values.values())))


CASES = {
    "pytorch-cnn": Case(
        "Net", {"train": 500, "validation": 100, "folder": FASHION_MNIST},
        {"lr": [0.1, 0.1, 0.02, 0.01], "batch_size": [32, 32, 50, 64],
         "momentum": [0.9, 0.9, 0.9, 0.8], "dropout": [0.1, 0.3, 0.3, 0.1]},
        {"lr": 0.03, "batch_size": 100, "momentum": 0.5, "dropout": 0.4},
        ["torch"]),
    "boosting": Case(
        "Boosting", {"max_depth": 3},
        {"learning_rate": [0.3, 0.3, 0.2, 0.2, 0.1],
         "subsample": [0.7, 0.7, 0.5, 1, 0.9],
         "colsample_bytree": [0.5, 0.7, 0.5, 0.7, 0.7]},
        {"learning_rate": 0.1, "subsample": 0.4, "colsample_bytree": 0.2},
        ["xgboost", "sklearn"]),
    "sklearn": Case(
        "Digits", {},
        {"eta0": [0.03, 0.03, 0.01, 0.01, 0.003],
         "alpha": [0.01, 0.01, 0.001, 0.01, 0.1]},
        {"eta0": 0.1, "alpha": 0.5},
        ["sklearn"]),
}


def failings(case, start):
    """Returns what does not hold of a workload; nothing, if it is exact."""
    found = set()
    values, end = case.values, case.steps
    other = {k: [x] * end for k, x in case.others.items()}

    def expect(what, holds):
        if not holds:
            found.add(what)

    a, b = start(), start()
    a.init()
    states = [a.save()]
    a.train(0, end, values)
    want, measured = a.save(), a.metrics()
    expect("evaluate", a.save() == want)

    a.init()
    expect("init", a.save() == states[0])
    for step in range(end):
        a.metrics()
        a.train(step, step + 1, values)
        states.append(a.save())
        a.metrics()
    expect("evaluate", states[-1] == want and a.metrics() == measured)

    for cut in range(1, end):  # the first time without init in that process
        b.load(states[cut])
        expect("load", b.save() == states[cut])
        b.train(cut, end, values)
        expect("cut", b.save() == want and b.metrics() == measured)

    b.init()
    expect("init", b.save() == states[0])
    b.train(0, end, values)
    expect("process", b.save() == want and b.metrics() == measured)

    a.init()
    a.train(0, 2, other)
    a.init()
    a.train(0, end, values)
    expect("before", a.save() == want and a.metrics() == measured)

    for name, value in case.others.items():
        a.load(states[1])
        a.train(1, 3, {**values, name: [value] * end})
        expect(f"effect of {name}", a.save() != states[3])
    return found


def put_in(path, old, new):
    """Replaces a text that a file has once."""
    with open(path) as file:
        text = file.read()
    if text.count(old) != 1:
        raise ValueError(f"{path} has {text.count(old)} times: {old}")
    with open(path, "w") as file:
        file.write(text.replace(old, new))


class Exact(unittest.TestCase):
    def check(self, example, replaced=None):
        """Returns what does not hold of an example, or of a broken copy."""
        case = CASES[example]
        for module in case.needs:
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"{module} is not installed")
        if example == "pytorch-cnn" and not os.path.isdir(FASHION_MNIST):
            self.skipTest(f"there is no {FASHION_MNIST}")

        def start():
            folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, folder)
            for path in glob.glob(os.path.join(EXAMPLES, example, "*.py")):
                shutil.copy(path, folder)
            if replaced is not None:
                put_in(os.path.join(folder, "train.py"), *replaced)
            process = Process(case, folder)
            self.addCleanup(process.trainer.close)
            return process
        return failings(case, start)

    def check_broken(self, example, expected):
        """Expects for each breakage that just these do not hold."""
        self.assertEqual({name: self.check(example, (old, new))
                          for name, old, new in BREAKAGES[example]}, expected)


class PyTorch(Exact):
    def test_is_exact(self):
        self.assertEqual(self.check("pytorch-cnn"), set())

    def test_breakages_show(self):
        self.check_broken("pytorch-cnn", {
            "the optimiser is not in the state": {"cut"},
            "evaluation in training mode": {"cut", "evaluate"},
            "dropout is read and not used": {"effect of dropout"}})


class Boosting(Exact):
    def test_is_exact(self):
        self.assertEqual(self.check("boosting"), set())

    def test_breakages_show(self):
        self.check_broken("boosting", {
            "a booster that lives from round to round": {"cut", "evaluate"},
            "values of the first step only": {"cut", "evaluate"},
            "another seed in each process": {"cut", "process"}})


class Sklearn(Exact):
    def test_is_exact(self):
        self.assertEqual(self.check("sklearn"), set())

    def test_breakages_show(self):
        self.check_broken("sklearn", {
            "the order within partial_fit is drawn from the global stream":
                {"before", "cut", "evaluate", "process"},
            "alpha is not passed on": {"effect of alpha"},
            "values of the first step only": {"cut", "evaluate"}})


if __name__ == "__main__":
    unittest.main()
