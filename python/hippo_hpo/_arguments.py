"""Says in Python's words what is wrong with what `optimize` is given.

Nothing is guessed here: what is not as it should be raises, with what would be.
"""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .errors import InvalidStudy
from .function import TrainingFunction
from .space import Form, Option, _keyword

__all__ = ["UnknownArgument", "check_space", "direction_of", "goals_of",
           "refuse_unknown", "steps_of"]


class UnknownArgument(TypeError):
    """There is no argument of that name."""


# What other libraries call the arguments.
_ELSEWHERE = {
    "trials": "n_trials num_samples max_trials max_evals n_iter num_trials",
    "seconds": "timeout time_budget_s time_limit max_time max_seconds",
    "objective": "direction directions metric mode maximize minimize goal "
                 "metrics scoring",
    "max_steps": "epochs max_epochs n_epochs num_epochs max_t n_steps "
                 "iterations max_iter num_steps max_resource",
    "trainers": "n_jobs workers num_workers jobs max_parallel n_workers",
    "max_concurrent": "max_concurrent_trials concurrent",
    "algorithm": "sampler pruner scheduler search_alg searcher",
    "name": "study_name experiment_name",
    "state": "storage local_dir storage_path folder",
    "progress": "show_progress_bar verbose",
    "seed": "random_state",
    "repeats": "repeat n_repeats num_repeats seeds num_seeds n_seeds "
               "executions_per_trial",
    "device": "resources resources_per_trial gpus num_gpus gpu",
    "on_error": "catch raise_on_failed_trial fail_fast",
    "space": "config param_space params search_space",
    "client": "address server",
}


def refuse_unknown(call: str, options: Iterable[str],
                   known: Iterable[str]) -> None:
    """Raises UnknownArgument if an option is not among those known."""
    known = list(known)
    for name in options:
        if name in known:
            continue
        right = next((here for here, there in _ELSEWHERE.items()
                      if name in there.split() and here in known), None)
        close = difflib.get_close_matches(name, known, 1)
        hint = f": {right}= is what says that here" if right \
            else f": did you mean {close[0]}=?" if close else ""
        raise UnknownArgument(
            f"{call}() has no argument {name}={hint}\n"
            f"It takes {', '.join(known)}")


# -- objectives ---------------------------------------------------------------

# What is less in better trials, and what is more: names whose direction nobody
# asks about. All others have to be given one.
_LESS = """loss|error|err|error rate|mse|rmse|mae|mape|rmsle|msle|nll|perplexity
ppl|cross entropy|crossentropy|log loss|logloss|brier|wer|cer|fid
negative log likelihood|mean squared error|mean absolute error
root mean squared error|bits per byte|bits per character|bpb|bpc"""
_MORE = """accuracy|acc|auc|auroc|roc auc|auprc|pr auc|average precision
auc roc|precision|recall|f1|f1 score|accuracy score|auc score|r2|r2 score|iou|miou|dice
bleu|mcc|psnr|ssim|ndcg|specificity|sensitivity"""
_KNOWN = {tuple(x.split()): direction
          for direction, names in (("minimize", _LESS), ("maximize", _MORE))
          for x in re.split(r"[|\n]", names)}

# What says of which data, or which mean, and nothing of the direction.
_ASIDE = frozenset(
    "train training val valid validation test testing eval evaluation dev cv "
    "holdout mean avg average total final last epoch step running smoothed "
    "macro micro weighted binary multiclass balanced top top1 top3 top5 top10 "
    "k at token word pixel sequence per class of set".split())


