"""Studies of other tools as study files and tables of results: what the tool
says of itself, and what is written, are compared.

HIPPO names the program that accepts the study files. data/ray-decay was
recorded by data/record_ray.py; the folder of NNI and the files of W&B and Katib
are made here, by the formats that these document.
"""

import csv
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import optuna
from optuna.distributions import (CategoricalDistribution, FloatDistribution,
                                  IntDistribution)
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from hippo_hpo._document import read_document
from hippo_hpo.errors import InvalidArgument
from hippo_hpo.importing import main, read

HIPPO = os.environ.get("HIPPO", "")
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-import-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def bring(self, *arguments):
        """The study file and the rows that the command writes; the study file
        is accepted by `hippo preview`."""
        to = self.path(f"brought-{len(os.listdir(self.folder))}")
        self.assertEqual(0, main([*arguments, "--to", to]))
        with open(os.path.join(to, "study.yaml")) as file:
            text = file.read()
        self.assertTrue(HIPPO, "HIPPO names no program")
        path = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
        done = subprocess.run(
            [HIPPO, "preview", "study.yaml"], cwd=to, capture_output=True,
            text=True, env={**os.environ, "PATH": path})
        self.assertEqual(0, done.returncode, text + done.stderr)
        with open(os.path.join(to, "results.csv"), newline="") as file:
            return text, read_document(text), list(csv.DictReader(file))

    def refused(self, wanted, *arguments, **more):
        with self.assertRaisesRegex(InvalidArgument, wanted):
            read(*arguments, **more)


def value_of(text):
    """A value of the table, by the rules of study files."""
    return read_document(f"x: {text}")["x"]


def params_of(row):
    return {name.removeprefix("params."): value_of(x)
            for name, x in row.items() if name.startswith("params.") and x}


# -- Optuna


def quadratic(trial):
    x = trial.suggest_float("x", -5, 5)
    n = trial.suggest_int("n", 1, 8, step=1)
    return x * x + n


