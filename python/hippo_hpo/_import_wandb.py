"""Sweeps of Weights & Biases: the configuration of a sweep, as it is written
in a YAML file or exported as JSON, and exported runs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from .errors import InvalidArgument
from .importing import Past, Row, choice, flat, interval

_STATES = {"finished": "COMPLETE", "failed": "FAILED", "crashed": "FAILED",
           "killed": "CANCELLED", "running": "RUNNING", "pending": "PENDING"}

_METHODS = {"grid": "grid", "random": "random", "bayes": "gp"}


def read_wandb(file: str, runs: str | None) -> Past:
    """Reads a sweep.

    Args:
        file: its configuration, or a map of `sweep` and `runs` in JSON.
        runs: its runs: the CSV of the table of runs, or a list in JSON, whose
            items have `name`, `state`, `config`, `summary` and `history`, as
            the public API has them.

    Raises:
        InvalidArgument: these are no such files.
    """
    told = _load(file)
    sweep = told.get("sweep", told) if isinstance(told, Mapping) else None
    if not isinstance(sweep, Mapping) or "parameters" not in sweep:
        raise InvalidArgument(f"{file} is no configuration of a sweep: it has "
                              "no 'parameters'")
    name = str(sweep.get("name") or "sweep")
    past = Past(f"the W&B sweep {name!r} of {file}", name)
    metric = sweep.get("metric") or {}
    if not metric.get("name"):
        raise InvalidArgument(f"{file}: the sweep has no metric.name")
    past.goals = {str(metric["name"]): str(metric.get("goal", "minimize"))}
    if metric.get("target") is not None:
        past.more["stop_when"] = {"value": float(metric["target"])}
    for key, x in (sweep.get("parameters") or {}).items():
        _add(past, str(key), x)
    if sweep.get("run_cap") is not None:
        past.more["budget"] = {"trials": int(sweep["run_cap"])}
    _choose_algorithm(past, sweep)
    for key in ("program", "command", "project", "entity", "controller",
                "description", "imageuri", "job"):
        if sweep.get(key):
            past.note(f"{key}: " + ("train.py is to have the training" if key
                                    in ("program", "command") else "none here"))
    listed = told.get("runs") if told is not sweep else None
    if runs is not None:
        listed = _table(past, runs) if runs.endswith(".csv") else _load(runs)
    if listed is None:
        listed = []
    if not isinstance(listed, list):
        raise InvalidArgument(f"{runs or file}: the runs are no list")
    _add_rows(past, listed)
    return past


def _load(file: str) -> Any:
    """YAML, and JSON, which is such."""
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        try:
            return json.loads(text)
        except ValueError:
            return yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as why:
        raise InvalidArgument(f"{file} cannot be read: {why}") from None


def _number(x: Any) -> Any:
    """A number that YAML 1.1 takes for a word, as 1e-5."""
    if isinstance(x, str):
        try:
            return float(x)
        except ValueError:
            return x
    return x


def _add(past: Past, name: str, x: Mapping[str, Any]) -> None:
    if not isinstance(x, Mapping):
        raise InvalidArgument(f"parameters.{name}: must be a map, found {x!r}")
    if isinstance(inner := x.get("parameters"), Mapping):
        past.note("nested parameters: names are joined by dots")
        for key, y in inner.items():
            _add(past, f"{name}.{key}", y)
        return
    past.space[name] = _domain(past, name, x)


def _domain(past: Past, name: str, x: Mapping[str, Any]) -> Any:
    kind = str(x.get("distribution") or "")
    if "value" in x:
        value = _number(x["value"])
        return {"constant": value} if isinstance(value, (Mapping, list)) \
            else value
    if "values" in x:
        if "probabilities" in x:
            past.note(f"the probabilities of {name}: its options are equally "
                      "likely here")
        return choice(_number(y) for y in x["values"])
    low, high = _number(x.get("min")), _number(x.get("max"))
    if not kind:
        whole = isinstance(low, int) and isinstance(high, int)
        kind = "int_uniform" if whole else "uniform"
    step = _number(x.get("q", 1.0 if kind.startswith("q_") else None))
    base = kind.removeprefix("q_")
    if base in ("normal", "log_normal"):
        found: dict[str, Any] = {base: [_number(x.get("mu", 0.0)),
                                        _number(x.get("sigma", 1.0))]}
        if step:
            found["step"] = int(step) if step == int(step) else step
        return found
    if base == "beta":
        past.note(f"the beta distribution of {name}: it is uniform here")
        return interval(0.0, 1.0, step=step)
    if low is None or high is None:
        raise InvalidArgument(f"parameters.{name}: has neither values nor min "
                              "and max")
    if base.startswith("inv_"):
        past.note(f"{base} of {name}: it is log_uniform here")
        base = base.removeprefix("inv_")
    log = base.startswith("log_uniform")
    if base == "log_uniform":  # its ends are exponents
        low, high = math.exp(low), math.exp(high)
    if log and step:
        past.note(f"the step {step} of {name}, which is drawn by its logarithm")
        step = None
    whole = base == "int_uniform" or bool(
        step and all(float(y).is_integer() for y in (low, high, step)))
    return interval(low, high, log=log, whole=whole, step=step)


def _choose_algorithm(past: Past, sweep: Mapping[str, Any]) -> None:
    method = str(sweep.get("method", "random"))
    sampler = _METHODS.get(method)
    if sampler is None:
        past.note(f"the method {method}: auto chooses an algorithm here")
        past.algorithm = "auto"
        return
    past.algorithm = sampler
    early = sweep.get("early_terminate") or {}
    if early.get("type") != "hyperband":
        if early:
            past.note(f"early_terminate {early.get('type')}")
        return
    eta = int(early.get("eta", 3))
    first = int(early.get("min_iter", 1))
    if "max_iter" in early:
        past.steps = int(early["max_iter"])
        first = max(past.steps // eta ** int(early.get("s", 1)), 1) \
            if "min_iter" not in early else first
    past.steps = max(past.steps, first)
    past.algorithm = {"asha": {"eta": eta, "min": first,
                               **({} if sampler == "random"
                                  else {"sampler": sampler})}}
    past.note("W&B's early_terminate hyperband: asha stands for it")


def _table(past: Past, file: str) -> list[dict[str, Any]]:
    """Runs of a CSV: columns that are parameters, and the metric."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError, csv.Error) as why:
        raise InvalidArgument(f"{file} cannot be read: {why}") from None
    past.note("the histories of runs, which a CSV does not have: results are "
              "of the last step")
    return [{"name": x.get("Name"), "state": x.get("State"),
             "config": {name: _cell(x[name]) for name in past.space
                        if x.get(name)},
             "summary": {name: x[name] for name in past.goals if x.get(name)}}
            for x in rows]


