"""The examples and the guide, run against a scripted service."""

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import unittest
import unittest.mock

import hippo_hpo as hippo
from client_test import Case, MNIST, PATIENCE, TRIAL

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "python", "examples")

# What becomes of a study that the scripted service is given.
SUBMITTED = {"info": {**MNIST, "best": {"value": TRIAL}},
             "states": [{"state": "COMPLETE", "finished": 4}]}


def run_optuna(address, *args):
    """Runs the example; returns what it prints."""
    done = subprocess.run(
        [sys.executable, os.path.join(EXAMPLES, "optuna_sampler.py"),
         "--server", address, *args],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=2 * PATIENCE)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def run_cells(cells):
    """Runs texts one after the other, as a notebook does.

    Returns:
        The names that they have defined, and what they have shown.
    """
    names = {}
    shown = []
    for i, text in enumerate(cells):
        parsed = ast.parse(text)
        last = None
        if parsed.body and isinstance(parsed.body[-1], ast.Expr):
            last = ast.Expression(parsed.body.pop().value)
        exec(compile(parsed, f"cell {i}", "exec"), names)
        if last is not None:
            shown.append(eval(compile(last, f"cell {i}", "eval"), names))
    return names, shown


@contextlib.contextmanager
def surroundings(address, folder):
    """The working directory and environment of somebody who tries things."""
    before = os.getcwd(), os.environ.get("HIPPO_SERVER")
    os.chdir(folder)
    os.environ["HIPPO_SERVER"] = address
    try:
        yield
    finally:
        os.chdir(before[0])
        if before[1] is None:
            del os.environ["HIPPO_SERVER"]
        else:
            os.environ["HIPPO_SERVER"] = before[1]


class Examples(Case):
    def test_optuna_samples_and_prunes(self):
        fake = self.start(studies=[], submitted=SUBMITTED)
        said = run_optuna(fake.address, "--trials", "12", "--jobs", "3")
        # Trained alone, the largest rate is the best of the scripted ones.
        self.assertIn("best: 2.7000 with {'lr': 0.3", said)
        client = self.connect(fake)
        self.assertEqual(12, len(client.study(1).trials))
        self.assertEqual(1, fake.count("close"))
        told = [x for x in fake.said if x.startswith("tell ")]
        self.assertGreater(len(told), 0)
        for line in told:
            self.assertIn('"PRUNED"', line)

    def test_the_notebook_has_no_outputs(self):
        with open(os.path.join(EXAMPLES, "quickstart.ipynb")) as file:
            cells = json.load(file)["cells"]
        for cell in cells:
            self.assertEqual([], cell.get("outputs", []))
            self.assertIsNone(cell.get("execution_count"))


class Guide(Case):
    def test_what_it_shows_runs(self):
        with open(os.path.join(ROOT, "docs", "python.md")) as file:
            text = file.read()
        cells = re.findall(r"^```python\n(.*?)^```$", text,
                           re.DOTALL | re.MULTILINE)
        self.assertGreater(len(cells), 4)
        fake = self.start(studies=[], submitted=SUBMITTED)
        with open(os.path.join(self.folder, "lr-schedules.yaml"), "w") as out:
            out.write("study: lr-schedules\n")
        with surroundings(fake.address, self.folder), \
                unittest.mock.patch.dict(
                    os.environ, HIPPO_PROGRAM=os.environ.get("HIPPO", "")), \
                contextlib.redirect_stderr(io.StringIO()), \
                contextlib.redirect_stdout(io.StringIO()):
            names, _ = run_cells(cells)
        names["client"].close()
        names["tuner"].close()

    def test_it_names_every_exception(self):
        with open(os.path.join(ROOT, "docs", "python.md")) as file:
            text = file.read()
        for name in hippo.__all__:
            x = getattr(hippo, name)
            if isinstance(x, type) and issubclass(x, hippo.Error):
                self.assertIn(f"`{name}`", text)


if __name__ == "__main__":
    unittest.main()
