"""A service on demand, and studies of functions on it: with the real programs.

The environment says where they are: HIPPO, HIPPO_TRAINER.
"""

import importlib.util
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock

import hippo_hpo as hippo
from hippo_hpo import choice, multistep, uniform

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")

PATIENCE = 180

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(
    __file__))), "examples")


@hippo.workload(seed=1)
def train(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}


@hippo.workload(seed=1)
def pretrain(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}


@hippo.workload(seed=1)
def tune(ctx):
    with open(ctx.initial, "rb") as file:
        net = pickle.load(file)["parts"]["net"]
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}


@hippo.workload(seed=1)
def slow_to_begin(ctx):
    time.sleep(1)
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}


@hippo.workload
def parabola(ctx):
    return (ctx.hp.x(0) - 0.25) ** 2


@hippo.workload
def forgets(ctx):
    count, net = 0, {"w": 0.0}
    for step in ctx.steps(net=net):
        count += 1
        net["w"] += count * ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}


@hippo.workload(args={"commit": "1234e56", "fold": "08", "rate": 1e-5})
def look_up(ctx):
    if [ctx.args[x] for x in ("commit", "fold", "rate")] != [
            "1234e56", "08", 1e-5]:
        raise ValueError(repr(ctx.args))
    return {"1e-3": 1.0, "yes": 2.0, "1_000": 3.0, "~": 4.0}[
        ctx.constant("preset")]


# What IPython does with a cell.
NOTEBOOK = """
import ast
import sys
import types
import hippo_hpo

names = {}
magics = {}
shell = types.SimpleNamespace(
    user_ns=names, register_magic_function=lambda f, kind, name:
    magics.__setitem__(name, f))


def run_cell(text):
    first, _, rest = text.partition("\\n")
    if first.startswith("%%"):
        name, _, line = first[2:].partition(" ")
        magics[name](line, rest)
        return
    if first.startswith("%load_ext "):
        __import__(first.split()[1]).load_ipython_extension(shell)
        text = rest
    parsed = ast.parse(text)
    last = None
    if parsed.body and isinstance(parsed.body[-1], ast.Expr):
        last = ast.Expression(parsed.body.pop().value)
    exec(compile(parsed, "cell", "exec"), names)
    if last is not None:
        x = eval(compile(last, "cell", "eval"), names)
        print(x._repr_html_() if hasattr(x, "_repr_html_") else x)


"""

SPACE = {"lr": choice(0.5, multistep(0.5, [3], 0.5), multistep(0.5, [4], 0.5))}
W = {"w": "maximize"}


@unittest.skipUnless(HIPPO and TRAINER, "HIPPO and HIPPO_TRAINER name nothing")
class OnDemand(unittest.TestCase):
    """Services that begin with the first call and end with the last client."""

    def begin(self):
        """Lets the calls of a test, or of a class, have a state folder."""
        folder = tempfile.TemporaryDirectory()
        self.folder = folder.name
        self.state = os.path.join(self.folder, "state")
        os.environ["HIPPO_PROGRAM"] = HIPPO
        return folder

    def leave(self):
        """Ends this process's connections and waits for the service's end."""
        for client in hippo.optimizing._clients.values():
            client.close()
        hippo.optimizing._clients.clear()
        self.await_end()

    def pid(self):
        try:
            with open(os.path.join(self.state, "service.json")) as file:
                return json.load(file)["pid"]
        except FileNotFoundError:
            return None

    def await_end(self):
        end = time.monotonic() + PATIENCE
        while self.pid() is not None:
            self.assertLess(time.monotonic(), end, "the service goes on")
            time.sleep(0.05)

    def await_death(self, pid):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        self.fail("the service's process goes on")

    def await_text(self, path, text):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(path) as file:
                if text in file.read():
                    return
            time.sleep(0.05)
        self.fail(f"{path} does not say {text!r}")

    def optimize(self, function, space, **options):
        return hippo.optimize(function, space, state=self.state, trainers=2,
                              progress=False, **options)


