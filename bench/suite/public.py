"""Searches of public tables against peers, in virtual time

YAHPO's surrogates of real trainings, under the folder that --data or
HIPPO_PUBLIC_DATA names, and coco's functions, by one event loop for all. The
seeds of a search are kept in build/bench/public and not made again, ours until
the program changes, so that a run can be interrupted.
"""

import dataclasses
import functools
import hashlib
import json
import os

import harness
from harness import Result, Row
from suite import public_ranks
from suite.public_ranks import best_known

WORKERS = [1, 4, 40]
SEEDS = 20

PICTURED = ("lcbench", 1)

# Searches of slow methods: every so many tasks, and the number of seeds.
SLOW_TASKS, SLOW_SEEDS = 3, 3


@dataclasses.dataclass
class Scenario:
    """A public table.

    digest: the SHA-256 of model.onnx
    marks: of the budget, in trainings or, for functions, in trainings by
        dimension
    tasks: how many of the open ones are played, spread evenly; None: all
    """

    digest: str = ""
    folds: tuple = (False,)
    workers: tuple = (1,)
    marks: tuple = (10, 30, 60)
    tasks: int | None = 24
    one_step: bool = False


SCENARIOS = {
    "lcbench": Scenario(
        "b45c0d85ae39abf8820c8bea5ac82f415763afcbaf3b725e36af452b09cb6dcd",
        folds=(False, True), workers=tuple(WORKERS), tasks=None),
    "rbv2_xgboost": Scenario(
        "85125b6d97f553d10cd50f9e632e1a3f1ad44bcb00300dd2880d70dfd043d9f3"),
    "rbv2_rpart": Scenario(
        "af34bb810107fd809bdd74be227685fb2a1c5cb7b1f3c2dde5629e42ef6819f3"),
    "iaml_glmnet": Scenario(
        "5c9b1541e37604993098ba23b04695bfe38d009108e9de0a26c3f161265b5a7a"),
    "bbob": Scenario(marks=(5, 10, 20), one_step=True),
    "bbob-mixint": Scenario(marks=(5, 10, 20), one_step=True),
}


@dataclasses.dataclass
class Method:
    """text: as public_play.py takes it: the value of `algorithm` in a study
        file, or a peer
    venv: a name of harness.PUBLIC_VENVS
    steps: whether it needs tasks of several steps
    """

    text: str
    venv: str = "public"
    slow: bool = False
    steps: bool = False


OURS = {
    "auto": Method("auto"),
    "asha, gp, from 1": Method("{asha: {min: 1, sampler: gp}}", steps=True),
    "asha, gp, from 3": Method("{asha: {min: 3, sampler: gp}}", steps=True),
    "gp": Method("gp"),
    "tpe": Method("tpe"),
    "dehb": Method("dehb", steps=True),
    "bohb": Method("bohb", steps=True),
    "freeze-thaw": Method("freeze-thaw", steps=True),
}
PEERS = {
    "Optuna TPE": Method("optuna tpe"),
    "Optuna GP": Method("optuna gp", slow=True),
    "DEHB": Method("DEHB", "dehb", steps=True),
    "SMAC": Method("SMAC hpo", "smac", slow=True),
    "SMAC, Hyperband": Method("SMAC multi-fidelity", "smac", slow=True,
                              steps=True),
    "HEBO": Method("HEBO", "hebo", slow=True),
    "NePS PriorBand": Method("NePS priorband", "neps", slow=True, steps=True),
    "Syne Tune ASHA": Method("SyneTune ASHA", steps=True),
    "Syne Tune BOHB": Method("SyneTune BOHB", slow=True, steps=True),
    "random": Method("optuna random"),
}
METHODS = {**OURS, **PEERS}

KEPT = harness.ROOT / "build" / "bench" / "public"


def data_folder(bench):
    """The folder of public tables, whose models are those that are known."""
    if not bench.data:
        raise harness.Failed(
            "`public` needs a folder of public tables: --data DIR, or"
            " HIPPO_PUBLIC_DATA. DIR/yahpo/lcbench holds model.onnx,"
            " config_space.json and encoding.json of github.com/slds-lmu/"
            "yahpo_data, version 1.0.2")
    for name, scenario in SCENARIOS.items():
        if not scenario.digest:
            continue
        model = bench.data / "yahpo" / name / "model.onnx"
        if not model.is_file():
            raise harness.Failed(f"there is no {model}")
        found = hashlib.sha256(model.read_bytes()).hexdigest()
        if found != scenario.digest:
            raise harness.Failed(f"{model} has the SHA-256 {found}; version"
                                 f" 1.0.2 has {scenario.digest}")
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

    def _run(self, venv, *args):
        return self._bench.json([harness.public_python(venv), self._script,
                                 self._data, *args])

    def _kept(self, name, make):
        """What `make` gives, of an earlier run if that had it."""
        key = hashlib.sha256(json.dumps(name).encode()).hexdigest()[:24]
        kept = KEPT / f"{key}.json"
        found = json.loads(kept.read_text())["is"] if kept.exists() else None
        now = make(found)
        if now is not found:
            part = kept.with_suffix(f".part{os.getpid()}")
            part.write_text(json.dumps({"of": name, "is": now}))
            part.rename(kept)
        return now

    def tasks(self, scenario):
        """The names of the open tasks."""
        return self._kept(
            [scenario, SCENARIOS[scenario].digest],
            lambda found: found or self._run("public", scenario, "--list"))

    def bounds(self, scenario, task):
        """What the task's median configuration and best known one are worth."""
        return self._kept(
            [scenario, SCENARIOS[scenario].digest, task],
            lambda found: found or self._run("public", scenario, "--task",
                                             task)[task])

    def courses(self, who, scenario, task, fold, workers, trainings, seeds):
        """How the best of each seed's search got better."""
        method = METHODS[who]
        name = [who, method.text, scenario, task, fold, workers, trainings]
        if who in OURS:
            name.append(self._version)

        def made(found):
            found = found or []
            if len(found) >= seeds:
                return found
            return found + self._run(
                method.venv, scenario, "--task", task, "--method", method.text,
                *(["--fold"] if fold else []), "--workers", workers,
                "--trainings", trainings, "--first-seed", len(found),
                "--seeds", seeds, "--program", self._program)

        return self._kept(name, made)[:seeds]