def training(trial):
    lr = trial.suggest_float("lr", 1e-4, 1, log=True)
    width = trial.suggest_int("width", 16, 256, step=16)
    name = trial.suggest_categorical("optimizer", ["sgd", "adam", None])
    if name == "sgd":
        trial.suggest_float("momentum", 0, 0.9, step=0.1)
        nesterov = trial.suggest_categorical("nesterov", [True, False])
        if nesterov:
            trial.suggest_int("warmup", 1, 64, log=True)
    value = 1.0
    for step in range(8):
        value *= 1 - min(lr, 0.5)
        trial.report(value + width * 1e-4, step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return value + width * 1e-4


def two_goals(trial):
    x = trial.suggest_float("x", 0, 5)
    return x, (x - 2) ** 2


def fails(trial):
    if trial.suggest_int("n", 0, 3) == 0:
        raise ValueError("no")
    return 1.0


class Optuna(Case):
    """By RDB and journal storages that Optuna fills here."""

    def storages(self):
        """Storages, and what names each for the command."""
        url = f"sqlite:///{self.path('a.db')}"
        yield url, [url, self.path("a.db")]
        yield (JournalStorage(JournalFileBackend(self.path("a.log"))),
               [self.path("a.log")])

    def domain(self, x):
        """A distribution as the study file has it."""
        if isinstance(x, CategoricalDistribution):
            return {"choice": list(x.choices)}
        whole = isinstance(x, IntDistribution)
        self.assertTrue(whole or isinstance(x, FloatDistribution))
        kind = ("log_" if x.log else "") + ("int_" if whole else "")
        found = {kind + "uniform": [x.low, x.high]}
        if x.step and not (whole and x.step == 1):
            found["step"] = x.step
        return found

    def spaces(self, space):
        """All hyper-parameters of a space, those of options too."""
        for name, x in space.items():
            options = list(x.get("choice", [])) \
                if isinstance(x, dict) else []
            plain = [y["value"] if isinstance(y, dict) and "value" in y else y
                     for y in options]
            yield name, {"choice": plain} if options else x
            for y in options:
                if isinstance(y, dict):
                    yield from self.spaces(y.get("with", {}))

    def compare(self, study, file, rows):
        trials = study.get_trials()
        wanted = {name: self.domain(y) for x in trials
                  for name, y in x.distributions.items()}
        self.assertEqual(wanted, dict(self.spaces(file["space"])))
        goals = file["objective"]
        goals = goals if isinstance(goals, list) else [goals]
        self.assertEqual([x.name.lower() for x in study.directions],
                         [x["direction"] for x in goals])
        names = [x["metric"] for x in goals]
        self.assertEqual({x.number for x in trials},
                         {int(x["trial"]) for x in rows})
        states = {"COMPLETE": "COMPLETE", "PRUNED": "PRUNED",
                  "FAIL": "FAILED"}
        for x in trials:
            mine = [y for y in rows if int(y["trial"]) == x.number]
            for y in mine:
                self.assertEqual(x.params, params_of(y))
                self.assertEqual(states[x.state.name], y["state"])
            if x.intermediate_values:
                self.assertEqual(
                    {step + 1: y for step, y in x.intermediate_values.items()},
                    {int(y["step"]): float(y[names[0]]) for y in mine})
            if x.values is not None:
                self.assertEqual(x.values,
                                 [float(mine[-1][name]) for name in names])

    def test_every_storage_and_shape(self):
        cases = [("one-step", quadratic, {}, "tpe", 1),
                 ("steps", training,
                  {"pruner": optuna.pruners.SuccessiveHalvingPruner()},
                  {"asha": {"eta": 4, "min": 1, "sampler": "tpe"}}, 8),
                 ("median", training,
                  {"pruner": optuna.pruners.MedianPruner(
                      n_startup_trials=2)}, {"median": {"sampler": "tpe"}}, 8),
                 ("front", two_goals,
                  {"directions": ["minimize", "maximize"]}, "nsga2", 1),
                 ("failing", fails, {}, "tpe", 1)]
        for name, objective, more, algorithm, steps in cases:
            for storage, sources in self.storages():
                study = optuna.create_study(
                    study_name=name, storage=storage,
                    sampler=optuna.samplers.RandomSampler(seed=3), **more)
                study.optimize(objective, n_trials=15, catch=(ValueError,))
                for source in sources:
                    with self.subTest(name, source=source):
                        _text, file, rows = self.bring("optuna", source,
                                                      "--study", name)
                        self.assertEqual(
                            (name, algorithm, steps,
                             {"trials": 15}),
                            (file["study"], file["algorithm"],
                             file["max_steps"], file["budget"]))
                        self.compare(study, file, rows)

    def test_a_parameter_hangs_on_its_option(self):
        storage = JournalStorage(JournalFileBackend(self.path("c.log")))
        study = optuna.create_study(
            study_name="c", storage=storage, pruner=optuna.pruners.NopPruner(),
            sampler=optuna.samplers.RandomSampler(seed=1))
        study.optimize(training, n_trials=30)
        _, file, _ = self.bring("optuna", self.path("c.log"))
        options = file["space"]["optimizer"]["choice"]
        sgd = next(x for x in options if isinstance(x, dict))
        self.assertEqual("sgd", sgd["value"])
        self.assertEqual({"momentum", "nesterov"}, sgd["with"].keys())
        self.assertEqual(["adam", None], [x for x in options if x is not sgd])
        nested = next(x for x in sgd["with"]["nesterov"]["choice"]
                      if isinstance(x, dict))
        self.assertEqual({"value": True, "with": {
            "warmup": {"log_int_uniform": [1, 64]}}}, nested)

    def test_what_has_no_equivalent_is_named(self):
        storage = f"sqlite:///{self.path('d.db')}"
        study = optuna.create_study(
            study_name="my study!", storage=storage)
        study.set_user_attr("owner", "ada")
        study.enqueue_trial({"x": 1.0})

        def objective(trial):
            trial.set_user_attr("commit", "1234")
            high = 1 if trial.number < 3 else 2
            x = trial.suggest_float("x", 0, high)
            if trial.number % 2:
                trial.suggest_float("odd", 0, 1)
            trial.report(x + 1, 5)
            return x
        study.optimize(objective, n_trials=6)
        text, file, rows = self.bring("optuna", storage)
        for note in ("user attributes of the study: owner",
                     "user attributes of trials: commit",
                     "some trials were enqueued", "the range of x changed",
                     "odd, which only 3 of 6", "the name 'my study!'",
                     "the metric intermediate"):
            self.assertIn(note, " ".join(
                text.replace("\n#", " ").split()))
        self.assertEqual({"uniform": [0.0, 2.0]}, file["space"]["x"])
        for x, row in zip(study.get_trials(), rows, strict=True):
            self.assertEqual((5, x.value, x.value + 1),
                             (int(row["step"]), float(row["value"]),
                              float(row["intermediate"])))

    def test_refusals(self):
        self.refused("there is no file", "optuna", [self.path("none.log")])
        self.assertEqual([], os.listdir(self.folder))
        self.refused("nothing to be read", "optuna",
                     [self.write("x.log", "no journal\n")])
        self.refused("cannot be read by Optuna", "optuna",
                     ["nonsense://host/base"])
        storage = f"sqlite:///{self.path('e.db')}"
        for name in "a", "b":
            optuna.create_study(study_name=name, storage=storage)
        self.refused("2 studies: choose one with --study: a, b", "optuna",
                     [storage])
        self.refused("no study 'c'; it has: a, b", "optuna", [storage],
                     study="c")
        full = self.path("full")
        os.mkdir(full)
        self.write("full/notes.txt", "mine")
        self.assertEqual(1, main(["optuna", storage, "--study", "a", "--to",
                                  full]))
        self.assertEqual(["notes.txt"], os.listdir(full))


# -- Ray Tune


class Ray(Case):
    RECORDED = os.path.join(DATA, "ray-decay")

    def results(self):
        """By trial: the lines that Ray has written."""
        found = {}
        for path in glob.glob(f"{self.RECORDED}/*/result.json"):
            with open(path) as file:
                lines = [json.loads(x) for x in file]
            found[int(lines[0]["trial_id"].rpartition("_")[2])] = lines
        return found

    def test_an_experiment(self):
        text, file, rows = self.bring("ray", self.RECORDED)
        results = self.results()
        self.assertEqual(6, len(results))
        self.assertEqual(
            {(number, x["training_iteration"], x["error"],
              x["config"]["lr"], x["config"]["drop"],
              x["config"]["net"]["depth"], x["config"]["net"]["act"],
              x["config"]["data"], x["config"]["decay"])
             for number, lines in results.items() for x in lines},
            {(int(x["trial"]), int(x["step"]), float(x["error"]),
              *(params_of(x)[name] for name in (
                  "lr", "drop", "net.depth", "net.act", "data", "decay")))
             for x in rows})
        self.assertEqual(sum(map(len, results.values())), len(rows))
        # One that ASHA has stopped has fewer than all nine steps.
        self.assertEqual(
            {number: "COMPLETE" if len(x) == 9 else "PRUNED"
             for number, x in results.items()},
            {int(x["trial"]): x["state"] for x in rows})
        self.assertIn("PRUNED", {x["state"] for x in rows})
        self.assertEqual(
            ("ray-decay", {"metric": "error", "direction": "minimize"},
             9, {"asha": {"eta": 3, "min": 2}}, {"trials": 6}),
            (file["study"], file["objective"], file["max_steps"],
             file["algorithm"], file["budget"]))
        configs = [x[0]["config"] for x in results.values()]
        rates = [x["lr"] for x in configs]
        self.assertEqual(
            {"lr": {"uniform": [min(rates), max(rates)]},
             "drop": {"choice": sorted({x["drop"] for x in configs})},
             "net.depth": {"choice": sorted({x["net"]["depth"]
                                             for x in configs})},
             "net.act": {"choice": ["relu", "tanh"]}, "data": "small"},
            {name: x for name, x in file["space"].items() if name != "decay"})
        told = " ".join(text.replace("\n#", " ").split())
        self.assertIn("the ranges of lr, drop, net.depth, which Ray does not "
                      "store", told)
        self.assertIn("tune.sample_from that makes decay", told)

    def test_nothing_of_a_pickle_is_run(self):
        import pickle
        import shutil

        class Bad:
            def __reduce__(self):
                return os.system, (f"touch {mark}",)

        mark, copy = self.path("mark"), self.path("copy")
        shutil.copytree(self.RECORDED, copy)
        with open(os.path.join(copy, "tuner.pkl"), "wb") as file:
            pickle.dump({"_tune_config": Bad()}, file)
        self.refused("names no metric", "ray", [copy])
        self.assertFalse(os.path.exists(mark))

    def test_refusals(self):
        self.refused("has no experiment_state", "ray", [DATA])
        self.write("experiment_state-1.json", "{}")
        self.refused("is no state of an experiment", "ray", [self.folder])


# -- W&B

SWEEP = """
name: vision
method: bayes
program: train.py
metric: {name: val/loss, goal: minimize, target: 0.1}
run_cap: 3
early_terminate: {type: hyperband, min_iter: 2, eta: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 1e-5, max: 0.1}
  old: {distribution: log_uniform, min: -2, max: 0}
  epochs: {min: 1, max: 8}
  drop: {min: 0.0, max: 0.5}
  width: {distribution: q_uniform, min: 16, max: 256, q: 16}
  noise: {distribution: normal, mu: 0.5, sigma: 0.1}
  shape: {distribution: beta, a: 2, b: 3}
  opt: {values: [sgd, adam], probabilities: [0.3, 0.7]}
  data: {value: small}
  net: {parameters: {depth: {values: [2, 4]}}}
"""


class Wandb(Case):
    RUNS = [
        {"name": "a", "state": "finished", "summary": {"val/loss": 0.2},
         "config": {"lr": {"value": 0.01}, "opt": {"value": "sgd"},
                    "net": {"value": {"depth": 2}},
                    "_wandb": {"value": 1}},
         "history": [{"_step": 0, "val/loss": 0.5, "acc": 0.6, "_runtime": 3},
                     {"_step": 1, "acc": 0.7},
                     {"_step": 2, "val/loss": 0.2, "acc": 0.8}]},
        {"name": "b", "state": "crashed", "summary": {}, "config": {"lr": 0.1},
         "history": []},
        {"name": "c", "state": "finished", "summary": {"val/loss": 0.4},
         "config": {"lr": 0.05, "opt": "adam"}}]

    def test_a_sweep_and_its_runs(self):
        text, file, rows = self.bring(
            "wandb", self.write("sweep.yaml", SWEEP), "--runs",
            self.write("runs.json", json.dumps(self.RUNS)))
        self.assertEqual(
            ("vision", {"metric": "val/loss", "direction": "minimize"},
             {"asha": {"eta": 3, "min": 2, "sampler": "gp"}}, {"trials": 3},
             {"value": 0.1}, 3),
            (file["study"], file["objective"], file["algorithm"],
             file["budget"], file["stop_when"], file["max_steps"]))
        space = file["space"]
        low, high = space.pop("old")["log_uniform"]
        self.assertAlmostEqual(0.1353352832, low)
        self.assertEqual(1, high)
        self.assertEqual(
            {"lr": {"log_uniform": [1e-5, 0.1]},
             "epochs": {"int_uniform": [1, 8]}, "drop": {"uniform": [0, 0.5]},
             "width": {"int_uniform": [16, 256], "step": 16},
             "noise": {"normal": [0.5, 0.1]}, "shape": {"uniform": [0, 1]},
             "opt": {"choice": ["sgd", "adam"]}, "data": "small",
             "net.depth": {"choice": [2, 4]}}, space)
        self.assertEqual(
            [(0, 1, "COMPLETE", 0.5, 0.6), (0, 3, "COMPLETE", 0.2, 0.8),
             (1, 0, "FAILED", None, None), (2, 3, "COMPLETE", 0.4, None)],
            [(int(x["trial"]), int(x["step"]), x["state"],
              float(x["val/loss"]) if x["val/loss"] else None,
              float(x["acc"]) if x["acc"] else None) for x in rows])
        self.assertEqual({"lr": 0.01, "opt": "sgd", "net.depth": 2},
                         params_of(rows[0]))
        told = " ".join(text.replace("\n#", " ").split())
        for note in ("the probabilities of opt", "the beta distribution of "
                     "shape", "asha stands for it", "begin with 0"):
            self.assertIn(note, told)

    def test_the_table_of_the_page(self):
        _, _, rows = self.bring(
            "wandb", self.write("sweep.yaml", SWEEP), "--runs", self.write(
                "runs.csv", "Name,State,lr,opt,val/loss\n"
                "a,finished,0.01,sgd,0.25\nb,failed,0.1,adam,\n"))
        self.assertEqual([("2", "COMPLETE", "0.25"), ("0", "FAILED", "")],
                         [(x["step"], x["state"], x["val/loss"])
                          for x in rows])
        self.assertEqual({"lr": 0.1, "opt": "adam"}, params_of(rows[1]))

    def test_refusals(self):
        self.refused("has no 'parameters'", "wandb",
                     [self.write("a.yaml", "method: grid\n")])
        self.refused("no metric.name", "wandb",
                     [self.write("b.yaml", "parameters: {a: {value: 1}}\n")])
        self.refused("neither values nor min and max", "wandb", [self.write(
            "c.yaml", "metric: {name: a}\nparameters: {a: {max: 1}}\n")])


# -- Katib

EXPERIMENT = """
apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {name: bands}
spec:
  objective:
    type: maximize
    goal: 0.99
    objectiveMetricName: accuracy
    additionalMetricNames: [loss]
  algorithm:
    algorithmName: hyperband
    algorithmSettings:
      - {name: resource_name, value: "num-epochs"}
      - {name: eta, value: "3"}
      - {name: r_l, value: "9"}
  parallelTrialCount: 9
  maxTrialCount: 12
  maxFailedTrialCount: 2
  parameters:
    - {name: lr, parameterType: double,
       feasibleSpace: {min: "0.01", max: "0.05", distribution: normal,
                       step: "0.01"}}
    - {name: rate, parameterType: double,
       feasibleSpace: {min: "1e-4", max: "1", distribution: logUniform}}
    - {name: num-layers, parameterType: int,
       feasibleSpace: {min: "1", max: "64"}}
    - {name: optimizer, parameterType: categorical,
       feasibleSpace: {list: [sgd, adam, "1"]}}
    - {name: batch, parameterType: discrete,
       feasibleSpace: {list: ["32", "64"]}}
    - {name: num-epochs, parameterType: int,
       feasibleSpace: {min: "9", max: "9"}}
  trialTemplate: {trialSpec: {}}
"""


def trial(name, time, condition, assigned, observed=()):
    return {"kind": "Trial", "metadata": {
        "name": name, "labels": {"katib.kubeflow.org/experiment": "bands"}},
        "spec": {"parameterAssignments": [
            {"name": key, "value": x} for key, x in assigned.items()]},
        "status": {"startTime": time, "conditions": [
            {"type": "Created", "status": "True"},
            {"type": condition, "status": "True"}],
            "observation": {"metrics": [
                {"name": key, "latest": x, "max": x, "min": x}
                for key, x in observed]}}}


class Katib(Case):
    def test_an_experiment_and_its_trials(self):
        values = {"lr": "0.02", "rate": "0.001", "num-layers": "3",
                  "optimizer": "1", "batch": "64"}
        trials = {"kind": "TrialList", "items": [
            trial("b", "2030-01-01T00:02:00Z", "Failed", values),
            trial("a", "2030-01-01T00:01:00Z", "Succeeded", values,
                  [("accuracy", "0.93"), ("loss", "0.2")]),
            trial("c", "2030-01-01T00:03:00Z", "EarlyStopped", values,
                  [("accuracy", "unavailable")])]}
        text, file, rows = self.bring(
            "katib", self.write("e.yaml", EXPERIMENT),
            self.write("t.yaml", json.dumps(trials)))
        self.assertEqual(
            ("bands", {"metric": "accuracy", "direction": "maximize"},
             {"hyperband": {"eta": 3, "min": 1}}, 9,
             {"trials": 12, "failed": 2}, {"value": 0.99}),
            (file["study"], file["objective"], file["algorithm"],
             file["max_steps"], file["budget"], file["stop_when"]))
        space = file["space"]
        mean, deviation = space["lr"].pop("normal")
        self.assertAlmostEqual(0.03, mean)
        self.assertAlmostEqual(0.04 / 6, deviation)
        self.assertEqual(
            {"lr": {"step": 0.01}, "rate": {"log_uniform": [1e-4, 1]},
             "num-layers": {"int_uniform": [1, 64]},
             "optimizer": {"choice": ["sgd", "adam", "1"]},
             "batch": {"choice": [32, 64]}}, space)
        self.assertEqual(
            [(0, 9, "COMPLETE", "0.93", "0.2"), (1, 0, "FAILED", "", ""),
             (2, 0, "PRUNED", "", "")],
            [(int(x["trial"]), int(x["step"]), x["state"], x["accuracy"],
              x["loss"]) for x in rows])
        self.assertEqual({"lr": 0.02, "rate": 0.001, "num-layers": 3,
                          "optimizer": "1", "batch": 64}, params_of(rows[0]))
        told = " ".join(text.replace("\n#", " ").split())
        for note in ("num-epochs, the resource of Hyperband",
                     "parallelTrialCount 9", "trialTemplate: train.py"):
            self.assertIn(note, told)

    def test_refusals(self):
        self.refused("0 documents of kind Experiment", "katib",
                     [self.write("a.yaml", "kind: Trial\n")])
        self.refused("cannot be read", "katib",
                     [self.write("b.yaml", "a: [")])


# -- NNI


class Nni(Case):
    SPACE = {"lr": {"_type": "loguniform", "_value": [1e-4, 0.1]},
             "batch": {"_type": "choice", "_value": [32, 64]},
             "n": {"_type": "randint", "_value": [1, 5]},
             "q": {"_type": "quniform", "_value": [0, 1, 0.1]},
             "z": {"_type": "normal", "_value": [0, 1]},
             "layer": {"_type": "choice", "_value": [
                 {"_name": "empty"},
                 {"_name": "conv", "size": {"_type": "choice",
                                            "_value": [1, 3]}}]}}

    def experiment(self):
        """An experiment as NNI 2 and 3 store it (sqlDatabase.ts)."""
        folder = self.path("Ab12Cd34")
        os.makedirs(os.path.join(folder, "db"))
        config = {"experimentName": "mnist", "searchSpace": self.SPACE,
                  "trialCommand": "python3 mnist.py", "trialConcurrency": 2,
                  "maxTrialNumber": 10, "maxExperimentDuration": "1h",
                  "tuner": {"name": "TPE",
                            "classArgs": {"optimize_mode": "maximize"}},
                  "assessor": {"name": "Medianstop",
                               "classArgs": {"start_step": 2}}}
        with sqlite3.connect(os.path.join(folder, "db/nni.sqlite")) as to:
            to.executescript("""
                create table TrialJobEvent (timestamp integer, trialJobId text,
                    event text, data text, logPath text, sequenceId integer,
                    message text);
                create table MetricData (timestamp integer, trialJobId text,
                    parameterId text, type text, sequence integer, data text);
                create table ExperimentProfile (params text, id text,
                    execDuration integer, startTime integer, endTime integer,
                    logDir text, nextSequenceId integer, revision integer);""")
            for revision in 1, 2:
                to.execute("insert into ExperimentProfile values "
                           "(?,?,0,0,0,'',0,?)",
                           (json.dumps(config), "Ab12Cd34", revision))
            values = {"lr": 0.01, "batch": 32, "n": 4, "q": 0.3, "z": 0.5,
                      "layer": {"_name": "conv", "size": 3}}
            for time, job, event, data in [
                    (1, "x", "WAITING", json.dumps(
                        {"parameter_id": 0, "parameters": values})),
                    (2, "y", "WAITING", json.dumps(
                        {"parameter_id": 1, "parameters": {
                            **values, "layer": {"_name": "empty"}}})),
                    (3, "x", "RUNNING", None), (9, "x", "SUCCEEDED", None),
                    (9, "y", "EARLY_STOPPED", None)]:
                to.execute("insert into TrialJobEvent values "
                           "(?,?,?,?,'',0,'')", (time, job, event, data))
            for time, job, kind, sequence, x in [
                    (4, "x", "PERIODICAL", 0, 0.5),
                    (5, "x", "PERIODICAL", 1, {"default": 0.75, "loss": 0.1}),
                    (6, "x", "FINAL", 0, 0.75), (7, "y", "PERIODICAL", 0, 0.1)]:
                to.execute("insert into MetricData values (?,?,?,?,?,?)", (
                    time, job, "0", kind, sequence,
                    json.dumps(json.dumps(x))))
        to.close()
        return folder

    def test_an_experiment(self):
        text, file, rows = self.bring("nni", self.experiment())
        self.assertEqual(
            ("mnist", {"metric": "default", "direction": "maximize"},
             {"median": {"sampler": "tpe", "grace": 2}}, 2,
             {"trials": 10, "seconds": 3600}),
            (file["study"], file["objective"], file["algorithm"],
             file["max_steps"], file["budget"]))
        self.assertEqual(
            {"lr": {"log_uniform": [1e-4, 0.1]}, "batch": {"choice": [32, 64]},
             "n": {"int_uniform": [1, 4]},
             "q": {"uniform": [0, 1], "step": 0.1}, "z": {"normal": [0, 1]},
             "layer": {"choice": ["empty", {"value": "conv", "with": {
                 "layer.size": {"choice": [1, 3]}}}]}}, file["space"])
        self.assertEqual(
            [(0, 1, "COMPLETE", "0.5", ""), (0, 2, "COMPLETE", "0.75", "0.1"),
             (1, 1, "PRUNED", "0.1", "")],
            [(int(x["trial"]), int(x["step"]), x["state"], x["default"],
              x["loss"]) for x in rows])
        self.assertEqual({"lr": 0.01, "batch": 32, "n": 4, "q": 0.3, "z": 0.5,
                          "layer": "conv", "layer.size": 3},
                         params_of(rows[0]))
        self.assertNotIn("layer.size", params_of(rows[2]))
        self.assertIn("trialConcurrency 2", text)

    def test_refusals(self):
        self.refused("has no db/nni.sqlite", "nni", [self.folder])
        os.mkdir(self.path("db"))
        self.write("db/nni.sqlite", "nothing")
        self.refused("cannot be read", "nni", [self.folder])


if __name__ == "__main__":
    unittest.main()
