"""PyTorch Lightning modules as workloads.

    import hippo_hpo.lightning

    class Digits(hippo_hpo.lightning.Workload):
        def module(self, constant): return Net(depth=int(constant("depth")))
        def datamodule(self): return Data()

A step is an epoch. Each epoch has a Trainer of its own, which starts from the
last checkpoint, so interruptions make no difference. With `step_is =
"iteration"` a step is one of the optimiser, and module and optimisers live on.
The metrics are the values that the module logs in validation.
"""

from __future__ import annotations

import abc
import copy
import functools
import importlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch

from ._epochs import Living
from ._epochs import Workload as _Workload
from ._iterations import Batches, SampleOrder, loader
from ._state_file import copied
from .torch import _whole_size, apply, data_loader, seed_step
from .workload import HyperParameters, Value

lightning: Any
try:
    lightning = importlib.import_module("lightning.pytorch")
except ImportError:
    lightning = importlib.import_module("pytorch_lightning")

__all__ = ["Workload"]


_SCHEDULER = ("configure_optimizers returns a scheduler, which would overwrite "
              "what the study says: return the optimiser alone, and write the "
              "schedule in the space")


# Of a Trainer whose loader is ours: each rank has its own samples.
_HAS_ITS_ORDER = {"use_distributed_sampler": False}


class _Step(lightning.Callback):  # type: ignore[misc]
    """Begins an epoch: seeds, and sets what optimisers are to have."""

    def __init__(self, seed: int, step: int, hp: HyperParameters) -> None:
        self._seed, self._step, self._hp = seed, step, hp

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        if trainer.lr_scheduler_configs:
            raise TypeError(_SCHEDULER)
        for optimizer in trainer.optimizers:
            apply(optimizer, self._hp, self._step)
        seed_step(self._seed, self._step)


class _Iteration(lightning.Callback):  # type: ignore[misc]
    """Begins each step of a _LivingModule."""

    def __init__(self, living: _LivingModule, begin: int, parts: int,
                 hp: HyperParameters) -> None:
        self._living, self._begin, self._parts = living, begin, parts
        self._hp = hp

    def on_train_start(self, trainer: Any, module: Any) -> None:
        if trainer.lr_scheduler_configs:
            raise TypeError(_SCHEDULER)
        if not module.automatic_optimization:
            raise TypeError("a step of manual optimization is not known: take "
                            "step_is = \"epoch\"")
        self._living.take(trainer)
        # Modules and callbacks count the steps of the trial.
        trainer.fit_loop.epoch_loop.automatic_optimization.optim_progress \
            .optimizer.step.total.completed = self._begin

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any,
                             batch_idx: int) -> None:
        if batch_idx % self._parts:
            return
        step = self._begin + batch_idx // self._parts
        for optimizer in trainer.optimizers:
            apply(optimizer, self._hp, step)
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
        seed_step(self._living.seed, step)


class _LivingModule(Living):
    """A module and its optimisers, which several Trainers train in turn."""

    def __init__(self, workload: Workload, module: Any) -> None:
        self._workload, self._module = workload, module
        self.seed = workload.seed
        self._loader = workload._data.train_dataloader()
        self._order = SampleOrder(len(self._loader.dataset), workload.seed)
        self._optimizers: list[Any] | None = None
        self._waiting: Any = None  # what the next Trainer is to be given
        self._part, self._trainer = 0, None
        plain = module.training_step

        @functools.wraps(plain)
        def training_step(batch: Any, *others: Any) -> Any:
            part, self._part = self._part, self._part + 1
            return plain(batch, *(part, *others[1:])[:len(others)])
        module.training_step = training_step

    def _callbacks(self) -> list[Any]:
        return list(self._workload.trainer_options.get("callbacks", []))

    def take(self, trainer: Any) -> None:
        """Gives a Trainer that begins what it needs of the state."""
        self._optimizers = list(trainer.optimizers)
        self._module.configure_optimizers = lambda: self._optimizers
        if self._waiting is None:
            return
        for optimizer, state in zip(self._optimizers,
                                    self._waiting["optimizers"]):
            optimizer.load_state_dict(copy.deepcopy(state))
        trainer.precision_plugin.load_state_dict(self._waiting["precision"])
        for x, state in zip(self._callbacks(), self._waiting["callbacks"]):
            x.load_state_dict(copy.deepcopy(state))

    def load(self, trained: Any) -> None:
        self._module.load_state_dict(trained["module"])
        self._module.on_load_checkpoint(copy.deepcopy(trained["more"]))
        self._waiting = trained

    def modules(self) -> dict[str, Any]:
        return {"module": self._module}

    def state(self) -> Any:
        more: dict[str, Any] = {}
        self._module.on_save_checkpoint(more)
        return copied({
            **self._waiting, "more": more,
            "module": self._module.state_dict()})

    def run(self, begin: int, end: int, hp: HyperParameters,
            first: int) -> int:
        work, given = self._workload, self._loader
        parts = work.trainer_options.get("accumulate_grad_batches", 1)
        sizes = [_whole_size(hp["batch_size"](step) if "batch_size" in hp
                             else given.batch_size)
                 for step in range(begin, end)]
        batches = Batches(self._order, begin, sizes, parts, first)
        self._part = begin * parts
        # The module refers to its last Trainer, but does not keep it.
        trainer = self._trainer = work._made(
            1, _Iteration(self, begin, parts, hp), **_HAS_ITS_ORDER)
        trainer.fit(self._module, train_dataloaders=loader(
            given.dataset, self.seed, batches, given.collate_fn,
            num_workers=given.num_workers))
        optimizers = self._optimizers or []
        self._waiting = copied({
            "optimizers": [x.state_dict() for x in optimizers],
            "precision": trainer.precision_plugin.state_dict(),
            "callbacks": [x.state_dict() for x in self._callbacks()]})
        return batches.end

    def measure(self) -> dict[str, float]:
        return self._workload._measured(self._module)


