"""Models of Hugging Face's Transformers as workloads.

    import hippo_hpo.transformers

    class Sentiment(hippo_hpo.transformers.Workload):
        def arguments(self):
            return TrainingArguments(per_device_train_batch_size=32)
        def model_init(self, constant):
            return AutoModelForSequenceClassification.from_pretrained(NAME)
        def datasets(self): return train, validation

A step is an epoch. Each epoch has a Trainer of its own, which starts from the
last weights and optimiser state, so interruptions make no difference.
Hyper-parameters are fields of TrainingArguments, such as `learning_rate` or
`weight_decay`, and have their values of the step.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import enum
import importlib
import tempfile
from collections.abc import Callable
from typing import Any

from ._epochs import Workload as _Workload
from .torch import _copied, data_loader, seed_step
from .workload import HyperParameters, Value

transformers: Any = importlib.import_module("transformers")

__all__ = ["Workload"]

# Of TrainingArguments, what Hippo decides.
_DECIDED = {"num_train_epochs", "max_steps", "seed", "data_seed", "output_dir",
            "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_ratio",
            "warmup_steps", "train_sampling_strategy", "group_by_length"}

# What evaluation says of itself beside what it has measured.
_NO_METRICS = ("_runtime", "_per_second", "_time")


class _Seeding(transformers.TrainerCallback):  # type: ignore[misc]
    def __init__(self, seed: int, step: int) -> None:
        self._seed, self._step = seed, step

    def on_epoch_begin(self, *args: Any, **options: Any) -> None:
        seed_step(self._seed, self._step)


def _with_order(kind: Any) -> Any:
    """Returns a Trainer of that class whose order of samples, and the state of
    whose optimiser, are given to it."""

    class Ordered(kind):  # type: ignore[misc]
        def __init__(self, address: tuple[int, int], state: Any,
                     **options: Any) -> None:
            self._address, self._state = address, state
            super().__init__(**options)

        def get_train_dataloader(self) -> Any:
            return data_loader(
                self.train_dataset, *self._address,
                self.args.per_device_train_batch_size,
                drop_last=self.args.dataloader_drop_last,
                num_workers=self.args.dataloader_num_workers,
                collate_fn=self._get_collator_with_removed_columns(
                    self.data_collator, description="training"))

        def create_optimizer(self, *args: Any, **options: Any) -> Any:
            optimizer = super().create_optimizer(*args, **options)
            if self._state is not None:
                # What the study says is in the groups as they are made anew.
                groups = optimizer.state_dict()["param_groups"]
                optimizer.load_state_dict({
                    "state": copy.deepcopy(self._state),
                    "param_groups": groups})
            return optimizer
    return Ordered


def _as(old: Any, name: str, value: Value) -> Any:
    """Returns a hyper-parameter's value in the type of a field."""
    if isinstance(old, enum.Enum):
        return type(old)(value)
    if not isinstance(value, (int, float)):
        return value
    if isinstance(old, bool):
        return bool(value)
    if isinstance(old, int):
        if value % 1:
            raise ValueError(f"{name} is {value!r}: it must be a whole number")
        return int(value)
    return float(value) if isinstance(old, float) else value


class Workload(_Workload):
    """A workload of a model of Transformers and its data sets.

    Hyper-parameters that are fields of TrainingArguments are set before each
    step; `model_init` reads the others by `constant`. The metrics are those of
    the evaluation: `eval_loss`, and those of `compute_metrics`. The order of
    samples is that of `hippo_hpo.torch.data_loader`. `setup` sets the
    attributes of `hippo_hpo.torch.Workload`.
    """

    # The class to train with, where Trainer itself does not do.
    trainer_class: Any = transformers.Trainer

    @abc.abstractmethod
    def arguments(self) -> Any:
        """Returns the TrainingArguments that are not hyper-parameters.

        The study sets the length of training, schedules, warm-up and the seed.
        """

    @abc.abstractmethod
    def model_init(self, constant: Callable[[str], Value]) -> Any:
        """Returns the model as it is before the first step.

        Args:
            constant: gives a hyper-parameter that never changes, by name.
        """

    @abc.abstractmethod
    def datasets(self) -> tuple[Any, Any]:
        """Returns the data sets to train on and to measure with, both with a
        length and items by index; called once a process."""

    def trainer_options(self) -> dict[str, Any]:
        """Returns further arguments of Trainer, such as `data_collator`,
        `compute_metrics` or `processing_class`."""
        return {}

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        super().setup(seed, device, args)
        self._given = self.arguments()
        if self._given.fp16:
            raise ValueError(
                "fp16 scales gradients by what it met before, which is no part "
                "of the state: use bf16")
        self._data = self.datasets()

    def _arguments_at(self, step: int, hp: HyperParameters, folder: str,
                      constant: Callable[[str], Value]) -> Any:
        result = copy.copy(self._given)
        fields = {x.name for x in dataclasses.fields(result)}
        for name in sorted(fields.intersection(hp)):
            if name in _DECIDED:
                raise ValueError(f"{name} is no hyper-parameter here: the "
                                 "study's steps and the schedules of its space "
                                 "say how long and how to train")
            value = constant(name) if name == "optim" else hp[name](step)
            setattr(result, name, _as(getattr(result, name), name, value))
        no = type(result.save_strategy)("no")
        for name, value in {
                "output_dir": folder, "num_train_epochs": 1, "max_steps": -1,
                "seed": 0, "data_seed": None, "warmup_steps": 0,
                "warmup_ratio": 0.0, "save_strategy": no, "report_to": [],
                "lr_scheduler_type": transformers.SchedulerType.CONSTANT,
                "lr_scheduler_kwargs": {}, "disable_tqdm": True,
                "eval_strategy": type(result.eval_strategy)("no"),
                "logging_strategy": type(result.logging_strategy)("no"),
                "load_best_model_at_end": False,
                "use_cpu": self.device.type == "cpu"}.items():
            if name in fields:
                setattr(result, name, value)
        result._n_gpu = int(self.device.type == "cuda")
        return result

    def _train_epoch(self, step: int, hp: HyperParameters,
                     constant: Callable[[str], Value],
                     before: Any) -> tuple[Any, Any]:
        model = self.model_init(constant)
        if before is not None:
            model.load_state_dict(before["model"])
        with tempfile.TemporaryDirectory() as folder:
            options = dict(self.trainer_options())
            options["callbacks"] = [*options.get("callbacks", []),
                                    _Seeding(self.seed, step)]
            trainer = _with_order(self.trainer_class)(
                (self.seed, step), before and before["optimizer"], model=model,
                args=self._arguments_at(step, hp, folder, constant),
                train_dataset=self._data[0], eval_dataset=self._data[1],
                **options)
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.train()
        after = {"model": _copied(model.state_dict()),
                 "optimizer": _copied(trainer.optimizer.state_dict()["state"])}
        return after, trainer

    def _measure(self, trainer: Any) -> dict[str, float]:
        measured = trainer.evaluation_loop(
            trainer.get_eval_dataloader(), "evaluation",
            prediction_loss_only=(
                True if trainer.compute_metrics is None else None),
            metric_key_prefix="eval").metrics
        return {name: float(x) for name, x in sorted(measured.items())
                if not name.endswith(_NO_METRICS)}