class Local(OnDemand):
    """One service for all."""

    @classmethod
    def setUpClass(cls):
        cls.first = cls()
        cls.addClassCleanup(cls.first.begin().cleanup)
        cls.addClassCleanup(cls.first.leave)

    def setUp(self):
        self.folder, self.state = self.first.folder, self.first.state

    def test_a_function_is_optimised_and_shares(self):
        study = self.optimize(train, SPACE, max_steps=6, algorithm="grid",
                              objective=W)
        self.assertEqual("COMPLETE", study.state)
        self.assertEqual(3.0, study.best_value)
        self.assertEqual(study.best, study.best_trial)
        self.assertEqual({0.5}, {x.params["lr"] for x in study.trials[:1]})
        self.assertEqual(18 - 11, study.info.shared_steps)
        self.assertEqual(SPACE, study.file().space)
        pid = self.pid()
        same = self.optimize(train, SPACE, max_steps=6, algorithm="grid",
                             objective=W)
        self.assertEqual(study.id, same.id)
        self.assertEqual(3.0, same.best_value)
        once_more = self.optimize(train, SPACE, max_steps=6, algorithm="grid",
                                  objective=W, rerun=True)
        self.assertNotEqual(study.id, once_more.id)
        self.assertEqual(18, once_more.info.shared_steps)
        self.assertEqual(pid, self.pid())
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        table = study.results_dataframe()
        self.assertEqual(18, len(table))
        self.assertEqual([0.5, 1.0], list(table["w"][:2]))

    def test_training_begins_from_a_trial_of_another_study(self):
        self.optimize(pretrain, {"lr": choice(0.5, 0.25)}, max_steps=6,
                      algorithm="grid", objective=W)

        def tuned(**root):
            return self.optimize(
                tune, {"lr": choice(1.0, 2.0)}, max_steps=2, algorithm="grid",
                objective=W, initial={"study": "pretrain", **root})
        study = tuned(trial=1, step=4)
        self.assertEqual(4 * 0.25 + 2 * 2.0, study.best_value)
        self.assertEqual("trial 1 of study pretrain at step 4",
                         study.info.initial_state)
        self.assertEqual(study.id, tuned(trial=1, step=4).id)
        self.assertNotEqual(study.id, tuned(trial=1, step=5).id)
        with self.assertRaises(hippo.InvalidStudy) as failed:
            tuned(trial=9, step=4)
        self.assertIn("has no trial 9", str(failed.exception))

    def test_what_merging_saves_counts_steps_and_no_starts(self):
        study = self.optimize(slow_to_begin, SPACE, max_steps=6,
                              algorithm="grid", objective=W)
        info = study.info
        self.assertEqual(7, info.shared_steps)
        # The mean step took a part of the second before the first one.
        self.assertGreater(info.saved_seconds, 0)
        self.assertLess(info.saved_seconds, 1)

    def test_the_same_call_runs_anew_what_failed_in_part(self):
        def run(**options):
            study = self.optimize(look_up, {"preset": choice("1e-3", "no")},
                                  algorithm="grid", objective="minimize",
                                  **options)
            self.assertEqual(1, study.info.failed)
            return study.id
        self.assertEqual(3, len({run(), run(), run(rerun=True)}))

    def test_a_file_may_be_submitted_again(self):
        """Words stay words, and the code that travelled goes with it."""
        words = ("1e-3", "yes", "1_000", "~")
        study = self.optimize(look_up, {"preset": choice(*words)},
                              algorithm="grid", objective="minimize")
        self.assertEqual([1.0, 2.0, 3.0, 4.0],
                         [x.value for x in study.trials],
                         [x.failure for x in study.trials])
        self.assertEqual(list(words),
                         [x.params["preset"] for x in study.trials])
        file = study.file()
        self.assertEqual(choice(*words), file.space["preset"])
        again = study._client.submit(file)
        again.wait(progress=False)
        self.assertEqual("COMPLETE", again.state, again.info.reason)
        self.assertEqual(4, again.info.shared_steps)
        self.assertEqual(file, again.file())
        self.assertNotEqual(study.uid, again.uid)

    def test_one_step_by_tpe(self):
        study = self.optimize(parabola, {"x": uniform(0, 1)}, trials=15,
                              algorithm="tpe", objective="minimize")
        self.assertEqual(15, len(study.trials))
        best = min((x.params["x"] - 0.25) ** 2 for x in study.trials)
        self.assertAlmostEqual(best, study.best_value, 12)

    def test_preview_and_check(self):
        found = hippo.preview(train, SPACE, max_steps=6, objective=W,
                              algorithm="grid")
        self.assertEqual((18, 11), (found["asked_steps"],
                                    found["unique_steps"]))
        hippo.check(train, SPACE, objective=W)
        with self.assertRaisesRegex(hippo.Error, "net|w"):
            hippo.check(forgets, SPACE, objective=W)

    def test_bad_studies(self):
        with self.assertRaisesRegex(hippo.InvalidStudy, "'choise'.*did you"):
            self.optimize(train, {"lr": {"choise": [1]}}, max_steps=3,
                          objective=W)
        with self.assertRaisesRegex(hippo.InvalidArgument, "@hippo.workload"):
            self.optimize(lambda ctx: 0.0, SPACE)
        with self.assertRaisesRegex(hippo.InvalidStudy, "direction of 'c'"):
            self.optimize(train, SPACE, objective={"a": "minimize", "c": "d"},
                          max_steps=3)

    def test_a_program_that_is_not_there(self):
        with unittest.mock.patch.dict(os.environ, {
                "HIPPO_PROGRAM": self.folder + "/none", "PATH": self.folder}), \
                self.assertRaisesRegex(hippo.Error, "no program `hippo`"):
            hippo.local(self.state + "-none")


