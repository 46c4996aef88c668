"""Studies in the viewers that people have, read back by these, and figures in
a browser: with the real programs.

The environment says where they are: HIPPO, HIPPO_TRAINER. What is not installed
is not tested: optuna-dashboard, tensorboard, mlflow, plotly, chromium.
"""

import importlib.util
import json
import math
import os
import pathlib
import posixpath
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
import urllib.error
import urllib.request

import hippo_hpo as hippo
from hippo_hpo._flat import Flattener
from hippo_hpo.mlflow_runs import _names as mlflow_names
from hippo_hpo.optuna_journal import _Journal
from service_test import Case, HIPPO, PATIENCE, why_not

CODE = """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    state = {"x": 0.0}
    for step in ctx.steps(state=state):
        state["x"] += ctx.hp.lr(step)
        if ctx.hp.width(step) == 3 and step == 2:
            raise ValueError("width 3 is one too many")
        yield lambda: {"value": state["x"] / ctx.hp.width(step),
                       "size": ctx.hp.width(step)}
"""
STUDY = {
    "study": "small",
    "workload": {"python": "train.py:train",
                 "python_executable": sys.executable},
    "objective": {"metric": "value", "direction": "maximize"},
    "max_steps": 6,
    "space": {"lr": {"choice": [0.5, {"multistep": {
        "initial": 0.5, "milestones": [3], "gamma": 0.5}}, 0.25, 0.1]},
        "width": {"choice": [1, 2, 3]}},
    "algorithm": "grid",
}


# Importance takes ten trials that have not failed.
ENOUGH = {**STUDY["space"], "width": {"choice": [1, 2, 3, 4]}}
SEVERAL = [{"metric": "value", "direction": "maximize"},
           {"metric": "size", "direction": "minimize"}]


def needs(module):
    there = importlib.util.find_spec(module) is not None
    return unittest.skipUnless(there, f"{module} is not installed")


def free_port():
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return x.getsockname()[1]


def asked(url, body=None):
    """What a server answers, once it is there."""
    end = time.monotonic() + PATIENCE
    request = urllib.request.Request(
        url, None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as why:
            raise AssertionError(f"{url}: {why}: {why.read()}") from why
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


class MLflowNames(unittest.TestCase):
    def test_they_are_what_it_takes(self):
        long = "n" * 300
        names = {"lr": "lr", "lr.milestones[0]": "lr.milestones.0",
                 "lr.milestones.0": "lr.milestones.0", "val acc %": None,
                 "a//b": None, "../a": None, "/a": None, "grösse": "grösse",
                 "a/b": "a/b", "": "_", long: None, long + "o": None}
        shown = mlflow_names(names)
        self.assertEqual(len(names), len(set(shown.values())), shown)
        for name, wanted in names.items():
            found = shown[name]
            self.assertRegex(found, r"^[\w.\- :/]{1,250}$")
            self.assertEqual(found, posixpath.normpath(found))
            self.assertNotIn(found[0], "./")
            if wanted is not None:
                self.assertTrue(found.startswith(wanted), (name, found))


class Viewed(Case):
    """A service with a study that has ended, or one that clients drive."""

    def setUp(self):
        if why := why_not():
            self.skipTest(why)
        super().setUp()
        self.path = pathlib.Path(self.folder)
        (self.path / "train.py").write_text(CODE)

    def submitted(self, **more):
        (self.path / "study.json").write_text(json.dumps({**STUDY, **more}))
        self.hippo("submit", "study.json")
        return self.client.study("small")

    def ended(self, **more):
        study = self.submitted(**more)
        study.wait(progress=False, timeout=PATIENCE)
        return study

    def hippo(self, *words, check=True, where=None):
        return subprocess.run(
            [HIPPO, *words, *(where or ("--server", self.service.address))],
            check=check,
            cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, "PATH": os.pathsep.join(
                [os.path.dirname(sys.executable), os.environ["PATH"]])})

    def serving(self, *command, **env):
        """Starts a server, which ends with the test, and all that it starts."""
        process = subprocess.Popen(
            [str(x) for x in command], cwd=self.folder,
            env={**os.environ, **env}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)


