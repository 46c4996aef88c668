"""Models of Hugging Face's Transformers as workloads.

    import hippo_hpo.transformers

    class Sentiment(hippo_hpo.transformers.Workload):
        def arguments(self):
            return TrainingArguments(per_device_train_batch_size=32)
        def model_init(self, constant):
            return AutoModelForSequenceClassification.from_pretrained(NAME)
        def datasets(self): return train, validation

A step is an epoch, which has a Trainer of its own, or with `step_is =
"iteration"` a step of the optimiser, and then one Trainer trains them all. In
both cases interruptions make no difference. Hyper-parameters are fields of
TrainingArguments, such as `learning_rate` or `weight_decay`, and have their
values of the step.
"""

from __future__ import annotations

import abc
import contextlib
import copy
import dataclasses
import enum
import importlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ._epochs import Living
from ._epochs import Workload as _Workload
from ._iterations import Batches, SampleOrder, loader
from ._state_file import copied
from .torch import data_loader, seed_step
from .workload import HyperParameters, Value

transformers: Any = importlib.import_module("transformers")

__all__ = ["Workload", "hyperparameter_search"]

# Of TrainingArguments, what Hippo decides.
_DECIDED = {"num_train_epochs", "max_steps", "seed", "data_seed", "output_dir",
            "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_ratio",
            "warmup_steps", "train_sampling_strategy", "group_by_length"}

_OF_PROCESS = {"bf16", "fp16", "half_precision_backend", "tf32"}

_BATCH_SIZE = "per_device_train_batch_size"

# Those that may change from one iteration to the next without another Trainer.
_OF_A_STEP = ["adam_beta1", "adam_beta2", "adam_epsilon", "learning_rate",
              "max_grad_norm", _BATCH_SIZE, "weight_decay"]

# Attributes that Accelerate sets in a model when training begins.
_OF_ACCELERATE = "forward", "_original_forward", "_is_accelerate_prepared"

# A learning rate and a weight decay that nobody writes.
_MARKS = 0.0009765625 + 2.0**-40, 0.0078125 + 2.0**-40

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


def _load_model(trainer: Any, state: Any) -> None:
    """Restores weights, after the Trainer may have copied the first ones."""
    trainer.model.load_state_dict(state)


def _load_scaler(trainer: Any, state: Any) -> None:
    """Restores by what fp16 scales the loss."""
    if (scaler := trainer.accelerator.scaler) is not None and state is not None:
        scaler.load_state_dict(state)


def _living_kind(kind: Any) -> Any:
    """Returns a Trainer of that class for a _LivingTrainer."""

    class Iterating(kind):  # type: ignore[misc]
        living: _LivingTrainer

        def get_train_dataloader(self) -> Any:
            return self.living.loader()

        def create_optimizer(self, *args: Any, **options: Any) -> Any:
            if self.optimizer is None:
                with self.living.marked():
                    super().create_optimizer(*args, **options)
            return self.optimizer
    return Iterating


class _Stepping(transformers.TrainerCallback):  # type: ignore[misc]
    """Begins each step of a _LivingTrainer."""

    def __init__(self) -> None:
        self.living: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any,
                       **options: Any) -> None:
        # Other callbacks count the steps of the trial.
        state.global_step += self.living.begin
        state.max_steps += self.living.begin

    def on_step_begin(self, args: Any, state: Any, control: Any,
                      **options: Any) -> None:
        self.living.begin_step(state.global_step)


