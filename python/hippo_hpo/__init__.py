"""Hippo, hyper-parameter optimisation that trains once what trials share.

    import hippo_hpo as hippo

    study = hippo.optimize(train, space, max_steps=12, trials=40,
                           objective={"val_accuracy": "maximize"})
    print(study.best_value, study.best_params)

`hippo.connect` makes a client of a service that others run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import (Cancelled, Closed, Disconnected, Error,
                     IncompatibleVersion, InvalidArgument, InvalidStudy,
                     MissingData, NotAllowed, ResourceExhausted, StudyFailed,
                     Timeout, TrialFailed, UnknownStudy, UnknownWorkload)
from .function import Context, TrainingFunction, workload
from .space import (choice, constant, cosine, cosine_restarts, cyclic,
                    exponential, int_uniform, inverse_sqrt, join, linear,
                    log_int_uniform, log_normal, log_uniform, multistep,
                    normal, one_cycle, option, percent, piecewise, polynomial,
                    product, reduce_on_plateau, rex, simplex, step, uniform,
                    warmup, wsd)
from .workload import HyperParameters, Workload

if TYPE_CHECKING:
    from . import torch as torch
    from ._local import local
    from .ask_tell import Measurement, Tuner, Work
    from .client import Client, connect
    from .optimizing import check, optimize, preview
    from .optuna_journal import mirror
    from .plots import Figure
    from .records import (ConnectedTrainer, Demand, Event, Front, FrontPoint,
                          LeaseInfo, ParameterChange, RefusedTrainer,
                          ServiceInfo, SpaceChange, StudyInfo, TrainerInfo,
                          TrialInfo, WorkDemand)
    from .study import Study, Trial
    from .study_file import StudyFile

__all__ = [
    "Cancelled", "Client", "Closed", "ConnectedTrainer", "Context", "Demand",
    "Disconnected", "Error",
    "Event", "Figure", "Front", "FrontPoint", "HyperParameters",
    "IncompatibleVersion", "InvalidArgument", "InvalidStudy", "LeaseInfo",
    "Measurement", "MissingData", "NotAllowed", "ParameterChange", "RefusedTrainer",
    "ResourceExhausted", "ServiceInfo", "SpaceChange", "Study", "StudyFailed",
    "StudyFile", "StudyInfo", "Timeout", "TrainerInfo", "TrainingFunction", "Trial",
    "TrialFailed", "TrialInfo", "Tuner", "UnknownStudy", "UnknownWorkload",
    "Work", "WorkDemand", "Workload", "check", "choice", "connect", "constant", "cosine",
    "cosine_restarts", "cyclic", "exponential", "int_uniform", "inverse_sqrt",
    "join", "linear", "local", "log_int_uniform", "log_normal", "log_uniform",
    "mirror", "multistep", "normal", "one_cycle", "optimize", "option",
    "percent", "piecewise", "polynomial", "preview", "product",
    "reduce_on_plateau", "rex", "simplex", "step", "uniform", "warmup",
    "workload", "wsd",
]


def load_ipython_extension(shell: Any) -> None:
    """Adds `%%hippo FILE` to a notebook, see `hippo_hpo.notebook`:
    `%load_ext hippo_hpo` calls it."""
    from .notebook import load_ipython_extension as load
    load(shell)


# Where the rest is: what trains, and that is most processes that import this,
# needs none of it.
_PLACES = {
    "_local": ["local"],
    "ask_tell": ["Measurement", "Tuner", "Work"],
    "client": ["Client", "connect"],
    "optimizing": ["check", "optimize", "preview"],
    "optuna_journal": ["mirror"],
    "plots": ["Figure"],
    "records": ["ConnectedTrainer", "Demand", "Event", "Front", "FrontPoint",
                "LeaseInfo", "ParameterChange", "RefusedTrainer",
                "ServiceInfo", "SpaceChange", "StudyInfo", "TrainerInfo",
                "TrialInfo", "WorkDemand"],
    "study": ["Study", "Trial"],
    "study_file": ["StudyFile"],
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports what is first asked for here; `hippo.torch` with PyTorch."""
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_PLACE_OF[name]}", __name__),
                    name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
