"""Measures the mean of weights: `objective.average` of a study file.

A state has, beside what the workload keeps itself, the weights at the last
steps that are averaged. So the mean, as all else, is a function of the values of
hyper-parameters alone, wherever training was cut.

Source: Tian et al., "WSM: Decay-Free Learning Rate Schedule via Checkpoint
Merging for LLM Pre-training" (2507.17634).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ._sharded import Shard, is_sharded, reshard
from .workload import HyperParameters, Value, Workload

# The tensors of each PyTorch module of a state, by the names of both.
Weights = dict[str, dict[str, Any]]

# The keys of a state.
_OF_AVERAGES = {"state", "average"}


class Averaging(Workload):
    """A workload that measures the mean of another one's weights.

    These are the floating-point tensors of its PyTorch modules at the last `of`
    steps that are multiples of `every`. Before the first of these the weights
    are measured as they are.
    """

    def __init__(self, workload: Workload, of: int, every: int) -> None:
        self._workload, self._of, self._every = workload, of, every
        self._kept: list[Weights] = []
        try:
            workload._modules()
        except NotImplementedError:
            raise TypeError(
                f"{workload.name} cannot measure the mean of weights "
                "(objective.average): functions, classes of hippo.torch, and "
                "those of Transformers and Lightning whose steps are "
                "iterations can") from None

    @property
    def name(self) -> str:
        return self._workload.name

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        self._workload.initial = self.initial
        self._workload.setup(seed, device, args)

    def init(self) -> None:
        self._kept = []
        self._workload.init()

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        while start < stop:
            end = min(stop, start - start % self._every + self._every)
            self._workload.train(start, end, hp)
            if end % self._every == 0:
                weights = self._weights()
                if not any(weights.values()):
                    raise TypeError(
                        "objective.average is the mean of the floating-point "
                        "tensors of PyTorch modules, and the state has none: "
                        "name the model in ctx.steps(model=model), or make it "
                        "an attribute of a hippo.torch.Workload")
                self._kept = [*self._kept, _copies(weights)][-self._of:]
            start = end

    def _weights(self) -> Weights:
        """The tensors of the modules, which training changes."""
        return {name: dict(_tensors(module)) for name, module
                in sorted(self._workload._modules().items())}

    @contextmanager
    def _mean_in_place(self) -> Iterator[None]:
        """Lets the modules have the mean inside."""
        weights = self._weights()
        if not self._kept or not any(weights.values()):
            yield
            return
        before = {name: {key: x.detach().clone() for key, x in part.items()}
                  for name, part in weights.items()}
        _put(weights, mean_of(self._kept))
        try:
            yield
        finally:
            _put(weights, before)
            for module in self._workload._modules().values():
                reshard(module)

    def evaluate(self) -> Mapping[str, float]:
        with self._mean_in_place():
            return self._workload.evaluate()

    def state_dict(self) -> Any:
        self._workload._settle(self._mean_in_place)
        return {"state": self._workload.state_dict(), "average": self._kept}

    def load_state_dict(self, state: Any) -> None:
        self._workload.load_state_dict(state["state"])
        self._kept = state["average"]

    def size(self) -> Mapping[str, float]:
        return self._workload.size()

    def read(self, path: str) -> Any:
        return self._workload.read(path)


def is_of_averages(state: Any) -> bool:
    """Whether a state is one of `Averaging`."""
    return isinstance(state, dict) and state.keys() == _OF_AVERAGES


def put_mean(average: list[Weights], parts: Mapping[str, Any]) -> None:
    """Puts the mean into the saved states of modules, by name."""
    if average:
        for name, weights in mean_of(average).items():
            for key, x in weights.items():
                saved = parts[name][key]
                (saved.local if isinstance(saved, Shard) else saved).copy_(x)


def mean_of(kept: list[Weights]) -> Weights:
    """Returns the mean, on the CPU. In more digits than weights have, so that
    the mean of equal weights is these weights."""
    result: Weights = {}
    for name, part in kept[0].items():
        result[name] = {}
        for key, first in part.items():
            x = first.double()
            for other in kept[1:]:
                x = x + other[name][key]
            result[name][key] = (x / len(kept)).to(first.dtype)
    return result


def _tensors(module: Any) -> Iterator[tuple[str, Any]]:
    """The floating-point tensors that a module saves, each once; of one that is
    sharded over ranks, this one's part."""
    reshard(module)
    found: set[int] = set()
    for name, part in module.named_modules():
        saved = {**part._parameters,
                 **{key: x for key, x in part._buffers.items()
                    if key not in part._non_persistent_buffers_set}}
        for key, x in saved.items():
            if x is not None and x.is_floating_point() and id(x) not in found:
                found.add(id(x))
                yield (f"{name}.{key}".lstrip("."),
                       x.to_local() if is_sharded(x) else x)


def _copies(weights: Weights) -> Weights:
    """Copies on the CPU, where a mean has the same bits for all devices that
    its weights may come from."""
    return {name: {key: x.detach().to("cpu", copy=True)
                   for key, x in part.items()}
            for name, part in weights.items()}


def _put(weights: Weights, values: Weights) -> None:
    torch = sys.modules["torch"]
    with torch.no_grad():
        for name, part in weights.items():
            for key, x in part.items():
                x.copy_(values[name][key])
