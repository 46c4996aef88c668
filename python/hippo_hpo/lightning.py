"""PyTorch Lightning modules as workloads.

    import hippo_hpo.lightning

    class Digits(hippo_hpo.lightning.Workload):
        def module(self, constant): return Net(depth=int(constant("depth")))
        def datamodule(self): return Data()

A step is an epoch: a Trainer of its own, which begins from a checkpoint. So it
does not matter where training is cut, by construction. What the module logs in
validation is measured.
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

from .torch import _copied, apply, data_loader, deterministic, seed_step
from .workload import HyperParameters, Value
from .workload import Workload as _Workload

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

    The training loader of the data module says what to load and how; order
    and draws are those of `hippo_hpo.torch.data_loader`, and a
    hyper-parameter `batch_size` is the size. All of an optimiser's options
    that the space names are set. `setup` gives these attributes:

    Attributes:
        seed: of all randomness.
        device: a torch.device.
        args: the study file's `args`.
    """

    # Of every Trainer, beside what makes it exact: gradient clipping,
    # precision, accumulation.
    trainer_options: dict[str, Any] = {}

    @abc.abstractmethod
    def module(self, constant: Callable[[str], Value]) -> Any:
        """Returns a new LightningModule.

        Args:
            constant: gives a hyper-parameter that never changes, by name.
        """

    @abc.abstractmethod
    def datamodule(self) -> Any:
        """Returns the LightningDataModule; called once a process."""

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        self.seed, self.args = seed, args
        self.device = torch.device(device)
        deterministic()
        self._data = self.datamodule()
        self._data.prepare_data()
        self._data.setup("fit")

    def init(self) -> None:
        self._state: dict[str, Any] = {"checkpoint": None, "constants": {},
                                       "metrics": None}
        self._trained: tuple[Any, Any] | None = None

    def _trainer(self, epochs: int, *callbacks: Any,
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

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        for step in range(start, stop):
            self._train_step(step, hp)
        if start < stop:
            hp._refuse_unread("give it an optimiser's option's name, read it "
                              "by constant() in module, or take it out of the "
                              "study")

    def _train_step(self, step: int, hp: HyperParameters) -> None:
        constants = dict(self._state["constants"])

        def constant(name: str) -> Value:
            value = hp[name](step)
            if constants.setdefault(name, value) != value:
                raise ValueError(f"{name} is {value!r} at step {step}, and was "
                                 f"{constants[name]!r}: constant() is for what "
                                 "never changes")
            return value
        seed_step(self.seed, -1)
        module = self.module(constant)
        given = self._data.train_dataloader()
        size = hp["batch_size"](step) if "batch_size" in hp \
            else given.batch_size
        loader = data_loader(given.dataset, self.seed, step, size,
                             drop_last=given.drop_last,
                             collate_fn=given.collate_fn,
                             num_workers=given.num_workers)
        trainer = self._trainer(step + 1, _Step(self.seed, step, hp))
        with tempfile.TemporaryDirectory() as folder:
            path = None
            if self._state["checkpoint"] is not None:
                path = os.path.join(folder, "before.ckpt")
                torch.save(self._state["checkpoint"], path)
            trainer.fit(module, train_dataloaders=loader, ckpt_path=path)
            path = os.path.join(folder, "after.ckpt")
            trainer.save_checkpoint(path)
            checkpoint = torch.load(path, map_location="cpu",
                                    weights_only=False)
        self._state = {"checkpoint": checkpoint, "constants": constants,
                       "metrics": None}
        self._trained = module, trainer

    def evaluate(self) -> dict[str, float]:
        if self._state["metrics"] is None:
            if self._trained is None:
                raise RuntimeError("nothing is measured before the first step")
            module, _ = self._trained
            seed_step(self.seed, -2)
            trainer = self._trainer(1, limit_val_batches=None)
            trainer.validate(copy.deepcopy(module), verbose=False,
                             dataloaders=self._data.val_dataloader())
            self._state["metrics"] = {name: float(x) for name, x
                                      in trainer.callback_metrics.items()}
        return dict(self._state["metrics"])

    def state_dict(self) -> Any:
        if self._trained is not None:
            self.evaluate()
        return _copied(self._state)

    def load_state_dict(self, state: Any) -> None:
        self._state = copy.deepcopy(state)
        self._trained = None

    def save(self, path: str) -> None:
        with open(path, "wb") as file:
            torch.save(self.state_dict(), file)

    def read(self, path: str) -> Any:
        with open(path, "rb") as file:
            return torch.load(file, map_location="cpu", weights_only=False)
