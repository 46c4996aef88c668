"""Hippo, hyper-parameter optimisation that trains once what trials share.

    import hippo_hpo as hippo

    study = hippo.optimize(train, space, steps=12, trials=40,
                           objective={"val_accuracy": "maximize"})
    print(study.best_value, study.best_params)

`hippo.connect` makes a client of a service that others run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .client import Client, connect
from .errors import (Cancelled, Closed, Disconnected, Error,
                     IncompatibleVersion, InvalidArgument, InvalidStudy,
                     MissingData, NotAllowed, ResourceExhausted, Timeout,
                     TrialFailed, UnknownStudy, UnknownWorkload)
from .function import Context, TrainingFunction, workload
from .local import local
from .optimizing import check, optimize, preview
from .optuna_journal import mirror
from .plots import Figure
from .records import (Event, Front, FrontPoint, LeaseInfo, ServiceInfo,
                      StudyInfo, TrainerInfo, TrialInfo)
from .space import (choice, constant, cosine, cosine_restarts, cyclic,
                    exponential, int_uniform, linear, log_uniform, multistep,
                    one_cycle, option, piecewise, polynomial,
                    reduce_on_plateau, rex, step, uniform, warmup)
from .study import Study, Trial
from .study_file import StudyFile
from .workload import HyperParameters, Workload

__all__ = [
    "Cancelled", "Client", "Closed", "Context", "Disconnected", "Error",
    "Event", "Figure", "Front", "FrontPoint", "HyperParameters",
    "IncompatibleVersion", "InvalidArgument", "InvalidStudy", "LeaseInfo",
    "MissingData", "NotAllowed", "ResourceExhausted", "ServiceInfo", "Study",
    "StudyFile", "StudyInfo", "Timeout", "TrainerInfo", "TrainingFunction",
    "Trial", "TrialFailed", "TrialInfo", "UnknownStudy", "UnknownWorkload",
    "Workload", "check", "choice", "connect", "constant", "cosine",
    "cosine_restarts", "cyclic", "exponential", "int_uniform", "linear",
    "local", "log_uniform", "mirror", "multistep", "one_cycle", "optimize",
    "option", "piecewise", "polynomial", "preview", "reduce_on_plateau", "rex",
    "step", "uniform", "warmup", "workload",
]

if TYPE_CHECKING:
    from . import torch as torch


def load_ipython_extension(shell: Any) -> None:
    """Adds `%%hippo FILE` to a notebook, see `hippo_hpo.notebook`:
    `%load_ext hippo_hpo` calls it."""
    from .notebook import load_ipython_extension as load
    load(shell)


def __getattr__(name: str) -> Any:
    """`hippo.torch`, which imports PyTorch when it is first asked for."""
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
