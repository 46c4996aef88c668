"""Studies of a script that makes a Trainer of Transformers.

Each process that trains runs the script up to its call of
`hyperparameter_search`, and takes the Trainer that is given there.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from ._source import Source
from .errors import InvalidArgument, StudyFailed
from .transformers import Workload, transformers
from .workload import Value

_NAME = "ScriptStudy"

_TEXT = '''import os

import hippo_hpo._script


class {name}(hippo_hpo._script.ScriptWorkload):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          {script!r})
    arguments_of_script = {argv!r}
'''


class _Found(BaseException):
    """Ends a script at its call of `hyperparameter_search`."""

    def __init__(self, trainer: Any, objective: Any) -> None:
        super().__init__()
        self.trainer, self.objective = trainer, objective


# Whether this process runs a script only for its Trainer.
_looking = False


def _remember_arguments() -> None:
    """Lets each Trainer that a script makes remember its arguments."""
    def new(kind: Any, *args: Any, **options: Any) -> Any:
        made = object.__new__(kind)
        if _looking:
            bound = inspect.signature(kind.__init__).bind(
                made, *args, **options)
            made._made_with = {k: x for k, x in bound.arguments.items()
                               if x is not made and k != "kwargs"}
            made._made_with.update(bound.arguments.get("kwargs", {}))
        return made
    # It stays: without it Python would take object.__new__ with arguments.
    transformers.Trainer.__new__ = new


def _trainer_of(script: str, argv: list[str]) -> _Found:
    global _looking
    module = types.ModuleType("__main__")
    module.__file__ = script
    with open(script, encoding="utf-8") as file:
        code = compile(file.read(), script, "exec")
    # Pickle looks the definitions of the script up there.
    sys.modules["__main__"], sys.argv = module, [script, *argv]
    sys.path.insert(0, os.path.dirname(script))
    _looking = True
    _remember_arguments()
    try:
        exec(code, vars(module))
    except _Found as found:
        return found
    finally:
        _looking = False
    raise RuntimeError(f"{script} has ended without hyperparameter_search")


class ScriptWorkload(Workload):
    """The Trainer of a script; a step is an iteration."""

    step_is = "iteration"
    script = ""
    arguments_of_script: list[str] = []

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        found = _trainer_of(self.script, self.arguments_of_script)
        made = dict(found.trainer._made_with)
        self.trainer_class = type(found.trainer)
        self._objective = found.objective
        self._init = made.pop("model_init")
        self._own = made.pop("args", None) or found.trainer.args
        self._sets = made.pop("train_dataset"), made.pop("eval_dataset")
        made.pop("model", None)
        self._others = made
        super().setup(seed, device, args)

    def arguments(self) -> Any:
        return self._own

    def model_init(self, constant: Callable[[str], Value]) -> Any:
        given = [_Constants(constant)][:len(
            inspect.signature(self._init).parameters)]
        return self._init(*given)

    def datasets(self) -> tuple[Any, Any]:
        return self._sets

    def trainer_options(self) -> dict[str, Any]:
        return dict(self._others)

    def _measure(self, trainer: Any) -> dict[str, float]:
        found = super()._measure(trainer)
        return {**found, "objective": float(self._objective(dict(found)))}


class _Constants:
    """What `model_init` reads of a trial: hyper-parameters by name."""

    def __init__(self, constant: Callable[[str], Value]) -> None:
        self._constant = constant

    def __getitem__(self, name: str) -> Value:
        return self._constant(name)


def hyperparameter_search(
        trainer: Any, hp_space: Any, compute_objective: Any = None,
        n_trials: int = 20, direction: str = "minimize",
        hp_name: Any = None, **options: Any) -> Any:
    """Runs a study of the Trainer of a script, with the arguments of
    `Trainer.hyperparameter_search`.

    Processes that train run the script up to this call. A step is an
    iteration; there are as many as the Trainer's arguments say, and they are
    measured as often as these say, or after each epoch. Schedules of the
    learning rate are those of the space.

    Args:
        trainer: made with `model_init`.
        hp_space: hyper-parameters by name, as for `hippo_hpo.optimize`, or a
            function that returns them. It is given None in place of a trial.
        compute_objective: of the metrics of an evaluation; None: their sum, or
            the loss if there is nothing else.
        hp_name: not used.
        options: of `hippo_hpo.optimize`, such as `algorithm` or `state`.

    Returns:
        a transformers BestRun, with the study as `run_summary`.

    Raises:
        InvalidArgument: there is no script, or no `model_init`.
        StudyFailed: no trial was measured.
    """
    objective = compute_objective \
        or transformers.trainer_utils.default_compute_objective
    if _looking:
        raise _Found(trainer, objective)
    from .optimizing import Code, optimize, packages_of
    if trainer.model_init is None:
        raise InvalidArgument("give model_init to the Trainer, in place of a "
                              "model: each trial begins with a new one")
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is None:
        raise InvalidArgument("hyperparameter_search is called by a script, "
                              "which other processes run up to that call")
    script, args = os.path.abspath(script), trainer.args
    per_epoch = max(1, len(trainer.train_dataset) // (
        args.train_batch_size * args.gradient_accumulation_steps))
    steps = args.max_steps if args.max_steps > 0 \
        else math.ceil(args.num_train_epochs * per_epoch)
    every = int(args.eval_steps) if args.eval_strategy == "steps" \
        and args.eval_steps and args.eval_steps >= 1 else per_epoch
    files = _files_of(script)
    text = _TEXT.format(name=_NAME, script=os.path.basename(script),
                        argv=sys.argv[1:])
    imports = "\n".join(_text_of(x) for x in files.values())
    code = Code(Source(text, files), _NAME, args.seed, {},
                packages_of(imports, ["accelerate", "torch", "transformers"]))
    space = hp_space(None) if callable(hp_space) else hp_space
    study = optimize(code, space, **{
        "name": os.path.splitext(os.path.basename(script))[0],
        "objective": {"objective": direction}, "trials": n_trials,
        "max_steps": steps, "eval_every": min(every, steps), **options})
    info = study.info
    if info.best_trial is None:
        why = info.reason or info.state
        raise StudyFailed(f"no trial of {info.name} was measured: {why}",
                          study, None, why)
    return transformers.trainer_utils.BestRun(
        str(study.best_trial.number), study.best_value, study.best_params,
        study)


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _files_of(script: str) -> dict[str, str]:
    """The script and the modules beside it that it has imported."""
    folder = os.path.dirname(script)
    found = {os.path.basename(script): script}
    for module in list(sys.modules.values()):
        path = os.path.abspath(getattr(module, "__file__", None) or os.sep)
        # torch.ops says that it comes from "_ops.py", wherever that may be.
        if path.endswith(".py") and os.path.isfile(path) \
                and path.startswith(folder + os.sep) \
                and not path.startswith(sys.prefix + os.sep) \
                and "site-packages" not in path:
            found[os.path.relpath(path, folder).replace(os.sep, "/")] = path
    return found
