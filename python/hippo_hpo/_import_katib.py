"""Experiments of Katib, as `kubectl get experiment,trials -o yaml` prints
them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from .errors import InvalidArgument
from .importing import Past, Row, choice, interval

_ALGORITHMS: dict[str, Any] = {
    "random": "random", "grid": "grid", "tpe": "tpe", "multivariate-tpe": "tpe",
    "bayesianoptimization": "gp", "pbt": "pbt"}

# Deviations from the mean to either end of a normal distribution of Katib.
_DEVIATIONS = 3


def read_katib(files: Sequence[str]) -> Past:
    """Reads an experiment, and its trials where the files have them.

    Raises:
        InvalidArgument: the files have no experiment, or several.
    """
    found = [x for file in files for x in _documents(file)]
    experiments = [x for x in found if x.get("kind") == "Experiment"]
    if len(experiments) != 1:
        raise InvalidArgument(
            f"{', '.join(files)}: has {len(experiments)} documents of kind "
            "Experiment, one is asked for")
    experiment = experiments[0]
    name = str(experiment.get("metadata", {}).get("name", "experiment"))
    trials = [x for x in found if x.get("kind") == "Trial"
              and x.get("metadata", {}).get("labels", {}).get(
                  "katib.kubeflow.org/experiment", name) == name]
    spec = experiment.get("spec") or {}
    past = Past(f"Katib's experiment {name!r} of {', '.join(files)}", name)
    objective = spec.get("objective") or {}
    if not objective.get("objectiveMetricName"):
        raise InvalidArgument(f"{', '.join(files)}: the experiment has no "
                              "objectiveMetricName")
    past.goals = {objective["objectiveMetricName"]:
                  str(objective.get("type", "maximize"))}
    if objective.get("goal") is not None:
        past.more["stop_when"] = {"value": float(objective["goal"])}
    strategies = objective.get("metricStrategies") or []
    if strategies:
        past.note("metricStrategies: all measurements count here")
    budget = {key: int(spec[there]) for key, there in
              (("trials", "maxTrialCount"), ("failed", "maxFailedTrialCount"))
              if spec.get(there) is not None}
    if budget:
        past.more["budget"] = budget
    if spec.get("parallelTrialCount") is not None:
        past.note(f"parallelTrialCount {spec['parallelTrialCount']}: as many "
                  "trials run at the same time as there are trainers")
    for x in spec.get("parameters") or []:
        past.space[str(x["name"])] = _domain(past, x)
    _choose_algorithm(past, spec)
    for key in ("trialTemplate", "metricsCollectorSpec", "nasConfig",
                "resumePolicy"):
        if key in spec:
            past.note(f"{key}: " + ("train.py is to have the training"
                                    if key == "trialTemplate" else "none here"))
    _add_rows(past, trials or _optimal(experiment), strategies)
    return past


def _documents(file: str) -> Iterator[dict[str, Any]]:
    try:
        with open(file, encoding="utf-8") as opened:
            found = list(yaml.safe_load_all(opened))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as why:
        raise InvalidArgument(f"{file} cannot be read: {why}") from None
    for x in found:
        if isinstance(x, Mapping) and str(x.get("kind", "")).endswith("List"):
            yield from (y for y in x.get("items") or []
                        if isinstance(y, dict))
        elif isinstance(x, dict):
            yield x


def _domain(past: Past, x: Mapping[str, Any]) -> Any:
    name, kind = str(x["name"]), str(x.get("parameterType"))
    space = x.get("feasibleSpace") or {}
    if kind in ("categorical", "discrete"):
        return choice(_value(kind, y) for y in space.get("list") or [])
    whole = kind == "int"
    low, high = float(space["min"]), float(space["max"])
    step = float(space["step"]) if space.get("step") else None
    distribution = space.get("distribution", "uniform")
    if distribution in ("normal", "logNormal"):
        return _normal(low, high, 1 if whole and step is None else step,
                       distribution == "logNormal")
    log = distribution == "logUniform"
    if log and step:
        past.note(f"the step {step:g} of {name}, which is drawn by its "
                  "logarithm")
        step = None
    return interval(low, high, log=log, whole=whole, step=step)


def _normal(low: float, high: float, step: float | None, log: bool) -> Any:
    """A normal distribution whose ends are three deviations from its mean, as
    Katib has it."""
    if log:
        low, high = math.log(low), math.log(high)
    found: dict[str, Any] = {"log_normal" if log else "normal": [
        (low + high) / 2, (high - low) / (2 * _DEVIATIONS)]}
    if step is not None:
        found["step"] = int(step) if step == int(step) else step
    return found


def _value(kind: str, text: Any) -> Any:
    """A value that Katib keeps as text."""
    text = str(text)
    if kind == "int" or kind == "discrete" and re.fullmatch(r"-?\d+", text):
        return int(float(text))
    return float(text) if kind in ("double", "discrete") else text


def _choose_algorithm(past: Past, spec: Mapping[str, Any]) -> None:
    algorithm = spec.get("algorithm") or {}
    name = str(algorithm.get("algorithmName", "random"))
    settings = {str(x["name"]): str(x["value"])
                for x in algorithm.get("algorithmSettings") or []}
    sampler = _ALGORITHMS.get(name)
    if name == "hyperband":
        resource = settings.pop("resource_name", None)
        past.steps = int(float(settings.pop("r_l", 1)))
        eta = int(float(settings.pop("eta", 3)))
        past.algorithm = {"hyperband": {"eta": eta, "min": 1}}
        if resource in past.space:
            del past.space[resource]
            past.note(f"{resource}, the resource of Hyperband: it is the step "
                      "here")
    elif sampler is None:
        past.note(f"the algorithm {name}: auto chooses one here")
    else:
        past.algorithm = sampler
        if settings.get("random_state", "").isdigit():
            past.more["seed"] = int(settings.pop("random_state"))
    for key, value in sorted(settings.items()):
        past.note(f"{key} {value} of {name}")
    early = spec.get("earlyStopping") or {}
    if early.get("algorithmName") == "medianstop":
        if isinstance(past.algorithm, str) and past.algorithm in (
                "random", "grid", "tpe", "gp"):
            past.algorithm = {"median": {"sampler": past.algorithm}}
            past.note("the steps of measurements, which medianstop counts: "
                      "set max_steps")
        else:
            past.note(f"medianstop beside {name}")
    elif early:
        past.note(f"early stopping by {early.get('algorithmName')}")


_CONDITIONS = {"Succeeded": "COMPLETE", "EarlyStopped": "PRUNED",
               "Failed": "FAILED", "Killed": "CANCELLED", "Running": "RUNNING",
               "MetricsUnavailable": "FAILED"}


def _optimal(experiment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The best trial, which an experiment has in itself."""
    best = (experiment.get("status") or {}).get("currentOptimalTrial")
    if not best:
        return []
    return [{"spec": {"parameterAssignments": best["parameterAssignments"]},
             "status": {"observation": best.get("observation"),
                        "conditions": [{"type": "Succeeded",
                                        "status": "True"}]}}]