def spread(found, count):
    """So many of them, evenly; None: all."""
    if count is None or count >= len(found):
        return found
    return [found[i * len(found) // count] for i in range(count)]


KEYS = ["scenario", "fold", "workers", "methods", "tasks", "task", "seeds"]


def part_of(text):
    """What a part of it is: `--part "workers=1; methods=gp | HEBO; seeds=3"`.
    `tasks` is how many, `task` which.
    """
    part = {}
    for item in filter(None, (text or "").split(";")):
        key, _, value = (x.strip() for x in item.partition("="))
        if key not in KEYS or not value:
            raise harness.Failed(f"--part '{item.strip()}': a part is KEY=VALUE"
                                 f" of {', '.join(KEYS)}, parted by ';'")
        if key in ("tasks", "seeds"):
            part[key] = int(value)
        else:
            part[key] = [x.strip() for x in value.split("|")]
    for key, known in (("scenario", SCENARIOS), ("methods", METHODS),
                       ("fold", ["no", "yes"])):
        for x in part.get(key, []):
            if x not in known:
                raise harness.Failed(f"--part: no {key} '{x}'; there are: "
                                     f"{' | '.join(known)}")
    return part


@dataclasses.dataclass
class Table:
    """Searches that are compared: each method plays each task with each seed.
    """

    scenario: str
    fold: bool
    workers: int
    methods: list
    tasks: list
    seeds: int
    marks: tuple

    def where(self):
        return (f"{self.scenario}{', folded' if self.fold else ''}, "
                f"{self.workers} worker{'s' if self.workers > 1 else ''}")


def tables_of(part, quick, public):
    """The tables of a run. Those with slow methods have fewer tasks and seeds.
    """
    result = []
    for name, about in SCENARIOS.items():
        if name not in part.get("scenario", SCENARIOS):
            continue
        tasks = part.get("task") or spread(
            public.tasks(name), part.get("tasks", 1 if quick else about.tasks))
        unknown = set(tasks) - set(public.tasks(name))
        if unknown:
            raise harness.Failed(f"--part: {name} has no open task "
                                 f"'{min(unknown)}'")
        methods = [x for x in part.get("methods", METHODS)
                   if not (about.one_step and METHODS[x].steps)]
        fast = [x for x in methods if not METHODS[x].slow]
        seeds = part.get("seeds", 1 if quick else SEEDS)
        marks = about.marks[:1 if quick else None]
        for workers in about.workers[:1 if quick else None]:
            if str(workers) not in part.get("workers", map(str, WORKERS)):
                continue
            for fold in about.folds:
                if ("yes" if fold else "no") not in part.get(
                        "fold", ["no", "yes"]):
                    continue
                own = [(fast, tasks, seeds),
                       (methods, tasks[::SLOW_TASKS], min(seeds, SLOW_SEEDS))]
                if quick or "methods" in part or fast == methods:
                    own = [(methods, tasks, seeds)]
                result += [Table(name, fold, workers, *x, marks) for x in own]
    return result


def play(bench, public, table):
    """Courses by task and method."""
    made = bench.at_once({
        (table.where(), task, who): functools.partial(
            public.courses, who, table.scenario, task, table.fold,
            table.workers, table.marks[-1], table.seeds)
        for task in table.tasks for who in table.methods})
    return {task: {who: made[table.where(), task, who]
                   for who in table.methods} for task in table.tasks}


def run(bench):
    part = part_of(bench.part)
    harness.make_public_venvs({"public", *(
        METHODS[x].venv for x in part.get("methods", METHODS))})
    public = Public(bench)
    rows, notes, data, panels = [], [], {}, {}
    for table in tables_of(part, bench.quick, public):
        found = play(bench, public, table)
        bounds = best_known(found, bench.at_once({
            x: functools.partial(public.bounds, table.scenario, x)
            for x in table.tasks}))
        regrets = {mark: public_ranks.regrets(found, mark, bounds)
                   for mark in table.marks}
        title = (f"{table.where()}: {len(table.tasks)} tasks, {table.seeds} "
                 f"seed{'s' if table.seeds > 1 else ''}")
        data[title] = {"seeds": table.seeds, "regret by mark": regrets,
                       **public_ranks.comparison(regrets)}
        notes += public_ranks.section(title, regrets, OURS)
        if (table.scenario, table.workers) == PICTURED:
            panels[table.fold] = public_ranks.panels(title, found,
                                                     table.marks[-1], bounds)
        for mark, by_task in regrets.items():
            ranks = public_ranks.mean_ranks(by_task)
            peers = [x for x in ranks if x in PEERS]
            if "auto" in ranks and peers:
                peer = min(peers, key=ranks.get)
                rows.append(Row(
                    f"auto: mean rank at {mark}, {title}", "",
                    [ranks["auto"]], peer, [ranks[peer]],
                    more_is_better=False, aim=1, aim_of_ratio=True))
    return Result(rows, notes=notes, data=data,
                  panels=[x for both in panels.values() for x in both])
