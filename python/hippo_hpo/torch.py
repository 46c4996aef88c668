"""Exact PyTorch training with few lines.

    import hippo_hpo as hippo

    class Net(hippo.torch.Workload):
        def build(self):
            self.model = CNN().to(self.device)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def train_step(self, epoch, hp):
            hippo.torch.apply(self.optimizer, hp, epoch)
            self.model.train()
            for x, y in hippo.torch.data_loader(
                    self.data, self.seed, epoch, hp.batch_size(epoch)):
                ...

        def evaluate(self): return {"val_accuracy": ...}

Whatever is random is a function of an address, (seed, step) or (seed, epoch,
batch), and of nothing that was drawn before. All of it may also be used without
`Workload`: `seed_step`, `data_loader`, `State`, `apply`, `set_dropout`,
`GyroDropout`, `deterministic`. Works with PyTorch 1.13 and 2.x; `import
hippo_hpo` alone does not import this module.
"""

from __future__ import annotations

import abc
import contextlib
import copy
import hashlib
import importlib
import os
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from ._gyro import GyroDropout, gyro_dropout, set_subnetworks
from ._sharded import Shard
from ._state_file import copied, unsharded, whole
from .workload import HyperParameters, Value, own_rank
from .workload import Workload as _Workload

numpy: Any
try:
    numpy = importlib.import_module("numpy")
except ImportError:  # torch does without
    numpy = None

__all__ = ["GyroDropout", "RandomState", "Shard", "State", "Workload", "apply",
           "data_loader", "deterministic", "gyro_dropout", "seed_step",
           "set_dropout", "set_subnetworks", "unsharded"]


