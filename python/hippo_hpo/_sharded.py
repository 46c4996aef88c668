"""Tensors that are sharded over ranks (DTensor of PyTorch), as states have
them.

A state has a rank's own part of each, and how all parts make up the tensor, so
it can be read where no process group is.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple


class Mesh(NamedTuple):
    """A torch.distributed.device_mesh.DeviceMesh.

    Attributes:
        device_type: "cpu" or "cuda".
        ranks: its ranks, as nested lists.
        names: of its dimensions; nothing: they have none.
        root: the mesh of which it is a part; nothing: it is whole.
    """

    device_type: str
    ranks: list[Any]
    names: tuple[str, ...] | None
    root: Mesh | None = None


@dataclass
class Shard:
    """The part of a tensor that is sharded over ranks.

    Attributes:
        local: the part that this rank has.
        mesh: the ranks that have the others.
        placements: which part each has, as DTensor names it.
        shape, stride: of the whole tensor.
        requires_grad: of the whole tensor.
    """

    local: Any
    mesh: Mesh
    placements: tuple[Any, ...]
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool = False

    def tensor(self) -> Any:
        """Returns the DTensor.

        Raises:
            RuntimeError: there is no process group.
        """
        import torch
        if not is_joined():
            raise RuntimeError(
                "the state has tensors that are sharded over ranks: join the "
                "process group before it is loaded, in setup() or before "
                "ctx.steps(): torch.distributed.init_process_group()")
        from torch.distributed.tensor import DTensor
        result = DTensor.from_local(
            self.local, _mesh_of(self.mesh), self.placements, run_check=False,
            shape=torch.Size(self.shape), stride=self.stride)
        return result.requires_grad_(self.requires_grad)


def joined(shards: list[Shard]) -> Any:
    """Returns the whole tensor of the parts of all ranks, by rank.

    Raises:
        ValueError: its placements are other ones than shards and copies.
    """
    import torch

    def part(ranks: Any, dim: int) -> Any:
        if not isinstance(ranks, list):
            return shards[ranks].local
        placement = shards[0].placements[dim]
        if placement.is_replicate():
            return part(ranks[0], dim + 1)
        if type(placement).__name__ != "Shard":
            raise ValueError(f"a tensor is placed as {placement}: only shards "
                             "and copies are joined")
        return torch.cat([part(x, dim + 1) for x in ranks], placement.dim)
    return part(shards[0].mesh.ranks, 0)


def is_joined() -> bool:
    """Whether this process has joined the process group of PyTorch."""
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() \
        and bool(distributed.is_initialized())


def is_sharded(x: Any) -> bool:
    """Whether a tensor is a DTensor."""
    tensor = sys.modules.get("torch.distributed.tensor")
    return tensor is not None and isinstance(x, tensor.DTensor)


def reshard(module: Any) -> None:
    """Lets a module of `fully_shard` have its shards, in whose place its
    forward pass may have left whole tensors."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    if (kind := getattr(fsdp, "FSDPModule", None)) is not None:
        for part in module.modules():
            if isinstance(part, kind):
                part.reshard()


def shard_of(x: Any) -> Shard:
    """Returns the part that this rank has of a DTensor."""
    whole = x.detach()
    return Shard(whole.to_local(), _described(x.device_mesh),
                 tuple(x.placements), tuple(x.shape), tuple(whole.stride()),
                 x.requires_grad)


def _described(mesh: Any) -> Mesh:
    names = mesh.mesh_dim_names
    # In former releases of PyTorch the module knows it.
    root = mesh._get_root_mesh() if hasattr(mesh, "_get_root_mesh") \
        else sys.modules[type(mesh).__module__]._mesh_resources.get_root_mesh(
            mesh)
    return Mesh(mesh.device_type, mesh.mesh.tolist(),
                None if names is None else tuple(names),
                None if root is mesh or root is None else _described(root))


# The meshes of the present process group, since each may have groups that all
# ranks make together.
_meshes: dict[str, Any] = {}
_meshes_group: Any = None


def _mesh_of(x: Mesh) -> Any:
    """Returns a mesh like the one that was described."""
    global _meshes_group
    from torch.distributed import distributed_c10d
    from torch.distributed.device_mesh import DeviceMesh
    group = distributed_c10d._get_default_group()
    if group is not _meshes_group:
        _meshes.clear()
        _meshes_group = group
    key = repr(x)
    if key not in _meshes:
        if x.root is None:
            _meshes[key] = DeviceMesh(x.device_type, x.ranks,
                                      mesh_dim_names=x.names)
        elif x.names is None:
            raise ValueError("a tensor is sharded over a part of a device mesh "
                             "whose dimensions have no names: give them names")
        else:
            _meshes[key] = _mesh_of(x.root)[x.names]
    return _meshes[key]