class Flattening(unittest.TestCase):
    def test_a_schedule_is_its_kind_and_what_that_has(self):
        flat = Flattener({
            "lr": {"choice": [0.1, {"cosine": {
                "initial": {"log_uniform": [0.01, 1]}, "horizon": 9}}]},
            "depth": {"int_uniform": [1, 4]},
            "kind": {"choice": [{"value": "adam", "with": {
                "beta": {"uniform": [0, 1], "points": 3}}}, "sgd"]}})
        self.assertEqual(
            [{"lr": "constant", "lr.constant": 0.1, "depth": 2, "kind": "sgd"},
             {"lr": "cosine", "lr.cosine.initial": 0.5,
              "lr.cosine.horizon": 9, "depth": 3, "kind": "adam",
              "beta": 0.5}],
            flat.add([
                {"lr": 0.1, "depth": 2, "kind": "sgd"},
                {"lr": {"cosine": {"initial": 0.5, "horizon": 9}},
                 "depth": 3, "kind": "adam", "beta": 0.5}]))
        domains = flat.domains
        self.assertEqual(["constant", "cosine"], domains["lr"].choices)
        self.assertEqual(["adam", "sgd"], domains["kind"].choices)
        initial = domains["lr.cosine.initial"]
        self.assertEqual((0.01, 1, True, False), (
            initial.low, initial.high, initial.log, initial.whole))
        self.assertTrue(domains["depth"].whole)
        self.assertEqual((0, 1), (domains["beta"].low, domains["beta"].high))

    def test_ranges_of_every_kind(self):
        flat = Flattener({
            "a": {"normal": [10, 2]}, "b": {"log_normal": [0, 0.5]},
            "c": {"log_int_uniform": [1, 1024]},
            "d": {"uniform": [0, 1], "step": 0.3},
            "e": {"int_uniform": [16, 250], "step": 16},
            "f": {"normal": [10, 2], "step": 0.5},
            "g": {"product": ["a", 0.1]},
            "lr": {"linear": {"from": 1, "horizon": 9, "to": {
                "product": ["lr.linear.from", {"uniform": [0, 1]}]}}}})
        line = {"lr": {"linear": {"from": 1, "to": 0.5, "horizon": 9}}}
        flat.add([{"a": 9.5, "g": 0.95, "d": 0.3, **line},
                  {"a": 20, "g": 2, "d": 0.9, **line}])
        self.assertEqual(
            {"a": (2, 20, False, False, None),
             "b": (math.exp(-2), math.exp(2), True, False, None),
             "c": (1, 1024, True, True, None),
             "d": (0, 0.9, False, False, 0.3),
             "e": (16, 240, False, True, 16),
             "f": (1.75, 18.25, False, False, None),
             "g": (0.95, 2, False, False, None),
             "lr.linear.to": (0.5, 0.5, False, False, None)},
            {name: (x.low, x.high, x.log, x.whole, x.step)
             for name, x in flat.domains.items() if x.is_range})
        flat.add([{"d": 0.5}])  # a client's, beside the steps
        self.assertIsNone(flat.domains["d"].step)

    def test_values_beyond_the_space_widen_it(self):
        flat = Flattener({"lr": {"uniform": [0, 1]}})
        self.assertEqual(
            [{"lr": "piecewise", "lr.piecewise.length": 2,
              "lr.piecewise[0].length": 2, "lr.piecewise[0][0]": 0,
              "lr.piecewise[0][1]": 0.5, "lr.piecewise[1].length": 2,
              "lr.piecewise[1][0]": 3, "lr.piecewise[1][1]": 7.5},
             {"lr": "constant", "lr.constant": 2.0}],
            flat.add([{"lr": {"piecewise": [[0, 0.5], [3, 7.5]]}},
                      {"lr": 2.0}]))
        self.assertEqual(["piecewise", "constant"], flat.domains["lr"].choices)
        again = flat.domains["lr.constant"]
        flat.add([{"lr": -1.5}])
        self.assertEqual((-1.5, 2.0), (again.low, again.high))


def read_journal(file):
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    return optuna.load_study(
        study_name="small",
        storage=JournalStorage(JournalFileBackend(str(file))))


