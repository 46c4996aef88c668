"""Searches of public tables against peers, in virtual time

YAHPO's surrogates of real trainings, under the folder that --data or
HIPPO_PUBLIC_DATA names, by one event loop for all. A search of a task is kept
in build/bench/public and not made again, so that a run can be interrupted.
"""

import functools
import hashlib
import json
import math
import statistics

import harness
from harness import Result, Row

MARKS = [10, 30, 60]  # trainings
WORKERS = [1, 4, 40]
SEEDS = 20

# The value of `algorithm` in a study file, by its name in the tables.
OURS = {
    "auto": "auto",
    "asha, gp, from 1": "{asha: {min: 1, sampler: gp}}",
    "asha, gp, from 3": "{asha: {min: 3, sampler: gp}}",
    "gp": "gp",
    "tpe": "tpe",
    "dehb": "dehb",
    "bohb": "bohb",
}
PEERS = {
    "Optuna TPE": "optuna tpe",
    "Optuna GP": "optuna gp",
    "DEHB 0.1.2": "DEHB",
    "random": "optuna random",
}

# Searches that take a minute or more have few seeds.
SLOW_SEEDS = {"Optuna GP": 2}

# SHA-256 of each scenario's model.onnx.
DIGESTS = {
    "lcbench":
        "b45c0d85ae39abf8820c8bea5ac82f415763afcbaf3b725e36af452b09cb6dcd",
}

# Of the studentized range, for the critical difference of mean ranks at .05 by
# the number of methods (Demšar, JMLR 7, 2006, table 5).
NEMENYI = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949,
           8: 3.031, 9: 3.102, 10: 3.164, 11: 3.219, 12: 3.268}

KEPT = harness.ROOT / "build" / "bench" / "public"


def data_folder(bench):
    """The folder of public tables, whose models are those that are known."""
    if not bench.data:
        raise harness.Failed(
            "`public` needs a folder of public tables: --data DIR, or"
            " HIPPO_PUBLIC_DATA. DIR/yahpo/lcbench holds model.onnx,"
            " config_space.json and encoding.json of github.com/slds-lmu/"
            "yahpo_data, version 1.0.2")
    for scenario, wanted in DIGESTS.items():
        model = bench.data / "yahpo" / scenario / "model.onnx"
        if not model.is_file():
            raise harness.Failed(f"there is no {model}")
        found = hashlib.sha256(model.read_bytes()).hexdigest()
        if found != wanted:
            raise harness.Failed(f"{model} has the SHA-256 {found}; version"
                                 f" 1.0.2 has {wanted}")
    return bench.data


class Public:
    """The searches of a run, each kept by what it depends on."""

    def __init__(self, bench):
        self._bench = bench
        self._data = data_folder(bench)
        self._program = bench.program("hippo")
        self._script = harness.PEERS / "public_play.py"
        KEPT.mkdir(parents=True, exist_ok=True)
        # Our own searches are made again by another program.
        self._version = hashlib.sha256(
            self._program.read_bytes()).hexdigest()[:12]

    def _run(self, who, *args):
        python = self._bench.python
        if who.startswith("DEHB"):
            python = harness.DEHB_VENV / "bin" / "python"
        return self._bench.json([python, self._script, self._data, *args])

    def tasks(self, scenario):
        """The tasks by name, each with its bounds."""
        kept = KEPT / f"tasks-{DIGESTS[scenario][:12]}.json"
        if not kept.exists():
            kept.write_text(json.dumps(self._run("", scenario)))
        return json.loads(kept.read_text())

    def courses(self, who, method, scenario, task, fold, workers, seeds):
        """How the best of each seed's search got better."""
        name = [who, method, scenario, task, fold, workers, seeds, MARKS[-1]]
        if who in OURS:
            name.append(self._version)
        key = hashlib.sha256(json.dumps(name).encode()).hexdigest()[:24]
        kept = KEPT / f"{key}.json"
        if not kept.exists():
            found = self._run(
                who, scenario, "--task", task, "--method", method,
                *(["--fold"] if fold else []), "--workers", workers,
                "--trainings", MARKS[-1], "--seeds", seeds,
                "--program", self._program)
            kept.with_suffix(".part").write_text(
                json.dumps({"of": name, "courses": found}))
            kept.with_suffix(".part").rename(kept)
        return json.loads(kept.read_text())["courses"]


