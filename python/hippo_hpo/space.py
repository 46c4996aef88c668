"""Search spaces as objects: the `space` of a study file.

    space = {
        "lr": choice(constant(0.1),
                     multistep(0.1, [6, choice(9, 10)], 0.1),
                     warmup(2, 0.01, 0.1, then=cosine(10, end=0.001))),
        "batch_size": choice(64, 128),
        "optimizer": choice(option("sgd", momentum=choice(0.8, 0.9)),
                            option("adamw")),
        "weight_decay": log_uniform(1e-5, 1e-3, points=5)}

A `choice` or a range may replace any value, also in a list. docs/sequences.md
has the values of each sequence, step by step.
"""

from __future__ import annotations

import decimal
import enum
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import InvalidArgument

__all__ = ["Form", "Option", "choice", "constant", "cosine", "cosine_restarts",
           "cyclic", "exponential", "from_plain", "int_uniform",
           "inverse_sqrt", "join", "linear", "log_int_uniform", "log_normal",
           "log_uniform", "multistep", "normal", "one_cycle", "option",
           "percent", "piecewise", "plain", "polynomial", "product",
           "reduce_on_plateau", "rex", "simplex", "step", "uniform", "warmup",
           "wsd"]

# The ranges, as a study file names them, and the keys that may stand beside
# these.
RANGES = ("uniform", "log_uniform", "int_uniform", "log_int_uniform", "normal",
          "log_normal")
_BESIDE = frozenset({"points", "step"})


