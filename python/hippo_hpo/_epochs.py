"""Frameworks that have a Trainer of their own.

Where a step is an epoch, each has a Trainer of its own. Where a step is an
iteration, one Trainer lives on, and a state is loaded into it only when that
is not its present one.
"""

from __future__ import annotations

import abc
import copy
import gc
from collections.abc import Callable
from typing import Any

from . import torch as _torch
from ._state_file import copied
from .workload import HyperParameters, Value


class Living(abc.ABC):
    """A Trainer that lives from one call of `train` to the next."""

    @abc.abstractmethod
    def load(self, trained: Any) -> None:
        """Restores what `state` returned; it may be changed later."""

    @abc.abstractmethod
    def state(self) -> Any:
        """Returns a copy of everything that a later step reads."""

    @abc.abstractmethod
    def modules(self) -> dict[str, Any]:
        """Returns the PyTorch modules that it trains, by their names in
        `state()`."""

    @abc.abstractmethod
    def run(self, begin: int, end: int, hp: HyperParameters,
            first: int) -> int:
        """Trains from step `begin` to `end`, from the sample `first` on.

        Returns:
            the index of the first sample after these steps.
        """

    @abc.abstractmethod
    def measure(self) -> dict[str, float]:
        """Measures the present state."""


class Workload(_torch.Workload):
    """A workload of which a step is an epoch or an iteration."""

    # "epoch", or "iteration": a step of the optimiser.
    step_is = "epoch"

    _steps: tuple[str, ...] = ("epoch", "iteration")
    _living: Any = None       # a Living
    _living_is: Any = None    # what it was made for
    _is_current = False       # whether it has the present state

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        super().setup(seed, device, args)
        if self.step_is not in self._steps:
            known = " or ".join(f'"{x}"' for x in self._steps)
            raise ValueError(f"step_is is {self.step_is!r}: it must be {known}")

    def build(self) -> None:
        self._state: dict[str, Any] = {"trained": None, "constants": {}}
        if self.step_is == "iteration":
            self._state.update(samples=0, fixed={}, names=[])
        else:
            self._state["metrics"] = None
        self._metrics: dict[str, float] | None = None
        self._trainer: Any = None  # of the last step, if that was here
        self._is_current = False

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

    def _fixed(self, step: int, hp: HyperParameters) -> dict[str, Value]:
        """Returns the values that need another Trainer if they change."""
        raise NotImplementedError

    def _live(self, fixed: dict[str, Value],
              constant: Callable[[str], Value]) -> Living:
        """Makes a Trainer with the state at step 0, with generators seeded."""
        raise NotImplementedError

    def train_step(self, step: int, hp: HyperParameters) -> None:
        constants = dict(self._state["constants"])
        _torch.seed_step(self.seed, -1)  # a new model has its first weights
        trained, self._trainer = self._train_epoch(
            step, hp, self._constant(constants, step, hp),
            self._state["trained"])
        self._state = {"trained": trained, "constants": constants,
                       "metrics": None}

    def _constant(self, constants: dict[str, Value], step: int,
                  hp: HyperParameters) -> Callable[[str], Value]:
        def constant(name: str) -> Value:
            value = hp[name](step)
            if constants.setdefault(name, value) != value:
                raise ValueError(f"{name} is {value!r} at step {step}, and was "
                                 f"{constants[name]!r}: it must never change")
            return value
        return constant

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        if self.step_is == "epoch":
            super().train(start, stop, hp)
            return
        while start < stop:
            fixed, end = self._fixed(start, hp), start + 1
            constant = self._constant(self._state["constants"], start, hp)
            self._enter(fixed, sorted(hp), constant)
            # Of these a part is known only once there is a model.
            while end < stop and self._fixed(end, hp) == fixed:
                self._check_constants(end, hp)
                end += 1
            self._metrics, self._is_current = None, False
            self._state["samples"] = self._living.run(
                start, end, hp, self._state["samples"])
            self._is_current = True
            start = end
        hp._refuse_unread("read it by constant in the code that makes the "
                          "model, or take it out of the study")

    def _check_constants(self, step: int, hp: HyperParameters) -> None:
        constant = self._constant(self._state["constants"], step, hp)
        for name in list(self._state["constants"]):
            constant(name)

    def _enter(self, fixed: dict[str, Value], names: list[str],
               constant: Callable[[str], Value]) -> None:
        """Makes the present state that of the living Trainer.

        Args:
            names: of all hyper-parameters; others may have set its options.
        """
        for name in list(self._state["constants"]):
            constant(name)
        wanted = (fixed, names, self._state["constants"])
        trained = None
        if not self._is_current or self._living_is != wanted:
            trained = self._living.state() if self._is_current \
                else self._state["trained"]
            if trained is None or self._living_is != wanted:
                self._living = self._living_is = None
                gc.collect()  # there need not be memory for two
                _torch.seed_step(self.seed, -1)
                self._living = self._live(fixed, constant)
            if trained is not None:
                self._living.load(trained)
        self._state.update(trained=None, fixed=fixed, names=names)
        self._living_is = copy.deepcopy(
            (fixed, names, self._state["constants"]))
        self._is_current = True

    def _enter_saved(self) -> None:
        """Makes the loaded state that of the living Trainer."""
        self._enter(self._state["fixed"], self._state["names"],
                    self._state["constants"].__getitem__)

    def evaluate(self) -> dict[str, float]:
        if self.step_is == "epoch":
            if self._state["metrics"] is None:
                if self._trainer is None:
                    raise RuntimeError(
                        "nothing is measured before the first step")
                _torch.seed_step(self.seed, -2)
                self._state["metrics"] = self._measure(self._trainer)
            return dict(self._state["metrics"])
        if self._metrics is None:
            if not self._is_current:
                if self._state["trained"] is None:
                    raise RuntimeError(
                        "nothing is measured before the first step")
                self._enter_saved()
            _torch.seed_step(self.seed, -2)
            self._metrics = self._living.measure()
        return dict(self._metrics)

    def _modules(self) -> dict[str, Any]:
        if self.step_is == "epoch":
            raise NotImplementedError
        if not self._is_current:
            if self._state["trained"] is None:
                return {}
            self._enter_saved()
        found: dict[str, Any] = self._living.modules()
        return found

    def state_dict(self) -> Any:
        if self.step_is == "epoch":
            if self._trainer is not None:
                # Another process has no Trainer to measure with.
                self.evaluate()
            return copied(self._state)
        state = copied(self._state)
        if self._is_current:
            state["trained"] = self._living.state()
        return state

    def load_state_dict(self, state: Any) -> None:
        self._state = copy.deepcopy(state)
        self._trainer = self._metrics = None
        self._is_current = False