def _add_rows(past: Past, trials: Sequence[Mapping[str, Any]],
              strategies: Sequence[Mapping[str, Any]]) -> None:
    values = {str(x["name"]): str(x.get("value", "latest"))
              for x in strategies}
    if trials:
        past.note("the steps of results, of which Katib keeps the last, the "
                  f"least and the greatest value alone: results are of step "
                  f"{past.steps}")
    kinds = {name: ("int" if isinstance(x, Mapping) and any(
                        "int" in key for key in x) else
                    "text" if isinstance(x, Mapping) and "choice" in x
                    else "double") for name, x in past.space.items()}
    for number, x in enumerate(sorted(trials, key=_begin)):
        assigned = {str(y["name"]): y["value"] for y in
                    x.get("spec", {}).get("parameterAssignments") or []}
        status = x.get("status") or {}
        state = "PENDING"
        for y in status.get("conditions") or []:
            if str(y.get("status")) == "True":
                state = _CONDITIONS.get(str(y.get("type")), state)
        metrics = {}
        for y in (status.get("observation") or {}).get("metrics") or []:
            told = y.get(values.get(str(y["name"]), "latest"))
            try:
                metrics[str(y["name"])] = float(told)
            except (TypeError, ValueError):
                continue  # "unavailable"
        params = {name: _assigned(past, kinds.get(name, "text"), name, value)
                  for name, value in assigned.items()}
        past.rows.append(Row(number, past.steps if metrics else 0, state,
                             metrics, params))


def _assigned(past: Past, kind: str, name: str, text: Any) -> Any:
    if kind != "text":
        return _value(kind, text)
    options = past.space.get(name)
    listed = options["choice"] if isinstance(options, Mapping) else []
    return next((x for x in listed if str(x) == str(text)), str(text))


def _begin(trial: Mapping[str, Any]) -> str:
    return str((trial.get("status") or {}).get("startTime")
               or trial.get("metadata", {}).get("creationTimestamp", ""))
