"""Experiment folders of Ray Tune. Ray is not needed: what it has pickled is
read without any of its classes, so nothing of a folder is run."""

from __future__ import annotations

import glob
import json
import os
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidArgument
from .importing import Past, Row, choice, flat, seen

_STATES = {"TERMINATED": "COMPLETE", "ERROR": "FAILED", "PENDING": "PENDING",
           "RUNNING": "RUNNING", "PAUSED": "PAUSED"}

# What Ray itself adds to a result.
_OWN = {"timestamp", "checkpoint_dir_name", "done", "training_iteration",
        "trial_id", "date", "time_this_iter_s", "time_total_s", "pid",
        "hostname", "node_ip", "config", "time_since_restore",
        "iterations_since_restore", "should_checkpoint", "timesteps_total",
        "episodes_total", "experiment_tag"}


def read_ray(folder: str) -> Past:
    """Reads the folder of an experiment: `storage_path/name`.

    Raises:
        InvalidArgument: it is none, or has no objective.
    """
    states = sorted(glob.glob(os.path.join(glob.escape(folder),
                                           "experiment_state-*.json")))
    if not states:
        raise InvalidArgument(f"{folder} has no experiment_state-*.json: give "
                              "the folder of an experiment, storage_path/name")
    try:
        with open(states[-1], encoding="utf-8") as file:
            told = json.load(file)
        trials = [json.loads(x[0]) for x in told["trial_data"]]
    except (ValueError, KeyError, TypeError, IndexError) as why:
        raise InvalidArgument(f"{states[-1]} is no state of an experiment of "
                              f"Ray 2: {why}") from None
    name = os.path.basename(os.path.abspath(folder))
    past = Past(f"Ray Tune's experiment {name!r} in {folder}", name)
    tuner = _tuner(os.path.join(folder, "tuner.pkl"))
    config = tuner.get("_tune_config")
    metric = getattr(config, "metric", None)
    if not metric:
        raise InvalidArgument(
            f"{folder}: the experiment names no metric: TuneConfig had none, "
            "or there is no tuner.pkl")
    mode = getattr(config, "mode", None)
    past.goals = {str(metric): "minimize" if mode == "min" else "maximize"}
    trials.sort(key=lambda x: _number(x))
    results = [_results(folder, x) for x in trials]
    past.steps = max((step for x in results for step in x), default=1)
    keys = [str(x) for x in tuner.get("__flattened_param_space_keys") or []]
    grids = {x.removesuffix("/grid_search").replace("/", ".") for x in keys
             if x.endswith("/grid_search")}
    configs = [flat(x.get("config") or {}) for x in trials]
    _space(past, trials, configs, grids)
    steps_max = _choose_algorithm(past, config, grids)
    past.more["budget"] = {"trials": max(len(trials), 1)}
    if isinstance(limit := getattr(config, "time_budget_s", None),
                  (int, float)):
        past.more["budget"]["seconds"] = limit
    for number, (trial, found, params) in enumerate(
            zip(trials, results, configs)):
        state = _STATES.get(str(trial.get("status")), "FAILED")
        if state == "COMPLETE" and steps_max and max(found, default=0) \
                < steps_max:
            state = "PRUNED"
        if not found:
            past.rows.append(Row(number, 0, state, {}, params))
        for step, metrics in sorted(found.items()):
            past.rows.append(Row(number, step, state, metrics, params))
    return past


def _number(trial: Mapping[str, Any]) -> tuple[int, str]:
    text = str(trial.get("trial_id", ""))
    last = text.rpartition("_")[2]
    return int(last) if last.isdigit() else 0, text


def _results(folder: str, trial: Mapping[str, Any]
             ) -> dict[int, dict[str, float]]:
    """The metrics of a trial by step, from its result.json."""
    path = os.path.join(folder, str(trial.get("relative_logdir") or ""),
                        "result.json")
    found: dict[int, dict[str, float]] = {}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            told = json.loads(line)
            step = int(told["training_iteration"])
        except (ValueError, KeyError, TypeError):
            continue  # a line that was cut off
        found[step] = {name: float(x) for name, x in flat(told).items()
                       if name.split(".")[0] not in _OWN
                       and isinstance(x, (int, float))
                       and not isinstance(x, bool)}
    return found


