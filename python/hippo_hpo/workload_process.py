"""Runs a workload beside its trainer: `python -m hippo_hpo.workload_process
FILE.py[:CLASS]`. Trainers start it; schemas/process.capnp is what they say."""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from hippo_hpo._averaging import Averaging
from hippo_hpo._compare import differences
from hippo_hpo._fork_server import Fork, ForkServer
from hippo_hpo._ranks import Member, RankGroup
from hippo_hpo._schema import process
from hippo_hpo._sharded import is_joined
from hippo_hpo._trying import NotExact, try_out
from hippo_hpo._versions import versions
from hippo_hpo.function import FunctionWorkload, TrainingFunction
from hippo_hpo.workload import HyperParameters, Value, Workload

SOCKET = "HIPPO_SOCKET"


class BadWorkload(Exception):
    """What is named is not a workload. The text says what to do about it."""


def find_workload(name: str) -> Callable[[], Workload]:
    """Imports the class or training function that FILE.py:NAME or MODULE:NAME
    names, and returns what makes an object of it.

    Without a name it is the only one that the file has.
    """
    path, _, attribute = name.partition(":")
    module = _import_file(path) if path.endswith(".py") \
        else importlib.import_module(path)
    found: dict[str, Callable[[], Workload]] = {}
    for key, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type) and issubclass(value, Workload):
            found[key] = value
        elif isinstance(value, TrainingFunction):
            found[key] = value.make_workload
    if attribute in found:
        return found[attribute]
    if not attribute and len(found) == 1:
        return next(iter(found.values()))
    known = ", ".join(sorted(found)) or "none"
    what = "subclass of hippo.Workload or function with @hippo.workload"
    if attribute:
        raise BadWorkload(f"{path} has no {what} that is called {attribute}; "
                          f"it has: {known}")
    raise BadWorkload(f"{path} must have one {what}, or one must be named as "
                      f"{path}:NAME; it has: {known}")


