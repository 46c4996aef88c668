"""Values of trials for programs that know no schedules.

A schedule is taken apart into its kind (`lr`) and what that has
(`lr.cosine.horizon`), as `hippo importance` does: a number is a `constant`
where other trials have schedules, and lists of up to 8 items are taken apart
by place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .space import RANGES

Scalar = bool | int | float | str | None

# Longer lists are one word.
ITEMS_MAX = 8

# A normal distribution is cut off so many deviations from its mean.
DEVIATIONS_MAX = 4

# What is decided or worked out where it stands.
_LEAVES = (*RANGES, "product")


class Domain:
    """What a hyper-parameter may be.

    Attributes:
        low, high: of its numbers; None: it has none, or they are `choices`.
        log: whether they are drawn by their logarithms.
        whole: whether they are whole.
        step: of which they are multiples, counted from low; None: of none.
        choices: numbers and words, each once; empty: it has a range.
    """

    def __init__(self) -> None:
        self.low: float | None = None
        self.high: float | None = None
        self.log = False
        self.whole = True
        self.step: float | None = None
        self.choices: list[Scalar] = []

    @property
    def is_range(self) -> bool:
        return self.low is not None and not self.choices

    def add_range(self, low: float, high: float, log: bool, whole: bool,
                  step: float | None = None) -> None:
        self.step = step if self.low is None else None
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)
        self.log = log
        self.whole = self.whole and whole

    def add_choice(self, x: Scalar) -> None:
        if not any(type(x) is type(y) and x == y for y in self.choices):
            self.choices.append(x)

    @property
    def shown_choices(self) -> list[Scalar]:
        """`choices`; as JSON where some are equal but to their types, as 1,
        1.0 and True are, since others could not tell them apart."""
        return [self.shown(x) for x in self.choices]

    def shown(self, x: Scalar) -> Scalar:
        """Returns a value that was taken as `shown_choices` has it."""
        return x if len(set(self.choices)) == len(self.choices) \
            else json.dumps(x)

    def take(self, x: Scalar) -> None:
        """Makes room for a value that a trial has."""
        if self.choices or x is None or isinstance(x, (str, bool)):
            if x not in self.choices:
                self.add_choice(x)
        elif self.low is None or self.high is None \
                or not self.low <= x <= self.high:
            self.add_range(x, x, self.log and x > 0, isinstance(x, int))
        elif self.step is not None:
            steps = (x - self.low) / self.step
            if abs(steps - round(steps)) > 1e-8:
                self.step = None


def _add_range(to: Domain, kind: str, x: Mapping[str, Any]) -> None:
    """Adds a range, as a study file has it."""
    first, second = x[kind]
    step = x.get("step")
    log = kind.startswith("log")
    if kind in ("normal", "log_normal"):
        low = first - DEVIATIONS_MAX * second
        high = first + DEVIATIONS_MAX * second
        if log:
            low, high = math.exp(low), math.exp(high)
        if step is not None:  # the nearest multiple
            low, high = low - step / 2, high + step / 2
        to.add_range(low, high, log and low > 0, False)
        return
    if step is not None:  # the last one that is on the range
        steps = math.floor((second - first) / step + 1e-8)
        second = float(f"{first + steps * step:.12g}")  # as hippo rounds
    to.add_range(first, second, log, "int" in kind, step)


def _is_schedule(x: Any) -> bool:
    return isinstance(x, Mapping) and len(x) == 1


def _parts(name: str, x: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(x, Mapping):
        yield from ((f"{name}.{key}", value) for key, value in x.items())
    else:
        yield from ((f"{name}[{i}]", value) for i, value in enumerate(x))


def _schedules(name: str, x: Any) -> Iterator[str]:
    """The names of what is a schedule in these values."""
    if isinstance(x, (Mapping, list)):
        if _is_schedule(x):
            yield name
        for part, value in _parts(name, x):
            yield from _schedules(part, value)


class Flattener:
    """Takes trials of a study apart, all in the same way.

    Args:
        space: of the study file. Its ranges and choices are the domains;
            values beyond them, which clients may ask for, widen those.
    """

    def __init__(self, space: Mapping[str, Any]) -> None:
        self.domains: dict[str, Domain] = {}
        self._known: set[str] = set()
        for name, x in space.items():
            self._find(name, x)
        for name, x in space.items():
            self._walk(name, x)

    def add(self, trials: Iterable[Mapping[str, Any]]
            ) -> list[dict[str, Scalar]]:
        """Returns the values of trials, by name, and widens domains by
        them."""
        trials = list(trials)
        for params in trials:
            for name, x in params.items():
                self._known.update(_schedules(name, x))
        result = []
        for params in trials:
            flat: dict[str, Scalar] = {}
            for name, x in params.items():
                self._flatten(name, x, flat)
            for name, value in flat.items():
                self.domains.setdefault(name, Domain()).take(value)
            result.append(flat)
        return [{name: self.domains[name].shown(value)
                 for name, value in flat.items()} for flat in result]

    def _flatten(self, name: str, x: Any, to: dict[str, Scalar]) -> None:
        if not isinstance(x, (Mapping, list)):
            if name in self._known:
                self._flatten(name, {"constant": x}, to)
            elif isinstance(x, float) and not math.isfinite(x):
                to[name] = str(x)
            else:
                to[name] = x
            return
        if _is_schedule(x):
            to[name] = next(iter(x))
        if isinstance(x, list):
            if len(x) > ITEMS_MAX:
                to[name] = json.dumps(x)
                return
            to[f"{name}.length"] = len(x)
        for part, value in _parts(name, x):
            self._flatten(part, value, to)

    # -- the space: as values, but for what is to be chosen

    @staticmethod
    def _options(x: Any) -> list[Any] | None:
        """What a choice has; None: it is none."""
        if isinstance(x, Mapping) and "choice" in x:
            return [y["value"] if isinstance(y, Mapping) and "value" in y
                    and y.keys() <= {"value", "with"} else y
                    for y in x["choice"]]
        return None

    @staticmethod
    def _brought(x: Any) -> Iterator[tuple[str, Any]]:
        """The hyper-parameters that options of a choice bring with them."""
        if isinstance(x, Mapping) and "choice" in x:
            for y in x["choice"]:
                if isinstance(y, Mapping) and "with" in y:
                    yield from y["with"].items()

    def _find(self, name: str, x: Any) -> None:
        for brought, value in self._brought(x):
            self._find(brought, value)
        options = self._options(x)
        if options is not None:
            for y in options:
                self._find(name, y)
        elif isinstance(x, (Mapping, list)) \
                and not any(key in x for key in _LEAVES):
            if _is_schedule(x):
                self._known.add(name)
            for part, value in _parts(name, x):
                self._find(part, value)

    def _walk(self, name: str, x: Any) -> None:
        for brought, value in self._brought(x):
            self._walk(brought, value)
        options = self._options(x)
        if options is not None:
            for y in options:
                self._walk(name, y)
            return
        kind = next((key for key in _LEAVES if isinstance(x, Mapping)
                     and key in x), None)
        if (kind or not isinstance(x, (Mapping, list))) \
                and name in self._known:
            self._domain(name).add_choice("constant")
            name += ".constant"
        if kind == "product":  # what trials have says what it may be
            self._domain(name).whole = False
        elif kind:
            _add_range(self._domain(name), kind, x)
        elif isinstance(x, (Mapping, list)):
            if _is_schedule(x):
                self._domain(name).add_choice(next(iter(x)))
            if isinstance(x, list):
                if len(x) > ITEMS_MAX:
                    return
                self._domain(f"{name}.length").add_choice(len(x))
            for part, value in _parts(name, x):
                self._walk(part, value)
        else:
            self._domain(name).add_choice(x)

    def _domain(self, name: str) -> Domain:
        return self.domains.setdefault(name, Domain())
