"""Lets libraries import Debian's PyTorch 1.13, which is older than the Python
3.11 that it lies beside. Import this before them."""

import dataclasses
import importlib
from unittest import mock

try:
    import torch.distributed
except ImportError:
    torch = None

_dataclass = dataclasses.dataclass


def _hashed(cls=None, **options):
    """Python 3.11 refuses a default without a hash, which one class has."""
    if cls is not None and "__hash__" not in vars(cls):
        options["unsafe_hash"] = True
    return _dataclass(cls, **options)


if torch is not None and torch.__version__.startswith("1."):
    with mock.patch.object(dataclasses, "dataclass", _hashed):
        importlib.import_module("torch.distributed._shard.sharded_tensor")
