"""Training code as a class.

A study file names your class, `workload: {python: train.py:Net}`, and a
trainer runs an object of it in a process of its own:

    class Net(hippo.Workload):
        def setup(self, seed, device, args): ...
        def train(self, start, stop, hp):
            for epoch in range(start, stop):
                lr = hp.lr(epoch)
        def evaluate(self): return {"val_accuracy": ...}
        def state_dict(self): return {...}
        def load_state_dict(self, state): ...

Sharing needs this promise: the state after step t is a function of the seed,
the arguments and the values of hyper-parameters at the steps before t, bit for
bit. So seed random numbers by (seed, step), never draw them from a generator
that lives from one step to the next, and put everything that a later step reads
into `state_dict`. `hippo check` tests the promise.
"""

from __future__ import annotations

import abc
import copy
import functools
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ._sharded import is_joined
from ._state_file import read_state, whole, write_state

# A value as it stands in the study file: int, float, bool, str, None, or a list
# or dict of such.
Value = Any


def own_rank() -> tuple[int, int]:
    """Returns the rank of this process and their number. Variables that this
    process has from elsewhere do not count."""
    if not os.environ.get("TORCHELASTIC_RUN_ID", "").startswith("hippo-"):
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class HyperParameters:
    """The values of hyper-parameters at the steps to train.

    `hp.lr(step)` and `hp["lr"](step)` return the value of one, `hp.at(step)`
    those of all.

        >>> hp = HyperParameters(4, 6, {"lr": [0.1, 0.01], "depth": [3]})
        >>> hp.lr(5), hp["depth"](5)
        (0.01, 3)
        >>> hp.at(4)
        {'depth': 3, 'lr': 0.1}
        >>> hp.lr(6)
        Traceback (most recent call last):
        IndexError: step 6 is not to be trained now: it is not in [4, 6)
    """

    def __init__(self, start: int, stop: int,
                 values: Mapping[str, list[Value] | str]) -> None:
        self._start = start
        self._stop = stop
        self._values = dict(values)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Callable[[int], Value]:
        """Returns the values of a hyper-parameter, as a function of the step.

        Raises:
            KeyError: the study has no such hyper-parameter.
        """
        if name not in self._values:
            known = ", ".join(sorted(self._values)) or "none"
            raise KeyError(f"the study has no hyper-parameter {name!r}; "
                           f"it has: {known}")
        self._read.add(name)
        values = self._values[name]

        def at(step: int) -> Value:
            if not self._start <= step < self._stop:
                raise IndexError(f"step {step} is not to be trained now: it is "
                                 f"not in [{self._start}, {self._stop})")
            if isinstance(values, str):
                return values
            value = values[min(step - self._start, len(values) - 1)]
            # What the code does to a list must not reach other steps.
            return copy.deepcopy(value) if isinstance(value, (list, dict)) \
                else value
        return at

    def __getattr__(self, name: str) -> Callable[[int], Value]:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as why:
            raise AttributeError(why.args[0]) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(sorted(self._values))

    def at(self, step: int) -> dict[str, Value]:
        """Returns all values at a step, by name."""
        return {name: self[name](step) for name in sorted(self._values)}

    @property
    def read(self) -> frozenset[str]:
        """The names of the hyper-parameters that were read."""
        return frozenset(self._read)

    def _refuse_unread(self, advice: str) -> None:
        """Raises ValueError, with what to do, if nobody has asked for one."""
        if unread := sorted(set(self) - self.read):
            raise ValueError(
                f"nothing has read {', '.join(unread)} in the steps from "
                f"{self._start} to {self._stop}: {advice}")


class Workload(abc.ABC):
    """A model with its data and everything else for its training.

    One object lives as long as its process and trains many trials. An exception
    fails the trial; its traceback becomes the trial's error.

    Attributes:
        initial: the path of the file or folder that the study names as its
            initial state (`from`), set before `setup`; None: it names none.
    """

    initial: str | None = None

    @property
    def rank(self) -> int:
        """The number of this process among those of a trial, from 0 on."""
        return own_rank()[0]

    @property
    def world_size(self) -> int:
        """The number of processes of a trial: the study's `ranks`."""
        return own_rank()[1]

    @property
    def name(self) -> str:
        """The workload's name in messages."""
        return type(self).__name__

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        """Loads data and stores constants. Called once, before everything else.

        Args:
            seed: the seed of all randomness.
            device: "cpu" or "cuda:N", as PyTorch names them.
            args: the study file's `args` with their types; names of nested
                ones are joined by dots.
        """

    @abc.abstractmethod
    def init(self) -> None:
        """Goes to the state at step 0, whatever the present state is."""

    @abc.abstractmethod
    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        """Trains from state `start`, the present one, to state `stop`."""

    @abc.abstractmethod
    def evaluate(self) -> Mapping[str, float]:
        """Returns the metrics of the present state, without changing it."""

    @abc.abstractmethod
    def state_dict(self) -> Any:
        """Returns everything of the present state that a later step reads."""

    @abc.abstractmethod
    def load_state_dict(self, state: Any) -> None:
        """Restores a state that `state_dict` returned, perhaps in another
        process."""

    def size(self) -> Mapping[str, float]:
        """Returns the amount of computation; optional. Hippo estimates the time
        of a step on other devices from it.

        Returns:
            `operations` (floating-point, to train on a sample), `parameters`
            (that are trained) and `samples` (in a step; without it a step is
            one iteration of `batch_size` samples). Empty: unknown.
        """
        return {}

    def save(self, path: str) -> None:
        """Writes the present state to a file: `state_dict`, by `torch.save` if
        it has tensors of PyTorch, else pickled. Equal states give equal
        bytes."""
        self._write(self.state_dict(), path)

    def _write(self, state: Any, path: str) -> None:
        write_state(state, path)

    def _capture(self) -> Callable[[str], None] | None:
        """Returns a function that writes the present state to a file, in a
        process that `os.fork` makes next: it has one thread and no GPU. None: a
        `save` of its own may need more."""
        if type(self).save is not Workload.save:
            return None
        return functools.partial(self._write, self.state_dict())

    def _modules(self) -> dict[str, Any]:
        """Returns the PyTorch modules of the present state, by their names in
        it.

        Raises:
            NotImplementedError: it cannot tell.
        """
        raise NotImplementedError

    def _settle(self, around: Callable[[], AbstractContextManager[None]]
                ) -> None:
        """Measures what the present state has of measurements.

        Args:
            around: makes what surrounds measuring.
        """

    def read(self, path: str) -> Any:
        """Returns the state that `save` wrote, as `state_dict` returned it;
        of a tensor that is sharded over ranks, this one's part
        (`hippo_hpo.torch.Shard`)."""
        return read_state(path)

    def load(self, path: str) -> None:
        """Restores a state that `save` wrote."""
        state = self.read(path)
        self.load_state_dict(whole(state) if is_joined() else state)