def _number(*address: Any) -> int:
    """A number of 63 bits for each address."""
    digest = hashlib.blake2b(repr(address).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _seed_cpu(number: int) -> None:
    random.seed(number)
    if numpy is not None:
        numpy.random.seed(number % 2**32)
    torch.default_generator.manual_seed(number)


def seed_step(seed: int, step: int) -> None:
    """Seeds all global generators by the seed and the step.

    These are the generators of `random`, numpy and torch, on all devices. So
    dropout, augmentation and new weights do not depend on earlier draws.

    Args:
        step: any whole number; `Workload` takes -1 for the initial state.
    """
    number = _number("step", int(seed), int(step))
    _seed_cpu(number)
    torch.manual_seed(number)


def deterministic() -> None:
    """Makes operations deterministic.

    Operations without a deterministic kernel in PyTorch raise RuntimeError from
    now on. Call it before any computation on a GPU.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


class RandomState:
    """The state of the global generators, for code that needs a stream.

    A part for `State`. Code that calls `seed_step` at each step needs none.
    """

    def state_dict(self) -> dict[str, Any]:
        state = _cpu_random()
        if torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        _set_cpu_random(state)
        if "cuda" in state:
            torch.cuda.set_rng_state(state["cuda"])


def _cpu_random() -> dict[str, Any]:
    state = {"python": random.getstate(), "torch": torch.get_rng_state()}
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    return state


def _set_cpu_random(state: Mapping[str, Any]) -> None:
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    if numpy is not None and "numpy" in state:
        numpy.random.set_state(state["numpy"])


@contextlib.contextmanager
def _drawing_from(number: int) -> Iterator[None]:
    """Draws from a number inside, and outside as if nothing had been drawn."""
    before = _cpu_random()
    _seed_cpu(number)
    try:
        yield
    finally:
        _set_cpu_random(before)


def _never_draws(dataset: Any) -> bool:
    """Whether to make items of it is known to draw nothing."""
    if type(dataset) is torch.utils.data.Subset:
        return _never_draws(dataset.dataset)
    if type(dataset) is torch.utils.data.ConcatDataset:
        return all(map(_never_draws, dataset.datasets))
    return type(dataset) in (torch.utils.data.TensorDataset, list, tuple, range)


class _Batches:
    """A data set whose items are batches: (number, indices) names one."""

    def __init__(self, dataset: Any, collate_fn: Any, seed: int,
                 epoch: int | str) -> None:
        self._dataset = dataset
        self._collate = collate_fn or torch.utils.data.default_collate
        # To keep and put back the generators takes 0.1 ms, which is much
        # beside a batch of tensors.
        self._draws = collate_fn is not None or not _never_draws(dataset)
        self._address = ("batch", seed, epoch)

    def __getitem__(self, batch: tuple[Any, list[int]]) -> Any:
        number, indices = batch
        with (_drawing_from(_number(*self._address, number)) if self._draws
              else contextlib.nullcontext()):
            return self._collate([self._dataset[i] for i in indices])


def data_loader(dataset: Any, seed: int, epoch: int, batch_size: Value, *,
                shuffle: bool = True, drop_last: bool = False, start: int = 0,
                collate_fn: Any = None, **options: Any) -> Any:
    """Returns a torch.utils.data.DataLoader of one epoch.

    The order is a function of (seed, epoch). Random draws of the data set are
    functions of (seed, epoch, number of the batch), with and without worker
    processes. They do not affect the generators of the training code.

        >>> order = [x.tolist() for x in data_loader(range(5), 1, 7, 2.0)]
        >>> len(order), sorted(sum(order, []))
        (3, [0, 1, 2, 3, 4])

    Args:
        dataset: with a length and items by index.
        batch_size: in samples, as a hyper-parameter gives it: 64.0 is 64. Of
            each rank, where a trial has several: rank r of R has every R-th
            sample of the order, from the r-th on. All ranks have equally many:
            the first samples come once more at the end where that is needed.
        start: how many batches to leave out, for who begins inside an epoch
            because a step is a batch.
        options: of DataLoader, e.g. num_workers or pin_memory.
    Raises:
        ValueError: if the batch size is not a whole number of at least 1.
        TypeError: if the data set is an IterableDataset, which has no order.
    """
    if isinstance(dataset, torch.utils.data.IterableDataset):
        raise TypeError("an IterableDataset has an order of its own: give a "
                        "data set with __len__ and __getitem__")
    samples, size = len(dataset), _whole_size(batch_size)
    generator = torch.Generator()
    generator.manual_seed(_number("order", int(seed), int(epoch)))
    order = (torch.randperm(samples, generator=generator).tolist() if shuffle
             else list(range(samples)))
    rank, ranks = own_rank()
    if not drop_last:
        order += (order * ranks)[:-samples % ranks]
    order = order[:len(order) - len(order) % ranks][rank::ranks]
    end = len(order) - len(order) % size if drop_last else len(order)
    batches = [(i // size * ranks + rank, order[i:i + size])
               for i in range(0, end, size)]
    return torch.utils.data.DataLoader(
        _Batches(dataset, collate_fn, int(seed), int(epoch)), batch_size=None,
        sampler=batches[start:], collate_fn=_as_it_is, generator=generator,
        **options)


def _whole_size(batch_size: Value) -> int:
    """Returns a batch size as an int.

    Raises:
        ValueError: if it is not a whole number of at least 1.
    """
    if not isinstance(batch_size, (int, float)) or batch_size < 1 \
            or batch_size % 1:
        raise ValueError(f"batch_size is {batch_size!r}: it must be a whole "
                         "number of at least 1")
    return int(batch_size)


def _as_it_is(batch: Any) -> Any:
    return batch


def apply(optimizer: Any, hp: HyperParameters, step: int,
          groups: Any = None) -> None:
    """Sets the optimiser's options to the hyper-parameters of those names.

    E.g. lr, momentum, weight_decay; beta1 and beta2 are the two of `betas`.
    Hyper-parameters that the optimiser does not have are ignored, and count as
    not read: see `Workload.train`.

    Args:
        groups: those of the optimiser's `param_groups` to change; None: all.
    Raises:
        ValueError: a value is not a number.
    """
    for group in optimizer.param_groups if groups is None else groups:
        for name in hp:
            if name in group:
                group[name] = _like(group[name], name, hp[name](step))
            elif name in ("beta1", "beta2") and "betas" in group:
                betas = list(group["betas"])
                betas[name == "beta2"] = _like(0.0, name, hp[name](step))
                group["betas"] = tuple(betas)


def _like(old: Any, name: str, value: Value) -> Any:
    if not isinstance(value, (int, float)):
        raise ValueError(f"{name} is {value!r}: an option of an optimiser must "
                         "be a number")
    if isinstance(old, torch.Tensor):
        return torch.full_like(old, value)
    if isinstance(old, bool):
        return bool(value)
    return float(value) if isinstance(old, float) else value


def set_dropout(model: Any, p: Value) -> None:
    """Sets the probability of all dropout in a model.

    Raises:
        ValueError: it is not in [0, 1], or the model has no dropout.
    """
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ValueError(f"dropout is {p!r}: it must be in [0, 1]")
    found = False
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p, found = p, True
        elif isinstance(module, (torch.nn.RNNBase,
                                 torch.nn.MultiheadAttention)):
            module.dropout, found = p, True
    if not found:
        raise ValueError("the model has no dropout to set")


class State:
    """The states of several objects as one:

        State(model=model, optimizer=optimizer, scaler=scaler)

    Args:
        parts: objects with `state_dict` and `load_state_dict`: modules,
            optimisers, schedulers, scalers, a `RandomState`.
    """

    def __init__(self, **parts: Any) -> None:
        self._parts = parts

    def state_dict(self) -> dict[str, Any]:
        """Returns copies on the CPU, which later training does not change. Of
        tensors that are sharded over ranks (FSDP) these are `Shard`."""
        state: dict[str, Any] = copied(
            {name: part.state_dict() for name, part in self._parts.items()})
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores each part, on the device where it is. No gradients remain.

        Raises:
            KeyError: the state has other parts.
        """
        if state.keys() != self._parts.keys():
            raise KeyError(f"the state is one of {', '.join(sorted(state))}; "
                           f"there are {', '.join(sorted(self._parts))}")
        for name, part in self._parts.items():
            part.load_state_dict(whole(copy.deepcopy(state[name])))
            if isinstance(part, torch.nn.Module):
                for parameter in part.parameters():
                    parameter.grad = None


def _stateful(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The objects in a value that have a state, by name."""
    if isinstance(value, Mapping):
        items: Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        if (hasattr(value, "state_dict") and hasattr(value, "load_state_dict")
                and not isinstance(value, type)):
            yield name, value
        return
    for key, x in items:
        yield from _stateful(f"{name}.{key}", x)


class Workload(_Workload):
    """A PyTorch workload. Subclasses have `build`, `train_step` and `evaluate`.

    The state is that of all attributes with a `state_dict`: the model, the
    optimiser, schedulers, scalers, also in lists and maps. If a later step
    reads more, override `parts`, or `state_dict` and `load_state_dict`. `setup`
    sets these attributes:

    Attributes:
        seed: the seed of all randomness.
        device: a torch.device.
        args: the study file's `args`.
    """

    _built = False

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        """Stores the constants. An override, such as one that loads data, has
        to call it."""
        self.seed, self.args = seed, args
        self.device = torch.device(device)
        deterministic()
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)

    @abc.abstractmethod
    def build(self) -> None:
        """Creates the model, the optimiser and all other objects with a
        state."""

    @abc.abstractmethod
    def train_step(self, step: int, hp: HyperParameters) -> None:
        """Trains from state `step` to the next one.

        `seed_step` has seeded all generators just before.
        """

    def _modules(self) -> dict[str, Any]:
        return {name: part for name, part in self.parts().items()
                if isinstance(part, torch.nn.Module)}

    def parts(self) -> dict[str, Any]:
        """Returns the parts of the state, by name."""
        found: dict[str, Any] = {}
        for name, value in vars(self).items():
            found.update(_stateful(name, value))
        return found

    def init(self) -> None:
        """Goes to the state at step 0, whatever the present state is."""
        seed_step(self.seed, -1)
        self.build()
        self._built = True

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        """Trains from state `start`, the present one, to state `stop`.

        Raises:
            ValueError: a hyper-parameter of the study was not read. Usually
                its name is misspelt, and trials that differ in it alone would
                be trained for nothing.
        """
        for step in range(start, stop):
            seed_step(self.seed, step)
            self.train_step(step, hp)
        hp._refuse_unread("read it in train_step, or take it out of the study")

    def state_dict(self) -> dict[str, Any]:
        return State(**self.parts()).state_dict()

    def load_state_dict(self, state: Any) -> None:
        if not self._built:
            self.init()
        State(**self.parts()).load_state_dict(state)

    def _capture(self) -> Callable[[str], None] | None:
        if type(self).state_dict is not Workload.state_dict \
                or type(self).save is not _Workload.save \
                or torch.cuda.is_initialized():
            return super()._capture()
        # Copies are made by the other process: these stay as they are there.
        parts = {name: part.state_dict() for name, part in self.parts().items()}
        return lambda path: self._write(copied(parts), path)