def _cell(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _add_rows(past: Past, runs: Sequence[Mapping[str, Any]]) -> None:
    metric = next(iter(past.goals))
    histories = [_history(x, metric) for x in runs]
    first = min((step for x in histories for step in x), default=1)
    shift = 1 - first if first < 1 else 0
    if shift:
        past.note(f"steps that begin with {first}: they begin with 1 here")
    past.steps = max(past.steps, max((step + shift for x in histories
                                      for step in x), default=1))
    for number, (run, history) in enumerate(zip(runs, histories)):
        config = {name: x["value"] if isinstance(x, Mapping)
                  and x.keys() <= {"value", "desc"} and "value" in x else x
                  for name, x in (run.get("config") or {}).items()
                  if not str(name).startswith("_")}
        params = {name: x for name, x in flat(config).items()
                  if name in past.space}
        state = _STATES.get(str(run.get("state") or "").lower(), "FAILED")
        measured = {step + shift: x for step, x in history.items()}
        summary = _numbers(run.get("summary") or {})
        if not measured and metric in summary:
            measured = {past.steps: {metric: summary[metric]}}
        if not measured:
            past.rows.append(Row(number, 0, state, {}, params))
        for step, metrics in sorted(measured.items()):
            past.rows.append(Row(number, step, state, metrics, params))


def _history(run: Mapping[str, Any], metric: str
             ) -> dict[int, dict[str, float]]:
    """The metrics of a run by step, where the objective was logged."""
    found: dict[int, dict[str, float]] = {}
    for i, x in enumerate(run.get("history") or []):
        numbers = _numbers(x)
        if metric in numbers:
            found[int(x.get("_step", i))] = numbers
    return found


def _numbers(x: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for name, y in flat(x).items():
        if isinstance(y, str):
            y = _number(y)
        if isinstance(y, (int, float)) and not isinstance(y, bool) \
                and not name.startswith("_"):
            found[name] = float(y)
    return found
