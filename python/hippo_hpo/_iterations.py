"""Steps that are iterations of an optimiser: the order of their samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.data

from .torch import _as_it_is, _Batches, _number
from .workload import own_rank


class SampleOrder:
    """The order of samples, by the index of a sample since step 0.

    Sample n is at place n % samples of the order of epoch n // samples, which
    is a function of (seed, epoch). No earlier sample has to be drawn for it.

        >>> order = SampleOrder(5, seed=1)
        >>> order.at(3, 4) == order.at(0, 10)[3:7]
        True
        >>> sorted(order.at(5, 5))
        [0, 1, 2, 3, 4]
    """

    def __init__(self, samples: int, seed: int) -> None:
        if samples < 1:
            raise ValueError("there are no samples to train on")
        self._samples, self._seed = samples, seed
        self._epoch, self._order = -1, torch.empty(0)

    def at(self, first: int, count: int) -> list[int]:
        """Returns the places in the data set of `count` samples."""
        found: list[int] = []
        while count:
            epoch, begin = divmod(first, self._samples)
            if epoch != self._epoch:
                generator = torch.Generator()
                generator.manual_seed(_number("order", self._seed, epoch))
                self._epoch, self._order = epoch, torch.randperm(
                    self._samples, generator=generator)
            taken = self._order[begin:begin + count].tolist()
            found += taken
            first, count = first + len(taken), count - len(taken)
        return found


class Batches:
    """A sampler: this rank's batches of consecutive steps, in parts of gradient
    accumulation. Rank r of R has every R-th sample, from the r-th on.

    Args:
        begin: the first step.
        sizes: of a part's batch on each rank, for each step.
        parts: of each step.
        first: the index of the first sample.
    """

    def __init__(self, order: SampleOrder, begin: int, sizes: list[int],
                 parts: int, first: int) -> None:
        self._order, self._begin, self._sizes = order, begin, sizes
        self._parts, self._first = parts, first
        self._rank, self._ranks = own_rank()

    def __len__(self) -> int:
        return len(self._sizes) * self._parts

    @property
    def end(self) -> int:
        """The index of the sample after the last one."""
        return self._first + self._parts * self._ranks * sum(self._sizes)

    def __iter__(self) -> Iterator[tuple[Any, list[int]]]:
        first = self._first
        for i, size in enumerate(self._sizes):
            for part in range(self._parts):
                order = self._order.at(first, size * self._ranks)
                yield ((self._begin + i, part * self._ranks + self._rank),
                       order[self._rank::self._ranks])
                first += size * self._ranks


def loader(dataset: Any, seed: int, batches: Batches, collate_fn: Any,
           **options: Any) -> Any:
    """Returns a torch.utils.data.DataLoader of these batches. Random draws of
    the data set are functions of (seed, step, part).

    Raises:
        TypeError: if the data set is an IterableDataset, which has no order.
    """
    if isinstance(dataset, torch.utils.data.IterableDataset):
        raise TypeError("an IterableDataset has an order of its own: give a "
                        "data set with __len__ and __getitem__")
    return torch.utils.data.DataLoader(
        _Batches(dataset, collate_fn, seed, "iteration"), batch_size=None,
        sampler=batches, collate_fn=_as_it_is, generator=torch.Generator(),
        **options)
