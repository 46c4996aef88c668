"""Studies of training functions, from a script or a notebook."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import difflib
import importlib.metadata
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Union

from ._local import local
from ._packing import pack
from ._program import hippo_program
from ._source import Source, source_of
from .client import Client
from .errors import Closed, Error, InvalidArgument, InvalidStudy
from .function import TrainingFunction
from .study import Study
from .study_file import StudyFile
from .workload import Value, Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The connections that `optimize` has made, by state folder.
_clients: dict[str, Client] = {}


@dataclasses.dataclass(frozen=True)
class Code:
    """What travels to trainers.

    Attributes:
        name: of the function or class in the text.
        seed: of all randomness.
        args: constants that it is given.
        packages: whose versions decide results.
    """

    source: Source
    name: str
    seed: int
    args: Mapping[str, Value]
    packages: list[str]


# Whatever a study may be made of.
Trainable = Union[TrainingFunction, type[Workload], Code]


class Options(TypedDict, total=False):
    """What a study of training code may say; `optimize` and `preview` take all
    of it.

    Attributes:
        objective: what to look at: ``{"val_accuracy": "maximize"}``; several
            metrics make a front (`Study.front`); None: the value that a
            function without steps returns, to be minimised.
        constraints: what of a metric is demanded: ``["ms <= 5"]``; None:
            nothing.
        steps: how far a trial may be trained; 1 unless given.
        trials: how many there are at most; None: as many as the algorithm
            wants.
        failed: the study is over, and has failed, once so many of them have;
            None: however many do.
        algorithm: as in a study file: ``"tpe"``,
            ``{"asha": {"eta": 3, "min": 1}}``; "auto" unless given: by
            the space, the budget and the steps.
        every: steps between two measurements; 1 unless given.
        seconds: how long the study may take; None: any time.
        device_hours: how long trainers may work for it, added up; None: any
            time.
        cost: what trainers may cost for it, where the service knows their
            prices; None: anything.
        deadline: after how long it ends, counted from its submission, pauses
            included: ``"6h"``, ``"1h30m"`` or seconds; or a time:
            ``"2030-01-31T18:00Z"``. None: never.
        stop_when: ``{"value": 0.93}`` ends it when its best is as good,
            ``{"no_gain": 40}`` when it did not get better in as many steps as
            40 whole trials have; None: neither.
        name: of the study; None: that of the code.
        seed: of what the algorithm draws; 0 unless given.
        on_error: "continue" goes on though the first trials all fail alike.
    """

    objective: Mapping[str, str] | str | None
    constraints: list[str] | None
    steps: int
    trials: int | None
    failed: int | None
    algorithm: str | Mapping[str, Any]
    every: int
    seconds: float | None
    device_hours: float | None
    cost: float | None
    deadline: str | float | None
    stop_when: Mapping[str, float] | None
    name: str | None
    seed: int
    on_error: str | None


def optimize(train: Trainable, space: Mapping[str, Any], *,
             client: Client | None = None,
             state: str | os.PathLike[str] = "hippo-state",
             trainers: int | str = "auto",
             device: str | list[str] | None = None, threads: int = 1,
             progress: bool = True, **options: Unpack[Options]) -> Study:
    """Runs a study of a training function and waits for its end.

    It starts a service on demand and goes on with what its state folder holds:
    what was ever trained there is not trained again, and a study that was
    interrupted is gone on with when the same call is made once more.

    Args:
        train: a function with `@hippo.workload`, or a subclass of
            `hippo.Workload`. Its source travels with all that it names.
        space: hyper-parameters by name: values, choices, ranges, sequences.
        client: of a service that is there already; None: `local(state)`.
        state: as for `local`, and so are `trainers`, `device` and `threads`.
        progress: whether to show it.
        options: `objective`, `constraints`, `steps`, `trials`, `algorithm`,
            `every`, `seconds`, `device_hours`, `cost`, `deadline`,
            `stop_when`, `name`, `seed` and `on_error`, as `Options` has them.

    Returns:
        The study, which has ended: look at `state`, `best` and `trials`.

    Raises:
        InvalidStudy: it cannot be run; the text has every finding.
        KeyboardInterrupt: somebody does not want to wait any longer. Nothing
            goes on then, unless `client` was given.
    """
    with _written(train, space, options, client is None) as found:
        study, folder = found
        text = pack(study.to_yaml(), study.study, folder)
    if client is not None:
        return _run(client, study.study, text, progress)
    try:
        return _run(service_of(state, trainers, device, threads), study.study,
                    text, progress)
    except KeyboardInterrupt:
        ours = _clients.pop(os.path.abspath(os.fspath(state)), None)
        if ours is not None:
            ours.close()
        print("interrupted; the same call goes on where it was left",
              file=sys.stderr)
        raise


def preview(train: Trainable, space: Mapping[str, Any],
            **options: Unpack[Options]) -> dict[str, Any]:
    """Says what a study would train, without running anything: what
    ``hippo preview -f json`` prints. Arguments and errors as of `optimize`."""
    with _written(train, space, options, True) as (study, folder):
        done = _hippo(["preview", "-f", "json", study.study + ".yaml"], folder,
                      stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done)["studies"][0]
    return found


def check(train: Trainable, space: Mapping[str, Any],
          *, objective: Mapping[str, str] | str | None = None, steps: int = 4
          ) -> None:
    """Tries whether trials may share training: whether the state after a step
    depends on anything but the seed and the hyper-parameters until then. Shows
    what ``hippo check`` prints.

    Raises:
        Error: they must not; the text says in what states differ.
    """
    options: Options = {"objective": objective, "steps": steps}
    with _written(train, space, options, True) as (study, folder):
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


def service_of(state: str | os.PathLike[str], trainers: int | str = "auto",
               device: str | list[str] | None = None, threads: int = 1
               ) -> Client:
    """The connection of this process to a state folder's service, which is
    started if there is none; arguments as of `local`."""
    folder = os.path.abspath(os.fspath(state))
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
def _written(train: Trainable, space: Mapping[str, Any], options: Options,
             is_local: bool) -> Iterator[tuple[StudyFile, str]]:
    """Writes a study and its code into a folder, which is gone afterwards."""
    for key in options:
        if key not in Options.__annotations__:
            close = difflib.get_close_matches(key, Options.__annotations__, 1)
            raise TypeError(
                f"unknown argument {key!r}" + (f": did you mean {close[0]!r}?"
                                               if close else ""))
    code = _code_of(train)
    source, module = code.source, f"{code.name}.py"
    workload: dict[str, Any] = {"python": f"{module}:{code.name}",
                                "seed": code.seed}
    if source.files:
        workload["files"] = sorted(source.files)
    if code.args:
        workload["args"] = dict(code.args)
    if code.packages:
        workload["packages"] = code.packages
    if is_local:
        workload["python_executable"] = sys.executable
    budget = {key: value for key, value
              in [("trials", options.get("trials")),
                  ("failed", options.get("failed")),
                  ("seconds", options.get("seconds")),
                  ("device_hours", options.get("device_hours")),
                  ("cost", options.get("cost")),
                  ("deadline", options.get("deadline"))]
              if value is not None}
    more = {key: value for key, value
            in [("constraints", options.get("constraints")),
                ("stop_when", options.get("stop_when")),
                ("on_error", options.get("on_error"))] if value}
    study = StudyFile(
        study=options.get("name") or code.name, workload=workload,
        objective=_objective(options.get("objective"),
                             options.get("every", 1)),
        steps=options.get("steps", 1), space=space,
        algorithm=options.get("algorithm", "auto"), budget=budget or None,
        seed=options.get("seed", 0),
        more=more)
    with tempfile.TemporaryDirectory(prefix="hippo-study-") as folder:
        for path, real in source.files.items():
            if path == module:
                raise InvalidStudy(
                    f"{code.name} travels as {module}, which is also the "
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


def _code_of(train: Any) -> Code:
    if isinstance(train, Code):
        return train
    if isinstance(train, TrainingFunction):
        source = source_of(train)
        return Code(source, train.__name__, train.seed, train.args,
                    list(train.packages) or packages_of(source.text))
    if inspect.isclass(train) and issubclass(train, Workload):
        source = source_of(train)
        return Code(source, train.__name__, 0, {}, packages_of(source.text))
    raise InvalidArgument(
        f"{train!r} is no training function: put @hippo.workload above its "
        "`def`, or give a subclass of hippo.Workload")


def packages_of(text: str, modules: Iterable[str] = ()) -> list[str]:
    """The distributions whose modules a text imports, and those of further
    modules: their versions decide results, so they are in the study's key."""
    found = set(modules)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {x.name.partition(".")[0] for x in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    found -= {*sys.stdlib_module_names, "hippo_hpo"}
    known = importlib.metadata.packages_distributions()
    return sorted({x for module in found for x in known.get(module, [])})


def _objective(x: Mapping[str, str] | str | None, every: int
               ) -> dict[str, Any] | list[dict[str, Any]]:
    if x is None:
        x = {"value": "minimize"}
    if isinstance(x, str):
        x = {x: "maximize"}
    if not x:
        raise InvalidArgument(
            f"objective is {x!r}: give a metric and its direction, "
            "{\"val_accuracy\": \"maximize\"}")
    goals: list[dict[str, Any]] = [
        {"metric": metric, "direction": direction, "every": every}
        for metric, direction in x.items()]
    return goals[0] if len(goals) == 1 else goals


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
