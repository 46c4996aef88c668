"""Finds and runs the program `hippo`."""

from __future__ import annotations

import os
import shutil
import sys

from .errors import Error

# Says where the program is, before anything else.
VARIABLE = "HIPPO_PROGRAM"


def hippo_program() -> str:
    """Returns the path of `hippo`: that of HIPPO_PROGRAM, else the one that is
    installed with this package, else that of PATH.

    Raises:
        Error: there is none.
    """
    for path in (os.environ.get(VARIABLE), _installed("hippo"),
                 shutil.which("hippo")):
        if path and os.access(path, os.X_OK) \
                and os.path.realpath(path) != os.path.realpath(sys.argv[0]):
            return path
    raise Error("there is no program `hippo`: install a wheel of hippo-hpo, "
                f"which has it, or let {VARIABLE} name one that was built")


def _installed(name: str) -> str:
    """Where a wheel puts a program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)


def run_hippo() -> None:
    """What the command `hippo` of the package does."""
    _become("hippo")


def run_trainer() -> None:
    """What the command `hippo-trainer` of the package does: the one with the
    built-in workloads, where the extra `builtin` is installed."""
    full, plain = "hippo-trainer", "hippo-trainer-plain"
    _become(full if os.path.exists(_installed(full)) else plain)


def _become(name: str) -> None:
    path = _installed(name)
    if not os.path.exists(path):
        sys.exit(f"{name}: this installation of hippo-hpo has no programs. "
                 "Install a wheel of hippo-hpo that scripts/wheel makes")
    # `python3` is this interpreter for the code that studies bring.
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    os.execv(path, [path, *sys.argv[1:]])
