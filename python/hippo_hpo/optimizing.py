"""Studies of training functions, from a script or a notebook."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from ._packing import pack
from ._program import hippo_program
from ._source import Source, source_of
from .client import Client
from .errors import Closed, Error, InvalidArgument, InvalidStudy
from .function import TrainingFunction
from .local import local
from .study import Study
from .study_file import StudyFile
from .workload import Value, Workload

# The connections that `optimize` has made, by state folder.
_clients: dict[str, Client] = {}


def optimize(train: TrainingFunction | type[Workload], space: Mapping[str, Any],
             *, objective: Mapping[str, str] | str | None = None,
             steps: int = 1, trials: int | None = None,
             algorithm: str | Mapping[str, Any] = "random", every: int = 1,
             seconds: float | None = None, name: str | None = None,
             seed: int = 0, on_error: str | None = None,
             client: Client | None = None,
             state: str | os.PathLike[str] = "hippo-state",
             trainers: int | str = "auto",
             device: str | list[str] | None = None, threads: int = 1,
             progress: bool = True) -> Study:
    """Runs a study of a training function and waits for its end.

    It starts a service on demand and goes on with what its state folder holds:
    what was ever trained there is not trained again, and a study that was
    interrupted is gone on with when the same call is made once more.

    Args:
        train: a function with `@hippo.workload`, or a subclass of
            `hippo.Workload`. Its source travels with all that it names.
        space: hyper-parameters by name: values, choices, ranges, sequences.
        objective: what to look at: ``{"val_accuracy": "maximize"}``; None: the
            value that a function without steps returns, to be minimised.
        steps: how far a trial may be trained.
        trials: how many there are at most; None: as many as the algorithm
            wants.
        algorithm: as in a study file: ``"tpe"``,
            ``{"asha": {"eta": 3, "min": 1}}``.
        every: steps between two measurements.
        seconds: how long the study may take; None: any time.
        name: of the study; None: that of `train`.
        seed: of what the algorithm draws.
        on_error: "continue" goes on though the first trials all fail alike.
        client: of a service that is there already; None: `local(state)`.
        state: as for `local`, and so are `trainers`, `device` and `threads`.
        progress: whether to show it.

    Returns:
        The study, which has ended: look at `state`, `best` and `trials`.

    Raises:
        InvalidStudy: it cannot be run; the text has every finding.
        KeyboardInterrupt: somebody does not want to wait any longer. Nothing
            goes on then, unless `client` was given.
    """
    with _written(train, space, objective, steps, trials, algorithm, every,
                  seconds, name, seed, on_error, client is None) as found:
        study, folder = found
        text = pack(study.to_yaml(), study.study, folder)
    if client is not None:
        return _run(client, study.study, text, progress)
    key = os.path.abspath(os.fspath(state))
    try:
        return _run(_local(key, trainers, device, threads), study.study, text,
                    progress)
    except KeyboardInterrupt:
        if (ours := _clients.pop(key, None)) is not None:
            ours.close()
        print("interrupted; the same call goes on where it was left",
              file=sys.stderr)
        raise


def preview(train: TrainingFunction | type[Workload], space: Mapping[str, Any],
            *, objective: Mapping[str, str] | str | None = None,
            steps: int = 1, trials: int | None = None,
            algorithm: str | Mapping[str, Any] = "random", every: int = 1,
            seconds: float | None = None, name: str | None = None,
            seed: int = 0) -> dict[str, Any]:
    """Says what a study would train, without running anything: what
    ``hippo preview -f json`` prints. Arguments and errors as of `optimize`."""
    with _written(train, space, objective, steps, trials, algorithm, every,
                  seconds, name, seed, None, True) as (study, folder):
        done = _hippo(["preview", "-f", "json", study.study + ".yaml"], folder,
                      stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done)["studies"][0]
    return found


def check(train: TrainingFunction | type[Workload], space: Mapping[str, Any],
          *, objective: Mapping[str, str] | str | None = None, steps: int = 4
          ) -> None:
    """Tries whether trials may share training: whether the state after a step
    depends on anything but the seed and the hyper-parameters until then. Shows
    what ``hippo check`` prints.

    Raises:
        Error: they must not; the text says in what states differ.
    """
    with _written(train, space, objective, steps, None, "random", 1, None, None,
                  0, None, True) as (study, folder):
        print(_hippo(["check", study.study + ".yaml", "--steps",
                      str(max(steps, 2))], folder, stdout=subprocess.PIPE),
              end="")


def _run(client: Client, name: str, text: str, progress: bool) -> Study:
    study = _unended(client, name, text)
    if study is None:
        study = client.submit(text, name)
    elif study.state == "PAUSED":
        study.resume()
    study.wait(progress)
    return study


def _unended(client: Client, name: str, text: str) -> Study | None:
    """The last study of that name and text, if it has not ended."""
    for info in reversed(client.studies()):
        if info.name == name and not info.ended:
            study = client.study(info.id)
            if study._whole_text() == text:
                return study
    return None


def _local(folder: str, trainers: int | str, device: str | list[str] | None,
           threads: int) -> Client:
    """The connection of this process to a state folder's service."""
    client = _clients.get(folder)
    if client is not None:
        try:
            client.studies()
            return client
        except (Closed, Error):
            client.close()
    client = _clients[folder] = local(folder, trainers=trainers, device=device,
                                      threads=threads)
    return client


