"""Trains the trials of a sweep by a Hydra application: each one is a process
of the application, which waits wherever it reports."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from .hydra import JOB
from .workload import HyperParameters, Value, Workload


class HydraApp(Workload):
    """The workload of a sweep.

    The arguments are those that `_hydra_sweep` writes: `command` (of the
    application), `folder` (its working folder), `sweep_dir`, `jobs` (the
    folder of their numbers), `fixed` (overrides), `metrics` (names of the
    objectives), `steps` and `keep` (applications that may wait).
    """

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        self._args = args
        self._environment = dict(os.environ)
        if device.startswith("cuda:"):
            self._environment["CUDA_VISIBLE_DEVICES"] = _visible(
                int(device.removeprefix("cuda:")))
        # Applications that wait, the last one used last.
        self._waiting: dict[str, _Process] = {}
        self._state: dict[str, Any] = {}
        self.init()

    def init(self) -> None:
        self.load_state_dict({"step": 0, "key": "", "is_over": False,
                              "metrics": None})

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        overrides = [f"{name}={override_of(value)}"
                     for name, value in hp.at(start).items()]
        key = hashlib.sha256(json.dumps(overrides).encode()).hexdigest()
        state = self._state
        if not state["is_over"]:
            process = self._waiting.pop(key, None)
            if process is None or process.step != start:
                if process is not None:
                    process.end()
                process = self._start(overrides, key)
            else:
                self._make_room(self._args["keep"])
            try:
                process.train(stop)
            except BaseException:
                process.end()
                raise
            state = {"step": stop, "key": key, "is_over": process.is_over,
                     "metrics": process.metrics}
            if process.is_over:
                process.end()
            else:
                self._waiting[key] = process
        self._state = {**state, "step": stop}

    def _start(self, overrides: list[str], key: str) -> _Process:
        self._make_room(self._args["keep"])
        args = self._args
        number = number_of(args["jobs"], key)
        return _Process(
            args["command"], args["folder"], self._environment,
            {"overrides": [*args["fixed"], *overrides], "number": number,
             "sweep_dir": args["sweep_dir"]},
            args["metrics"], args["steps"])

    def _make_room(self, most: int) -> None:
        """Ends applications that have waited the longest."""
        while len(self._waiting) > most:
            self._waiting.pop(next(iter(self._waiting))).end()

    def evaluate(self) -> Mapping[str, float]:
        metrics = self._state["metrics"]
        if metrics is None:
            raise RuntimeError(
                f"nothing was reported up to step {self._state['step']}: "
                "call hippo_hpo.hydra.report after each step, from step 1 on, "
                "or give hydra.sweeper.every the steps between two reports")
        found: Mapping[str, float] = metrics
        return found

    def state_dict(self) -> Any:
        return dict(self._state)

    def load_state_dict(self, state: Any) -> None:
        self._state = dict(state)


class _Process:
    """A process of the application.

    Attributes:
        step: to which it has been trained.
        metrics: the last ones that were reported up to there.
        is_over: whether the application has returned.
    """

    def __init__(self, command: Sequence[str], folder: str,
                 environment: Mapping[str, str], job: Mapping[str, Any],
                 names: Sequence[str], steps: int) -> None:
        self.step = 0
        self.metrics: dict[str, float] | None = None
        self.is_over = False
        self._names = names
        self._steps = steps
        self._next: tuple[int, dict[str, float]] | None = None
        own, other = socket.socketpair()
        with other:
            told = {**job, "socket": other.fileno(), "parent": os.getpid()}
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env={**environment, JOB: json.dumps(told)})
        self._stream = own
        self._lines = own.makefile("r", encoding="utf-8")

    def train(self, until: int) -> None:
        """Lets it train, and waits until it has reported a step there.

        Raises:
            RuntimeError: it has failed; the text has its error.
        """
        is_last = until >= self._steps
        told = json.dumps({"until": until, "last": is_last})
        with contextlib.suppress(OSError):  # it has ended, and said how
            self._stream.sendall(told.encode() + b"\n")
        self._take(until)
        while not self.is_over and (is_last or self._next is None
                                    or self._next[0] < until):
            line = self._lines.readline()
            if not line:
                code = self._process.wait()
                if is_last and code == 0 and self._next is not None:
                    self.is_over = True  # it would have trained further
                    break
                raise RuntimeError(f"the application ended with exit code "
                                   f"{code}, before it returned")
            self._hear(json.loads(line))
            self._take(until)
        self.step = until

    def _hear(self, told: Mapping[str, Any]) -> None:
        if "failed" in told:
            raise RuntimeError(told["failed"])
        if "step" in told:
            self._next = told["step"], self._named(told["metrics"])
            return
        self.is_over = True
        if self._next is not None:
            self.metrics = self._next[1]
        if self.metrics is not None:
            return  # what it returns is for others
        if told["returned"] is None:
            raise RuntimeError(
                "the application returned nothing: return the value of the "
                "objective, or call hippo_hpo.hydra.report")
        self.metrics = self._named(told["returned"])

    def _take(self, until: int) -> None:
        """Makes what was reported last the metrics, if it is not beyond."""
        if self._next is not None and self._next[0] <= until:
            self.metrics = self._next[1]
            if self._next[0] < until:
                self._next = None

    def _named(self, x: Any) -> dict[str, float]:
        """Metrics by name."""
        if isinstance(x, Mapping):
            return {name: float(y) for name, y in x.items()}
        values = x if isinstance(x, list) else [x]
        if len(values) != len(self._names):
            raise RuntimeError(
                f"the application gave {len(values)} values, the sweep has "
                f"{len(self._names)} objectives: {', '.join(self._names)}")
        return {name: float(y) for name, y in zip(self._names, values)}

    def end(self) -> None:
        """Ends it: where it reports next it hears that it is pruned."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._stream.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


# How long an application may take to end.
_GRACE_SECONDS = 30.0

_PLAIN = re.compile(r"-?[0-9]+")


def override_of(value: Value) -> str:
    """Writes a value of a study as Hydra reads it. Words are written by
    `_hydra_sweep` already.

        >>> [override_of(x) for x in (1e-5, 3, True, None, "'a b'")]
        ['1e-05', '3', 'true', 'null', "'a b'"]
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def number_of(folder: str, key: str) -> int:
    """Returns the number of a job, which is the next free one for a new key.
    A trial that is started again gets the number, and the folder, that it
    had."""
    os.makedirs(folder, exist_ok=True)
    link = os.path.join(folder, key)
    try:
        return int(os.readlink(link))
    except FileNotFoundError:
        pass
    number = sum(bool(_PLAIN.fullmatch(x)) for x in os.listdir(folder))
    while True:
        try:
            os.mkdir(os.path.join(folder, str(number)))
            break
        except FileExistsError:
            number += 1
    os.symlink(str(number), link)
    return number


def _visible(index: int) -> str:
    """The GPU of a trainer, as its environment numbers them."""
    listed = [x for x in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
              if x.strip()]
    return listed[index].strip() if index < len(listed) else str(index)