def _space(past: Past, trials: Sequence[Mapping[str, Any]],
           configs: Sequence[Mapping[str, Any]], grids: set[str]) -> None:
    """The space, from the values that trials had: Ray stores no ranges."""
    names = list(dict.fromkeys(name for x in configs for name in x))
    drawn = {str(name).replace("/", ".") for x in trials
             for name in x.get("evaluated_params") or {}}
    functions = {name for x in trials for name, value in flat(
        x.get("_Trial__unresolved_config") or {}).items()
        if isinstance(value, list) and value[:1] == ["__fn_ph"]}
    guessed = []
    for name in names:
        values = [x[name] for x in configs if name in x]
        if name in grids:
            past.space[name] = choice(_each_once(values))
            continue
        past.space[name] = seen(values)
        if name in functions:
            past.note(f"the function of tune.sample_from that makes {name}: "
                      "its values are those of trials; write a product")
        elif name in drawn or isinstance(past.space[name], Mapping):
            guessed.append(name)
        if len(values) < len(configs):
            past.note(f"{name}, which only {len(values)} of {len(configs)} "
                      "trials have: it is in all trials here")
    if guessed:
        past.note("the ranges of " + ", ".join(guessed) + ", which Ray does "
                  "not store: they are those of the trials' values")
    if any("." in x for x in names):
        past.note("nested configurations: names are joined by dots")


def _each_once(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for x in values:
        if x not in found:
            found.append(x)
    return found


# By the name of the class.
_SEARCHES = {"OptunaSearch": "tpe", "HyperOptSearch": "tpe",
             "BayesOptSearch": "gp", "AxSearch": "gp", "TuneBOHB": "tpe",
             "BasicVariantGenerator": "random"}


def _choose_algorithm(past: Past, config: Any, grids: set[str]) -> int:
    """Chooses the algorithm. Returns the step at which a trial is complete;
    0: wherever it ends."""
    search = getattr(config, "search_alg", None)
    while (inner := getattr(search, "searcher", None)) is not None:
        past.note(f"{_class(search)} around the search algorithm")
        search = inner
    sampler = "random"
    if search is not None:
        sampler = _SEARCHES.get(_class(search), "")
        if not sampler:
            past.note(f"the search algorithm {_class(search)}: tpe stands for "
                      "it")
            sampler = "tpe"
    elif grids and not any(isinstance(x, Mapping) and "choice" not in x
                           for name, x in past.space.items()
                           if name not in grids):
        sampler = "grid"
    more = {} if sampler == "random" else {"sampler": sampler}
    scheduler = getattr(config, "scheduler", None)
    kind = "" if scheduler is None else _class(scheduler)
    state = vars(scheduler) if scheduler is not None else {}
    if kind in ("AsyncHyperBandScheduler", "ASHAScheduler"):
        brackets = state.get("_brackets") or []
        rungs = [int(x[0]) for x in getattr(brackets[0], "_rungs", [])] \
            if brackets else []
        past.steps = max(past.steps, int(state.get("_max_t", past.steps)))
        past.algorithm = {"asha": {
            "eta": int(state.get("_reduction_factor", 4)),
            "min": min(rungs, default=1), **more}}
        if len(brackets) > 1:
            past.note(f"{len(brackets)} brackets of ASHA: one here")
        return past.steps
    if kind == "HyperBandScheduler":
        past.steps = max(past.steps, int(state.get("_max_t_attr", 0)))
        past.algorithm = {"hyperband": {
            "eta": int(state.get("_eta", 3)), "min": 1, **more}}
        return past.steps
    if kind == "HyperBandForBOHB":
        past.algorithm = {"bohb": {"eta": int(state.get("_eta", 3)),
                                   "min": 1}}
        return past.steps
    if kind == "MedianStoppingRule":
        grace = state.get("_grace_period", 1)
        past.algorithm = {"median": {
            "grace": min(max(int(grace), 1), past.steps), **more}}
        return past.steps
    if kind == "PopulationBasedTraining":
        interval = state.get("_perturbation_interval", 1)
        past.algorithm = {"pbt": {"interval": max(int(interval), 1)}}
        past.note("hyperparam_mutations of PBT: write `resample`")
        return 0
    if kind and kind != "FIFOScheduler":
        past.note(f"the scheduler {kind}")
    past.algorithm = sampler
    return 0


# -- reading what is pickled


class _Stub:
    """Stands for an object of whatever class."""

    def __init__(self, *args: Any, **more: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for x in parts:
            if isinstance(x, dict):
                self.__dict__.update({str(key): y for key, y in x.items()})

    def __call__(self, *args: Any, **more: Any) -> _Stub:
        return _Stub()

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def append(self, x: Any) -> None:
        pass

    def extend(self, x: Any) -> None:
        pass


def _class(x: Any) -> str:
    return type(x).__name__


class _Reader(pickle.Unpickler):
    """Reads a pickle without importing or calling anything that it names."""

    def find_class(self, module: str, name: str) -> Any:
        return type(name.rpartition(".")[2], (_Stub,), {})

    def persistent_load(self, pid: Any) -> Any:
        return None


def _tuner(path: str) -> dict[str, Any]:
    """What a Tuner has stored of itself; empty if it has not."""
    try:
        with open(path, "rb") as file:
            found = _Reader(file).load()
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError,
            TypeError, ValueError, IndexError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}