def _import_file(path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(
        os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise BadWorkload(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pickle looks classes up there
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module


class Server:
    """Answers the trainer's requests, one after the other."""

    def __init__(self, workload: Workload, stream: BinaryIO,
                 packages: list[str], tries: bool = False,
                 fork: Fork | None = None) -> None:
        """Keeps what it needs.

        Args:
            tries: whether training functions are tried.
            fork: this process, if another one takes its place once it ends.
        """
        self._workload = workload
        self._function = workload if isinstance(workload, FunctionWorkload) \
            else None
        self._tries = tries
        self._stream = stream
        self._packages = packages
        self._fork = fork
        self._setting = b""  # a digest of what the workload was set up with
        self._passed = b""  # the same, once it was tried
        self._writers: list[int] = []  # processes that write states

    def run(self) -> None:
        """Works until it is told to end or the trainer is gone."""
        while True:
            try:
                request = process.Request.read(self._stream)
            except Exception:  # pycapnp says EOF in several ways
                return
            if request.which() == "renew" and self._fork is not None:
                self._fork.end(request.number, self._passed)
            answer = process.Answer.new_message(number=request.number)
            try:
                getattr(self, "_" + request.which())(request, answer)
            except NotExact as why:
                answer.init("failed")
                answer.failed.message = str(why)
            except Exception as why:
                answer.init("failed")
                answer.failed.message = self._where(request) + _one_line(why)
                answer.failed.details = _without_us(why)
            try:
                answer.write(self._stream)
            except OSError:
                return

    def _where(self, request: Any) -> str:
        """The step in which training has failed, as the code counts."""
        if request.which() not in ("train", "evaluate"):
            return ""
        if self._function is not None:
            return self._function.where() + ": "
        if request.which() == "evaluate":
            return ""
        start, stop = getattr(request.train, "from"), request.train.to
        return f"in step {start}: " if stop == start + 1 \
            else f"in steps {start} to {stop - 1}: "

    def _describe(self, request: Any, answer: Any) -> None:
        if request.describe != process.processProtocolVersion:
            raise BadWorkload(
                f"the trainer speaks version {request.describe} of the "
                f"interface of workload processes, this package "
                f"{process.processProtocolVersion}: install the same release")
        known = versions(self._packages)
        described = answer.init("description")
        described.protocol = process.processProtocolVersion
        described.name = self._workload.name
        described.captures = hasattr(os, "fork")
        described.averages = True
        described.renews = self._fork is not None
        for to, (name, version) in zip(
                described.init("versions", len(known)), known.items()):
            to.name, to.version = name, version

    def _setup(self, request: Any, answer: Any) -> None:
        x = request.setup
        if x.threads:
            _limit_threads(x.threads)
        args = {option.name: _argument(option) for option in x.args}
        if x.average.of:
            self._workload = Averaging(self._workload, x.average.of,
                                       x.average.every)
        if x.initial:
            self._workload.initial = x.initial
        self._setting = hashlib.sha256(str(x).encode()).digest()
        if self._fork is not None and self._setting in self._fork.notes:
            self._tries = False  # a process before this one has
        self._workload.setup(x.seed, x.device, args)
        answer.done = None

    def _init(self, request: Any, answer: Any) -> None:
        self._workload.init()
        self._tell_size(answer)
        answer.done = None

    def _train(self, request: Any, answer: Any) -> None:
        x = request.train
        values = {y.name: _values(y) for y in x.values}
        start, stop = getattr(x, "from"), x.to
        begin = time.monotonic()
        self._workload.train(start, stop,
                             HyperParameters(start, stop, values))
        if self._function is not None:
            setup_seconds = self._function.take_setup_seconds()
            if self._tries and start == 0:
                trained = time.monotonic()
                # Until it has passed: whoever trains again is told the same.
                try_out(self._function, values, trained - begin)
                self._tries, self._passed = False, self._setting
                self._function.take_setup_seconds()
                setup_seconds += time.monotonic() - trained
            answer.setupNanos = round(setup_seconds * 1e9)
        # Code without PyTorch may have groups of another kind.
        answer.ranksApart = (self._workload.world_size > 1
                             and "torch" in sys.modules and not is_joined())
        answer.done = None

    def _evaluate(self, request: Any, answer: Any) -> None:
        measured = self._workload.evaluate()
        for to, (name, value) in zip(answer.init("metrics", len(measured)),
                                     sorted(measured.items())):
            to.name, to.value = name, float(value)

    def _save(self, request: Any, answer: Any) -> None:
        self._workload.save(request.save)
        answer.done = None

    def _capture(self, request: Any, answer: Any) -> None:
        path = request.capture
        write = self._workload._capture()
        if write is None:
            _write_whole(self._workload.save, path)
        else:
            self._write_aside(write, path)
        answer.done = None

    def _write_aside(self, write: Callable[[str], None], path: str) -> None:
        """Lets a copy of this process, whose memory nobody changes any more,
        write a file. The copy keeps the lock until it ends."""
        self._writers = [x for x in self._writers if _is_running(x)]
        with open(path, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                with warnings.catch_warnings():
                    # Of threads, none of which it goes on to use.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    child = os.fork()
            except OSError:  # no memory for one
                _write_whole(write, path)
                return
            if child == 0:
                self._write_and_end(write, path)
            self._writers.append(child)

    def _write_and_end(self, write: Callable[[str], None], path: str) -> None:
        status = 1
        try:
            os.close(self._stream.fileno())  # it answers nobody
            if (torch := sys.modules.get("torch")) is not None:
                torch.set_num_threads(1)
            _write_whole(write, path)
            status = 0
        except BaseException as why:
            with open(path + ".failed", "w", encoding="utf-8") as told:
                told.write(_one_line(why) + "\n" + _without_us(why))
        finally:
            os._exit(status)

    def _load(self, request: Any, answer: Any) -> None:
        self._workload.load(request.load)
        self._tell_size(answer)
        answer.done = None

    def _tell_size(self, answer: Any) -> None:
        if told := self._workload.size():
            if unknown := set(told) - {"operations", "parameters", "samples"}:
                raise BadWorkload(
                    f"size() has {', '.join(sorted(unknown))}; it may have "
                    f"operations, parameters and samples")
            size = answer.init("size")
            for name, value in told.items():
                setattr(size, name, float(value))

    def _compare(self, request: Any, answer: Any) -> None:
        x = request.compare
        answer.init("differences").found = differences(
            self._workload.read(x.path), self._workload.read(x.other))


def _argument(option: Any) -> Value:
    """An argument as it stands in the study file: 64 is no 64.0 there."""
    if option.json:
        return json.loads(option.json)
    x = option.value
    if x.which() == "word":
        return str(x.word)
    return int(x.number) if x.number.is_integer() else float(x.number)


def _values(x: Any) -> list[Value]:
    """The values of a hyper-parameter, the last of which goes on."""
    kind = str(x.type)
    if x.which() == "word":
        return [json.loads(x.word) if kind == "json" else str(x.word)]
    if kind == "whole":
        return [int(y) for y in x.numbers]
    return [bool(y) for y in x.numbers] if kind == "truth" \
        else list(x.numbers)


def _write_whole(write: Callable[[str], None], path: str) -> None:
    """Writes the file of a captured state, and says that it is whole."""
    write(path)
    os.rename(path, path + ".whole")


def _is_running(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # the code has waited for it
        return False


def _one_line(why: BaseException) -> str:
    return " ".join(traceback.format_exception_only(why)[-1].split())


def _without_us(why: BaseException) -> str:
    """The traceback from the first line of the user's code on."""
    frames = traceback.extract_tb(why.__traceback__)
    own = [x for x in frames if not x.filename.startswith("<frozen ")
           and os.path.dirname(x.filename)
           != os.path.dirname(__file__)] or list(frames)
    return "".join(["Traceback (most recent call last):\n",
                    *traceback.format_list(own),
                    *traceback.format_exception_only(why)])


def _limit_threads(threads: int) -> None:
    """Before the libraries that heed it are imported, where that is so."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(threads)


def main(arguments: list[str] | None = None) -> int:
    names = sys.argv[1:] if arguments is None else arguments
    if names[:1] == ["--versions"]:
        print(json.dumps(versions(names[1:])))
        return 0
    number = os.environ.get(SOCKET, "")
    if not names or not number.isdigit():
        print("usage: python -m hippo_hpo.workload_process FILE.py[:CLASS] "
              f"[PACKAGE...]\nTrainers start this, with {SOCKET} set.\n"
              "       python -m hippo_hpo.workload_process --versions PACKAGE...",
              file=sys.stderr)
        return 2
    if names[0] == "--ranks":
        return _run_ranks(names[1:], int(number))
    renews = names[0] == "--renew"
    names = names[renews:]
    tries = names[0] == "--try"
    names = names[tries:]
    with os.fdopen(int(number), "r+b", buffering=0) as stream:
        fork = None
        try:
            if renews:
                forks = ForkServer()
                with forks.watch():
                    make = find_workload(names[0])
                if forks.can_fork():
                    fork = forks.fork(stream)
            else:
                make = find_workload(names[0])
            workload = make()
        except Exception as why:
            return _refuse(stream, why)
        Server(workload, stream, names[1:], tries, fork).run()
    return 0


def _run_ranks(names: list[str], number: int) -> int:
    """Runs the workload as several processes.

    Args:
        names: their number, their devices joined by commas, perhaps `--member`
            with a member's words, and the arguments of each.
        number: the descriptor of the connection to the trainer.
    """
    ranks, devices, *names = names
    member = None
    if names[:1] == ["--member"]:
        member = Member.parse(names[1:1 + Member.WORDS])
        names = names[1 + Member.WORDS:]
    with os.fdopen(number, "r+b", buffering=0) as stream:
        # The trainer's signal comes to each rank as well. To ignore it here
        # would be inherited.
        signal.signal(signal.SIGTERM, lambda *_: None)
        RankGroup(names, int(ranks), [x for x in devices.split(",") if x],
                  member).run(stream)
    return 0


def _refuse(stream: BinaryIO, why: Exception) -> int:
    """Says why there is no workload to the first request."""
    request = process.Request.read(stream)
    answer = process.Answer.new_message(number=request.number)
    failed = answer.init("failed")
    failed.message = str(why) if isinstance(why, BadWorkload) else _one_line(why)
    failed.details = "" if isinstance(why, BadWorkload) else _without_us(why)
    answer.write(stream)
    return 1


if __name__ == "__main__":
    sys.exit(main())