def regret(course, trainings, bounds):
    """0 for the best value known, 1 for the median configuration's.

    course: (trainings, value) whenever a search's best got better; of values
        more is better
    """
    median, best = bounds
    found = [value for spent, value in course if spent <= trainings]
    return (best - found[-1]) / (best - median) if found else 1


def ranks(values):
    """The rank of each value among them, from 1 on; equal ones share theirs."""
    return [sum(y < x for y in values) + (sum(y == x for y in values) + 1) / 2
            for x in values]


def scores(found, mark, bounds):
    """Mean regret and mean rank by method, over tasks.

    found: courses by task and method
    """
    means = {task: {who: statistics.fmean(
        regret(x, mark, bounds[task]) for x in courses)
        for who, courses in by_method.items()}
        for task, by_method in found.items()}
    methods = list(next(iter(means.values())))
    by_task = {task: ranks([x[who] for who in methods])
               for task, x in means.items()}
    return {who: {"regret": statistics.fmean(x[who] for x in means.values()),
                  "rank": statistics.fmean(x[i] for x in by_task.values())}
            for i, who in enumerate(methods)}


def best_known(found, bounds):
    """The bounds, where what any search has found may be the best known."""
    return {task: (bounds[task][0],
                   max(bounds[task][1],
                       *(x[-1][1] for courses in by_method.values()
                         for x in courses if x)))
            for task, by_method in found.items()}


def table(by_mark):
    methods = by_mark[MARKS[0]]
    lines = [["", *(f"{mark}: {what}" for mark in MARKS
                    for what in ["regret", "rank"])]]
    for who in methods:
        lines.append([who, *(f"{by_mark[mark][who][what]:.{digits}f}"
                             for mark in MARKS
                             for what, digits in [("regret", 3), ("rank", 2)])])
    return harness.markdown(lines)


def run(bench):
    harness.make_venv(harness.DEHB_VENV, harness.DEHB_PACKAGES)
    public = Public(bench)
    seeds = 1 if bench.quick else SEEDS
    bounds = public.tasks("lcbench")
    tasks = list(bounds)[:2 if bench.quick else None]
    methods = {**OURS, **PEERS}
    rows, notes, data = [], [], {}
    for workers in WORKERS:
        for fold in [False, True]:
            made = bench.at_once({
                (task, who): functools.partial(
                    public.courses, who, method, "lcbench", task, fold,
                    workers, min(seeds, SLOW_SEEDS.get(who, seeds)))
                for who, method in methods.items() for task in tasks})
            found = {task: {who: made[task, who] for who in methods}
                     for task in tasks}
            known = best_known(found, bounds)
            by_mark = {mark: scores(found, mark, known) for mark in MARKS}
            where = f"{workers} worker{'s' if workers > 1 else ''}" + (
                ", folded" if fold else "")
            data[where] = by_mark
            for mark in MARKS:
                x = by_mark[mark]
                peer = min(PEERS, key=lambda who: x[who]["rank"])
                rows.append(Row(f"auto: mean rank at {mark}, {where}", "",
                                [x["auto"]["rank"]], peer, [x[peer]["rank"]],
                                more_is_better=False, aim=1,
                                aim_of_ratio=True))
            k = len(methods)
            difference = NEMENYI[k] * math.sqrt(k * (k + 1) / 6 / len(tasks))
            notes += [f"lcbench, {len(tasks)} tasks, {seeds} seeds, {where}; "
                      "mean ranks differ significantly (Nemenyi, .05) by "
                      f"{difference:.2f} or more:", table(by_mark)]
    return Result(rows, notes=notes, data=data)
