"""Reads the state that a trial had: weights, and whatever else its training
code keeps."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._averaging import is_of_averages, put_mean
from ._program import hippo_program
from ._ranks import parts_of, ranks_of_state, split_state
from .errors import Error, InvalidArgument
from ._state_file import read_state

if TYPE_CHECKING:
    from .client import Client
    from .study import Study

# What a state of a training function has.
_OF_FUNCTIONS = {"step", "parts", "metrics"}


def write_state(client: Client, study: str, trial: int, step: int | None,
                path: str, device: str = "cpu", threads: int = 1) -> None:
    """Writes the state that a trial had to a file, as `hippo export` does.

    Raises:
        Error: it cannot be had; the text says why.
    """
    command = [hippo_program(), "export", study, str(trial), "--server",
               client.address, "--device", device, "--threads", str(threads),
               "--weights", path]
    if step is not None:
        command += ["--step", str(step)]
    if client._line._credentials is not None:
        command += ["--keys", client._line._credentials]
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        why = done.stderr.strip().removeprefix("error: ")
        raise (InvalidArgument if done.returncode == 2 else Error)(why)


def load_state(study: Study, trial: int, step: int | None, device: str,
               threads: int) -> Any:
    """What `Study.load` returns, see there."""
    with tempfile.TemporaryDirectory(prefix="hippo-state-") as folder:
        path = os.path.join(folder, "state")
        write_state(study._client, str(study.id), trial, step, path, device,
                    threads)
        ranks = ranks_of_state(path)
        parts = [path]
        if ranks > 1:
            parts = parts_of(path, ranks)
            split_state(path, parts)
        with _module_of(study):
            states = [_kept(_read(x, study), study, trial) for x in parts]
    return states if ranks > 1 else states[0]


def _kept(state: Any, study: Study, trial: int) -> Any:
    """What training code keeps, of a state that it has written."""
    if is_of_averages(state):
        average, state = state["average"], state["state"]
        parts = state["parts"] if state.keys() == _OF_FUNCTIONS \
            else state.get("trained", state)
        put_mean(average, parts)
    if not isinstance(state, dict) or state.keys() != _OF_FUNCTIONS:
        return state
    if state["parts"] is None:
        raise InvalidArgument(
            f"trial {trial} of study {study.id} keeps no state: its function "
            "names none in ctx.steps(), such as ctx.steps(model=model)")
    return state["parts"]


def _read(path: str, study: Study) -> Any:
    try:
        return read_state(path)
    except ImportError as why:
        raise Error(f"the state of study {study.id} needs what is not "
                    f"installed here: {why}") from None
    except (pickle.UnpicklingError, EOFError):
        raise Error(
            f"the code of study {study.id} saves states in a form of its own: "
            "`hippo export STUDY TRIAL --weights FILE` writes the file"
        ) from None


@contextmanager
def _module_of(study: Study) -> Iterator[None]:
    """Lets classes that the training code defines be found in this program,
    where that has them."""
    python = study.file().workload
    name = python.get("python", "") if isinstance(python, dict) else ""
    module = os.path.splitext(os.path.basename(name.partition(":")[0]))[0]
    if not module or module in sys.modules:
        yield
        return
    sys.modules[module] = sys.modules["__main__"]
    try:
        yield
    finally:
        del sys.modules[module]
