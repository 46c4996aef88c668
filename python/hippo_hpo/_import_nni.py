"""Experiments of NNI: the folder of one, with `db/nni.sqlite`."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidArgument
from .importing import Past, Row, interval

_STATES = {"WAITING": "PENDING", "RUNNING": "RUNNING",
           "SUCCEEDED": "COMPLETE", "FAILED": "FAILED",
           "USER_CANCELED": "CANCELLED", "SYS_CANCELED": "CANCELLED",
           "EARLY_STOPPED": "PRUNED", "UNKNOWN": "FAILED"}

_TUNERS: dict[str, Any] = {
    "random": "random", "gridsearch": "grid", "tpe": "tpe", "gp": "gp",
    "gptuner": "gp", "metis": "gp", "hyperopt": "tpe", "anneal": "tpe"}


def read_nni(folder: str) -> Past:
    """Reads an experiment.

    Raises:
        InvalidArgument: the folder has none.
    """
    path = os.path.join(folder, "db", "nni.sqlite")
    if not os.path.isfile(path):
        raise InvalidArgument(f"{folder} has no db/nni.sqlite: give the folder "
                              "of an experiment, nni-experiments/ID")
    try:
        # Only to be read, and never locked.
        with sqlite3.connect(f"file:{os.path.abspath(path)}?mode=ro",
                             uri=True) as database:
            profile = database.execute(
                "select params, id from ExperimentProfile "
                "order by revision desc limit 1").fetchone()
            events = database.execute(
                "select trialJobId, event, data, sequenceId from "
                "TrialJobEvent order by timestamp").fetchall()
            metrics = database.execute(
                "select trialJobId, type, sequence, data from MetricData "
                "order by timestamp").fetchall()
    except sqlite3.Error as why:
        raise InvalidArgument(f"{path} cannot be read: {why}") from None
    if profile is None:
        raise InvalidArgument(f"{path} has no experiment")
    config = json.loads(profile[0])
    name = str(config.get("experimentName") or profile[1])
    past = Past(f"NNI's experiment {profile[1]} in {folder}", name)
    _read_config(past, config)
    _add_rows(past, events, metrics)
    _choose_algorithm(past, config)
    return past


def _read_config(past: Past, config: Mapping[str, Any]) -> None:
    space = config.get("searchSpace") or {}
    if isinstance(space, str):
        space = json.loads(space)
    for key, x in space.items():
        past.space[str(key)] = _domain(past, str(key), x)
    tuner = config.get("tuner") or config.get("advisor") or {}
    mode = (tuner.get("classArgs") or {}).get("optimize_mode", "maximize")
    past.goals = {"default": str(mode)}
    trials = config.get("maxTrialNumber", config.get("maxTrialNum"))
    budget: dict[str, Any] = {}
    if trials:
        budget["trials"] = int(trials)
    duration = config.get("maxExperimentDuration",
                          config.get("maxExecDuration"))
    if (seconds := _seconds(duration)) is not None:
        budget["seconds"] = seconds
    if budget:
        past.more["budget"] = budget
    for key in ("trialCommand", "trialCodeDirectory", "trainingService",
                "trialGpuNumber"):
        if config.get(key):
            past.note(f"{key}: " + ("train.py is to have the training"
                                    if key.startswith("trialC")
                                    else "none here"))
    if concurrency := config.get("trialConcurrency"):
        past.note(f"trialConcurrency {concurrency}: as many trials run at the "
                  "same time as there are trainers")


def _seconds(x: Any) -> float | None:
    """A duration: seconds, or as 1h, 30m."""
    if isinstance(x, (int, float)) and x > 0:
        return float(x)
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if isinstance(x, str) and x[-1:] in units \
            and x[:-1].replace(".", "", 1).isdigit():
        return float(x[:-1]) * units[x[-1]]
    return None


def _domain(past: Past, name: str, x: Mapping[str, Any]) -> Any:
    kind, values = str(x.get("_type")), x.get("_value") or []
    if kind == "choice":
        return {"choice": [_option(past, name, y) for y in values]}
    if kind == "randint":  # without its upper end
        return interval(values[0], values[1] - 1, whole=True)
    step = values[2] if kind.startswith("q") and len(values) > 2 else None
    base = kind[1:] if kind.startswith("q") else kind
    if base in ("uniform", "loguniform"):
        log = base == "loguniform"
        if log and step:
            past.note(f"the step {step} of {name}, which is drawn by its "
                      "logarithm")
            step = None
        whole = bool(step) and all(float(y).is_integer() for y in values)
        return interval(values[0], values[1], log=log, whole=whole, step=step)
    if base in ("normal", "lognormal"):
        found: dict[str, Any] = {
            "normal" if base == "normal" else "log_normal": values[:2]}
        if step:
            found["step"] = step
        return found
    raise InvalidArgument(f"the search space has {name} of type {kind!r}, "
                          "which NNI does not document")


def _option(past: Past, name: str, x: Any) -> Any:
    """An option; a map with `_name` brings further parameters."""
    if not isinstance(x, Mapping):
        return x
    if "_name" not in x:
        return {"constant": x}
    brought = {f"{name}.{key}": _domain(past, f"{name}.{key}", y)
               for key, y in x.items() if key != "_name"}
    return {"value": x["_name"], "with": brought} if brought else x["_name"]


def _choose_algorithm(past: Past, config: Mapping[str, Any]) -> None:
    advisor = config.get("advisor") or {}
    tuner = config.get("tuner") or {}
    name = str((advisor or tuner).get("name")
               or (advisor or tuner).get("builtinTunerName")
               or (advisor or tuner).get("builtinAdvisorName") or "")
    key = name.lower()
    args = (advisor or tuner).get("classArgs") or {}
    if key in ("hyperband", "bohb"):
        past.algorithm = {key: {"eta": int(args.get("eta", 3)), "min": 1}}
    elif key == "pbttuner":
        past.algorithm = "pbt"
    elif key in _TUNERS:
        past.algorithm = _TUNERS[key]
    elif name:
        past.note(f"the tuner {name}: auto chooses an algorithm here")
    for arg, value in sorted(args.items()):
        if arg not in ("optimize_mode", "eta"):
            past.note(f"{arg} {value} of {name}")
    assessor = config.get("assessor") or {}
    kind = str(assessor.get("name") or assessor.get("builtinAssessorName")
               or "")
    if kind.lower() == "medianstop" and isinstance(past.algorithm, str) \
            and past.algorithm in ("random", "grid", "tpe", "gp"):
        grace = int((assessor.get("classArgs") or {}).get("start_step", 0))
        past.algorithm = {"median": {"sampler": past.algorithm,
                                     "grace": min(max(grace, 1), past.steps)}}
    elif kind:
        past.note(f"the assessor {kind}")


def _metrics(text: str) -> dict[str, float]:
    """The metrics of a report, JSON once or twice over: a number, or a map in
    which `default` is the objective."""
    told: Any = text
    for _ in range(2):
        if isinstance(told, str):
            try:
                told = json.loads(told)
            except ValueError:
                return {}
    if isinstance(told, Mapping):
        return {str(name): float(x) for name, x in told.items()
                if isinstance(x, (int, float)) and not isinstance(x, bool)}
    return {"default": float(told)} \
        if isinstance(told, (int, float)) else {}


def _add_rows(past: Past, events: Sequence[Any], metrics: Sequence[Any]
              ) -> None:
    order: list[str] = []
    states: dict[str, str] = {}
    params: dict[str, dict[str, Any]] = {}
    for job, event, data, _ in events:
        if job not in states:
            order.append(job)
        states[job] = _STATES.get(str(event), states.get(job, "PENDING"))
        if data and job not in params:
            params[job] = _params(json.loads(data).get("parameters") or {})
    measured: dict[str, dict[int, dict[str, float]]] = {}
    final: dict[str, dict[str, float]] = {}
    for job, kind, sequence, data in metrics:
        found = _metrics(data)
        if kind == "PERIODICAL" and "default" in found:
            measured.setdefault(job, {})[int(sequence) + 1] = found
        elif kind == "FINAL":
            final[job] = found
    past.steps = max((step for x in measured.values() for step in x),
                     default=1)
    for number, job in enumerate(order):
        steps = measured.get(job, {})
        last = max(steps, default=past.steps)
        if job in final:
            if steps and steps[last].get("default") \
                    != final[job].get("default"):
                past.note("that the final result of a trial is another than "
                          "its last intermediate one: it is at the last step "
                          "here, as the metric final")
                steps[last] = {**steps[last],
                               "final": final[job].get("default", 0.0)}
            else:
                steps = {**steps, last: {**steps.get(last, {}), **final[job]}}
        values = params.get(job, {})
        if not steps:
            past.rows.append(Row(number, 0, states[job], {}, values))
        for step, x in sorted(steps.items()):
            past.rows.append(Row(number, step, states[job], x, values))


def _params(x: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values of a trial; those of nested choices as `_option` names them."""
    found: dict[str, Any] = {}
    for name, value in x.items():
        if isinstance(value, Mapping) and "_name" in value:
            found[f"{before}{name}"] = value["_name"]
            inner = {key: y for key, y in value.items() if key != "_name"}
            found.update(_params(inner, f"{before}{name}."))
        else:
            found[f"{before}{name}"] = value
    return found
