"""Training code of one's own, which trials may share.

A study file names a class of yours, `workload: {python: train.py:Net}`, and a
trainer drives an object of it in a process of its own:

    class Net(hippo.Workload):
        def setup(self, seed, device, args): ...
        def train(self, start, stop, hp):
            for epoch in range(start, stop):
                lr = hp.lr(epoch)
        def evaluate(self): return {"val_accuracy": ...}
        def state_dict(self): return {...}
        def load_state_dict(self, state): ...

The promise that makes sharing right: the state after step t is a function of
the seed, the arguments and the values of hyper-parameters at the steps before
t, bit for bit. So draw randomness from (seed, step), never from a stream that
lives from one step to the next, and leave nothing out of `state_dict` that a
later step reads. `hippo check` looks whether that is so.
"""

from __future__ import annotations

import abc
import copy
import pickle
from collections.abc import Mapping
from typing import Any, Callable

# A value as it stands in the study file: int, float, bool, str, None, or a list
# or dict of such.
Value = Any


class HyperParameters:
    """The values of hyper-parameters at the steps that are to be trained.

    Three ways to ask for them: `hp.lr(step)`, `hp["lr"](step)`, and
    `hp.at(step)` for all of them.

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
        """Returns the values of one of them, by step.

        Raises:
            KeyError: if the study has no such hyper-parameter.
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
        """The names that anybody has asked for."""
        return frozenset(self._read)

    def _refuse_unread(self, advice: str) -> None:
        """Raises ValueError, with what to do, if nobody has asked for one."""
        if unread := sorted(set(self) - self.read):
            raise ValueError(
                f"nothing has read {', '.join(unread)} in the steps from "
                f"{self._start} to {self._stop}: {advice}")


class Workload(abc.ABC):
    """A model with its data and everything that training it needs.

    One object lives as long as its process and goes through states of many
    trials. Errors are exceptions; their traceback becomes the trial's error.
    """

    @property
    def name(self) -> str:
        """What messages call it."""
        return type(self).__name__

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        """Notes what is constant: called once, before everything else.

        Args:
            seed: of all randomness.
            device: "cpu" or "cuda:N", as PyTorch names them.
            args: the study file's `args`, each of the type that it has
                there; names of nested ones are joined by dots.
        """

    @abc.abstractmethod
    def init(self) -> None:
        """Goes to the state at step 0, whatever there was before."""

    @abc.abstractmethod
    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        """Trains from state `start`, the present one, to state `stop`."""

    @abc.abstractmethod
    def evaluate(self) -> Mapping[str, float]:
        """Measures the present state and leaves it as it is."""

    @abc.abstractmethod
    def state_dict(self) -> Any:
        """Returns everything of the present state that a later step reads."""

    @abc.abstractmethod
    def load_state_dict(self, state: Any) -> None:
        """Restores a state that `state_dict` gave, perhaps elsewhere."""

    def size(self) -> Mapping[str, float]:
        """Says how much there is to compute, if you like: how long steps take
        on machines where nobody has measured it follows from that.

        Returns:
            `operations` (floating-point, to train on a sample), `parameters`
            (that are trained) and `samples` (in a step; without it a step is
            one iteration of `batch_size` samples). Nothing: nobody knows.
        """
        return {}

    def save(self, path: str) -> None:
        """Writes the present state to a file: `state_dict`, pickled."""
        with open(path, "wb") as file:
            pickle.dump(self.state_dict(), file, protocol=5)

    def read(self, path: str) -> Any:
        """Returns the state that `save` wrote, as `state_dict` gave it."""
        with open(path, "rb") as file:
            return pickle.load(file)

    def load(self, path: str) -> None:
        """Restores a state that `save` wrote."""
        self.load_state_dict(self.read(path))