class Workload(_Workload):
    """A workload of a LightningModule and a LightningDataModule.

    The data set and the options of loading are those of the data module's
    training loader. Order and draws are those of
    `hippo_hpo.torch.data_loader`, and a hyper-parameter `batch_size` sets the
    batch size. All options of an optimiser that the space names are set.
    `setup` sets the attributes of `hippo_hpo.torch.Workload`.
    """

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

    def _made(self, epochs: int, *callbacks: Any, **more: Any) -> Any:
        cuda = self.device.type == "cuda"
        return lightning.Trainer(**{
            "logger": False, "enable_checkpointing": False,
            "enable_progress_bar": False, "enable_model_summary": False,
            "num_sanity_val_steps": 0, **self.trainer_options,
            "limit_val_batches": 0, "max_epochs": epochs,
            "callbacks": [*self.trainer_options.get("callbacks", []),
                          *callbacks],
            "accelerator": "gpu" if cuda else "cpu",
            "devices": [self.device.index or 0] if cuda else 1,
            **(self._of_ranks() if self.world_size > 1 else {}), **more})

    def _of_ranks(self) -> dict[str, Any]:
        """Returns the options of a Trainer of one of several ranks."""
        here = int(os.environ["LOCAL_WORLD_SIZE"])
        strategy = self.trainer_options.get("strategy", "ddp")
        if strategy not in ("auto", "ddp", "ddp_find_unused_parameters_true"):
            raise ValueError(
                f"strategy is {strategy!r}: with ranks it must be \"ddp\". "
                "Models that are sharded are trained by a function, or by a "
                "class of hippo_hpo.torch, with fully_shard")
        if self.world_size > 2:
            # The other one sums in another order after its first iteration.
            strategy = "ddp_find_unused_parameters_true"
        elif strategy == "auto":
            strategy = "ddp"
        return {"devices": here, "num_nodes": self.world_size // here,
                "strategy": strategy}

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
        trainer = self._made(step + 1, _Step(self.seed, step, hp),
                             **_HAS_ITS_ORDER)
        with tempfile.TemporaryDirectory() as folder:
            path = None
            if before is not None:
                path = os.path.join(folder, "before.ckpt")
                torch.save(before, path)
            trainer.fit(module, train_dataloaders=loader, ckpt_path=path)
        # Of several ranks, save_checkpoint() writes the first one's alone.
        after = trainer._checkpoint_connector.dump_checkpoint(False)
        return copied(after), trainer

    def _fixed(self, step: int, hp: HyperParameters) -> dict[str, Value]:
        return {}

    def _live(self, fixed: dict[str, Value],
              constant: Callable[[str], Value]) -> Living:
        return _LivingModule(self, self.module(constant))

    def _measure(self, trainer: Any) -> dict[str, float]:
        return self._measured(trainer.lightning_module)

    def _measured(self, module: Any) -> dict[str, float]:
        measuring = self._made(1, limit_val_batches=None)
        measuring.validate(copy.deepcopy(module), verbose=False,
                           dataloaders=self._data.val_dataloader())
        measured = {name: float(x)
                    for name, x in measuring.callback_metrics.items()}
        first = measuring.strategy.broadcast(measured)
        for name, x in measured.items():
            if x != first[name] and x == x:
                raise ValueError(
                    f"{name} is {first[name]} on rank 0 and {x} on rank "
                    f"{self.rank}: log it with sync_dist=True, which makes it "
                    "that of all samples")
        return measured
