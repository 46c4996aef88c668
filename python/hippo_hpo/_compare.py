"""Says in what two saved states differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# The most sentences that anybody wants to read.
FOUND_MAX = 100


def differences(x: Any, y: Any, name: str = "state") -> list[str]:
    """Compares two states part by part, numbers bit for bit.

    Returns:
        A sentence for each part that differs, empty if none does.
    """
    found: list[str] = []
    _compare(x, y, name, found)
    return found[:FOUND_MAX]


def _compare(x: Any, y: Any, name: str, found: list[str]) -> None:
    if len(found) >= FOUND_MAX or x is y:
        return
    if type(x) is not type(y):
        found.append(f"{name} is a {type(x).__name__} in one state and a "
                     f"{type(y).__name__} in the other")
    elif _is_array(x):
        _compare_arrays(x, y, name, found)
    elif isinstance(x, Mapping):
        for key in sorted(set(x) | set(y), key=repr):
            if key in x and key in y:
                _compare(x[key], y[key], f"{name}.{key}", found)
            else:
                found.append(f"{name}.{key} is in one state only")
    elif isinstance(x, (bytes, bytearray)):
        if x != y:
            at = next((i for i, (a, b) in enumerate(zip(x, y)) if a != b),
                      min(len(x), len(y)))
            found.append(f"{name} differs from byte {at} on (of {len(x)} and "
                         f"{len(y)})")
    elif isinstance(x, Sequence) and not isinstance(x, str):
        if len(x) != len(y):
            found.append(f"{name} has {len(x)} parts in one state and "
                         f"{len(y)} in the other")
        for i, (a, b) in enumerate(zip(x, y)):
            _compare(a, b, f"{name}[{i}]", found)
    elif isinstance(x, str):
        if x != y:
            found.append(f"{name} is {_brief(x)} in one state and {_brief(y)} "
                         "in the other")
    elif isinstance(x, (int, float, complex, bool, type(None))):
        if x != y and not (x != x and y != y):
            found.append(f"{name} is {x!r} in one state and {y!r} in the other")
    elif hasattr(x, "__dict__") and vars(x):
        _compare(vars(x), vars(y), name, found)
    else:
        _compare_pickled(x, y, name, found)


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _compare_arrays(x: Any, y: Any, name: str, found: list[str]) -> None:
    """Compares what numpy or PyTorch calls an array."""
    if x.shape != y.shape or x.dtype != y.dtype:
        found.append(f"{name} has the shape {tuple(x.shape)} of {x.dtype} in "
                     f"one state and {tuple(y.shape)} of {y.dtype} in the "
                     "other")
        return
    a, b = (_numbers(z) for z in (x, y))
    if a.tobytes() == b.tobytes():
        return
    unequal = (a != b) & ~((a != a) & (b != b))
    count = int(unequal.sum())
    if count == 0:  # zeros of two signs, or NaN of two kinds
        found.append(f"{name} differs in the signs of zeros or in kinds of NaN")
        return
    text = f"{name}: {count} of {a.size} values differ"
    if a.dtype.kind in "fiub":
        most = abs(a.astype("f8") - b.astype("f8"))[unequal].max()
        text += f", by at most {most:.3g}"
    found.append(text)


def _numbers(x: Any) -> Any:
    """Returns an array of numpy."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        if str(x.dtype) == "torch.bfloat16":
            x = x.float()
        x = x.contiguous()
    return x.numpy() if hasattr(x, "numpy") else x


def _brief(x: Any) -> str:
    return repr(x) if len(x) <= 40 else f"{repr(x[:40])}..."


def _compare_pickled(x: Any, y: Any, name: str, found: list[str]) -> None:
    import pickle
    if pickle.dumps(x) != pickle.dumps(y):
        found.append(f"{name}, a {type(x).__name__}, differs")
