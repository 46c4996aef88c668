"""Globals of training code that travel as expressions, and what to write in
place of those that do not."""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from typing import Any

# Types whose `repr` is an expression, given their module.
_SPOKEN = ("datetime", "decimal", "fractions")


def expression_of(x: Any) -> tuple[str, set[str]] | None:
    """Returns the text of an expression that is equal to a value, and the
    modules that it needs; None: there is none.

        >>> expression_of([1, float("inf")])
        ('[1, float("inf")]', set())
    """
    if _is_literal(x) and not _has_words_in_sets(x):
        return repr(x), set()
    if type(x) is float:
        return (f'float("{x!r}")', set())
    if type(x) in (list, tuple, set, frozenset, dict):
        return _of_several(x)
    module = type(x).__module__.partition(".")[0]
    if isinstance(x, pathlib.PurePath) and module == "pathlib":
        return f"pathlib.{x!r}", {"pathlib"}
    if isinstance(x, re.Pattern):
        return f"re.compile({x.pattern!r}, {x.flags})", {"re"}
    if (logging := sys.modules.get("logging")) is not None \
            and type(x) is logging.Logger:
        return f"logging.getLogger({x.name!r})", {"logging"}
    if module in _SPOKEN:
        return _spoken(module, x)
    if module == "torch" and type(x).__name__ in ("dtype", "device"):
        text = repr(x)
        return (text if text.startswith("torch.") else f"torch.{text}",
                {"torch"})
    if (numpy := sys.modules.get("numpy")) is not None \
            and isinstance(x, numpy.dtype) and x.isbuiltin:
        return f"numpy.dtype({x.str!r})", {"numpy"}
    return None


def _is_literal(x: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(x)) == x)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return False


def _has_words_in_sets(x: Any) -> bool:
    """Whether `repr` has another order in each process."""
    if type(x) is set:
        return any(isinstance(y, (str, bytes, tuple)) for y in x)
    if type(x) is dict:
        return any(_has_words_in_sets(y) for y in x.values())
    return type(x) in (list, tuple) and any(map(_has_words_in_sets, x))


def _spoken(module: str, x: Any) -> tuple[str, set[str]] | None:
    text = repr(x)
    text = text if text.startswith(f"{module}.") else f"{module}.{text}"
    try:
        equal = eval(text, {module: sys.modules[module]}) == x
    except Exception:
        return None
    return (text, {module}) if equal else None


def _of_several(x: Any) -> tuple[str, set[str]] | None:
    items = [y for pair in x.items() for y in pair] if type(x) is dict \
        else sorted(x, key=repr) if type(x) in (set, frozenset) else list(x)
    parts = []
    modules: set[str] = set()
    for y in items:
        found = expression_of(y)
        if found is None:
            return None
        parts.append(found[0])
        modules |= found[1]
    if type(x) is dict:
        pairs = zip(parts[::2], parts[1::2])
        return "{" + ", ".join(f"{a}: {b}" for a, b in pairs) + "}", modules
    inner = ", ".join(parts)
    if type(x) is list:
        return f"[{inner}]", modules
    if type(x) is tuple:
        return f"({inner}{',' if len(parts) == 1 else ''})", modules
    text = f"{{{inner}}}" if parts else "set()"
    return text if type(x) is set else f"frozenset({text})", modules


def remedy_of(name: str, x: Any) -> str:
    """What to write in place of a global object that does not travel."""
    names = {f"{y.__module__.partition('.')[0]}.{y.__name__}"
             for y in type(x).__mro__}
    if "argparse.Namespace" in names:
        return (f"give its values as constants, @hippo.workload(args=vars({name}"
                ")), and read them from ctx.args")
    if names & {"random.Random", "numpy.Generator", "numpy.RandomState",
                "torch.Generator"}:
        return ("use those of random, numpy.random and torch, which are seeded "
                "for each step")
    if names & {"torch.Module", "torch.Optimizer"}:
        return ("make it in the function, which begins anew for each trial, and "
                "name it in ctx.steps()")
    if "functools.partial" in names:
        return "write it as a function"
    if names & {"builtins.generator", "_io._IOBase"}:
        return "make it in the function"
    if names & {"numpy.ndarray", "torch.Tensor", "torch.Dataset",
                "torch.DataLoader", "pandas.DataFrame", "pandas.Series"}:
        return (f"load it in a function, def load_{name.lower()}(): ..., and "
                f"write {name.lower()} = ctx.once(load_{name.lower()}) in the "
                "training function")
    if all(type(y) in (int, float, str, bool) for y in vars(x).values()) \
            if hasattr(x, "__dict__") and vars(x) else False:
        return (f"give its values as constants, @hippo.workload(args=vars({name}"
                ")), and read them from ctx.args; or make it in the function")
    return ("make it in a function, and call that through ctx.once(function); "
            "or in the training function, if training changes it")
