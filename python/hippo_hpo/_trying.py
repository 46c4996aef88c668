"""Tries a training function the first time that it is run, before anything
that it has measured is told: whether two steps in one go lead where they lead
in parts. `hippo check` tries more; this takes no time to speak of.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ._compare import differences
from .function import FunctionWorkload
from .workload import HyperParameters, Value

# What it may take: so many seconds, or this part of the time that training has
# taken up to the first measurement.
SECONDS_MAX = 1.0
SHARE_MAX = 0.1


class NotExact(Exception):
    """Where training is cut makes a difference. The text says in what."""


class _TooLong(Exception):
    """It takes more time than it may."""


def try_out(workload: FunctionWorkload, values: Mapping[str, list[Value]],
            trained_seconds: float) -> None:
    """Tries a function that is in the state after its first steps, and leaves
    it there.

    Args:
        values: of the hyper-parameters at the first steps.
        trained_seconds: what these have taken.

    Raises:
        NotExact: it must not be cut. Its state is not what it was.
    """
    allowed = max(SECONDS_MAX, SHARE_MAX * trained_seconds)
    if not workload.is_loop or 3 * workload.step_seconds > allowed:
        return
    # Below what is removed with the process, should it be killed.
    with tempfile.TemporaryDirectory(
            prefix="hippo-try-",
            dir=os.environ.get("HIPPO_SCRATCH")) as folder, _silent():
        at = os.path.join(folder, "at")
        workload.save(at)
        found: list[str] = []
        try:
            found = _differences(workload, values, folder,
                                 time.monotonic() + allowed)
        except Exception:
            pass  # the training itself says so, if it meets the same
        workload.load(at)
    if found:
        raise NotExact(
            "training does not go on where it was cut: after two steps in one go "
            "and in parts, " + "; ".join(found[:3])
            + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
            + ". Name all that training changes in ctx.steps(), the optimiser "
              "too, measure without changing it, and draw from random, "
              "numpy.random or torch (check=False does not try this)")


def _differences(workload: FunctionWorkload,
                 values: Mapping[str, list[Value]], folder: str,
                 end: float) -> list[str]:
    whole, first, parts = (os.path.join(folder, x)
                           for x in ("whole", "first", "parts"))

    def train(start: int, stop: int) -> None:
        if time.monotonic() + (stop - start) * workload.step_seconds > end:
            raise _TooLong
        workload.train(start, stop, HyperParameters(start, stop, {
            name: x[start:] or x[-1:] for name, x in values.items()}))
    workload.init()
    train(0, 1)
    workload.save(first)  # measures, too
    train(1, 2)
    workload.save(whole)
    workload.load(first)
    train(1, 2)
    workload.save(parts)
    found = differences(workload.read(whole), workload.read(parts))
    # Parts of the state have the names that `ctx.steps` has for them.
    own = [x.removeprefix("state.parts.") for x in found
           if x.startswith("state.parts")]
    return own or [x.removeprefix("state.") for x in found]


@contextmanager
def _silent() -> Iterator[None]:
    """What is printed meanwhile is of no trial."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, was in enumerate(kept, 1):
            os.dup2(was, number)
            os.close(was)
        os.close(nothing)