class _LivingTrainer(Living):
    """A Trainer of which each call of `train` trains some iterations."""

    def __init__(self, workload: Workload, model: Any,
                 fixed: dict[str, Value]) -> None:
        self._workload, self.begin = workload, 0
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        stepping = _Stepping()
        stepping.living = self
        self._trainer = workload._made(
            _living_kind(workload.trainer_class), model,
            workload._arguments(fixed, folder), [stepping])
        self._trainer.living = self
        self._own = {name: value
                     for name, value in vars(self._trainer.model).items()
                     if name in _OF_ACCELERATE}
        self._order = SampleOrder(len(self._trainer.train_dataset),
                                  workload.seed)
        self._waiting: Any = None  # state for an optimiser that is not made yet
        self._decayed: list[bool] = []
        self._prepared = False  # as mixed precision needs it

    def load(self, trained: Any) -> None:
        _load_model(self._trainer, trained["model"])
        _load_scaler(self._trainer, trained.get("scaler"))
        self._waiting = trained["optimizer"]
        if self._trainer.optimizer is not None:
            self._load_optimizer()

    def _load_optimizer(self) -> None:
        # Each step sets the options of groups.
        groups = self._trainer.optimizer.state_dict()["param_groups"]
        self._trainer.optimizer.load_state_dict({
            "state": self._waiting, "param_groups": groups})
        self._waiting = None

    def modules(self) -> dict[str, Any]:
        return {"model": self._trainer.model}

    def state(self) -> Any:
        trainer = self._trainer
        optimizer = self._waiting
        if optimizer is None and trainer.optimizer is not None:
            optimizer = trainer.optimizer.state_dict()["state"]
        state = {"model": copied(trainer.model.state_dict()),
                 "optimizer": copied(optimizer)}
        if (scaler := trainer.accelerator.scaler) is not None:
            state["scaler"] = copied(scaler.state_dict())
        return state

    def measure(self) -> dict[str, float]:
        if not self._prepared:
            # An evaluation prepares the model only if no other one was, such
            # as a reference model.
            self._trainer.accelerator.free_memory()
            self._prepared = True
        return self._workload._measure(self._trainer)

    def run(self, begin: int, end: int, hp: HyperParameters,
            first: int) -> int:
        trainer, args = self._trainer, self._trainer.args
        self.begin = begin
        self._values = {name: hp[name] for name in _OF_A_STEP if name in hp}
        self._of_adam = {x for x in self._values if x.startswith("adam_")}
        size = self._values.pop(_BATCH_SIZE, None)
        given = getattr(args, _BATCH_SIZE)
        self._batches = Batches(
            self._order, begin,
            [_positive(_as(given, _BATCH_SIZE, size(step))) if size else given
             for step in range(begin, end)],
            args.gradient_accumulation_steps, first)
        args.max_steps = end - begin
        # Otherwise some versions wrap the model once more at each call.
        for name in _OF_ACCELERATE:
            vars(trainer.model).pop(name, None)
        vars(trainer.model).update(self._own)
        trainer.model_wrapped = trainer.model
        self._prepared = True
        trainer.train()
        for name in ("_stored_metrics", "_metrics"):  # TRL collects them
            for x in getattr(trainer, name, {}).values():
                x.clear()
        return self._batches.end

    def loader(self) -> Any:
        trainer, args = self._trainer, self._trainer.args
        return loader(
            trainer.train_dataset, self._workload.seed, self._batches,
            trainer._get_collator_with_removed_columns(
                trainer.data_collator, description="training"),
            num_workers=args.dataloader_num_workers,
            pin_memory=args.dataloader_pin_memory
            and self._workload.device.type == "cuda")

    @contextlib.contextmanager
    def marked(self) -> Iterator[None]:
        """Finds which groups of the optimiser that is made inside take their
        options from the arguments."""
        args = self._trainer.args
        before = args.learning_rate, args.weight_decay
        args.learning_rate, args.weight_decay = _MARKS
        yield
        args.learning_rate, args.weight_decay = before
        groups = self._trainer.optimizer.param_groups
        if any(group["lr"] != _MARKS[0] for group in groups):
            raise TypeError(
                "create_optimizer gives groups learning rates of their own, "
                "and the study sets one: take step_is = \"epoch\"")
        for name in sorted(self._of_adam):
            option = "eps" if name == "adam_epsilon" else "betas"
            if not all(option in group for group in groups):
                raise ValueError(f"{name} is no hyper-parameter here: the "
                                 f"optimiser has no {option}")
        self._decayed = [group.get("weight_decay") == _MARKS[1]
                         for group in groups]
        for group, decayed in zip(groups, self._decayed):
            group["lr"] = before[0]
            if decayed:
                group["weight_decay"] = before[1]
        if self._waiting is not None:
            self._load_optimizer()

    def begin_step(self, step: int) -> None:
        """Seeds, and sets the values of the step."""
        trainer, args = self._trainer, self._trainer.args
        for name, value in self._values.items():
            setattr(args, name, _as(getattr(args, name), name, value(step)))
        for group, decayed in zip(trainer.optimizer.param_groups,
                                  self._decayed):
            group["lr"] = args.learning_rate
            if decayed:
                group["weight_decay"] = args.weight_decay
            if self._of_adam & {"adam_beta1", "adam_beta2"}:
                group["betas"] = (args.adam_beta1, args.adam_beta2)
            if "adam_epsilon" in self._of_adam:
                group["eps"] = args.adam_epsilon
        # Zeros would train a parameter without a gradient, None does not.
        for group in trainer.optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None
        seed_step(self._workload.seed, step)