class Ends(OnDemand):
    """Each with services of its own."""

    def setUp(self):
        self.addCleanup(self.begin().cleanup)
        self.addCleanup(self.leave)

    def test_a_journal_of_another_state_is_left_alone(self):
        try:
            import optuna  # noqa: F401
        except ImportError:
            self.skipTest("there is no Optuna")
        file = os.path.join(self.folder, "journal.log")
        space = {"x": choice(0.5, 1.0)}
        study = self.optimize(parabola, space, algorithm="grid",
                              objective="minimize")
        self.assertEqual(2, hippo.mirror(study, file, follow=False))
        self.assertEqual(2, hippo.mirror(study, file, follow=False))
        known = study.id, study.name, study.text
        with open(file, "rb") as journal:
            before = journal.read()
        self.leave()
        self.state += "-other"  # which ends before the test does
        other = self.optimize(parabola, space, algorithm="grid",
                              objective="minimize")
        self.assertEqual(known, (other.id, other.name, other.text))
        with self.assertRaisesRegex(hippo.InvalidArgument,
                                    "another study that is called parabola"):
            hippo.mirror(other, file, follow=False)
        with open(file, "rb") as journal:
            self.assertEqual(before, journal.read())

    SCRIPT = """
        import os, time
        import hippo_hpo as hippo
        from hippo_hpo import choice

        GATE = {gate!r}

        @hippo.workload
        def slow(ctx):
            net = {{"w": 0.0}}
            for step in ctx.steps(net=net):
                net["w"] += ctx.hp.lr(step)
                while step == 2 and not os.path.exists(GATE):
                    time.sleep(0.01)
                yield lambda: {{"w": net["w"]}}

        if __name__ == "__main__":
            import hippo_hpo._local
            hippo_hpo._local.LINGER_SECONDS = 0.2
            study = hippo.optimize(slow, {{"lr": choice(1, 2)}}, max_steps=4,
                                   algorithm="grid", trainers=1,
                                   objective={{"w": "maximize"}},
                                   state={state!r})
            print(study.id, study.best_value)
        """

    def test_interrupted_and_gone_on_with(self):
        gate = os.path.join(self.folder, "gate")
        path = os.path.join(self.folder, "script.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(self.SCRIPT.format(
                gate=gate, state=self.state)))
        first = subprocess.Popen([sys.executable, path],
                                 stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + PATIENCE
        while not self.trained():
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(first.poll())
            time.sleep(0.05)
        pid = self.pid()
        first.send_signal(signal.SIGINT)
        self.assertIn("run it again to go on", first.communicate()[1])
        log = os.path.join(self.state, "hippo.log")
        self.await_text(log, "no client is left")
        with open(gate, "w"):
            pass  # the trainer ends its step
        self.await_end()
        self.await_death(pid)
        done = subprocess.run([sys.executable, path], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual("1 8.0\n", done.stdout, done.stderr)
        self.await_end()

    def trained(self):
        """Whether anything has been measured."""
        if self.pid() is None:
            return False
        with hippo.local(self.state) as client:
            studies = client.studies()
            return bool(studies) and studies[0].delivered_steps > 0


@unittest.skipUnless(HIPPO and TRAINER, "HIPPO and HIPPO_TRAINER name nothing")
class Pages(unittest.TestCase):
    """What the pages show, as somebody would type it into a file."""

    def blocks(self, page, kind):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                            "..", "docs", page)
        with open(path) as file:
            found = re.findall(rf"^```python{kind}\n(.*?)^```$", file.read(),
                               re.DOTALL | re.MULTILINE)
        self.assertGreater(len(found), 0)
        return "\n".join(found)

    def run_script(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as file:
                file.write(text)
            done = subprocess.run(
                [sys.executable, path], cwd=folder, capture_output=True,
                text=True, timeout=2 * PATIENCE,
                env={**os.environ, "HIPPO_PROGRAM": HIPPO})
            self.assertEqual(0, done.returncode, done.stderr)
            end = time.monotonic() + PATIENCE
            while os.path.exists(folder + "/hippo-state/service.json"):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            return done.stdout

    def test_functions(self):
        said = self.run_script(self.blocks("functions.md", "")).splitlines()
        self.assertIn("exact: ", "\n".join(said))
        self.assertIn("True", said)
        self.assertEqual("1 train COMPLETE", said[-1])

    def test_the_notebook(self):
        """Its cells, as IPython runs them: a magic is a call, and the value of
        an expression at the end is shown."""
        script = [NOTEBOOK]
        with open(os.path.join(EXAMPLES, "quickstart.ipynb")) as file:
            cells = json.load(file)["cells"]
        for cell in cells:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code":
                script.append(f"run_cell({text!r})\n")
        said = self.run_script("".join(script))
        self.assertIn("exact: ", said)
        # A third of what the second study asks for is new.
        self.assertRegex(said, r"<b>more</b>(?s:.)*24 of 24 finished")
        self.assertIn("params_momentum", said)

    def test_there_and_here(self):
        for page, module in [("from-optuna.md", "optuna"),
                             ("from-ray.md", "ray")]:
            with self.subTest(page):
                best = self.run_script(self.blocks(page, " here"))
                self.assertIn("lr", best)
                there = self.blocks(page, " there")
                compile(there, page, "exec")
                if importlib.util.find_spec(module) is not None:
                    self.assertIn("lr", self.run_script(there))


if __name__ == "__main__":
    unittest.main()