class ScriptedStudy:
    """A study that does what a test says."""

    id = 7
    uid = "9f86d081884c7d65"

    def __init__(self):
        self.trials = []
        self.heard = []
        self.version = 0

    def trial(self, number, state, failure=""):
        value = max((x.metrics["value"] for x in self.heard
                     if x.trial == number and x.metrics), default=None)
        self.trials[number:number + 1] = [hippo.TrialInfo(
            number, state, {"lr": 0.5, "width": 1}, value, 1, 6, 3, 0,
            failure)]

    def measure(self, number, *values):
        for value in values:
            self.heard.append(hippo.Event(
                len(self.heard) + 1, 1e9 + len(self.heard), number,
                1 + sum(x.trial == number for x in self.heard),
                {"value": value}, None, None))

    def _space(self):
        return STUDY["space"]

    @property
    def info(self):
        return types.SimpleNamespace(
            name="small", metric="value", direction="maximize", ended=False,
            front=None)

    def events(self, after=0):
        return [x for x in self.heard if x.id > after]

    def _columns(self, what, after):
        return {"version": 1, "trial": [x.number for x in self.trials],
                "state": [x.state for x in self.trials]}

    def _trials_from(self, first, most=None):
        return self.trials[first:][:most]


@needs("optuna")
class Journals(unittest.TestCase):
    """What is written as a study goes on."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-journal-")
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "journal.log")
        self.study = ScriptedStudy()

    def shown(self):
        return [(x.state.name, x.value if x.state.name == "COMPLETE" else None,
                 x.intermediate_values)
                for x in read_journal(self.file).trials]

    def test_each_change_is_written_once(self):
        study = self.study
        journal = _Journal(study, self.file)
        for number in range(3):
            study.trial(number, "PENDING")
        journal.refresh()
        self.assertEqual([("WAITING", None, {})] * 3, self.shown())
        study.measure(0, 1.5, 2.5)
        study.measure(1, math.nan)
        study.trial(0, "RUNNING")
        study.trial(1, "PRUNED")
        journal.refresh()
        # NaN is no number, and equals nothing.
        states = self.shown()
        self.assertTrue(math.isnan(states[1][2].pop(1)))
        self.assertEqual([("RUNNING", None, {1: 1.5, 2: 2.5}),
                          ("PRUNED", None, {}), ("WAITING", None, {})], states)
        size = os.path.getsize(self.file)
        journal.refresh()
        self.assertEqual(size, os.path.getsize(self.file))
        # Another one goes on, with nothing twice.
        journal = _Journal(study, self.file)
        journal.refresh()
        self.assertEqual(size, os.path.getsize(self.file))
        study.measure(0, 0.1 + 0.2)
        study.measure(2, 7.0)
        study.trial(0, "COMPLETE")
        study.trial(2, "FAILED", "it broke")
        journal.refresh()
        self.assertEqual(("COMPLETE", 2.5, {1: 1.5, 2: 2.5, 3: 0.1 + 0.2}),
                         self.shown()[0])
        self.assertEqual(("FAIL", None, {1: 7.0}), self.shown()[2])
        failed = read_journal(self.file).trials[2]
        self.assertEqual("it broke", failed.user_attrs["failure"])
        # A trial that is tried again is a new one there.
        study.trial(2, "RUNNING")
        study.measure(2, 8.0)
        journal.refresh()
        study.trial(2, "COMPLETE")
        journal.refresh()
        self.assertEqual([("FAIL", None, {1: 7.0}),
                          ("COMPLETE", 8.0, {1: 7.0, 2: 8.0})],
                         self.shown()[2:])
        self.assertEqual(3, journal.trials)

    def test_the_study_of_somebody_else_is_left_alone(self):
        _Journal(self.study, self.file)
        other = ScriptedStudy()
        other.uid = "60303ae22b998861"
        with self.assertRaisesRegex(hippo.InvalidArgument,
                                    "another study that is called small"):
            _Journal(other, self.file)
        with self.assertRaises(OSError):
            _Journal(other, os.path.join(self.file, "x"))


@needs("optuna")
class Optuna(Viewed):
    def assert_same(self, study, file):
        """The file has the study, each number as it is."""
        there = read_journal(file).trials
        names = {"COMPLETE": "COMPLETE", "PRUNED": "PRUNED", "FAILED": "FAIL"}
        values = {}
        for event in study.events():
            if event.metrics is not None:
                values.setdefault(event.trial, {})[
                    event.step] = event.metrics["value"]
        trials = study.trials
        self.assertEqual([x.number for x in trials],
                         [x.number for x in there])
        for ours, theirs in zip(trials, there):
            self.assertEqual(names[ours.state], theirs.state.name)
            self.assertEqual(values.get(ours.number, {}),
                             theirs.intermediate_values)
            self.assertEqual(ours.params["width"], theirs.params["width"])
            if ours.state == "COMPLETE":
                self.assertEqual(ours.value, theirs.value)
            if ours.failure: # that of an event does not say at which step
                self.assertTrue(
                    ours.failure.endswith(theirs.user_attrs["failure"]))
        return there

    def test_a_study_is_exported(self):
        study = self.ended()
        file = self.path / "journal.log"
        said = self.hippo("export", "small", "--optuna", "journal.log")
        self.assertIn("12 trials", said.stderr)
        there = self.assert_same(study, file)
        self.assertEqual({"constant", "multistep"},
                         {x.params["lr"] for x in there})
        self.assertEqual(1, len({x.distributions["lr"] for x in there}))
        self.assertEqual("MAXIMIZE", read_journal(file).direction.name)
        # A state folder needs no service.
        self.hippo("export", "small", "--optuna", "same.log",
                   where=("--state", os.path.join(self.folder, "state")))
        self.assert_same(study, self.path / "same.log")
        # Once more changes nothing; of another study it is refused.
        self.hippo("export", "small", "--optuna", "journal.log")
        self.assert_same(study, file)
        other = self.ended()
        refused = self.hippo("export", str(other.id), "--optuna",
                             "journal.log", check=False)
        self.assertEqual(1, refused.returncode)
        self.assertIn("another study that is called small", refused.stderr)
        missing = self.hippo("export", "none", "--optuna", "x.log",
                             check=False)
        self.assertIn("no study 'none'", missing.stderr)
        self.assertFalse((self.path / "x.log").exists())
        self.assertEqual([], [x.name for x in self.path.iterdir()
                              if ".part" in x.name])

    def test_several_metrics_are_all_there(self):
        study = self.submitted(objective=SEVERAL,
                               constraints=["size <= 2", "value >= 0.5"])
        study.wait(progress=False, timeout=PATIENCE)
        hippo.mirror(study, self.path / "journal.log")
        there = read_journal(self.path / "journal.log")
        self.assertEqual(["MAXIMIZE", "MINIMIZE"],
                         [x.name for x in there.directions])
        self.assertEqual(["value", "size"], there.metric_names)
        measured = {(x.trial, x.step): x.metrics for x in study.events()
                    if x.metrics is not None}
        for ours, theirs in zip(study.trials, there.trials):
            if ours.state != "COMPLETE":
                self.assertFalse(theirs.values)
                continue
            # Without a result that keeps the constraints: the last one.
            metrics = measured[ours.number, ours.step or ours.steps]
            self.assertEqual([metrics["value"], metrics["size"]],
                             theirs.values)
            self.assertEqual(
                [metrics["size"] - 2, 0.5 - metrics["value"]],
                theirs.system_attrs["constraints"])
        # What its front says is what ours does, but for equal results.
        front = {(x.values["value"], x.values["size"])
                 for x in study.front.points}
        self.assertTrue(front)
        self.assertEqual(front, {tuple(x.values) for x in there.best_trials})

    def test_a_running_study_is_followed(self):
        study = self.submitted(algorithm={"client": {"interval": 1}})
        file = self.path / "journal.log"
        first, second, third = (
            study.ask({"lr": rate, "width": width})
            for rate, width in ((0.5, 1), (0.1, 2), (0.7, 3)))
        first.train(3)
        journal = _Journal(study, file)
        self.assertFalse(journal.refresh())
        self.assertEqual({1, 2, 3}, set(
            read_journal(file).trials[0].intermediate_values))
        self.assertFalse(read_journal(file).trials[0].state.is_finished())
        second.train(2)
        study.tell(second, state="PRUNED")
        with self.assertRaises(hippo.TrialFailed):
            third.train(6)
        self.assertFalse(journal.refresh())
        states = [x.state.name for x in read_journal(file).trials]
        self.assertEqual("PRUNED FAIL".split(), states[1:])
        # Somebody else goes on where this one was.
        del journal
        thread = threading.Thread(target=hippo.mirror, args=(study, file))
        thread.start()
        first.train(6)
        study.ask({"lr": {"cosine": {"initial": 0.5, "horizon": 6}},
                   "width": 2}).train(6)
        study.close()
        study.wait(progress=False, timeout=PATIENCE)
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assert_same(study, file)


@needs("optuna_dashboard")
class Dashboard(Viewed):
    def test_its_dashboard_shows_it(self):
        study = self.ended()
        hippo.mirror(study, self.path / "journal.log")
        port = free_port()
        self.serving(os.path.join(os.path.dirname(sys.executable),
                                  "optuna-dashboard"), "journal.log",
                     "--port", port)
        base = f"http://127.0.0.1:{port}/api/studies"
        found = asked(base)["study_summaries"]
        self.assertEqual(["small"], [x["study_name"] for x in found])
        shown = asked(f"{base}/{found[0]['study_id']}")
        self.assertEqual(12, len(shown["trials"]))
        self.assertEqual({"lr", "lr.constant", "width"} | {
            f"lr.multistep.{x}" for x in ("initial", "gamma",
                                          "milestones.length",
                                          "milestones[0]")},
            {x["name"] for x in shown["union_search_space"]})
        best = max(x["values"][0] for x in shown["trials"]
                   if x["state"] == "Complete")
        self.assertEqual(study.best_value, best)


@needs("tensorboard")
class TensorBoard(Viewed):
    def test_its_tabs_show_a_study(self):
        study = self.ended()
        self.hippo("export", "small", "--tensorboard", "board")
        port = free_port()
        self.serving(sys.executable, "-m", "tensorboard.main", "--logdir",
                     "board", "--port", port, "--host", "127.0.0.1",
                     "--load_fast", "false")
        base = f"http://127.0.0.1:{port}/data/plugin"
        end = time.monotonic() + PATIENCE
        while len(asked(f"{base}/scalars/tags")) < 12:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        tags = asked(f"{base}/scalars/tags")
        self.assertEqual({"value", "size"}, {
            tag for x in tags.values() for tag in x} & {"value", "size"})
        curve = asked(f"{base}/scalars/scalars?run=trial-00000&tag=value")
        ours = [x.metrics["value"] for x in study.events()
                if x.metrics is not None and x.trial == 0]
        self.assertEqual(len(ours), len(curve))
        for mine, (_, _, theirs) in zip(ours, curve):
            self.assertAlmostEqual(mine, theirs, places=6)
        experiment = asked(f"{base}/hparams/experiment", {
            "experimentName": ""})
        self.assertEqual({"lr", "width"}, {
            x["name"] for x in experiment["hparamInfos"]})
        groups = asked(f"{base}/hparams/session_groups", {
            "experimentName": "", "allowedStatuses": [
                "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING",
                "STATUS_UNKNOWN"], "colParams": [
                {"metric": {"group": "", "tag": "value"}}],
            "startIndex": 0, "sliceSize": 100})
        self.assertEqual(12, len(groups["sessionGroups"]))


# It would tell its makers of what it is used for.
ALONE = {"MLFLOW_DISABLE_TELEMETRY": "true"}


@needs("mlflow")
@unittest.mock.patch.dict(os.environ, ALONE)
class MLflow(Viewed):
    def test_a_server_takes_the_best(self):
        study = self.ended()
        port = free_port()
        self.serving(sys.executable, "-m", "mlflow", "server", "--host",
                     "127.0.0.1", "--port", port, "--backend-store-uri",
                     "sqlite:///runs.db", "--workers", "1",
                     MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false")
        url = f"http://127.0.0.1:{port}"
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(url + "/health")
                break
            except OSError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.2)
        self.assertEqual(3, study.to_mlflow(url, best=3))
        self.assertEqual(4, study.to_mlflow(url, best=7))
        self.assertEqual(5, study.to_mlflow(url))
        self.assertEqual(0, study.to_mlflow(url))
        # A service elsewhere that goes on with the state knows them too.
        self.service.end()
        self.service = self.start()
        with hippo.connect(self.service.address, timeout=PATIENCE) as later:
            self.assertEqual(0, later.study("small").to_mlflow(url))
            study = later.study("small")
            self.assertEqual(0, study.to_mlflow(url, best=1))
            self.check_runs(study, url)

    def check_runs(self, study, url):
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=url)
        runs = client.search_runs(
            [client.get_experiment_by_name("small").experiment_id])
        self.assertEqual(set(range(12)), {
            int(x.data.tags["hippo.trial"]) for x in runs})
        best = study.best_trial
        mine = next(x for x in runs
                    if x.data.tags["hippo.trial"] == str(best.number))
        self.assertEqual("FINISHED", mine.info.status)
        self.assertEqual(str(best.params["width"]), mine.data.params["width"])
        self.assertIn("lr.multistep.milestones.0", {
            name for x in runs for name in x.data.params})
        values = {x.step: x.value for x in client.get_metric_history(
            mine.info.run_id, "value")}
        self.assertEqual(values, {
            x.step: x.metrics["value"] for x in study.events()
            if x.metrics is not None and x.trial == best.number})
        failed = next(x for x in runs if x.info.status == "FAILED")
        self.assertIn("one too many", failed.data.tags["hippo.failure"])


class Failed(unittest.TestCase):
    """A trial that had measured the best, and then failed."""

    STUDY = {"id": 1, "name": "s", "state": "COMPLETE", "metric": "value",
             "direction": "maximize", "workload": "w", "step_seconds": 1}
    ANSWERS = {
        "table": {"version": 1, "whole": True, "trial": [0, 1, 2],
                  "state": ["COMPLETE", "FAILED", "COMPLETE"],
                  "value": [0.25, None, 0.5], "step": [2, None, 2],
                  "delivered_steps": [2, 2, 2], "asked_steps": [2, 3, 2],
                  "shared_steps": [0, 0, 0], "failures": {"1": "it broke"},
                  "params": {"lr": [0.1, 0.2, 0.3]}},
        "curves": {"metric": "value", "metrics": ["value"], "whole": True,
                   "next": 6, "start": 0, "trial": [0, 1, 0, 1, 2, 2],
                   "step": [1, 1, 2, 2, 1, 2], "shared": [0] * 6,
                   "value": [0.125, 99, 0.25, 77, 0.375, 0.5],
                   "seconds": [0, 1, 2, 3, 4, 5]}}

    def test_leads_no_figure_of_plotly(self):
        if importlib.util.find_spec("plotly") is None:
            self.skipTest("there is no plotly")
        for sign, best in ((1, (0.125, 0.25, 0.375, 0.5)), (-1, (-0.125,))):
            answers = {**self.ANSWERS, "curves": {
                **self.ANSWERS["curves"], "value": [
                    sign * x for x in self.ANSWERS["curves"]["value"]]}}
            figure = hippo.Figure("history", {
                **self.STUDY, "direction": "maximize"}, answers)
            line = figure.to_plotly().data[0]
            self.assertEqual(best, tuple(line.y))

    def test_leads_no_figure_of_the_page(self):
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if not chromium or importlib.util.find_spec("playwright") is None:
            self.skipTest("there is no chromium or no playwright")
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page()
            page.set_content(hippo.Figure("history", self.STUDY,
                                          self.ANSWERS).html)
            page.get_by_text("As a table").click()
            rows = page.get_by_role(
                "region", name="History, as a table").get_by_role("row")
            rows.nth(2).wait_for()
            self.assertEqual(3, rows.count())
            for row in rows.all()[1:]:
                self.assertNotIn(row.get_by_role("cell").all()[
                    0].inner_text(), ["1"])
            browser.close()


    def test_a_figure_that_nobody_sees_is_drawn_at_once(self):
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if not chromium or importlib.util.find_spec("playwright") is None:
            self.skipTest("there is no chromium or no playwright")
        from playwright.sync_api import expect, sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page()
            page.set_content(
                "<div style=\"height: 9000px\"></div>" + hippo.Figure(
                    "history", self.STUDY, self.ANSWERS)._repr_html_())
            canvas = page.frame_locator("iframe").locator("canvas")
            expect(canvas).to_have_attribute("data-drawn", "whole",
                                             timeout=1000 * PATIENCE)
            expect(canvas).not_to_be_in_viewport()
            browser.close()


class Figures(Viewed):
    KINDS = ("history", "curves", "parallel", "importance", "tree",
             "schedules", "timeline", "front")

    def test_a_notebook_draws_them(self):
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if not chromium or importlib.util.find_spec("playwright") is None:
            self.skipTest("there is no chromium or no playwright")
        from playwright.sync_api import expect, sync_playwright

        study = self.ended(space=ENOUGH)
        with sync_playwright() as playwright:
            expect.set_options(timeout=1000 * PATIENCE)
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page()
            troubles = []
            page.on("pageerror", lambda x: troubles.append(str(x)))
            page.on("console", lambda x: x.type == "error"
                    and troubles.append(x.text))
            page.on("request", lambda x: x.url.startswith("data:")
                    or troubles.append(x.url))
            for kind in self.KINDS:
                with self.subTest(kind):
                    figure = getattr(study, f"plot_{kind}")()
                    page.set_content(figure._repr_html_())
                    frame = page.frame_locator("iframe")
                    if kind == "importance":
                        expect(frame.get_by_role("cell", name="width")
                               ).to_be_visible()
                    else:
                        expect(frame.locator("canvas")).to_have_attribute(
                            "data-drawn", "whole")
                    self.assertEqual([], troubles)
            # What a study is called is a text, whatever is in it.
            figure._study["name"] = "</script><img src=x onerror=alert(1)>"
            file = self.path / "figure.html"
            figure.save(file)
            page = browser.new_page()
            page.goto(file.as_uri())
            expect(page.locator("canvas")).to_have_attribute(
                "data-drawn", "whole")
            self.assertEqual(0, page.locator("img").count())
            browser.close()

    def test_importance_is_that_of_the_service(self):
        study = self.ended(space=ENOUGH)
        told = json.loads(self.hippo("importance", "small", "--at", "2",
                                     "-f", "json").stdout)
        self.assertEqual(
            [x["parameter"] for x in told],
            [x["parameter"] for x in study.importance(2)["importance"]])
        with self.assertRaisesRegex(hippo.InvalidArgument, "step 99|99"):
            study.importance(99)


@needs("plotly")
class Plotly(Viewed):
    def test_plotly_has_the_same_values(self):
        study = self.ended(space=ENOUGH)
        drawn = {kind: getattr(study, f"plot_{kind}")().to_plotly()
                 for kind in Figures.KINDS}
        self.assertEqual(study.best_value, drawn["history"].data[0].y[-1])
        self.assertEqual(16, len(drawn["curves"].data))
        self.assertEqual(["lr", "width", "value"], [
            x.label for x in drawn["parallel"].data[0].dimensions])
        self.assertIn("width", drawn["importance"].data[0].y)
        self.assertEqual(16, sum(
            n for n, above in zip(drawn["tree"].data[0]["values"],
                                  drawn["tree"].data[0].parents)
            if not above))
        halved = next(x for x in drawn["schedules"].data
                      if len(set(x.y)) == 2)
        self.assertEqual([0.5] * 3 + [0.25] * 3, list(halved.y))
        self.assertTrue(drawn["timeline"].data[0].x)
        self.assertEqual(sum(x.state != "FAILED" for x in study.trials),
                         len(drawn["front"].data[0].x))

    def test_a_front_is_that_of_the_goals(self):
        study = self.submitted(objective=SEVERAL, constraints=["size <= 2"],
                               space=ENOUGH)
        study.wait(progress=False, timeout=PATIENCE)
        drawn = study.plot_front().to_plotly()
        self.assertEqual("size", drawn.layout.xaxis.title.text)
        self.assertEqual({(x.values["size"], x.values["value"])
                          for x in study.front.points},
                         set(zip(drawn.data[1].x, drawn.data[1].y)))
        found = [study.importance(2, metric)["direction"]
                 for metric in ("value", "size")]
        self.assertEqual(["maximize", "minimize"], found)
        with self.assertRaisesRegex(hippo.InvalidArgument,
                                    "no goal of study 'small': value, size"):
            study.importance(2, "speed")


if __name__ == "__main__":
    unittest.main()
