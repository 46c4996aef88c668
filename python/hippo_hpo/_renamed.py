"""Former names of arguments and of keys of study files.

They are accepted for one release, with a DeprecationWarning.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .errors import InvalidStudy

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def warn(former: str, name: str, stacklevel: int = 2) -> None:
    """Warns of a former name.

    Args:
        stacklevel: 1: the caller of this function is to blame.
    """
    warnings.warn(f"{former} is {name} now; the next release refuses the "
                  "former name", DeprecationWarning, stacklevel + 1)


def renamed(**names: str) -> Callable[[F], F]:
    """Decorates a function that takes keyword arguments by former names too.

        >>> @renamed(steps="max_steps")
        ... def train(max_steps=1):
        ...     return max_steps
        >>> train(steps=3)
        3
        >>> train(steps=3, max_steps=3)
        Traceback (most recent call last):
        TypeError: train() has both max_steps= and steps=, its former name

    Args:
        names: the names of today by former name.
    """
    def decorate(function: F) -> F:
        call_name = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            rename(call_name, options, names)
            return function(*args, **options)
        return call  # type: ignore[return-value]
    return decorate


def rename(call_name: str, options: dict[str, Any],
           names: Mapping[str, str]) -> None:
    """Gives the keyword arguments of a call their names of today. Whoever
    called the caller of this function is to blame for the former ones."""
    for former in names.keys() & options.keys():
        name = names[former]
        if name in options:
            raise TypeError(f"{call_name}() has both {name}= and {former}=, "
                            "its former name")
        warn(f"{former}= of {call_name}()", f"{name}=", 3)
        options[name] = options.pop(former)


def renamed_fields(**names: str) -> Callable[[C], C]:
    """Decorates a class whose fields may be given and read by former names
    too; arguments as of `renamed`."""
    def decorate(kind: C) -> C:
        kind.__init__ = renamed(**names)(  # type: ignore[misc]
            kind.__init__)  # type: ignore[misc]
        for former, name in names.items():
            setattr(kind, former, _field(kind.__name__, former, name))
        return kind
    return decorate


def _field(kind: str, former: str, name: str) -> property:
    def read(self: Any) -> Any:
        warn(f"{kind}.{former}", name)
        return getattr(self, name)

    def write(self: Any, value: Any) -> None:
        warn(f"{kind}.{former}", name)
        setattr(self, name, value)
    return property(read, write, doc=f"The former name of `{name}`.")


def with_new_keys(study: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a study file with the keys of today.

        >>> with_new_keys({"objective": {"metric": "f", "every": 2},
        ...                "steps": {"max": 9}})
        {'objective': {'metric': 'f'}, 'max_steps': 9, 'eval_every': 2}

    Raises:
        InvalidStudy: it has the former name of a key and that of today.
    """
    found: dict[str, Any] = {}
    for key, value in study.items():
        if key != "steps":
            found[key] = value
            continue
        is_map = isinstance(value, Mapping) and value.keys() == {"max"}
        _replace(study, "steps.max" if is_map else key, "max_steps")
        found["max_steps"] = value["max"] if is_map else value
    goals = found.get("objective")
    if isinstance(goals, Mapping):
        found["objective"] = _without_every(goals, study, found)
    elif isinstance(goals, list):
        found["objective"] = [_without_every(x, study, found)
                              if isinstance(x, Mapping) else x for x in goals]
    algorithm = found.get("algorithm")
    if isinstance(algorithm, Mapping):
        found["algorithm"] = {name: _with_new_option(options)
                              for name, options in algorithm.items()}
    return found


def _replace(map_: Mapping[str, Any], former: str, name: str) -> None:
    """Warns of a former key, and refuses it beside that of today."""
    if name in map_:
        raise InvalidStudy(f"the study has both {name!r} and {former!r}, its "
                           "former name: remove the latter")
    warn(f"the key {former!r} of a study file", repr(name), 5)


def _without_every(goal: Mapping[str, Any], study: Mapping[str, Any],
                   found: dict[str, Any]) -> dict[str, Any]:
    """Takes `every` out of a metric, into `found`."""
    rest = dict(goal)
    every = rest.pop("every", None)
    if every is not None:
        _replace(study, "every", "eval_every")
        if found.setdefault("eval_every", every) != every:
            raise InvalidStudy("the metrics of a study are measured together, "
                               "so that 'eval_every' is one number, found "
                               f"{found['eval_every']} and {every}")
    return rest


def _with_new_option(options: Any) -> Any:
    if not isinstance(options, Mapping) or "concurrent" not in options:
        return options
    _replace(options, "concurrent", "max_concurrent")
    return {"max_concurrent" if key == "concurrent" else key: x
            for key, x in options.items()}
