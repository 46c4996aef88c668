"""PyTorch Lightning modules as workloads.

    import hippo_hpo.lightning

    class Digits(hippo_hpo.lightning.Workload):
        def module(self, constant): return Net(depth=int(constant("depth")))
        def datamodule(self): return Data()

A step is an epoch. Each epoch has a Trainer of its own, which starts from the
last checkpoint, so interruptions make no difference. The metrics are the values
that the module logs in validation.
"""

from __future__ import annotations

import abc
import copy
import importlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch

from ._epochs import Workload as _Workload
from .torch import apply, data_loader, seed_step
from .workload import HyperParameters, Value

lightning: Any
try:
    lightning = importlib.import_module("lightning.pytorch")
except ImportError:
    lightning = importlib.import_module("pytorch_lightning")

__all__ = ["Workload"]


class _Step(lightning.Callback):  # type: ignore[misc]
    """Begins an epoch: seeds, and sets what optimisers are to have."""

    def __init__(self, seed: int, step: int, hp: HyperParameters) -> None:
        self._seed, self._step, self._hp = seed, step, hp

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        if trainer.lr_scheduler_configs:
            raise TypeError(
                "configure_optimizers returns a scheduler, which would "
                "overwrite what the study says: return the optimiser alone, "
                "and write the schedule in the space")
        for optimizer in trainer.optimizers:
            apply(optimizer, self._hp, self._step)
        seed_step(self._seed, self._step)


class Workload(_Workload):
    """A workload of a LightningModule and a LightningDataModule.

    The data set and the options of loading are those of the data module's
    training loader. Order and draws are those of
    `hippo_hpo.torch.data_loader`, and a hyper-parameter `batch_size` sets the
    batch size. All options of an optimiser that the space names are set.
    `setup` sets the attributes of `hippo_hpo.torch.Workload`.
    """

    _steps = ("epoch",)

    # Of every Trainer, beside what makes it exact: gradient clipping,
    # precision, accumulation.
    trainer_options: dict[str, Any] = {}

    @abc.abstractmethod
    def module(self, constant: Callable[[str], Value]) -> Any:
        """Returns a new LightningModule.

        Args:
            constant: returns a hyper-parameter that never changes, by name.
        """

    @abc.abstractmethod
    def datamodule(self) -> Any:
        """Returns the LightningDataModule; called once a process."""

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        super().setup(seed, device, args)
        self._data = self.datamodule()
        self._data.prepare_data()
        self._data.setup("fit")

    def _made(self, epochs: int, *callbacks: Any,
                 limit_val_batches: int | None = 0) -> Any:
        cuda = self.device.type == "cuda"
        return lightning.Trainer(**{
            "logger": False, "enable_checkpointing": False,
            "enable_progress_bar": False, "enable_model_summary": False,
            "num_sanity_val_steps": 0, **self.trainer_options,
            "limit_val_batches": limit_val_batches, "max_epochs": epochs,
            "callbacks": [*self.trainer_options.get("callbacks", []),
                          *callbacks],
            "accelerator": "gpu" if cuda else "cpu",
            "devices": [self.device.index or 0] if cuda else 1})

    def _train_epoch(self, step: int, hp: HyperParameters,
                     constant: Callable[[str], Value],
                     before: Any) -> tuple[Any, Any]:
        module = self.module(constant)
        given = self._data.train_dataloader()
        size = hp["batch_size"](step) if "batch_size" in hp \
            else given.batch_size
        loader = data_loader(given.dataset, self.seed, step, size,
                             drop_last=given.drop_last,
                             collate_fn=given.collate_fn,
                             num_workers=given.num_workers)
        trainer = self._made(step + 1, _Step(self.seed, step, hp))
        with tempfile.TemporaryDirectory() as folder:
            path = None
            if before is not None:
                path = os.path.join(folder, "before.ckpt")
                torch.save(before, path)
            trainer.fit(module, train_dataloaders=loader, ckpt_path=path)
            path = os.path.join(folder, "after.ckpt")
            trainer.save_checkpoint(path)
            after = torch.load(path, map_location="cpu", weights_only=False)
        return after, trainer

    def _measure(self, trainer: Any) -> dict[str, float]:
        measuring = self._made(1, limit_val_batches=None)
        measuring.validate(copy.deepcopy(trainer.lightning_module),
                           verbose=False,
                           dataloaders=self._data.val_dataloader())
        return {name: float(x)
                for name, x in measuring.callback_metrics.items()}
