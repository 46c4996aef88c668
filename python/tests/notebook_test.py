"""Cards of studies, and cells as files."""

import dataclasses
import os
import sys
import tempfile
import types
import unittest
from html.parser import HTMLParser
from unittest import mock

import hippo_hpo as hippo
from hippo_hpo import notebook, progress
from hippo_hpo._source import source_of
from hippo_hpo.records import StudyInfo, TrialInfo

INFO = StudyInfo(
    id=7, name="a<b", state="RUNNING", reason="", metric="val_accuracy",
    direction="maximize", weight=1.0, algorithm="asha", workload="k",
    trials=8, finished=2, asked_steps=90, delivered_steps=40, shared_steps=10,
    best_trial=TrialInfo(3, "COMPLETE", {"lr": 0.1, "kind": "<script>"}, 0.875,
                         6, 9, 9, 3, ""),
    active_seconds=75.0, saved_seconds=12.0)

CELL = """\
import hippo_hpo as hippo

RATE = 0.5


@hippo.workload(seed=1)
def train(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += RATE * ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}
"""


class Reader(HTMLParser):
    """The tags that a text opens and does not close, and what it says."""

    def __init__(self, text):
        super().__init__()
        self.open, self.said, self.loads = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        self.loads += [x for x in attrs if x[0] in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


class Shell:
    """What the magic and the card need of IPython."""

    def __init__(self, kernel=True):
        self.user_ns = {}
        self.magics = {}
        if kernel:
            self.kernel = object()

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function


def ipython(shell, displayed):
    """A module IPython that notes what is displayed."""
    def display(data, raw, display_id):
        displayed.append(("display", data))
        return types.SimpleNamespace(update=lambda data, raw: displayed.append(
            ("update", data)))
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    inner = types.ModuleType("IPython.display")
    inner.display = display
    return mock.patch.dict(sys.modules, {"IPython": module,
                                         "IPython.display": inner})


class Cards(unittest.TestCase):
    def test_it_says_how_the_study_is(self):
        read = Reader(notebook.card_of(INFO))
        self.assertEqual([], read.open)
        self.assertEqual([], read.loads)
        said = "".join(read.said)
        for text in ("a<b", "study 7, asha, RUNNING", "2 of 8 finished",
                     "40 delivered, 30 trained: 25% shared", "0.875",
                     "at step 6 of trial 3", "lr = 0.1, kind = <script>",
                     "1 min 15 s, 12.0 s saved by merging"):
            self.assertIn(text, said)

    def test_before_the_first_trial_and_when_it_waits(self):
        read = Reader(notebook.card_of(dataclasses.replace(
            INFO, trials=0, finished=0, delivered_steps=0, shared_steps=0,
            best_trial=None, saved_seconds=0.0, waiting="no <trainer>",
            reason="")))
        said = "".join(read.said)
        self.assertIn("0 of 0 finished", said)
        self.assertIn("no <trainer>", said)
        self.assertNotIn("saved", said)
        self.assertNotIn("val_accuracy", said)

    def test_a_card_is_drawn_again_under_its_id(self):
        displayed = []
        with ipython(Shell(), displayed):
            show = progress.shown()
            show(INFO)
            show(INFO)  # nothing is new
            show(dataclasses.replace(INFO, finished=8, state="COMPLETE"))
            show.end()
        self.assertEqual(["display", "update"], [x for x, _ in displayed])
        self.assertIn("8 of 8", displayed[1][1]["text/html"])
        self.assertEqual("a<b: COMPLETE", displayed[1][1]["text/plain"])

    def test_elsewhere_it_is_a_line(self):
        for shell in None, Shell(kernel=False):
            with ipython(shell, []):
                self.assertIsInstance(progress.shown(), progress.Progress)
        with mock.patch.dict(sys.modules):
            sys.modules.pop("IPython", None)
            self.assertFalse(notebook.in_notebook())


class Cells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.addCleanup(lambda: sys.modules.pop("train_cell", None))
        self.shell = Shell()
        hippo.load_ipython_extension(self.shell)
        self.magic = self.shell.magics["cell", "hippo"]

    def test_a_cell_is_a_file_and_its_names_are_there(self):
        self.magic(" train_cell.py ", CELL)
        with open("train_cell.py") as file:
            self.assertEqual(CELL, file.read())
        self.assertEqual(["train_cell.py"], os.listdir())
        self.assertEqual(0.5, self.shell.user_ns["RATE"])
        train = self.shell.user_ns["train"]
        self.assertIs(sys.modules["train_cell"].train, train)
        self.assertIs(self.shell.user_ns["train_cell"],
                      sys.modules["train_cell"])
        self.assertIn("RATE = 0.5", source_of(train).text)

    def test_an_edit_counts_at_once(self):
        self.magic("train_cell.py", CELL)
        self.magic("train_cell.py", CELL.replace("0.5", "0.7").replace(
            "lr", "rate"))
        text = source_of(self.shell.user_ns["train"]).text
        self.assertIn("RATE = 0.7", text)
        self.assertIn("ctx.hp.rate(step)", text)

    def test_what_is_no_file_or_no_python(self):
        for line in "", "train", "a b.py", "../x.py", "1.py", "x.txt":
            with self.assertRaisesRegex(hippo.InvalidArgument,
                                        "such as %%hippo train.py"):
                self.magic(line, CELL)
        with self.assertRaisesRegex(hippo.InvalidArgument, "another module"):
            self.magic("random.py", CELL)
        self.magic("train_cell.py", CELL)
        with self.assertRaises(SyntaxError):
            self.magic("train_cell.py", "def f(:")
        with self.assertRaises(ZeroDivisionError):
            self.magic("train_cell.py", "x = 1\n1 / 0\n")
        self.assertTrue(hasattr(sys.modules["train_cell"], "train"))
        self.assertNotIn("x", self.shell.user_ns)


if __name__ == "__main__":
    unittest.main()
