"""Brings studies of other tools along: a study file and a table of results.

    hippo-import optuna URL|FILE [--study NAME]
    hippo-import ray DIR
    hippo-import wandb FILE [--runs FILE]
    hippo-import katib FILE...
    hippo-import nni DIR

It writes a folder with `study.yaml`, `results.csv`, and `train.py`, in which
the training is to be written. docs/importing.md describes them.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._document import write_document
from ._whole import whole_file
from .errors import Error, InvalidArgument

# States of trials, as `TrialInfo` has them.
STATES = ("PENDING", "RUNNING", "PAUSED", "COMPLETE", "PRUNED", "FAILED",
          "CANCELLED")


@dataclasses.dataclass
class Row:
    """A measurement of a trial; `step` 0 without metrics: it has none."""

    trial: int
    step: int
    state: str
    metrics: Mapping[str, float]
    params: Mapping[str, Any]


@dataclasses.dataclass
class Past:
    """A study of another tool, in the terms of a study file.

    Attributes:
        source: the tool and where it was read from, in words.
        name: of the study there.
        goals: metric and direction.
        space: as in a study file.
        steps: the last step of a trial.
        algorithm: as in a study file.
        more: further keys of the study file.
        rows: by trial and step.
        notes: sentences on what has no equivalent, or was guessed.
    """

    source: str
    name: str
    goals: dict[str, str] = dataclasses.field(default_factory=dict)
    space: dict[str, Any] = dataclasses.field(default_factory=dict)
    steps: int = 1
    algorithm: Any = "auto"
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    rows: list[Row] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def note(self, text: str) -> None:
        """Adds a sentence, once."""
        if text not in self.notes:
            self.notes.append(text)


def interval(low: float, high: float, *, log: bool = False,
             whole: bool = False, step: float | None = None) -> Any:
    """Returns a range as a study file has it; a value if it has one alone.

        >>> interval(1, 8, whole=True, step=1), interval(0.5, 0.5)
        ({'int_uniform': [1, 8]}, 0.5)
        >>> interval(1e-4, 1, log=True), interval(0, 1, step=0.25)
        ({'log_uniform': [0.0001, 1.0]}, {'uniform': [0.0, 1.0], 'step': 0.25})
    """
    kept = int if whole else float
    low, high = kept(low), kept(high)
    if low >= high:
        return low
    kind = f"{'log_' if log else ''}{'int_' if whole else ''}uniform"
    found: dict[str, Any] = {kind: [low, high]}
    if step and not (whole and step == 1):
        found["step"] = kept(step)
    return found


def choice(options: Iterable[Any]) -> dict[str, Any]:
    """Returns a choice; a map or a list is one value."""
    return {"choice": [{"constant": x} if isinstance(x, Mapping) else x
                       for x in options]}


def seen(values: Sequence[Any]) -> Any:
    """Returns a domain of values that trials had, where nothing else is known
    of it: the range of numbers, by their logarithm if it has two decades; a
    choice of words, and of numbers that come back.

        >>> seen([3, 1, 2]), seen([0.1, 0.1]), seen(["a", "b", "a"])
        ({'int_uniform': [1, 3]}, 0.1, {'choice': ['a', 'b']})
        >>> seen([0.5, 0.001]), seen([4, 9, 9, 4])
        ({'log_uniform': [0.001, 0.5]}, {'choice': [4, 9]})
    """
    found: list[Any] = []
    for x in values:
        if not any(type(x) is type(y) and x == y for y in found):
            found.append(x)
    if len(found) == 1:
        return {"constant": found[0]} \
            if isinstance(found[0], (Mapping, list)) else found[0]
    if any(isinstance(x, bool) or not isinstance(x, (int, float))
           or not math.isfinite(x) for x in found):
        return choice(found)
    if len(found) * 2 <= len(values):
        return choice(sorted(found))
    low, high = min(found), max(found)
    whole = all(isinstance(x, int) for x in found)
    return interval(low, high, whole=whole,
                    log=low > 0 and high / low >= _DECADES)


_DECADES = 100.0


def flat(x: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Returns a nested configuration with names joined by dots.

        >>> flat({"net": {"depth": 3}, "lr": 0.1})
        {'net.depth': 3, 'lr': 0.1}
    """
    found: dict[str, Any] = {}
    for name, value in x.items():
        if isinstance(value, Mapping) and value:
            found.update(flat(value, f"{before}{name}."))
        else:
            found[f"{before}{name}"] = value
    return found


# -- writing


