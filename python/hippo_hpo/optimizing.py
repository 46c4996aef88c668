"""Studies of training functions, from a script or a notebook."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib.metadata
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Union

from ._arguments import (UnknownArgument, against_its_name, check_space,
                         goals_of, refuse_others, refuse_service,
                         refuse_unknown, steps_of)
from ._local import local
from ._packing import code_of, pack, place_outside
from ._program import hippo_program
from ._renamed import rename
from ._source import Source, source_of
from ._telling import (Stuck, Watch, closing, failed_study, opening, page_of,
                       say, without_places)
from .client import Client
from .errors import Closed, Error, InvalidArgument, InvalidStudy
from .function import TrainingFunction
from .space import Form
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
    """Options of a study of training code, for `optimize` and `preview`.

    Attributes:
        objective: metric and direction: ``{"val_accuracy": "maximize"}``.
            Several metrics give a Pareto front (`Study.front`). A name alone is
            enough if its direction is known, as for loss, error, accuracy, auc
            and f1. For a function that returns its value, ``"minimize"``
            (also if it is None) or ``"maximize"``.
        constraints: limits of metrics: ``["ms <= 5"]``; None: no limits.
        first: values of the first trials, as Optuna's `enqueue_trial` gives
            them: ``[{"lr": 0.1, "momentum": 0.9}]``; None: the algorithm
            chooses all.
        past: results of training elsewhere for samplers that learn, as
            Optuna's `add_trial` gives them: ``[{"params": {"lr": 0.1}, "step":
            10, "metrics": {"loss": 0.3}}]``. They are no trials of the study.
            None: there are none.
        prior: beliefs about good values, for the samplers "tpe" and "gp":
            ``{"lr": {"mode": 0.003, "strength": 2}}``. None: there are none.
        repeats: the number of seeds that each trial is trained with, from that
            of the code on; its results are the mean. Or
            ``{"seeds": 3, "summary": "median"}``, or "worst". Default 1.
        tags: words by which people find the study.
        notify: ``{"url": "https://..", "on": ["ended", "failed", "best"]}``
            posts these events of the study to the URL, as docs/notifications.md
            describes. None: nobody is told.
        max_steps: the last step of a trial; 1 for a function without `yield`.
            Or the lengths of trials: ``choice(1000, 2000)``.
        trials: the largest number of trials; None: the algorithm decides.
        total_steps: the study ends when its trials have been trained for so
            many steps, those in common once; None: no limit.
        failed: the study fails after this number of failed trials; None: no
            limit.
        algorithm: as in a study file: ``"tpe"``,
            ``{"asha": {"eta": 3, "min": 1}}``. The default "auto" chooses by
            the space, the budget and the steps.
        max_concurrent: the largest number of trials in flight; None: the
            algorithm decides.
        eval_every: steps between two measurements; default 1.
        average: ``{"of": 5, "every": 200}`` measures, in place of the weights
            of PyTorch modules, their mean over the last 5 steps that are
            multiples of 200. None: the weights as they are.
        seconds: the longest time of the study; None: no limit.
        device_hours: the longest working time of trainers for the study, added
            up; None: no limit.
        cost: the highest cost of that time, if the service knows the prices of
            trainers; None: no limit.
        deadline: the end of the study: a span from its submission, including
            pauses (``"6h"``, ``"1h30m"`` or seconds), or a time
            (``"2030-01-31T18:00Z"``). None: no deadline.
        stop_when: ``{"value": 0.93}`` ends the study when its best value is as
            good; ``{"no_gain": 40}`` when it has not improved in as many steps
            as 40 complete trials have; None: neither.
        name: the study's name; None: that of the code.
        seed: the seed of the algorithm's random numbers; default 0.
        on_error: the reaction if the first three trials fail alike. "end" (the
            default) ends the study; "continue" continues it; "pause" waits
            until somebody removes the cause, and retries and resumes it.
        files: further files in this folder that the training code reads, with
            relative paths: ``["data/numbers.csv"]``.
        initial: the path of a file or folder that training begins from, such as
            the weights of a pre-trained model: `ctx.initial`. It is sent to
            trainers. ``{"study": "pretrain", "trial": 12, "step": 9000}`` is
            the state of a trial of another study of the same service or state
            folder. None: there is none.
        ranks: the number of processes of each trial, as `torchrun` starts them:
            ``torch.distributed.init_process_group()`` works in the training
            code. It needs trainers of as many ranks.
        check: False: do not test the function in its first run. The test trains
            two steps in one go and in parts. It takes at most a second, or a
            tenth of the time up to the first measurement.
    """

    objective: Mapping[str, str] | str | None
    constraints: list[str] | None
    first: list[Mapping[str, Any]] | None
    past: list[Mapping[str, Any]] | None
    prior: Mapping[str, Mapping[str, Any]] | None
    repeats: int | Mapping[str, Any] | None
    tags: list[str] | None
    notify: Mapping[str, Any] | None
    max_steps: int | Form
    trials: int | None
    total_steps: int | None
    failed: int | None
    algorithm: str | Mapping[str, Any]
    max_concurrent: int | None
    eval_every: int
    average: Mapping[str, int] | None
    seconds: float | None
    device_hours: float | None
    cost: float | None
    deadline: str | float | None
    stop_when: Mapping[str, float] | None
    name: str | None
    seed: int
    on_error: str | None
    files: list[str] | None
    initial: str | os.PathLike[str] | Mapping[str, Any] | None
    ranks: int
    check: bool


F = TypeVar("F", bound=Callable[..., Any])


# What is said to whoever does not want to wait any longer.
_INTERRUPTED = "interrupted; run it again to go on"
_INTERRUPTED_THERE = ("interrupted; the study goes on at its service; run it "
                      "again to wait for it")


def _show_interrupted(before: Callable[..., Any]) -> Callable[..., Any]:
    """Shows nothing but that at the top of a script."""
    def show(kind: Any, why: Any, traceback: Any) -> None:
        if str(why) in (_INTERRUPTED, _INTERRUPTED_THERE):
            say(str(why))
        else:
            before(kind, why, traceback)
    return show


_RENAMED = {"steps": "max_steps", "every": "eval_every",
            "concurrent": "max_concurrent"}


def _in_own_words(function: F) -> F:
    """Lets what a function raises begin where it was called, and name no place
    in files that the caller has not written. Takes former names of arguments,
    too."""
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        rename(function.__qualname__, options, _RENAMED)
        try:
            return function(*args, **options)
        except InvalidStudy as why:
            raise InvalidStudy(without_places(why.message)) from None
        except UnknownArgument as why:
            raise TypeError(str(why)) from None
        except (Error, KeyboardInterrupt) as why:
            raise why.with_traceback(None) from None
    known = dict(inspect.signature(function).parameters)
    known.pop("options", None)
    for name, kind in Options.__annotations__.items():
        if "options" in inspect.signature(function).parameters:
            known[name] = inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None,
                annotation=kind)
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        list(known.values()))
    return call  # type: ignore[return-value]


@_in_own_words
def optimize(train: Trainable, space: Mapping[str, Any], *,
             client: Client | None = None,
             state: str | os.PathLike[str] = "hippo-state",
             trainers: int | str = "auto",
             device: str | list[str] | None = None, threads: int = 1,
             progress: bool = True, rerun: bool = False,
             **options: Unpack[Options]) -> Study:
    """Runs a study of a training function and waits for its end.

    It starts a service on demand. Steps that are in the state folder are not
    trained again. The same call resumes an interrupted study, and returns a
    study that has finished without a failed trial.

    Args:
        train: a function with `@hippo.workload`, or a subclass of
            `hippo.Workload`. Its source is sent to trainers with everything
            that it names.
        space: hyper-parameters by name: values, choices, ranges, sequences.
        client: client of a running service; None: `local(state)`.
        state: as for `local`, and so are `trainers`, `device` and `threads`.
        progress: whether to show progress.
        rerun: whether the same call runs a new study if one has finished.
        options: `objective`, `constraints`, `first`, `past`, `prior`,
            `repeats`, `tags`, `max_steps`, `trials`, `total_steps`,
            `algorithm`, `max_concurrent`, `eval_every`, `seconds`,
            `device_hours`, `cost`, `deadline`, `stop_when`, `name`, `seed`,
            `on_error`, `files`, `initial`, `ranks` and `check`: see `Options`.

    Returns:
        The study, which has ended: see `best`, `trials` and `state`.

    Raises:
        InvalidStudy: it cannot be run; the text has all errors.
        StudyFailed: all its trials failed, or the first ones failed alike, or
            it cannot be trained; the text has the cause and a remedy.
        KeyboardInterrupt: Ctrl-C ended the wait, and the study too, unless
            `client` was given.
    """
    refuse_unknown("optimize", options, [
        "train", "space", "client", "state", "trainers", "device", "threads",
        "progress", "rerun", *Options.__annotations__])
    refuse_service(client, trainers)
    place = os.path.abspath(os.fspath(state))

    def service() -> Client:
        return client or service_of(place, trainers, device, threads,
                                    options.get("ranks", 1))
    try:
        with tempfile.TemporaryDirectory(prefix="hippo-from-") as fetched:
            with _written(train, space, options, client is None) as written:
                text = pack(written.file.to_yaml(), written.file.study,
                            written.folder,
                            lambda x: service()._fetch_state(x, fetched))
            return _run(service(), written, text, options,
                        None if client is not None else place, progress, rerun)
    except KeyboardInterrupt:
        ours = None if client is not None else _clients.pop(place, None)
        if ours is not None:
            ours.close()
        sys.excepthook = _show_interrupted(sys.excepthook)
        raise KeyboardInterrupt(_INTERRUPTED if client is None
                                else _INTERRUPTED_THERE) from None


@_in_own_words
def preview(train: Trainable, space: Mapping[str, Any],
            **options: Unpack[Options]) -> dict[str, Any]:
    """Computes the steps that a study would train, without training them: the
    output of ``hippo preview -f json``. Arguments and errors are those of
    `optimize`."""
    refuse_unknown("preview", options,
                   ["train", "space", *Options.__annotations__])
    with _written(train, space, options, True, strict=False) as x:
        done = _hippo(["preview", "-f", "json", x.file.study + ".yaml"],
                      x.folder, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done)["studies"][0]
    return found


@_in_own_words
def check(train: Trainable, space: Mapping[str, Any],
          *, objective: Mapping[str, str] | str | None = None,
          max_steps: int = 4) -> None:
    """Tests whether trials may share training: whether the state after a step
    depends only on the seed and the hyper-parameters up to it. Prints the
    output of ``hippo check``.

    Raises:
        Error: they must not; the text names the differences of states.
    """
    options: Options = {"objective": objective, "max_steps": max_steps}
    with _written(train, space, options, True, strict=False) as x:
        command = ["check", x.file.study + ".yaml", "--steps",
                   str(max(max_steps, 2))]
        print(_hippo(command, x.folder, stdout=subprocess.PIPE), end="")


@dataclasses.dataclass(frozen=True)
class _Written:
    """A study in a folder.

    Attributes:
        goals: the direction of each metric.
        is_of_others: whether another part of this package tells of it.
    """

    file: StudyFile
    folder: str
    code: Code
    goals: Mapping[str, str]
    is_of_others: bool


def _run(client: Client, written: _Written, text: str, options: Options,
         state: str | None, progress: bool, rerun: bool) -> Study:
    """Runs a study, continues it, or returns it if it has finished.

    Args:
        state: the folder of a service on demand; None: it is one of others.
    """
    name, source = written.file.study, written.code.source
    is_plain = not written.is_of_others
    said: list[str] = []
    notes: list[str] = []
    study = _same(client, name, text, rerun)
    if study is not None and (info := study.info).ended:
        if progress and is_plain:
            say(f"{name}: study {info.id} of the same call has finished; "
                "rerun=True runs a new one")
            say(closing(study, info, source))
        return study
    if study is None:
        study, said, notes = client._submit(text, name)
    elif study.state == "PAUSED":
        study.resume()
    if progress:
        say(opening(study.info, written.goals, notes, options,
                    written.file.max_steps, state and page_of(state)))
        for x in [*against_its_name(written.goals), *source.notes]:
            say(f"note: {x}")
    for x in said:
        _pass_on(x, progress and is_plain)
    watch = Watch(state is None, progress)
    try:
        info = study.wait(watch)
    except Stuck as stuck:
        if not stuck.is_paused:
            study.cancel(stuck.why)
        raise failed_study(study, study.info, stuck.why, source) from None
    finally:
        watch.end()
    if not is_plain:
        return study
    found = info.best_trial is not None or (
        info.front is not None and info.front.points)
    if info.state == "FAILED" or (info.state == "COMPLETE" and not found):
        why = info.reason
        if info.state == "COMPLETE" and not info.failed:
            why = (f"nothing was measured: {why or 'it had no trials'}; give "
                   "it more, or measure at earlier steps (eval_every=)")
        raise failed_study(study, info, why, source)
    if progress:
        say(closing(study, info, source))
    return study


# Where it was said that trials share nothing: file and line of a call.
_told_of_sharing: set[tuple[str, int]] = set()

_SHARING = re.compile(
    r"no two trials share a step .* from step 0 on in (?P<names>.*?)\. If all "
    r"had the same values up to step (?P<step>\d+),.* p would be "
    r"(?P<p>\d+\.\d+)")


def _pass_on(warning: str, progress: bool) -> None:
    """Passes on what the service warns of. That nothing is shared is no
    warning, but information, which is given once."""
    own = os.path.dirname(os.path.abspath(__file__))
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and os.path.dirname(
            os.path.abspath(frame.f_code.co_filename)) == own:
        depth, frame = depth + 1, frame.f_back
    text = without_places(warning)
    found = _SHARING.search(text)
    if found is None:
        if "no two trials share" not in text:
            warnings.warn(text, stacklevel=depth)
        return
    place = frame.f_code.co_filename, frame.f_lineno
    if not progress or place in _told_of_sharing:
        return
    _told_of_sharing.add(place)
    say(f"note: {os.path.basename(place[0])}:{place[1]}: no two trials have "
        "any training in common, since they differ from step 0 on in "
        f"{found['names']}. If they differed from step {found['step']} on "
        f"only, merging would save {1 - 1 / float(found['p']):.0%} of the "
        "training: see docs/sharing.md")


def _same(client: Client, name: str, text: str, rerun: bool) -> Study | None:
    """The last study of that name and text that has not ended or, unless
    `rerun`, has finished without a failed trial."""
    for info in reversed(client.studies()):
        is_finished = (info.state == "COMPLETE" and not info.failed
                       and info.finished > 0)
        if info.name != name or info.ended and (rerun or not is_finished):
            continue
        study = client.study(info.id)
        if _identity(study._whole_text()) == _identity(text):
            return study
    return None


def _identity(text: str) -> tuple[str, Any]:
    """The study and the code that a text has, wherever the initial state was
    read from: its digests tell."""
    code = code_of(text)
    parts = json.loads(code) if code else {}
    (parts.get("initial") or {}).pop("path", None)
    return text.removesuffix(code), parts


def service_of(state: str | os.PathLike[str], trainers: int | str = "auto",
               device: str | list[str] | None = None, threads: int = 1,
               ranks: int = 1) -> Client:
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
                                      threads=threads, ranks=ranks)
    return client


def _algorithm_of(options: Options) -> str | Mapping[str, Any]:
    """The algorithm of a study file, with the option `max_concurrent`."""
    algorithm = options.get("algorithm", "auto")
    most = options.get("max_concurrent")
    if most is None:
        return algorithm
    named = {algorithm: {}} if isinstance(algorithm, str) else algorithm
    if any("max_concurrent" in x for x in named.values()):
        raise InvalidStudy("max_concurrent= is also an option of algorithm=: "
                           "give one of them")
    return {name: {**own, "max_concurrent": most}
            for name, own in named.items()}


@contextlib.contextmanager
def _written(train: Trainable, space: Mapping[str, Any], options: Options,
             is_local: bool, strict: bool = True) -> Iterator[_Written]:
    """Writes a study and its code into a folder, which is gone afterwards.

    Args:
        strict: whether directions matter.
    """
    _refuse_untrainable(train)
    check_space(space)
    refuse_others(options)
    goals = goals_of(options.get("objective"), train, strict=strict)
    steps = steps_of(train, options.get("max_steps"))
    code = _code_of(train)
    source, module = code.source, f"{code.name}.py"
    files = {**source.files, **_further(options.get("files"))}
    workload: dict[str, Any] = {"python": f"{module}:{code.name}",
                                "seed": code.seed}
    if files:
        workload["files"] = sorted(files)
    if code.args:
        workload["args"] = dict(code.args)
    if code.packages:
        workload["packages"] = code.packages
    if (initial := options.get("initial")) is not None:
        workload["from"] = dict(initial) if isinstance(initial, Mapping) \
            else initial if str(initial).startswith("s3://") \
            else os.path.abspath(os.fspath(initial))
    if is_local:
        workload["python_executable"] = sys.executable
    if options.get("check") is False:
        workload["check"] = False
    if (ranks := options.get("ranks", 1)) != 1:
        workload["ranks"] = ranks
    budget = {key: value for key, value
              in [("trials", options.get("trials")),
                  ("steps", options.get("total_steps")),
                  ("failed", options.get("failed")),
                  ("seconds", options.get("seconds")),
                  ("device_hours", options.get("device_hours")),
                  ("cost", options.get("cost")),
                  ("deadline", options.get("deadline"))]
              if value is not None}
    more = {key: value for key, value
            in [("constraints", options.get("constraints")),
                ("first", options.get("first")),
                ("import", options.get("past")),
                ("prior", options.get("prior")),
                ("repeats", options.get("repeats")),
                ("tags", options.get("tags")),
                ("notify", options.get("notify")),
                ("stop_when", options.get("stop_when")),
                ("on_error", options.get("on_error") or "end")] if value}
    objective: list[dict[str, Any]] = [
        {"metric": metric, "direction": direction}
        for metric, direction in goals.items()]
    if (average := options.get("average")) is not None:
        objective[0]["average"] = dict(average)
    study = StudyFile(
        study=options.get("name") or code.name, workload=workload,
        objective=objective[0] if len(objective) == 1 else objective,
        max_steps=steps, space=space, algorithm=_algorithm_of(options),
        budget=budget or None, seed=options.get("seed", 0), more=more,
        eval_every=options.get("eval_every", 1))
    with tempfile.TemporaryDirectory(prefix="hippo-study-") as folder:
        for path, real in files.items():
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
        yield _Written(study, folder, code, goals, isinstance(train, Code))


def _further(files: Any) -> dict[str, str]:
    """Where the files are that training code is to have beside it."""
    if files is not None and (isinstance(files, str)
                              or not all(isinstance(x, (str, os.PathLike))
                                         for x in files)):
        raise InvalidStudy(f"files={files!r}: must be a list of paths, "
                           "[\"data/numbers.csv\"]")
    found = {}
    for x in files or ():
        path = os.path.normpath(os.fspath(x))
        if os.path.isabs(path) or path.startswith(os.pardir):
            raise InvalidStudy(
                f"files: {os.fspath(x)!r} is not in this folder: name files by "
                "their paths from here; training code may open what has "
                "an absolute path, where trainers have it")
        if place := place_outside(os.curdir, path):
            raise InvalidStudy(
                f"files: {os.fspath(x)!r} is a symbolic link that leads to "
                f"{place}, out of this folder, and files from there do not "
                "travel: copy it here, or let training code open it by its "
                "absolute path, where trainers have it")
        if not os.path.isfile(path):
            raise InvalidStudy(
                f"files: {os.fspath(x)!r} is "
                + ("a folder: name its files" if os.path.isdir(path) else
                   f"not there: {os.path.abspath(path)} is no file"))
        found[path.replace(os.sep, "/")] = os.path.abspath(path)
    return found


def _is_class(train: Any) -> bool:
    return inspect.isclass(train) and issubclass(train, Workload)


def _refuse_untrainable(train: Any) -> None:
    if not isinstance(train, (Code, TrainingFunction)) \
            and not _is_class(train):
        raise InvalidArgument(
            f"{train!r} is no training function: put @hippo.workload above its "
            "`def`, or give a subclass of hippo.Workload")


def _code_of(train: Any) -> Code:
    if isinstance(train, Code):
        return train
    if isinstance(train, TrainingFunction):
        source = source_of(train)
        return Code(source, train.__name__, train.seed, train.args,
                    list(train.packages) or packages_of(source.text))
    source = source_of(train)
    return Code(source, train.__name__, 0, {}, packages_of(source.text))


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
