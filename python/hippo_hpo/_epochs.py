"""Frameworks that have a Trainer of their own: one of it for each epoch."""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable
from typing import Any

from . import torch as _torch
from .workload import HyperParameters, Value


class Workload(_torch.Workload):
    """A workload of which a step is an epoch: a Trainer that begins from the
    state of the step before. So it does not matter where training is cut, by
    construction.
    """

    def build(self) -> None:
        self._state: dict[str, Any] = {"trained": None, "constants": {},
                                       "metrics": None}
        self._trainer: Any = None  # of the last step, if that was here

    @abc.abstractmethod
    def _train_epoch(self, step: int, hp: HyperParameters,
                     constant: Callable[[str], Value],
                     before: Any) -> tuple[Any, Any]:
        """Trains an epoch in a Trainer of its own.

        Args:
            constant: gives a hyper-parameter that never changes, by name.
            before: the state before, or None at step 0.
        Returns:
            the state after, and what `_measure` measures with.
        """

    @abc.abstractmethod
    def _measure(self, trainer: Any) -> dict[str, float]:
        """Measures the state that a Trainer came to."""

    def train_step(self, step: int, hp: HyperParameters) -> None:
        constants = dict(self._state["constants"])

        def constant(name: str) -> Value:
            value = hp[name](step)
            if constants.setdefault(name, value) != value:
                raise ValueError(f"{name} is {value!r} at step {step}, and was "
                                 f"{constants[name]!r}: it must never change")
            return value
        _torch.seed_step(self.seed, -1)  # a new model has its first weights
        trained, self._trainer = self._train_epoch(
            step, hp, constant, self._state["trained"])
        self._state = {"trained": trained, "constants": constants,
                       "metrics": None}

    def evaluate(self) -> dict[str, float]:
        if self._state["metrics"] is None:
            if self._trainer is None:
                raise RuntimeError("nothing is measured before the first step")
            _torch.seed_step(self.seed, -2)
            self._state["metrics"] = self._measure(self._trainer)
        return dict(self._state["metrics"])

    def state_dict(self) -> Any:
        if self._trainer is not None:
            self.evaluate()  # another process has no Trainer to measure with
        return _torch._copied(self._state)

    def load_state_dict(self, state: Any) -> None:
        self._state = copy.deepcopy(state)
        self._trainer = None
