"""Training as a function: a generator that yields at each step's end.

    @hippo.workload(seed=1)
    def train(ctx):
        data = ctx.once(load_data)
        model = Net(depth=ctx.constant("depth")).to(ctx.device)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in ctx.steps(model=model, opt=opt):
            hippo.torch.apply(opt, ctx.hp, step)
            for x, y in ctx.loader(data, step, ctx.hp.batch_size(step)):
                ...
            yield lambda: {"val_accuracy": accuracy(model)}

Each call of the function trains one path. The code before the loop runs again
for each path, and `ctx.steps` restores the state that it names. Nothing else
may pass from one step to the next; `hippo.check` tests this. A function without
`yield` has one step: it returns its metrics.
"""

from __future__ import annotations

import copy
import inspect
import random
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ._state_file import copied, whole
from .workload import HyperParameters, Value, Workload, own_rank

Measure = Callable[[], Mapping[str, float]]


class _Values(HyperParameters):
    """The hyper-parameters of the steps that are trained now, whichever these
    are; before the loop there are none."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getitem__(self, name: str) -> Callable[[int], Value]:
        now = self._context._hp
        values = now[name]
        if self._context._is_early():
            raise TypeError(
                f"ctx.hp.{name} is read outside of the loop over ctx.steps(): "
                f"read ctx.hp.{name}(step) in `for step in ctx.steps("
                f"model=model, ...)`, and use ctx.constant({name!r}) before it")

        def at(step: int) -> Value:
            # Others are known or not, as training happens to be cut.
            if step != self._context._step:
                raise IndexError(
                    f"ctx.hp.{name}({step}) is asked for in step "
                    f"{self._context._step}: use ctx.hp.{name}(step) with the "
                    "step that ctx.steps() gives, or, for what never changes, "
                    f"ctx.constant({name!r})")
            return values(step)
        return at

    def __contains__(self, name: object) -> bool:
        return name in self._context._hp

    def __iter__(self) -> Any:
        return iter(self._context._hp)

    def at(self, step: int) -> dict[str, Value]:
        return {name: self[name](step) for name in self}

    @property
    def read(self) -> frozenset[str]:
        return self._context._hp.read


# Names of the same things in Optuna, Ray Tune and other libraries.
_ELSEWHERE = {
    "the values of a trial are ctx.hp.NAME(step) in the loop over ctx.steps(), "
    "or ctx.constant('NAME')":
        "params config hparams hyperparameters suggest_float suggest_int "
        "suggest_categorical",
    "each step ends with its measurements, `yield lambda: {\"loss\": ...}`, "
    "and the study says which trials end early":
        "report log should_prune",
    "ctx.steps(model=model, opt=opt) saves and restores what it names":
        "get_checkpoint save_checkpoint load_checkpoint",
}


class Context:
    """The argument of a training function.

    Attributes:
        seed: the seed of all randomness.
        device: "cpu" or "cuda:N", as PyTorch names them.
        args: constants of the study, by name.
        hp: the hyper-parameters: `ctx.hp.lr(step)`.
        initial: the path of the file or folder that the study names as its
            initial state (`from`); None: it names none.
        rank: the number of this process among those of the trial, from 0 on.
        world_size: the number of processes of the trial: the study's `ranks`.
    """

    def __init__(self, seed: int, device: str, args: Mapping[str, Value],
                 kept: dict[Any, Any], start: int, state: Any,
                 hp: HyperParameters, is_loop: bool = True,
                 initial: str | None = None) -> None:
        self.seed, self.device, self.args = seed, device, args
        self.initial = initial
        self.rank, self.world_size = own_rank()
        self.hp: HyperParameters = _Values(self)
        self._hp = hp
        self._is_loop = is_loop
        self._kept = kept
        self._start = self._step = start
        self._begun = 0.0  # when the present step did
        self._state = state
        self._parts: dict[str, Any] | None = None
        self._constants: dict[str, Value] = {}

    def __getattr__(self, name: str) -> Any:
        here = next((f": {here}" for here, there in _ELSEWHERE.items()
                     if name in there.split()), "")
        raise AttributeError(f"ctx has no {name!r}{here}")

    def once(self, load: Callable[..., Any], *args: Any) -> Any:
        """Returns the result of `load(*args)`, which is called once in each
        process. Use it for data that training does not change."""
        key = (load.__module__, load.__qualname__, args)
        if key not in self._kept:
            self._kept[key] = load(*args)
        return self._kept[key]

    def constant(self, name: str) -> Value:
        """Returns a hyper-parameter that is the same at every step, such as
        the depth of a model. It may be called before the loop or in it.

        Raises:
            ValueError: the hyper-parameter changes during training.
        """
        value = self._hp[name](self._hp._start)
        # The code may change a list that it is given.
        self._constants[name] = copy.deepcopy(value)
        return value

    def _is_early(self) -> bool:
        """Whether the loop has not begun."""
        return self._is_loop and self._parts is None

    def steps(self, *nameless: Any, **state: Any) -> Iterator[int]:
        """Restores the state of the previous step, wherever it was trained, and
        yields the remaining steps.

        Before each step, the generators of Python, NumPy and PyTorch are seeded
        by (seed, step).

        Args:
            state: everything that training changes and a later step reads, by
                name: objects with `state_dict` and `load_state_dict`, maps,
                lists, NumPy arrays, and objects with plain attributes.

        Raises:
            TypeError: a part is a scheduler, or has one: the study has the
                schedule, and ctx.hp its values. Or the function does not yield.
        """
        if nameless:
            raise TypeError(
                "ctx.steps() takes what training changes, by name: "
                "ctx.steps(model=model, opt=opt). How many steps there are, "
                "max_steps= of the study says")
        if not self._is_loop:
            raise TypeError(
                "the function has no `yield`: end each turn of the loop over "
                "ctx.steps() with `yield lambda: {\"loss\": ...}`")
        return self._each(state)

    def _each(self, state: dict[str, Any]) -> Iterator[int]:
        if self._parts is not None:
            raise RuntimeError("ctx.steps() is called a second time: one loop "
                               "trains all steps")
        for name, part in state.items():
            _refuse_scheduler(name, part)
        self._parts = state
        if self._state is not None:
            _restore(state, self._state)
            self._state = None
        step = self._start
        while True:
            self.seed_all(step)
            self._step = step
            self._begun = time.monotonic()
            yield step
            step += 1

    def loader(self, dataset: Any, step: int, batch_size: Value,
               **options: Any) -> Any:
        """Returns a PyTorch loader of one epoch whose order depends on (seed,
        step): see `hippo.torch.data_loader`."""
        from .torch import data_loader
        return data_loader(dataset, self.seed, step, batch_size, **options)

    def seed_all(self, step: int | str) -> None:
        """Seeds the generators of Python, NumPy and PyTorch by (seed, step)."""
        if "torch" in sys.modules:
            from .torch import seed_step
            seed_step(self.seed, step if isinstance(step, int) else -1)
            return
        random.seed(f"{self.seed} {step}")
        if (numpy := sys.modules.get("numpy")) is not None:
            numpy.random.seed(random.getrandbits(32))


class FunctionWorkload(Workload):
    """Drives a training function as trainers drive workloads.

    A state holds the step, the parts that `ctx.steps` names, and what was
    measured there: the function cannot be asked for it again without training.
    """

    _run: Generator[Measure | Mapping[str, float], None, None] | None = None

    def __init__(self, function: TrainingFunction) -> None:
        self._name = function.__name__
        self._function = function.function
        self._is_loop = inspect.isgeneratorfunction(self._function)
        self._kept: dict[Any, Any] = {}
        self.step_seconds = 0.0  # the last one took, without what precedes it
        self._setup_seconds = 0.0  # what precedes first steps took
        self._begin({"step": 0, "parts": None, "metrics": None})

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_loop(self) -> bool:
        """Whether the function trains step by step."""
        return self._is_loop

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        self._seed, self._device, self._args = seed, device, args
        if "torch" in sys.modules:
            from .torch import deterministic
            import torch
            deterministic()
            if device.startswith("cuda"):
                torch.cuda.set_device(device)

    def _begin(self, state: dict[str, Any]) -> None:
        """Forgets the present path and notes where another begins."""
        if self._run is not None:
            self._run.close()
        self._run = None
        self._ctx: Context | None = None
        self._measure: Measure | None = None
        self._step: int = state["step"]
        self._loaded: dict[str, Any] | None = state
        self._metrics: dict[str, float] | None = state["metrics"]
        self._at = self._step

    def init(self) -> None:
        self._begin({"step": 0, "parts": None, "metrics": None})

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        if start != self._step:
            raise RuntimeError(f"at step {self._step}, told to train from "
                               f"{start}")
        for step in range(start, stop):
            self._at = step
            if self._is_loop:
                self._train_step(hp)
            else:
                self._call(hp)
            self._step = step + 1
        if start < stop:
            self._check(start, stop, hp)

    def _context(self, hp: HyperParameters) -> Context:
        state = self._loaded
        assert state is not None
        self._loaded = None
        args, parts = copy.deepcopy((self._args, state["parts"]))
        ctx = Context(self._seed, self._device, args, self._kept,
                      state["step"], parts, hp, self._is_loop, self.initial)
        ctx.seed_all(-1)
        return ctx

    def _train_step(self, hp: HyperParameters) -> None:
        begin: float | None = None
        if self._run is None:
            begin = time.monotonic()
            self._ctx = self._context(hp)
            self._run = self._function(self._ctx)
        assert self._ctx is not None
        self._ctx._hp = hp
        self._metrics = None
        self._ctx._begun = time.monotonic()
        try:
            measured = next(self._run)
            self.step_seconds = time.monotonic() - self._ctx._begun
            if begin is not None:
                self._setup_seconds += self._ctx._begun - begin
        except StopIteration:
            raise RuntimeError(
                f"the function ended at step {self._step}: its loop must go on "
                "for as long as ctx.steps() gives steps, and the study says "
                "how many") from None
        if self._ctx._parts is None:
            raise TypeError(
                "the function yields outside of a loop over ctx.steps(): write "
                "`for step in ctx.steps(model=model, opt=opt)` with all that "
                "training changes")
        if isinstance(measured, Mapping):
            self._measure = lambda: measured
        elif callable(measured):
            self._measure = measured
        else:
            raise TypeError(
                f"the function yields {measured!r}: yield metrics by name, "
                "`yield {\"loss\": ...}`, or a function that measures them, "
                "`yield lambda: {\"val_accuracy\": ...}`")

    def take_setup_seconds(self) -> float:
        """Returns how long the function has worked before its loops since the
        last call."""
        result, self._setup_seconds = self._setup_seconds, 0.0
        return result

    def where(self) -> str:
        """Says where training is, as the function counts."""
        if self._ctx is not None and self._ctx._is_early():
            return f"before step {self._at}"
        return f"in step {self._at}"

    def _call(self, hp: HyperParameters) -> None:
        """Trains by a function without `yield`."""
        if self._step > 0:
            raise RuntimeError("a function without `yield` is one step: give "
                               "`max_steps=1`, or yield at the end of each")
        result = self._function(self._context(hp))
        metrics = result if isinstance(result, Mapping) else {"value": result}
        self._metrics = {name: float(x) for name, x in metrics.items()}

    def _check(self, start: int, stop: int, hp: HyperParameters) -> None:
        if self._ctx is not None:
            for name, value in self._ctx._constants.items():
                for step in range(start, stop):
                    now = hp[name](step)
                    if (type(now), now) != (type(value), value):
                        raise ValueError(
                            f"{name} is {now!r} at step {step}, and "
                            f"was {value!r}: ctx.constant() is for what never "
                            "changes")
        hp._refuse_unread("read it from ctx.hp, or take it out of the space")

    def evaluate(self) -> dict[str, float]:
        if self._metrics is None:
            if self._measure is None or self._ctx is None:
                raise RuntimeError("nothing is measured before the first step")
            self._at = self._step - 1
            self._ctx.seed_all(-2 - self._step)
            self._metrics = {name: float(x)
                             for name, x in self._measure().items()}
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        return self._state_of(copied)

    def _state_of(self, made: Callable[[Any], Any]) -> dict[str, Any]:
        """Returns the state with what `made` makes of the parts."""
        if self._loaded is not None:
            return self._loaded
        parts = None if self._ctx is None or self._ctx._parts is None \
            else _saved(self._ctx._parts, made)
        return {"step": self._step, "parts": parts, "metrics": self.evaluate()}

    def load_state_dict(self, state: Any) -> None:
        self._begin(state)

    def _modules(self) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        if torch is None or self._ctx is None or self._ctx._parts is None:
            return {}
        return {name: part for name, part in self._ctx._parts.items()
                if isinstance(part, torch.nn.Module)}

    def _settle(self, around: Callable[[], AbstractContextManager[None]]
                ) -> None:
        if self._loaded is None:
            with around():
                self.evaluate()

    def _capture(self) -> Callable[[str], None] | None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            return super()._capture()
        # Copies are made by the other process: these stay as they are there.
        state = self._state_of(lambda part: part)

        def write(path: str) -> None:
            if state is not self._loaded and state["parts"] is not None:
                state["parts"] = {name: copied(part)
                                  for name, part in state["parts"].items()}
            self._write(state, path)
        return write


class TrainingFunction:
    """A training function, made by `workload`. Calling it calls the function.

    Attributes:
        function: the function itself.
        seed: the seed of all randomness.
        args: constants of the study, in `ctx.args`.
        packages: packages whose versions decide results.
    """

    def __init__(self, function: Callable[[Context], Any], seed: int,
                 args: Mapping[str, Value], packages: tuple[str, ...]) -> None:
        self.function = function
        self.seed = seed
        self.args = dict(args)
        self.packages = packages
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__

    def __call__(self, ctx: Context) -> Any:
        return self.function(ctx)

    def __repr__(self) -> str:
        return f"<hippo.workload {self.__name__}>"

    def make_workload(self) -> Workload:
        """Returns the workload that trainers run."""
        return FunctionWorkload(self)


def workload(function: Callable[[Context], Any] | None = None, *,
             seed: int = 0, args: Mapping[str, Value] | None = None,
             packages: tuple[str, ...] | list[str] = ()) -> Any:
    """Makes a training function of a function: a decorator.

    Args:
        seed: the seed of all randomness. Trials share training for equal seeds
            only.
        args: constants, in `ctx.args`.
        packages: distributions whose versions decide results, such as
            "torch"; trainers with other versions are refused.
    """
    def take(function: Callable[[Context], Any]) -> TrainingFunction:
        return TrainingFunction(function, seed, args or {}, tuple(packages))
    return take if function is None else take(function)


# -- states -------------------------------------------------------------------


def _refuse_scheduler(name: str, part: Any) -> None:
    torch = sys.modules.get("torch")
    step = getattr(part, "step", None)
    scheduled = getattr(step, "_wrapped_by_lr_sched", False) \
        or getattr(step, "_with_counter", False)
    if torch is not None:
        schedulers = torch.optim.lr_scheduler
        base = getattr(schedulers, "LRScheduler", None) \
            or schedulers._LRScheduler
        scheduled = scheduled or isinstance(part, base) \
            or isinstance(part, schedulers.ReduceLROnPlateau)
    if scheduled:
        raise TypeError(
            f"{name} is a scheduler or has one, which would overwrite what the "
            "study says: leave it out, write the schedule in the space, and "
            "set the value at each step: hippo.torch.apply(opt, ctx.hp, step)")


def _saved(parts: Mapping[str, Any],
           made: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns what `made` makes of the state of each part."""
    result = {}
    for name, part in parts.items():
        if hasattr(part, "state_dict") and hasattr(part, "load_state_dict"):
            result[name] = made(part.state_dict())
        elif isinstance(part, (dict, list)) or _is_array(part):
            result[name] = made(part)
        elif hasattr(part, "__dict__"):
            result[name] = made(vars(part))
        else:
            raise TypeError(
                f"{name} is a {type(part).__name__}, whose state cannot be "
                "restored in place: keep it in a map, ctx.steps(state=state) "
                f"with state = {{{name!r}: ...}}")
    return result


def _restore(parts: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    if state.keys() != parts.keys():
        raise KeyError(f"the state is one of {', '.join(sorted(state))}; the "
                       f"function names {', '.join(sorted(parts))}")
    for name, part in parts.items():
        saved = whole(state[name])
        if hasattr(part, "state_dict") and hasattr(part, "load_state_dict"):
            part.load_state_dict(saved)
        elif isinstance(part, dict):
            part.clear()
            part.update(saved)
        elif isinstance(part, list):
            part[:] = saved
        elif _is_array(part):
            part[...] = saved
        else:
            vars(part).clear()
            vars(part).update(saved)


def _is_array(part: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(part, numpy.ndarray)
