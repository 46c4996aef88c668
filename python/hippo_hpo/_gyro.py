"""Gyro dropout (Lee et al., MLSys 2022): few, fixed subnetworks.

Ordinary dropout trains another subnetwork with each example. Here there are
`subnetworks` of them, `at_once` are trained by a batch, each by its share of
the examples, and for `period` epochs the same ones. What a subnetwork drops is
a function of (seed, layer, subnetwork, feature), as in the built-in workloads,
which have the same masks. So there is no state.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

_STEP = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1
# The purposes of random numbers, as Hippo's own have them.
_MASK, _ORDER = 7, 8
_PERIODS_MAX = float(1 << 53)

_Dropout: Any = torch.nn.modules.dropout._DropoutNd


def _scrambled(x: int) -> int:
    x = (x ^ x >> 30) * _FIRST & _WORD
    x = (x ^ x >> 27) * _SECOND & _WORD
    return x ^ x >> 31


def _key(seed: int, purpose: int, *address: int) -> int:
    key = _scrambled(seed + _STEP & _WORD)
    key = _scrambled(key ^ purpose * _STEP & _WORD)
    for x in address:
        key = _scrambled(key + (x + 1) * _STEP & _WORD)
    return key


def _number(key: int, index: int) -> int:
    return _scrambled(key + (index + 1) * _STEP & _WORD)


def _below(key: int, index: int, count: int) -> int:
    return (_number(key, index) >> 32) * count >> 32


def _signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x


def _shifted(x: Any, bits: int) -> Any:
    return x >> bits & (1 << 64 - bits) - 1


def _numbers(key: int, count: int) -> Any:
    """The first numbers of an address, as a tensor whose overflow wraps."""
    x = torch.arange(1, count + 1) * _signed(_STEP) + _signed(key)
    x = (x ^ _shifted(x, 30)) * _signed(_FIRST)
    x = (x ^ _shifted(x, 27)) * _signed(_SECOND)
    return x ^ _shifted(x, 31)


@functools.lru_cache(maxsize=8)
def _cycle(seed: int, count: int, number: int) -> list[int]:
    """All subnetworks in the order of a cycle."""
    key = _key(seed, _ORDER, number)
    order = list(range(count))
    for drawn, n in enumerate(range(count, 1, -1)):
        other = _below(key, drawn, n)
        order[n - 1], order[other] = order[other], order[n - 1]
    return order


def _subnetworks_of(seed: int, period: int, count: int, at_once: int,
                    draw: str) -> tuple[int, ...]:
    """The subnetworks that a period trains."""
    if draw == "replace":
        return tuple(_below(_key(seed, _ORDER, period, slot), 0, count)
                     for slot in range(at_once))
    places = range(period * at_once, (period + 1) * at_once)
    return tuple(_cycle(seed, count, x // count)[x % count] for x in places)


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, (int, float)) or value % 1 \
            or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}: it must be a whole number from "
                         f"{low} to {high}")
    return int(value)


def _checked(subnetworks: Any, at_once: Any, period: Any, block: Any,
             draw: Any) -> tuple[int, int, float, int, str]:
    """Returns the settings as numbers.

    Raises:
        ValueError: one is out of range, or two do not go together.
    """
    count = _whole("subnetworks", subnetworks, 0, 65536)
    slots = _whole("at_once", at_once, 1, 64)
    if 0 < count < slots:
        raise ValueError(f"at_once is {slots}, above subnetworks, which is "
                         f"{count}: it must be at most that")
    if not isinstance(period, (int, float)) or not period > 0:
        raise ValueError(f"period is {period!r}: it must be above 0")
    if draw not in ("permute", "replace"):
        raise ValueError(f"draw is {draw!r}: it must be permute or replace")
    return (count, slots, float(period),
            _whole("block", block, 1, (1 << 32) - 1), draw)


def _check_share_dropped(p: Any) -> None:
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ValueError(f"p is {p!r}: it must be in [0, 1]")


@functools.lru_cache(maxsize=64)
def _masks(p: float, seed: int, layer: int, subnetworks: tuple[int, ...],
           features: int, block: int) -> Any:
    """The masks of subnetworks, one below the other."""
    limit = int(p * (1 << 32))
    scale = 1 / (1 - p) if p < 1 else 0.0
    kept = [_numbers(_key(seed, _MASK, layer, x), features // block)
            .bitwise_and((1 << 32) - 1).ge(limit) for x in subnetworks]
    return torch.stack(kept).to(torch.float32).mul_(scale) \
        .repeat_interleave(block, dim=1)


def gyro_dropout(x: Any, p: float, *, seed: int, epoch: int, share: float = 0.0,
                 subnetworks: float = 256, at_once: float = 16,
                 period: float = 1.0, block: float = 1, draw: str = "permute",
                 layer: int = 0) -> Any:
    """Drops features of a batch by subnetworks; the rest is divided by 1 - p.

    Example b of n is trained by slot floor(b * at_once / n). Slots of all
    periods, one after another, are places in cycles of all subnetworks, each
    cycle another permutation. There is no state: equal arguments give equal
    results.

        >>> x = torch.ones(4, 6)
        >>> y = gyro_dropout(x, 0.5, seed=1, epoch=0, subnetworks=8, at_once=2)
        >>> bool((y[0] == y[1]).all()), sorted(set(y.flatten().tolist()))
        (True, [0.0, 2.0])

    Args:
        x: a batch: examples first, features of each in any shape.
        p: share of features dropped.
        seed: of all masks and orders.
        epoch: whole epochs before this batch.
        share: of the epoch that is trained before it, in [0, 1).
        subnetworks: how many there are; at least `at_once`.
        at_once: subnetworks of a batch, at most 64.
        period: epochs, or a fraction of one, for which they are the same.
        block: features that are dropped together; it divides their number.
        draw: "permute", or "replace": each slot of each period draws by itself,
            as in the published code, and some subnetworks are never trained.
        layer: tells layers of one model apart.
    Raises:
        ValueError: a value is out of range, or two do not go together.
    """
    _check_share_dropped(p)
    count, slots, length, wide, how = _checked(subnetworks, at_once, period,
                                               block, draw)
    if count == 0:
        raise ValueError("subnetworks is 0: it must be at least 1")
    if not 0 <= share < 1:
        raise ValueError(f"share is {share!r}: it must be in [0, 1)")
    examples = x.shape[0]
    features = math.prod(x.shape[1:])
    if features % wide:
        raise ValueError(f"block is {wide}: it must divide the {features} "
                         "features of a layer")
    if examples == 0:
        return x
    number = int(min((epoch + share) / length, _PERIODS_MAX))
    chosen = _subnetworks_of(int(seed), number, count, slots, how)
    masks = _masks(float(p), int(seed), int(layer), chosen, features, wide)
    slot_of = torch.arange(examples) * slots // examples
    mask = masks[slot_of].to(x.device).reshape(x.shape)
    return (x * mask).to(x.dtype)


class GyroDropout(_Dropout):  # type: ignore[misc]
    """`gyro_dropout` as a module.

    `set_subnetworks` tells all of a model where training is, before each batch.
    In evaluation it changes nothing. With 0 subnetworks it is ordinary dropout.
    It adds nothing to a model's state.

    Args:
        p: share of features dropped; `set_dropout` changes it.
        subnetworks: as of `gyro_dropout`; `set_subnetworks` changes it and the
            rest.
        at_once: likewise.
        period: likewise.
        block: likewise.
        draw: likewise.
    Raises:
        ValueError: a value is out of range, or two do not go together.
    """

    def __init__(self, p: float = 0.5, subnetworks: float = 256,
                 at_once: float = 16, period: float = 1.0, block: float = 1,
                 draw: str = "permute") -> None:
        super().__init__(p)
        _checked(subnetworks, at_once, period, block, draw)
        self.settings: dict[str, Any] = {
            "subnetworks": subnetworks, "at_once": at_once, "period": period,
            "block": block, "draw": draw}
        self._place: dict[str, Any] | None = None

    def extra_repr(self) -> str:
        return ", ".join([f"p={self.p}"] + [f"{name}={value}" for name, value
                                            in self.settings.items()])

    def forward(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        if self.settings["subnetworks"] == 0:
            return torch.nn.functional.dropout(x, self.p, True)
        if self._place is None:
            raise RuntimeError(
                "GyroDropout does not know the step: call hippo.torch."
                "set_subnetworks(model, seed, epoch, share) before each batch")
        return gyro_dropout(x, self.p, **self._place, **self.settings)


def set_subnetworks(model: Any, seed: int, epoch: int, share: float = 0.0,
                    **settings: Any) -> None:
    """Tells all `GyroDropout` of a model where training is.

    Layers are numbered in the order of `model.modules()`.

    Args:
        seed: of the workload.
        epoch: whole epochs before this batch: the step, if a step is an epoch.
        share: of the epoch that is trained before it: i / n at batch i of n.
        settings: new values of subnetworks, at_once, period, block, draw.
    Raises:
        ValueError: the model has no GyroDropout; a value is out of range, or
            two do not go together.
        TypeError: there is no setting of that name.
    """
    layers = [x for x in model.modules() if isinstance(x, GyroDropout)]
    if not layers:
        raise ValueError("the model has no GyroDropout to set")
    for number, layer in enumerate(layers):
        for name in settings:
            if name not in layer.settings:
                raise TypeError(f"GyroDropout has no setting {name!r}; it has: "
                                + ", ".join(layer.settings))
        changed = {**layer.settings, **settings}
        _checked(**changed)
        layer.settings = changed
        layer._place = {"seed": int(seed), "epoch": epoch, "share": share,
                        "layer": number}