def _positive(size: int) -> int:
    if size < 1:
        raise ValueError(f"{_BATCH_SIZE} is {size}: it must be at least 1")
    return size


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
        if self.world_size > 1:
            self._check_ranks()
        self._data = self.datasets()

    def _check_ranks(self) -> None:
        """Refuses arguments that ranks cannot have."""
        for name in ("fsdp", "deepspeed"):
            if getattr(self._given, name, None):
                raise ValueError(
                    f"{name} is none of the arguments that ranks can have: "
                    "they train by DistributedDataParallel. Sharded models "
                    "are trained by a function, or by a class of "
                    "hippo_hpo.torch, with fully_shard")
        if self._given.ddp_find_unused_parameters is None:
            # Otherwise sums have another order after the first iteration, and
            # of more than two numbers other last bits.
            self._given.ddp_find_unused_parameters = True
        elif not self._given.ddp_find_unused_parameters \
                and self.world_size > 2:
            raise ValueError(
                "ddp_find_unused_parameters=False lets sums depend on where "
                "training was interrupted, with more than two ranks: leave it "
                "out")

    def _arguments(self, values: dict[str, Value], folder: str) -> Any:
        """Returns the arguments of a Trainer, with values of the study."""
        result = copy.copy(self._given)
        fields = {x.name for x in dataclasses.fields(result)}
        for name, value in values.items():
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

    def _named(self, hp: HyperParameters) -> list[str]:
        """The hyper-parameters that are fields of TrainingArguments."""
        fields = {x.name for x in dataclasses.fields(self._given)}
        names = sorted(fields.intersection(hp))
        for name in names:
            if name in _DECIDED:
                raise ValueError(f"{name} is no hyper-parameter here: the "
                                 "study's steps and the schedules of its space "
                                 "say how long and how to train")
            if name in _OF_PROCESS:
                raise ValueError(f"{name} is no hyper-parameter here: "
                                 "Accelerate keeps one precision a process")
        return names

    def _made(self, kind: Any, model: Any, args: Any, callbacks: list[Any],
              **more: Any) -> Any:
        """Makes a Trainer."""
        options = dict(self.trainer_options())
        options["callbacks"] = [*options.get("callbacks", []), *callbacks]
        trainer = kind(model=model, args=args, train_dataset=self._data[0],
                       eval_dataset=self._data[1], **more, **options)
        trainer.remove_callback(transformers.PrinterCallback)
        return trainer

    def _train_epoch(self, step: int, hp: HyperParameters,
                     constant: Callable[[str], Value],
                     before: Any) -> tuple[Any, Any]:
        values = {name: constant(name) if name == "optim" else hp[name](step)
                  for name in self._named(hp)}
        model = self.model_init(constant)
        with tempfile.TemporaryDirectory() as folder:
            trainer = self._made(
                _with_order(self.trainer_class), model,
                self._arguments(values, folder), [_Seeding(self.seed, step)],
                address=(self.seed, step),
                state=before and before["optimizer"])
            if before is not None:
                _load_model(trainer, before["model"])
                _load_scaler(trainer, before.get("scaler"))
            trainer.train()
        after = {"model": copied(trainer.model.state_dict()),
                 "optimizer": copied(trainer.optimizer.state_dict()["state"])}
        if (scaler := trainer.accelerator.scaler) is not None:
            after["scaler"] = copied(scaler.state_dict())
        return after, trainer

    def _fixed(self, step: int, hp: HyperParameters) -> dict[str, Value]:
        return {name: hp[name](step) for name in self._named(hp)
                if name not in _OF_A_STEP}

    def _live(self, fixed: dict[str, Value],
              constant: Callable[[str], Value]) -> Living:
        if "optim" in fixed:
            constant("optim")
        if "optimizers" in self.trainer_options():
            raise ValueError(
                "trainer_options has optimizers, which lie outside of the "
                "state: override create_optimizer of a Trainer class")
        return _LivingTrainer(self, self.model_init(constant), fixed)

    def _measure(self, trainer: Any) -> dict[str, float]:
        measured = trainer.evaluation_loop(
            trainer.get_eval_dataloader(), "evaluation",
            prediction_loss_only=(
                True if trainer.compute_metrics is None else None),
            metric_key_prefix="eval").metrics
        return {name: float(x) for name, x in sorted(measured.items())
                if not name.endswith(_NO_METRICS)}


def hyperparameter_search(trainer: Any, hp_space: Any, **options: Any) -> Any:
    """Runs a study of the Trainer of a script, with the arguments of
    `Trainer.hyperparameter_search`: see `hippo_hpo._script`."""
    return importlib.import_module("hippo_hpo._script").hyperparameter_search(
        trainer, hp_space, **options)