def direction_of(metric: str) -> str | None:
    """The direction that a metric's name tells, "minimize" or "maximize"; None
    if it does not.

        >>> direction_of("val_loss"), direction_of("validation/top5-Accuracy")
        ('minimize', 'maximize')
        >>> direction_of("score"), direction_of("neg_loss")
        (None, None)
    """
    words = [x.lower() for x in
             re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+", metric)]
    found = set()
    while words:
        for length in (3, 2, 1):
            if direction := _KNOWN.get(tuple(words[:length])):
                found.add(direction)
                words = words[length:]
                break
        else:
            word = words.pop(0)
            if word not in _ASIDE and not word.isdigit():
                return None
    return found.pop() if len(found) == 1 else None


_DIRECTIONS = ("minimize", "maximize")


def _loops(train: Any) -> bool:
    """Whether code trains steps; else it is a function that returns a value."""
    return not isinstance(train, TrainingFunction) \
        or inspect.isgeneratorfunction(train.function)


def goals_of(objective: Any, train: Any, *, strict: bool = True
             ) -> dict[str, str]:
    """The direction of each metric that an objective names.

    Args:
        strict: whether directions matter; else what is not given may be any.

    Raises:
        InvalidStudy: it names none, or one whose direction is not given.
    """
    returns = not _loops(train)
    if objective is None and returns:
        return {"value": "minimize"}
    if objective is None or objective == {}:
        raise InvalidStudy(_without_objective(train, returns))
    if isinstance(objective, str):
        if returns and objective in _DIRECTIONS:
            return {"value": objective}
        direction = direction_of(objective) or (None if strict else "maximize")
        if direction is None:
            raise InvalidStudy(
                f"objective={objective!r}: say whether more or less of it is "
                f"better: objective={{{objective!r}: \"maximize\"}} or "
                f"{{{objective!r}: \"minimize\"}}. Only names such as loss, "
                "error, accuracy, auc and f1 say it themselves")
        return {objective: direction}
    if not isinstance(objective, Mapping):
        raise InvalidStudy(
            f"objective={_short(objective)}: a metric and its direction are a "
            f"map, {_as_map(objective)}")
    for metric, direction in objective.items():
        if not isinstance(metric, str):
            raise InvalidStudy(f"objective: {_short(metric)} is no metric's "
                               "name")
        if direction not in _DIRECTIONS:
            right = _meant(direction)
            raise InvalidStudy(
                f"objective: the direction of {metric!r} is "
                f"{_short(direction)}: " + (
                    f"write {right!r}" if right
                    else "write \"minimize\" or \"maximize\""))
    return dict(objective)


def _without_objective(train: Any, returns: bool) -> str:
    name = getattr(train, "__name__", "it")
    if returns:
        return ("objective is not given: say whether more or less is better of "
                f"what {name} returns, objective=\"minimize\" or "
                "\"maximize\"; of a map, objective={\"loss\": \"minimize\"}")
    return ("objective is not given: name the metric that "
            f"{name} measures and say whether more or less of it is better, "
            "objective={\"loss\": \"minimize\"}")


def _meant(direction: Any) -> str | None:
    word = str(getattr(direction, "name", direction)).lower()
    if word.startswith(("min", "low", "less", "small")):
        return "minimize"
    if word.startswith(("max", "high", "more", "great")):
        return "maximize"
    return None


def _as_map(objective: Any) -> str:
    if isinstance(objective, (list, tuple)) \
            and all(isinstance(x, str) for x in objective):
        meant = [_meant(x) for x in objective]
        if len(objective) == 2 and meant[1] and not meant[0]:
            return f"objective={{{objective[0]!r}: {meant[1]!r}}}"
        pairs = ", ".join(f"{x!r}: {direction_of(x) or 'maximize'!r}"
                          for x in objective)
        if pairs:
            return f"such as objective={{{pairs}}}"
    return "objective={\"loss\": \"minimize\"}"


def against_its_name(goals: Mapping[str, str]) -> list[str]:
    """Sentences on metrics that are to go the other way than their names
    say."""
    return [f"{metric} is to be {direction[:-1]}ed, as objective= says, though "
            f"its name says otherwise"
            for metric, direction in goals.items()
            if direction_of(metric) not in (None, direction)]


# -- steps --------------------------------------------------------------------


def steps_of(train: Any, steps: Any) -> int | Form:
    """How far a trial is trained: a number, or a choice or range of such.

    Raises:
        InvalidStudy: that is not given and not known, or cannot be so.
    """
    loops = _loops(train)
    name = getattr(train, "__name__", "it")
    if steps is None:
        if not loops:
            return 1
        what = f"{name} yields at the end of each step" \
            if isinstance(train, TrainingFunction) else f"{name} trains steps"
        raise InvalidStudy(f"max_steps is not given: {what}, so say how many "
                           "a trial is trained, max_steps=12")
    if isinstance(steps, Form) and loops:
        return steps
    if isinstance(steps, bool) or not hasattr(type(steps), "__index__") \
            or int(steps) < 1:
        raise InvalidStudy(f"max_steps={_short(steps)}: must be a whole "
                           "number, 1 or more")
    if int(steps) > 1 and not loops:
        raise InvalidStudy(
            f"max_steps={int(steps)}, but {name} has no `yield`, so that it is "
            "one step: train in a loop, `for step in ctx.steps(model=model, "
            "opt=opt)`, and end each turn with `yield lambda: {\"loss\": "
            "...}`; or leave max_steps= out")
    return int(steps)


# -- spaces -------------------------------------------------------------------


def check_space(space: Any) -> None:
    """Looks for what no study file can have.

    Raises:
        InvalidStudy: with all that is wrong, one a line.
    """
    if callable(space) and not isinstance(space, Mapping):
        raise InvalidStudy(
            "space is a function: Hippo has to know the space before it "
            "trains, so write it as a map, {\"lr\": log_uniform(1e-4, 0.1)}")
    if not isinstance(space, Mapping):
        raise InvalidStudy(f"space is {_short(space)}: must be a map of "
                           "hyper-parameters by name, {\"lr\": "
                           "log_uniform(1e-4, 0.1)}")
    found = []
    for name, x in space.items():
        if not isinstance(name, str):
            found.append(f"space: {_short(name)} is no name: must be a str")
        elif isinstance(x, (list, tuple, set, frozenset, range)) \
                or _is_array(x):
            found.append(f"space[{name!r}] is {_article(x)}: "
                         + _instead_of_several(x))
        else:
            found += _findings(f"space[{name!r}]", x)
    if found:
        raise InvalidStudy("\n".join(found))


def _findings(where: str, x: Any) -> Iterator[str]:
    if isinstance(x, Form):
        for key, y in x.body.items() if isinstance(x.body, Mapping) else ():
            yield from _findings(f"{where}: {x.name}({_keyword(key)}=)", y)
        if not isinstance(x.body, Mapping):
            for y in x.body if isinstance(x.body, list) else [x.body]:
                yield from _findings(f"{where}: {x.name}()", y)
        return
    if isinstance(x, Option):
        yield from _findings(f"{where}: option()", x.value)
        for key, y in x.brings.items():
            yield from _findings(f"{where}: option({key}=)", y)
        return
    if isinstance(x, Mapping):
        for key, y in x.items():
            yield from _findings(f"{where}[{key!r}]", y)
        return
    if isinstance(x, (list, tuple)):
        for y in x:
            yield from _findings(where, y)
        return
    if (why := _why_no_value(x)) is not None:
        yield f"{where} {why}"


def _why_no_value(x: Any) -> str | None:
    """What to write in place of what is no value; None: it is one, or may be
    for all that is known here."""
    if isinstance(x, float) and not math.isfinite(x):
        return f"is {x!r}: must be a finite number"
    module = type(x).__module__.partition(".")[0]
    if module == "optuna":
        return f"is {x!r} of Optuna: write {_from_optuna(x)}"
    if module == "ray":
        return (f"is a {type(x).__name__} of Ray Tune: write uniform(), "
                "log_uniform(), int_uniform() or choice() of hippo_hpo")
    if type(x).__module__.startswith("scipy.stats"):
        return ("is a distribution of SciPy: write uniform(low, high), "
                "log_uniform(low, high) or int_uniform(low, high)")
    if module in ("hyperopt", "skopt", "ConfigSpace"):
        return (f"is a {type(x).__name__} of {module}: write uniform(), "
                "log_uniform(), int_uniform() or choice() of hippo_hpo")
    if inspect.isclass(x) or callable(x):
        name = getattr(x, "__name__", type(x).__name__)
        name = "a lambda" if name == "<lambda>" else f"{name}, a " + (
            "class" if inspect.isclass(x) else "function")
        return (f"is {name}: a space has values, choices, ranges and "
                "schedules; name what is to be called by a str and look it up "
                "in the training code. What goes with an option alone is "
                "option(\"sgd\", momentum=...)")
    if isinstance(x, (set, frozenset, range)) or inspect.isgenerator(x):
        return f"is {_article(x)}: " + _instead_of_several(x)
    if x is None or isinstance(x, (numbers.Real, str)) or hasattr(x, "item"):
        return None
    return (f"is {_article(x)}, {_short(x)}: must be a number, a word, a "
            "schedule, a choice or a range")


def _from_optuna(x: Any) -> str:
    low, high = getattr(x, "low", None), getattr(x, "high", None)
    kind = type(x).__name__
    if hasattr(x, "choices"):
        return f"choice({', '.join(map(repr, x.choices))})"
    name = "int_uniform" if kind.startswith("Int") \
        else "log_uniform" if getattr(x, "log", False) or "Log" in kind \
        else "uniform"
    return f"{name}({low!r}, {high!r})"


def _is_array(x: Any) -> bool:
    return hasattr(x, "__array__") and bool(getattr(x, "shape", ()))


def _article(x: Any) -> str:
    name = type(x).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _instead_of_several(x: Any) -> str:
    if isinstance(x, range) and x.step == 1 and len(x) > 1:
        return (f"write int_uniform({x.start}, {x.stop - 1}) for any whole "
                "number of these")
    values: list[Any] = []
    if _is_array(x):
        values = x.tolist()
    elif isinstance(x, (list, tuple, set, frozenset, range)):
        values = list(x)
    shown = ", ".join(map(_short, values[:4])) + (
        ", ..." if len(values) > 4 else "")
    return (f"write choice({shown}) for one of these"
            + (f", uniform({values[0]!r}, {values[1]!r}) for a range"
               if len(values) == 2 and all(
                   isinstance(y, (int, float)) for y in values)
               and values[0] < values[1] else ""))


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


# -- the rest -----------------------------------------------------------------


def refuse_others(options: Mapping[str, Any]) -> None:
    """Looks at the rest of what `optimize` takes.

    Raises:
        InvalidStudy: one has a value that it cannot have.
    """
    algorithm = options.get("algorithm", "auto")
    if not isinstance(algorithm, (str, Mapping)):
        kind = (algorithm if inspect.isclass(algorithm)
                else type(algorithm)).__name__
        known = {"TPESampler": "tpe", "GPSampler": "gp", "GridSampler": "grid",
                 "RandomSampler": "random", "NSGAIISampler": "nsga2",
                 "SuccessiveHalvingPruner": "asha", "MedianPruner": "median",
                 "HyperbandPruner": "hyperband", "ASHAScheduler": "asha",
                 "AsyncHyperBandScheduler": "asha",
                 "HyperBandScheduler": "hyperband",
                 "PopulationBasedTraining": "pbt",
                 "MedianStoppingRule": "median", "OptunaSearch": "tpe"}
        raise InvalidStudy(
            f"algorithm={_short(algorithm)}: must be a name or a map with one "
            f"key, algorithm={known.get(kind, 'tpe')!r}, or "
            "{\"asha\": {\"eta\": 3, \"min\": 1}}")
    trials = options.get("trials")
    if trials is not None and (isinstance(trials, bool)
                               or not hasattr(type(trials), "__index__")
                               or int(trials) < 1):
        raise InvalidStudy(f"trials={_short(trials)}: must be a whole number, "
                           "1 or more")
    for name in ("seconds", "device_hours"):
        x = options.get(name)
        if x is not None and not (isinstance(x, numbers.Real)
                                  and not isinstance(x, bool) and float(x) > 0):
            raise InvalidStudy(f"{name}={_short(x)}: must be a number above 0")
    if options.get("on_error") not in (None, "end", "pause", "continue"):
        raise InvalidStudy(
            f"on_error={_short(options['on_error'])}: must be \"end\", "
            "\"continue\" or \"pause\"")


def refuse_service(client: Any, trainers: Any) -> None:
    """Looks at which service is to be used.

    Raises:
        InvalidStudy: it is none.
    """
    if isinstance(client, str):
        raise InvalidStudy(f"client={client!r}: must be a client, "
                           f"client=hippo.connect({client!r})")
    if client is not None and not hasattr(client, "submit"):
        raise InvalidStudy(f"client={_short(client)}: must be what "
                           "hippo.connect() returns")
    if trainers != "auto" and (isinstance(trainers, (bool, str))
                               or not hasattr(type(trainers), "__index__")
                               or int(trainers) < 1):
        raise InvalidStudy(f"trainers={_short(trainers)}: must be a whole "
                           "number, 1 or more, or \"auto\"")
