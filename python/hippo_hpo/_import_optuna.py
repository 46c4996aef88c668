"""Studies of Optuna's storages, read by Optuna itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidArgument
from .importing import Past, Row, choice, interval

_STATES = {"RUNNING": "RUNNING", "WAITING": "PENDING", "COMPLETE": "COMPLETE",
           "PRUNED": "PRUNED", "FAIL": "FAILED"}


def read_optuna(source: str, name: str | None) -> Past:
    """Reads a study.

    Args:
        source: a URL, or the path of a journal or of an SQLite file.
        name: None: the only one.

    Raises:
        InvalidArgument: Optuna is not installed, there is no such study, or
            several.
    """
    try:
        import optuna
    except ImportError as why:
        raise InvalidArgument(
            f"Optuna is needed to read its storages: {why}. Install it with "
            "pip install 'hippo-hpo[optuna]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = _storage(source)
    try:
        known = [str(x) for x in optuna.get_all_study_names(storage)]
    except Exception as why:  # of whatever lies below the storage
        raise InvalidArgument(f"{source} cannot be read by Optuna "
                              f"{optuna.__version__}: {why}") from None
    if name is None and len(known) != 1:
        raise InvalidArgument(
            f"{source} has {len(known)} studies: "
            + (f"choose one with --study: {', '.join(sorted(known)[:20])}"
               if known else "there is nothing to be read"))
    if name is not None and name not in known:
        raise InvalidArgument(f"{source} has no study {name!r}; it has: "
                              f"{', '.join(sorted(known)[:20])}")
    return _past(optuna.load_study(study_name=name or known[0],
                                   storage=storage), source)


def _storage(source: str) -> Any:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    if "://" in source:
        return source
    if not os.path.isfile(source):
        raise InvalidArgument(f"there is no file {source}: give the URL of a "
                              "storage, or the path of a journal or of an "
                              "SQLite file")
    with open(source, "rb") as file:
        is_sqlite = file.read(16) == b"SQLite format 3\0"
    if is_sqlite:
        return f"sqlite:///{os.path.abspath(source)}"
    return optuna.storages.JournalStorage(JournalFileBackend(source))


def _past(study: Any, source: str) -> Past:
    past = Past(f"Optuna's study {study.study_name!r} of {_without_word(source)}",
                study.study_name)
    trials = study.get_trials(deepcopy=False)
    names = study.metric_names or (
        ["value"] if len(study.directions) == 1
        else [f"value_{i}" for i in range(len(study.directions))])
    past.goals = {metric: direction.name.lower()
                  for metric, direction in zip(names, study.directions)}
    past.space = _space(past, trials, list(dict.fromkeys(
        name for x in trials for name in x.distributions)))
    _add_rows(past, trials)
    _choose_algorithm(past, trials)
    past.more["budget"] = {"trials": max(len(trials), 1)}
    if study.user_attrs:
        past.note(f"user attributes of the study: "
                  f"{', '.join(sorted(study.user_attrs))}")
    if attrs := sorted({name for x in trials for name in x.user_attrs}):
        past.note(f"user attributes of trials: {', '.join(attrs)}")
    if any("constraints" in x.system_attrs for x in trials):
        past.note("constraints, whose values Optuna keeps without names: write "
                  "them as `constraints` of metrics")
    if any("fixed_params" in x.system_attrs for x in trials):
        past.note("that some trials were enqueued with given values")
    return past


def _without_word(url: str) -> str:
    """A URL without its password."""
    head, at, rest = url.rpartition("@")
    scheme, mark, _ = head.partition("://")
    return f"{scheme}{mark}...{at}{rest}" if at and mark else url


# -- the space


def _space(past: Past, trials: Sequence[Any], names: Sequence[str]
           ) -> dict[str, Any]:
    """The space of the parameters `names`, of which each trial has some. A
    parameter that only some have hangs on the option of another one, which
    all of these have."""
    space: dict[str, Any] = {}
    always = [name for name in names
              if all(name in x.distributions for x in trials)]
    owner: dict[str, tuple[str, list[Any]]] = {}
    rest = [name for name in names if name not in always]
    for name in rest:
        if (found := _decides(trials, always, name)) is not None:
            owner[name] = found
    while (found_deeper := [(name, other) for name in rest
                            if name not in owner for other in owner
                            if _is_within(trials, other, name)]):
        name, other = found_deeper[0]
        owner[name] = owner[other]
    for name in rest:
        if name not in owner:
            some = sum(name in x.distributions for x in trials)
            past.note(f"{name}, which only {some} of {len(trials)} trials have "
                      "without one choice that decides it: it is in all trials "
                      "here")
            always.append(name)
    for name in names:
        if name not in always:
            continue
        mine = [x for x in owner if owner[x][0] == name]
        domain = _domain(past, name, [x.distributions[name] for x in trials
                                      if name in x.distributions])
        space[name] = _with_brought(past, trials, name, domain, mine, owner) \
            if mine else domain
    return space


def _decides(trials: Sequence[Any], always: Sequence[str], name: str
             ) -> tuple[str, list[Any]] | None:
    """The parameter whose options decide whether a trial has another one, and
    these options."""
    for other in always:
        if any(not hasattr(x.distributions.get(other), "choices")
               for x in trials):
            continue
        having = [x.params[other] for x in trials if name in x.distributions]
        missing = [x.params[other] for x in trials
                   if name not in x.distributions]
        options = [x for i, x in enumerate(having)
                   if not _is_in(x, having[:i])]
        if not any(_is_in(x, missing) for x in options):
            return other, options
    return None


def _is_within(trials: Sequence[Any], other: str, name: str) -> bool:
    """Whether, of the trials that have `other`, its options decide which have
    `name` too, and no others have it."""
    part = [x for x in trials if other in x.distributions]
    return all(name not in x.distributions or other in x.distributions
               for x in trials) and _decides(part, [other], name) is not None


def _is_in(x: Any, values: Sequence[Any]) -> bool:
    return any(type(x) is type(y) and x == y for y in values)


def _with_brought(past: Past, trials: Sequence[Any], name: str, domain: Any,
                  mine: Sequence[str],
                  owner: Mapping[str, tuple[str, list[Any]]]) -> Any:
    """A choice whose options bring other parameters."""
    options: list[Any] = []
    for option in domain["choice"]:
        value = option["constant"] if isinstance(option, Mapping) else option
        brought = [x for x in mine if _is_in(value, owner[x][1])]
        if not brought:
            options.append(option)
            continue
        part = [x for x in trials if _is_in(x.params[name], [value])]
        options.append({"value": option,
                        "with": _space(past, part, brought)})
    return {"choice": options}


def _domain(past: Past, name: str, distributions: Sequence[Any]) -> Any:
    first = distributions[0]
    if hasattr(first, "choices"):
        options: list[Any] = []
        for x in distributions:
            options += [y for y in x.choices if not _is_in(y, options)]
        return choice(options)
    low = min(x.low for x in distributions)
    high = max(x.high for x in distributions)
    if any(x != first for x in distributions):
        past.note(f"that the range of {name} changed from trial to trial: it "
                  "is the union here")
    whole = type(first).__name__ == "IntDistribution"
    return interval(low, high, log=first.log, whole=whole, step=first.step)


# -- results and algorithm


def _add_rows(past: Past, trials: Sequence[Any]) -> None:
    steps = [step for x in trials for step in x.intermediate_values]
    shift = 1 if steps and min(steps) <= 0 else 0
    if shift:
        shift = 1 - min(steps)
        past.note(f"steps that begin with {min(steps)}: they begin with 1 here")
    past.steps = max(steps, default=1 - shift) + shift
    metric = next(iter(past.goals))
    reported = metric
    if any(x.state.name == "COMPLETE" and x.intermediate_values
           and x.value != x.intermediate_values[max(x.intermediate_values)]
           for x in trials) and len(past.goals) == 1:
        reported = "intermediate"
        while reported in past.goals:
            reported += "_value"
        past.note("that values reported by step are others than the value of "
                  f"the trial: they are the metric {reported} here")
    for x in trials:
        measured: dict[int, dict[str, float]] = {
            step + shift: {reported: float(y)}
            for step, y in x.intermediate_values.items()}
        last = max(measured, default=past.steps)
        if x.values is not None:
            measured.setdefault(last, {}).update(
                (name, float(y)) for name, y in zip(past.goals, x.values))
        state = _STATES[x.state.name]
        if not measured:
            past.rows.append(Row(x.number, 0, state, {}, x.params))
        for step, metrics in sorted(measured.items()):
            past.rows.append(Row(x.number, step, state, metrics, x.params))


def _choose_algorithm(past: Past, trials: Sequence[Any]) -> None:
    attrs = {name for x in trials for name in x.system_attrs}
    sampler = "tpe"
    if len(past.goals) > 1 or any(x.startswith("nsga") for x in attrs):
        sampler = "nsga2" if len(past.goals) > 1 else "tpe"
    elif "grid_id" in attrs:
        sampler = "grid"
    if any(x.startswith("cma:") for x in attrs):
        past.note("the sampler CMA-ES: tpe stands for it")
    elif sampler != "grid":
        past.note("the sampler, which Optuna does not store: it is "
                  f"{sampler} here")
    pruned = any(x.state.name == "PRUNED" for x in trials)
    if any(x.startswith("completed_rung_") for x in attrs):
        past.algorithm = {"asha": {"eta": 4, "min": 1, "sampler": sampler}}
        past.note("min_resource and reduction_factor of the pruner: min and "
                  "eta of asha have Optuna's defaults, 1 and 4")
    elif pruned:
        past.algorithm = {"median": {"sampler": sampler}}
        past.note("the pruner, which Optuna does not store: it is the median "
                  "rule here")
    else:
        past.algorithm = sampler
