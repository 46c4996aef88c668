"""Copies of states, and their files: equal states have equal bytes.

A file is a pickle; `torch.save` writes it if the state has tensors of PyTorch.
Bytes depend on more than values: on whether equal strings are one object, and on
the memory around a tensor. So both are made alike first.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ._sharded import Mesh, Shard, is_sharded, joined, shard_of

# Types whose equal values have equal bytes anyway.
_ATOMS = (int, float, complex, bool, bytes, type(None))


def copied(state: Any) -> Any:
    """Returns a copy on the CPU, which later training does not change.

    Tensors that share memory share it there too. Sharded ones become `Shard`.
    """
    return _Tensors(state, is_copy=True).state


def write_state(state: Any, path: str) -> None:
    """Writes a state to a file."""
    state = _Tensors(state, is_copy=False).state
    with open(path, "wb") as file:  # a path would become a part of what is saved
        try:
            _Plain(file, protocol=5).dump(state)
        except _HasTensors:
            import torch
            file.seek(0)
            file.truncate()
            torch.save(state, file)


def read_state(path: str) -> Any:
    """Returns the state that `write_state` wrote, tensors on the CPU if they
    were copied."""
    with open(path, "rb") as file:
        if not is_of_torch(path):
            return pickle.load(file)
        import torch  # which may not have been imported yet
        return torch.load(file, map_location="cpu", weights_only=False)


def is_of_torch(path: str) -> bool:
    """Whether `torch.save` wrote a file: a zip, as a pickle is not."""
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def whole(state: Any) -> Any:
    """Returns a state that was read with the sharded tensors that it was made
    of.

    Raises:
        RuntimeError: there is no process group for these.
    """
    return _walked(state, _itself, _itself, Shard.tensor, {})


def unsharded(states: list[Any]) -> Any:
    """Returns the state of all ranks with whole tensors where each has a shard
    (FSDP); all else is that of rank 0.

    Args:
        states: of all ranks, by rank, as `study.load()` returns them.
    """
    parts: list[list[Shard]] = [[] for _ in states]
    for state, found in zip(states, parts):
        _walked(state, _itself, _itself, found.append, {})
    whole_ones = iter([joined(list(x)) for x in zip(*parts)])
    return _walked(states[0], _itself, _itself, lambda _: next(whole_ones), {})


class _HasTensors(Exception):
    pass


class _Plain(pickle.Pickler):
    """Pickles a state without tensors."""

    def reducer_override(self, x: Any) -> Any:
        if _is_tensor(x):
            raise _HasTensors
        return NotImplemented


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _walked(x: Any, tensor: Callable[[Any], Any], other: Callable[[Any], Any],
            shard: Callable[[Shard], Any], made: dict[int, Any]) -> Any:
    """Returns a value with other containers, strings that are one object if
    they are equal, and what functions make of the rest.

    Args:
        made: what was made of containers, by their ids.
    """
    kind = type(x)

    def walked(y: Any) -> Any:
        return _walked(y, tensor, other, shard, made)
    if kind is str:
        return sys.intern(x)  # pickle writes an object once
    if kind in _ATOMS:
        return x
    if kind is tuple:
        return tuple(walked(y) for y in x)
    if kind is Mesh:
        return Mesh._make(walked(y) for y in x)
    if kind is Shard:
        return shard(x)
    if kind in (dict, OrderedDict, list):
        if id(x) not in made:
            result: Any = kind()
            made[id(x)] = result
            if kind is list:
                result += [walked(y) for y in x]
            else:
                result.update((walked(k), walked(y)) for k, y in x.items())
            if (metadata := getattr(x, "_metadata", None)) is not None:
                result._metadata = walked(metadata)
        return made[id(x)]
    return tensor(x) if _is_tensor(x) else other(x)


class _Tensors:
    """A state whose tensors have memory of their own, as much as they need.

    Attributes:
        state: with other tensors, where these had not.
    """

    def __init__(self, state: Any, is_copy: bool) -> None:
        self._is_copy = is_copy
        # Tensors with the same memory, by its place; `torch.save` refuses
        # different types of numbers in one.
        self._sharing: dict[tuple[Any, ...], list[Any]] = {}
        self._types: dict[int, set[Any]] = {}
        self._made: dict[tuple[Any, ...], Any] = {}  # by `_view`
        _walked(state, self._note, _itself,
                lambda x: self._note(x.local), {})
        for xs in self._sharing.values():
            if len({_view(x) for x in xs}) > 1:
                self._make_together(xs)
        self.state = _walked(
            state, self._settled, copy.deepcopy if is_copy else _itself,
            self._settled_shard, {})

    def _note(self, x: Any) -> None:
        if is_sharded(x):
            x = shard_of(x).local
        if _has_memory(x):
            self._sharing.setdefault(_memory(x), []).append(x)
            self._types.setdefault(_storage(x).data_ptr(), set()).add(x.dtype)

    def _make_together(self, xs: list[Any]) -> None:
        """Makes what has parts of the same memory."""
        import torch
        xs = [x for x in xs if _extent(x) >= x.numel()]  # repeats no number
        if not xs:
            return
        begin = min(x.storage_offset() for x in xs)
        end = max(x.storage_offset() + _extent(x) for x in xs)
        memory = torch.zeros(end - begin, dtype=xs[0].dtype,
                             device=self._place(xs[0]))
        for x in xs:
            made = memory.as_strided(x.size(), x.stride(),
                                     x.storage_offset() - begin)
            self._made[_view(x)] = made.copy_(x.detach())

    def _may_stay(self, x: Any) -> bool:
        """Whether a tensor can be saved as it is."""
        if not _has_memory(x):
            return bool(x.numel() > 0)
        return _has_all(x) and _view(x) not in self._made \
            and len(self._types[_storage(x).data_ptr()]) == 1

    def _place(self, x: Any) -> Any:
        return "cpu" if self._is_copy else x.device

    def _settled_shard(self, x: Shard) -> Shard:
        # Objects of its own, wherever they come from.
        mesh = _walked(x.mesh, _itself, _itself, _itself, {})
        return Shard(self._settled(x.local), mesh,
                     tuple(copy.deepcopy(y) for y in x.placements),
                     (*x.shape,), (*x.stride,), x.requires_grad)

    def _settled(self, x: Any) -> Any:
        if is_sharded(x):
            return self._settled_shard(shard_of(x))
        if not self._is_copy and self._may_stay(x):
            return x
        if not _has_memory(x):
            return x.detach().to(self._place(x), copy=True)
        if _view(x) not in self._made:
            self._made[_view(x)] = x.detach().to(self._place(x), copy=True)
        made = self._made[_view(x)]
        return made if self._is_copy else _like(x, made)


def _itself(x: Any) -> Any:
    return x


def _has_memory(x: Any) -> bool:
    """Whether a tensor is nothing but a view of memory."""
    torch = sys.modules["torch"]
    return type(x) in (torch.Tensor, torch.nn.Parameter) and x.numel() > 0 \
        and x.layout == torch.strided and x.device.type != "meta" \
        and not (x.is_quantized or x.is_conj() or x.is_neg())


def _storage(x: Any) -> Any:
    # The other one is that of PyTorch 1.
    return x.untyped_storage() if hasattr(x, "untyped_storage") \
        else x.storage().untyped()


def _memory(x: Any) -> tuple[Any, ...]:
    return str(x.device), _storage(x).data_ptr(), x.dtype


def _view(x: Any) -> tuple[Any, ...]:
    """The memory of a tensor, and its place and layout there."""
    return (*_memory(x), x.storage_offset(), tuple(x.size()), x.stride())


def _extent(x: Any) -> int:
    """How many numbers there are from its first to its last one."""
    return 1 + sum(int(n - 1) * int(s) for n, s in zip(x.size(), x.stride()))


def _has_all(x: Any) -> bool:
    """Whether a tensor is all of its memory."""
    return bool(_extent(x) == x.numel()
                == _storage(x).nbytes() // x.element_size())


def _like(x: Any, made: Any) -> Any:
    """Returns a tensor of the same kind as another one."""
    torch = sys.modules["torch"]
    if isinstance(x, torch.nn.Parameter):
        return torch.nn.Parameter(made, x.requires_grad)
    return made.requires_grad_(x.requires_grad)