class Form:
    """A sequence, a choice or a range; the functions below create it.

    Two forms are equal if they are written alike.

        >>> warmup(2, 0.01, 0.1, then=cosine(10))
        warmup(steps=2, from_=0.01, to=0.1, then=cosine(horizon=10))
        >>> cosine(10) == cosine(horizon=10), choice(1) == choice(1.0)
        (True, False)

    Attributes:
        name: its key in a study file.
        body: the value of that key: a value, a list or a map.
        more: further keys of a range.
    """

    def __init__(self, name: str, body: Any,
                 more: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.body = body
        self.more = dict(more or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and _alike(self, other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        if isinstance(self.body, dict):
            parts = [f"{_keyword(k)}={v!r}" for k, v in self.body.items()]
        elif self.name in ("choice", "join", "piecewise", "product", *RANGES):
            parts = [repr(x) for x in self.body]
        else:
            parts = [repr(self.body)]
        parts += [f"{k}={v!r}" for k, v in self.more.items()]
        return f"{self.name}({', '.join(parts)})"


class Option:
    """An option of a choice that adds further hyper-parameters."""

    def __init__(self, value: Any, brings: Mapping[str, Any]) -> None:
        self.value = value
        self.brings = dict(brings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Option) and _alike(self, other)

    def __hash__(self) -> int:
        return hash(tuple(self.brings))

    def __repr__(self) -> str:
        parts = [repr(self.value)]
        parts += [f"{k}={v!r}" for k, v in self.brings.items()]
        return f"option({', '.join(parts)})"


# Parameters of sequences whose names Python keeps for itself.
_RESERVED = {"from": "from_"}


def _keyword(name: str) -> str:
    return _RESERVED.get(name, name)


def _form(kind: str, /, **parameters: Any) -> Form:
    """A sequence whose parameters are a map; None leaves one out."""
    return Form(kind, {name: x for name, x in parameters.items()
                       if x is not None})


# How deep values may be nested, as the service has it.
_DEPTH_MAX = 64


def plain(x: Any, path: str = "") -> Any:
    """Returns a value or a space as a study file has it: maps, lists,
    numbers, strings, booleans and None. Values of NumPy and the like become
    numbers, strings or lists, an enumerator its value, a `Decimal` or
    `Fraction` the nearest float, a path its text.

        >>> plain({"lr": choice(0.1, multistep(0.1, [6], 0.5))})["lr"]["choice"]
        [0.1, {'multistep': {'initial': 0.1, 'milestones': [6], 'gamma': 0.5}}]

    Args:
        path: its name in messages.

    Raises:
        InvalidArgument: a study file cannot have one of the values.
    """
    return _plain(x, path, _leaf, 0)


def _plain(x: Any, path: str, leaf: Callable[[Any, str], Any], depth: int
           ) -> Any:
    def deeper(y: Any, key: str) -> Any:
        return _plain(y, f"{path}{key}".removeprefix("."), leaf, depth + 1)

    if depth > _DEPTH_MAX:
        raise InvalidArgument(f"{path[:80]} is nested more than {_DEPTH_MAX} "
                              "levels deep")
    if isinstance(x, Form):
        return {x.name: deeper(x.body, f".{x.name}"),
                **{_key(name, path): deeper(y, f".{name}")
                   for name, y in x.more.items()}}
    if isinstance(x, Option):
        brings = {"with": deeper(x.brings, ".with")} if x.brings else {}
        return {"value": deeper(x.value, ".value"), **brings}
    if isinstance(x, Mapping):
        return {_key(name, path): deeper(y, f".{name}")
                for name, y in x.items()}
    if isinstance(x, Sequence) and not isinstance(
            x, (str, bytes, bytearray, memoryview)):
        return [deeper(y, f"[{i}]") for i, y in enumerate(x)]
    if type(x) in (float, int, str, bool) or x is None:
        return leaf(x, path)
    for name in ("tolist", "item"):  # of numpy, torch and others
        if callable(get := getattr(x, name, None)) \
                and not isinstance(x, type):
            found = get()
            if type(found) is not type(x):
                return _plain(found, path, leaf, depth)
    return leaf(x, path)


def _key(x: Any, path: str) -> str:
    if isinstance(x, str):
        return str(_leaf(x, path))
    raise InvalidArgument(f"{path or 'a map'}: the key {x!r} is a "
                          f"{type(x).__name__}: a key must be a word")


def _leaf(x: Any, path: str) -> Any:
    """A number, a word, a truth value or None of exactly these types."""
    if isinstance(x, enum.Enum):
        value = x.value
        if x != value:
            raise _refused(x, path, f": give its value, {value!r}")
        x = value
    if isinstance(x, os.PathLike):
        x = os.fspath(x)
    if x is None or isinstance(x, bool):
        return x
    if isinstance(x, int):
        if not -2**63 <= x < 2**64:
            raise InvalidArgument(f"{path or 'a value'}: {x} has more than 64 "
                                  "bits: give a float, or a word")
        return int(x)
    if isinstance(x, (numbers.Real, decimal.Decimal)):
        return float(x)
    if isinstance(x, str):
        try:
            x.encode()
        except UnicodeEncodeError:
            raise InvalidArgument(f"{path or 'a value'}: {x!r} cannot be "
                                  "written as UTF-8") from None
        return str.__str__(x)
    raise _refused(x, path, "")


def _refused(x: Any, path: str, more: str) -> InvalidArgument:
    shown = repr(x)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return InvalidArgument(
        f"{path or 'a value'}: {shown} is a {type(x).__name__}, where a "
        f"number, a word, a truth value, None, a list or a map may be{more}")


def _alike(x: Any, y: Any) -> bool:
    """Whether two are written alike: 1, 1.0 and True are not."""
    def same(a: Any, b: Any) -> bool:
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(same, a, b))
        return type(a) is type(b) and (a is b or repr(a) == repr(b))

    def any_leaf(a: Any, path: str) -> Any:
        try:
            return _leaf(a, path)
        except InvalidArgument:
            return a  # what only `SearchCV` takes
    return same(_plain(x, "", any_leaf, 0), _plain(y, "", any_leaf, 0))


def from_plain(x: Any) -> Any:
    """Returns the objects for a value of a study file; the inverse of `plain`.

        >>> from_plain({"log_uniform": [1e-5, 1e-3], "points": 5})
        log_uniform(1e-05, 0.001, points=5)
        >>> from_plain({"uniform": [0, 1], "step": 0.1})
        uniform(0, 1, step=0.1)
    """
    if isinstance(x, list):
        return [from_plain(y) for y in x]
    if not isinstance(x, dict):
        return x
    if "value" in x and x.keys() <= {"value", "with"} \
            and isinstance(x.get("with", {}), dict):
        return Option(from_plain(x["value"]),
                      {k: from_plain(v) for k, v in x.get("with", {}).items()})
    # `step` is a sequence as well.
    found = x.keys() & set(RANGES) or x.keys() & _NAMES
    beside = _BESIDE if found <= {*RANGES, "simplex"} else frozenset()
    if len(found) != 1 or not x.keys() - found <= beside:
        return {name: from_plain(y) for name, y in x.items()}
    name = found.pop()
    body = x[name]
    inner = {k: from_plain(v) for k, v in body.items()} \
        if isinstance(body, dict) and name != "constant" else from_plain(body)
    return Form(name, inner, {k: v for k, v in x.items() if k != name})


# -- choices and ranges


def choice(*options: Any) -> Form:
    """One of the options, each equally likely.

        >>> choice(64, 128)
        choice(64, 128)
        >>> choice([64, 128])
        Traceback (most recent call last):
        TypeError: choice() takes options one by one: choice(*options)

    Raises:
        TypeError: there are no options, or they are given as one list.
    """
    if not options:
        raise TypeError("choice() of nothing: give what to choose from")
    if len(options) == 1 and isinstance(options[0], (list, tuple)):
        raise TypeError("choice() takes options one by one: choice(*options)")
    return Form("choice", list(options))


def option(value: Any, /, **brings: Any) -> Option:
    """An option of a `choice` that adds further hyper-parameters.

        >>> plain(choice(option("sgd", momentum=0.9), option("adamw")))
        {'choice': [{'value': 'sgd', 'with': {'momentum': 0.9}}, \
{'value': 'adamw'}]}
    """
    return Option(value, brings)


def _range(name: str, first: float, second: float, points: int | None,
           step: float | None = None) -> Form:
    beside = {"points": points, "step": step}
    return Form(name, [first, second],
                {key: x for key, x in beside.items() if x is not None})


def uniform(low: float, high: float, points: int | None = None,
            step: float | None = None) -> Form:
    """A number from low to high, both included. With `points`, one of that
    many evenly spaced numbers; with `step`, one of low, low + step, ... Trials
    share training for equal values only, so use one of the two if values act
    from the first step on.

        >>> uniform(0, 1, step=0.1)
        uniform(0, 1, step=0.1)
    """
    return _range("uniform", low, high, points, step)


def log_uniform(low: float, high: float, points: int | None = None) -> Form:
    """A number from low to high, each decade equally likely. With `points`, one
    of that many numbers of equal ratios."""
    return _range("log_uniform", low, high, points)


def int_uniform(low: int, high: int, points: int | None = None,
                step: int | None = None) -> Form:
    """An integer from low to high, both included. With `points`, one of that
    many evenly spaced integers; with `step`, one of low, low + step, ..."""
    return _range("int_uniform", low, high, points, step)


def log_int_uniform(low: int, high: int, points: int | None = None) -> Form:
    """An integer from low to high, drawn by its logarithm. With `points`, one
    of at most that many integers of equal ratios."""
    return _range("log_int_uniform", low, high, points)


def normal(mean: float, deviation: float, points: int | None = None,
           step: float | None = None) -> Form:
    """A number of a normal distribution, at most four deviations from its mean.
    With `points`, one of that many equally likely numbers; with `step`, a
    multiple of it."""
    return _range("normal", mean, deviation, points, step)


def log_normal(mean: float, deviation: float, points: int | None = None,
               step: float | None = None) -> Form:
    """A number whose natural logarithm is normally distributed. Mean and
    deviation are those of the logarithm."""
    return _range("log_normal", mean, deviation, points, step)


# -- values made of others


def product(*factors: Any) -> Form:
    """The product of numbers, ranges, and values of the same trial. A name is
    that of a hyper-parameter, or of a number in its sequence.

        >>> plain(product("lr", 0.1))
        {'product': ['lr', 0.1]}
        >>> product("lr.linear.from", uniform(0.01, 1))
        product('lr.linear.from', uniform(0.01, 1))
    """
    return Form("product", list(factors))


def simplex(*names: str, points: int | None = None, **shares: Any) -> Form:
    """Hyper-parameters that are shares of 1, all shares equally likely; with
    `points`, those of a grid of that many values of each. Its own name in the
    space is no hyper-parameter.

        >>> plain({"mix": simplex("web", "code")})
        {'mix': {'simplex': {'web': 'share', 'code': 'share'}}}
        >>> simplex(web=piecewise((0, 1), ("90%", "share")),
        ...         code=piecewise((0, 0), ("90%", "share")), points=11)
        simplex(web=piecewise([0, 1], ['90%', 'share']), \
code=piecewise([0, 0], ['90%', 'share']), points=11)

    Args:
        names: hyper-parameters whose value is their share.
        points: the number of values of each share; None: any.
        shares: hyper-parameters that have ``"share"`` in a sequence.
    """
    return Form("simplex", {**dict.fromkeys(names, "share"), **shares},
                {} if points is None else {"points": points})


# -- sequences


def constant(value: Any) -> Form:
    """The same value at every step; the value alone means the same."""
    return Form("constant", value)


def multistep(initial: Any = None, milestones: Any = None, gamma: Any = None
              ) -> Form:
    """`initial`, times `gamma` at each milestone."""
    return _form("multistep", initial=initial, milestones=milestones,
                 gamma=gamma)


def step(initial: Any = None, size: Any = None, gamma: Any = None) -> Form:
    """`initial`, times `gamma` every `size` steps."""
    return _form("step", initial=initial, size=size, gamma=gamma)


def percent(share: float) -> str:
    """A share of a trial's steps, wherever a sequence takes a number of steps:
    of the trial's own length, rounded half up, at least 1.

        >>> wsd(0.1, decay=percent(20))
        wsd(peak=0.1, decay='20%')
        >>> percent(0)
        Traceback (most recent call last):
        hippo_hpo.errors.InvalidArgument: percent(0): must be above 0

    Raises:
        InvalidArgument: it is not above 0.
    """
    if not 0 < share < float("inf"):
        raise InvalidArgument(f"percent({share!r}): must be above 0")
    text = format(decimal.Decimal(repr(float(share))).normalize(), "f")
    return f"{text}%"


def join(*parts: Any) -> Form:
    """Sequences one after the other: each pair has the first step and the
    sequence, which begins there at its own step 0.

        >>> plain(join((0, 0.1), (percent(90), linear(9, 0.1, 0))))["join"][1]
        ['90%', {'linear': {'from': 0.1, 'to': 0, 'horizon': 9}}]
    """
    return Form("join", [list(x) if isinstance(x, tuple) else x
                         for x in parts])


def piecewise(*pieces: Any) -> Form:
    """Constant pieces: each pair has the first step and the value.

        >>> plain(piecewise((0, "adamw"), (4, "sgd")))
        {'piecewise': [[0, 'adamw'], [4, 'sgd']]}
    """
    return Form("piecewise", [list(x) if isinstance(x, tuple) else x
                              for x in pieces])


def exponential(initial: Any = None, gamma: Any = None, every: Any = None
                ) -> Form:
    """`initial`, times `gamma` every `every` steps (default 1)."""
    return _form("exponential", initial=initial, gamma=gamma, every=every)


def linear(horizon: Any, from_: Any = None, to: Any = None) -> Form:
    """A line from `from_` to `to` over `horizon` steps, then `to`."""
    return _form("linear", **{"from": from_}, to=to, horizon=horizon)


def polynomial(horizon: Any, power: Any, initial: Any = None, end: Any = None
               ) -> Form:
    """From `initial` to `end` (default 0) as (1 - t / horizon)^power."""
    return _form("polynomial", initial=initial, end=end, horizon=horizon,
                 power=power)


def cosine(horizon: Any, initial: Any = None, end: Any = None) -> Form:
    """Half a cosine from `initial` to `end` (default 0) over `horizon` steps.
    After a warm-up, `initial` defaults to its last value."""
    return _form("cosine", initial=initial, end=end, horizon=horizon)


def cosine_restarts(period: Any, initial: Any = None, end: Any = None,
                    multiplier: Any = None) -> Form:
    """Repeated cosines; the first has `period` steps, and each is `multiplier`
    times as long as the one before (SGDR, arXiv 1608.03983)."""
    return _form("cosine_restarts", initial=initial, end=end, period=period,
                 multiplier=multiplier)


def cyclic(low: Any = None, high: Any = None, up: Any = None, down: Any = None,
           mode: Any = None, gamma: Any = None) -> Form:
    """Repeated cycles from `low` to `high` in `up` steps and back in `down`
    steps (arXiv 1506.01186)."""
    return _form("cyclic", low=low, high=high, up=up, down=down, mode=mode,
                 gamma=gamma)


def one_cycle(max: Any, horizon: Any, rise: Any = None, initial: Any = None,
              end: Any = None, anneal: Any = None, three_phase: Any = None
              ) -> Form:
    """One cycle: from `initial` to `max` and down to `end` (arXiv
    1708.07120)."""
    return _form("one_cycle", max=max, horizon=horizon, rise=rise,
                 initial=initial, end=end, anneal=anneal,
                 three_phase=three_phase)


def rex(horizon: Any, initial: Any = None, end: Any = None, beta: Any = None
        ) -> Form:
    """From `initial` to `end` (default 0) by REX (Chen et al., MLSys 2022)."""
    return _form("rex", initial=initial, end=end, horizon=horizon, beta=beta)


def warmup(steps: Any, from_: Any, to: Any, then: Any = None) -> Form:
    """A line from `from_` to `to` over `steps`, followed by the sequence
    `then`, which starts from `to` unless it has a start value."""
    return _form("warmup", steps=steps, **{"from": from_}, to=to, then=then)


def wsd(peak: Any, warmup: Any = None, from_: Any = None, stable: Any = None,
        decay: Any = None, shape: Any = None, end: Any = None) -> Form:
    """Warm-up, stable, decay: a line from `from_` (default 0) to `peak` over
    `warmup` steps (default 0), then `peak`, then down to `end` (default 0) at
    the trial's last step. Either `stable` or `decay` is given; `shape` is
    "1-sqrt" (default), "linear", "cosine" or "exponential"."""
    return _form("wsd", peak=peak, warmup=warmup, **{"from": from_},
                 stable=stable, decay=decay, shape=shape, end=end)


def inverse_sqrt(peak: Any, warmup: Any = None) -> Form:
    """A line from 0 to `peak` over `warmup` steps (default 0), then `peak`
    times the square root of `warmup` / t."""
    return _form("inverse_sqrt", peak=peak, warmup=warmup)


def reduce_on_plateau(initial: Any = None, factor: Any = None,
                      patience: Any = None, threshold: Any = None,
                      threshold_mode: Any = None, cooldown: Any = None,
                      min: Any = None, epsilon: Any = None) -> Form:
    """`initial`, times `factor` whenever the objective has not improved for
    more than `patience` measurements."""
    return _form("reduce_on_plateau", initial=initial, factor=factor,
                 patience=patience, threshold=threshold,
                 threshold_mode=threshold_mode, cooldown=cooldown, min=min,
                 epsilon=epsilon)


_NAMES = frozenset({
    "choice", "product", *RANGES, "constant", "multistep", "step", "piecewise",
    "exponential", "linear", "polynomial", "cosine", "cosine_restarts",
    "cyclic", "one_cycle", "rex", "warmup", "reduce_on_plateau",
    "inverse_sqrt", "join", "simplex", "wsd"})