@contextlib.contextmanager
def _written(train: TrainingFunction | type[Workload], space: Mapping[str, Any],
             objective: Mapping[str, str] | str | None, steps: int,
             trials: int | None, algorithm: str | Mapping[str, Any], every: int,
             seconds: float | None, name: str | None, seed: int,
             on_error: str | None, is_local: bool
             ) -> Iterator[tuple[StudyFile, str]]:
    """Writes a study and its code into a folder, which is gone afterwards."""
    source, function_seed, args, packages = _code_of(train)
    module = f"{train.__name__}.py"
    workload: dict[str, Any] = {"python": f"{module}:{train.__name__}",
                                "seed": function_seed}
    if source.files:
        workload["files"] = sorted(source.files)
    if args:
        workload["args"] = dict(args)
    if packages:
        workload["packages"] = packages
    if is_local:
        workload["python_executable"] = sys.executable
    budget = {key: value for key, value in [("trials", trials),
                                            ("seconds", seconds)]
              if value is not None}
    metric = _objective(objective)
    study = StudyFile(
        study=name or train.__name__, workload=workload,
        objective={**metric, "every": every}, steps=steps, space=space,
        algorithm=algorithm, budget=budget or None, seed=seed,
        more={"on_error": on_error} if on_error else {})
    with tempfile.TemporaryDirectory(prefix="hippo-study-") as folder:
        for path, real in source.files.items():
            if path == module:
                raise InvalidStudy(
                    f"{train.__name__} travels as {module}, which is also the "
                    "name of a module that it imports: rename one of them")
            os.makedirs(os.path.dirname(os.path.join(folder, path)),
                        exist_ok=True)
            shutil.copy(real, os.path.join(folder, path))
        with open(os.path.join(folder, module), "w", encoding="utf-8") as file:
            file.write(source.text)
        with open(os.path.join(folder, study.study + ".yaml"), "w",
                  encoding="utf-8") as file:
            file.write(study.to_yaml())
        yield study, folder


def _code_of(train: Any) -> tuple[Source, int, Mapping[str, Value], list[str]]:
    if isinstance(train, TrainingFunction):
        source = source_of(train)
        named = list(train.packages) or _packages_of(source.text)
        return source, train.seed, train.args, named
    if inspect.isclass(train) and issubclass(train, Workload):
        source = source_of(train)
        return source, 0, {}, _packages_of(source.text)
    raise InvalidArgument(
        f"{train!r} is no training function: put @hippo.workload above its "
        "`def`, or give a subclass of hippo.Workload")


def _packages_of(text: str) -> list[str]:
    """The distributions whose modules a text imports: their versions decide
    results, so they are in the study's key."""
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {x.name.partition(".")[0] for x in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add((node.module or "").partition(".")[0])
    modules -= {*sys.stdlib_module_names, "hippo_hpo"}
    known = importlib.metadata.packages_distributions()
    return sorted({x for module in modules for x in known.get(module, [])})


def _objective(x: Mapping[str, str] | str | None) -> dict[str, str]:
    if x is None:
        return {"metric": "value", "direction": "minimize"}
    if isinstance(x, str):
        x = {x: "maximize"}
    if len(x) != 1:
        raise InvalidArgument(
            f"objective is {x!r}: give one metric and its direction, "
            "{\"val_accuracy\": \"maximize\"}")
    (metric, direction), = x.items()
    return {"metric": metric, "direction": direction}


def _hippo(command: list[str], folder: str, stdout: int | None) -> str:
    """Runs `hippo` in a folder. @returns what it prints"""
    done = subprocess.run([hippo_program(), *command], cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        why = (done.stderr + (done.stdout or "")).strip()
        raise (InvalidStudy if done.returncode == 2 else Error)(why)
    if done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    return done.stdout or ""