def study_file(past: Past) -> str:
    """Returns the text of the study file, which begins with the notes."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", past.name).strip("-._") or "study"
    if name.isdigit():
        name = f"study-{name}"
    if name[:100] != past.name:
        past.note(f"the name {past.name!r} is {name[:100]!r} here")
    goals = [{"metric": metric, "direction": direction}
             for metric, direction in past.goals.items()]
    budget = past.more.get("budget")
    study: dict[str, Any] = {
        "study": name[:100], "workload": {"python": "train.py:train"},
        "objective": goals[0] if len(goals) == 1 else goals,
        "max_steps": max(past.steps, 1), "space": past.space,
        "algorithm": past.algorithm,
        **({"budget": budget} if budget else {}),
        **{key: x for key, x in past.more.items() if key != "budget"}}
    lines = [f"# From {past.source}.",
             "# train.py has no training yet; results.csv has the results "
             "from there."]
    if past.notes:
        lines.append("# Without an equivalent, or guessed:")
    for x in past.notes:
        lines += textwrap.wrap(" ".join(x.split()), 77, initial_indent="# - ",
                               subsequent_indent="#   ",
                               break_long_words=False)
    return "\n".join(lines) + "\n" + write_document(study)


def results_table(past: Past) -> str:
    """Returns the results as CSV (RFC 4180): trial, step, state, a column for
    each metric and a column ``params.NAME`` for each hyper-parameter, as
    texts of a study file; empty: it has none."""
    metrics = list(dict.fromkeys(
        [*past.goals, *(name for x in past.rows for name in x.metrics)]))
    params = list(dict.fromkeys(name for x in past.rows for name in x.params))
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["trial", "step", "state", *metrics,
                    *(f"params.{name}" for name in params)])
    for x in past.rows:
        table.writerow([
            x.trial, x.step, x.state,
            *(_text(x.metrics[name]) if name in x.metrics else ""
              for name in metrics),
            *(_text(x.params[name]) if name in x.params else ""
              for name in params)])
    return out.getvalue()


def _text(x: Any) -> str:
    """A value as it stands in a study file."""
    if isinstance(x, (Mapping, list)):
        return json.dumps(x, ensure_ascii=False)
    return write_document({"x": x}).removeprefix("x:").strip()


def training(past: Past) -> str:
    """Returns the text of `train.py`."""
    metrics = ", ".join(f'"{name}": ...' for name in past.goals)
    names = [x for x in past.space if x.isidentifier()] or ["lr"]
    if past.steps <= 1:
        return (f'"""The training of {past.name}, which is to be written."""\n'
                "\nimport hippo_hpo as hippo\n\n\n@hippo.workload\n"
                f"def train(ctx):\n    # ctx.hp.{names[0]}(0) is a value\n"
                "    raise NotImplementedError(\"train.py: write the training "
                "here\")\n"
                f"    return {{{metrics}}}\n")
    return (f'"""The training of {past.name}, which is to be written."""\n\n'
            "import hippo_hpo as hippo\n\n\n@hippo.workload\n"
            "def train(ctx):\n    state = {}\n"
            "    for step in ctx.steps(state=state):\n"
            f"        # ctx.hp.{names[0]}(step) is a value\n"
            "        raise NotImplementedError(\"train.py: write a step of the "
            "training here\")\n"
            f"        yield lambda: {{{metrics}}}\n")


def write(past: Past, folder: str) -> None:
    """Writes the files of a study into a folder that does not exist or is
    empty.

    Raises:
        InvalidArgument: it has files.
        OSError: it cannot be written.
    """
    os.makedirs(folder, exist_ok=True)
    if found := sorted(os.listdir(folder)):
        raise InvalidArgument(f"{folder} has files already ({found[0]}): give "
                              "a new folder with --to")
    past.rows.sort(key=lambda x: (x.trial, x.step))
    for name, text in (("train.py", training(past)),
                       ("results.csv", results_table(past)),
                       ("study.yaml", study_file(past))):
        path = os.path.join(folder, name)
        with whole_file(path) as part, open(part, "wb") as file:
            file.write(text.encode())


# -- the command


def read(kind: str, sources: list[str], *, study: str | None = None,
         runs: str | None = None) -> Past:
    """Reads a study of another tool.

    Args:
        kind: optuna, ray, wandb, katib or nni.
        sources: paths; for Optuna also the URL of a storage.
        study: Optuna: the name of one of several studies.
        runs: W&B: the file of exported runs.

    Raises:
        InvalidArgument: there is nothing of that sort, or it cannot be read.
    """
    if kind != "katib" and len(sources) != 1:
        raise InvalidArgument(f"{kind}: one path is asked for, found "
                              f"{len(sources)}")
    if kind == "optuna":
        from ._import_optuna import read_optuna

        return read_optuna(sources[0], study)
    if kind == "ray":
        from ._import_ray import read_ray

        return read_ray(sources[0])
    if kind == "wandb":
        from ._import_wandb import read_wandb

        return read_wandb(sources[0], runs)
    if kind == "katib":
        from ._import_katib import read_katib

        return read_katib(sources)
    from ._import_nni import read_nni

    return read_nni(sources[0])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="hippo-import", description="Writes a study file and a table of "
        "results of a study of another tool.")
    parser.add_argument("kind", choices=["optuna", "ray", "wandb", "katib",
                                         "nni"])
    parser.add_argument(
        "source", nargs="+", help="optuna: the URL of a storage, a journal or "
        "an SQLite file; ray, nni: the folder of an experiment; wandb: the "
        "file of a sweep; katib: files of the experiment and its trials")
    parser.add_argument("--study", metavar="NAME",
                        help="optuna: which of several studies")
    parser.add_argument("--runs", metavar="FILE",
                        help="wandb: exported runs, CSV or JSON")
    parser.add_argument("--to", metavar="DIR",
                        help="the folder to write; by default the study's "
                        "name")
    args = parser.parse_args(arguments)
    try:
        past = read(args.kind, args.source, study=args.study, runs=args.runs)
        if not past.goals:
            raise InvalidArgument(f"{past.source} has no objective")
        folder = args.to or re.sub(r"[^A-Za-z0-9_.-]+", "-", past.name)
        write(past, folder)
    except (Error, OSError) as why:
        print(f"hippo-import: {why}", file=sys.stderr)
        return 1
    trials = len({x.trial for x in past.rows})
    print(f"{folder}: {trials} trials, {len(past.rows)} results, "
          f"{len(past.space)} hyper-parameters, {len(past.notes)} notes in "
          "study.yaml")
    return 0


if __name__ == "__main__":
    sys.exit(main())
