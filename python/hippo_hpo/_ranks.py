"""Runs a workload as several processes, its ranks, as `torchrun` starts them.

A trainer starts `python -m hippo_hpo.workload_process --ranks N`, and talks to
that process as to any other (schemas/process.capnp). It starts the ranks, hands
each request on to all of them, and answers once all have.

Where several trainers train the trial together, each starts this with
`--member`, and has some of the ranks. Then a saved state is the parts of these,
of which the trainers make one, and the process ends once one of them has.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from hippo_hpo._schema import process

SOCKET = "HIPPO_SOCKET"

# How long a rank may take to end by itself after SIGTERM.
_FAREWELL_SECONDS = 5.0

# How long the trainer of a member has to tell others of a failure.
_TELLING_SECONDS = 0.5

# The request for the address of a network interface (netdevice(7)).
_SIOCGIFADDR = 0x8915

_LOOPBACK = socket.inet_aton("127.0.0.1")

# A state is copied in pieces of so many bytes.
_COPIED_BYTES = 4 << 20


class RankFailed(Exception):
    """A rank cannot do what was asked for.

    Attributes:
        details: a traceback, or nothing.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


@dataclass(frozen=True)
class Member:
    """The ranks of one of several trainers, and the world that they are in."""

    first: int  # its first rank
    count: int  # of its ranks
    host: str  # at which other members reach it
    master_host: str  # where the ranks find each other
    master_port: int
    run_id: str

    # Of `parse`.
    WORDS = 6

    @classmethod
    def parse(cls, words: list[str]) -> Member:
        """Reads the arguments of `--member`."""
        first, count, host, master_host, master_port, run_id = words
        return cls(int(first), int(count), host, master_host,
                   int(master_port), run_id)


class _Rank:
    """A process of the group, and the line to it."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                command, env=env | {SOCKET: str(theirs.fileno())},
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self.stream = ours.makefile("rwb", buffering=0)
        ours.close()  # the file keeps it open


class RankGroup:
    """The processes of a workload of several ranks.

    They are started by the first request, and again by the next one after any
    of them has failed: the others may wait for it for ever. Those of a member
    are not: the ranks of all members are started together.
    """

    def __init__(self, names: list[str], ranks: int, devices: list[str],
                 member: Member | None = None) -> None:
        """Keeps what the ranks are started with.

        Args:
            names: the workload and its packages, as arguments of
                `hippo_hpo.workload_process`.
            ranks: the number of ranks of a trial.
            devices: the GPUs of the processes, as "cuda:2"; empty: the CPU.
            member: the ranks that are these processes; nothing: all.
        """
        self._names = names
        self._size = ranks
        self._member = member
        self._first = member.first if member else 0
        self._count = member.count if member else ranks
        self._devices = devices
        self._ranks: list[_Rank] = []
        self._begun: list[Any] = []  # requests that each new process needs

    def run(self, stream: BinaryIO) -> None:
        """Works until the trainer is gone."""
        try:
            while True:
                if self._member and not self._await_request(stream):
                    return
                try:
                    request = process.Request.read(stream).as_builder()
                except Exception:  # pycapnp says EOF in several ways
                    return
                try:
                    self._answer(request).write(stream)
                except RankFailed as why:
                    answer = process.Answer.new_message(number=request.number)
                    answer.init("failed")
                    answer.failed.message = str(why)
                    answer.failed.details = why.details
                    if self._member:
                        answer.write(stream)
                        # Others must not notice that these have ended before
                        # the trainer has told them, and closes its line.
                        select.select([stream.fileno()], [], [],
                                      _TELLING_SECONDS)
                        return
                    self._end()
                    answer.write(stream)
        except OSError:
            return
        finally:
            self._end()

    def _await_request(self, stream: BinaryIO) -> bool:
        """Waits for a request. @returns whether all ranks wait for one too"""
        ranks = [x.stream.fileno() for x in self._ranks]
        ready = select.select([stream.fileno(), *ranks], [], [])[0]
        return not set(ranks).intersection(ready)

    # -- requests -------------------------------------------------------------

    def _answer(self, request: Any) -> Any:
        which = request.which()
        if not self._ranks:
            self._start()
        if which in ("describe", "setup"):
            self._begun.append(request)
        if which == "save":
            return self._save(request)
        if which == "load":
            with self._split(request.load) as paths:
                return self._ask_each(request, lambda x, i: setattr(
                    x, "load", paths[i]))[0].as_builder()
        if which == "compare":
            return self._compare(request)
        answer = self._ask_all(request)[0].as_builder()
        if which == "describe":
            # A state is the files of all ranks, which are written one by one.
            answer.description.captures = False
        return answer

    def _ask_all(self, request: Any) -> list[Any]:
        if request.which() != "setup" or not self._devices:
            return self._exchange([request] * self._count)
        # A rank sees the GPUs of its trial alone.
        return self._ask_each(request, lambda x, i: setattr(
            x.setup, "device", f"cuda:{i}"))

    def _ask_each(self, request: Any, change: Callable[[Any, int], None]
                  ) -> list[Any]:
        """Asks each rank the same but for a change, which gets a copy of the
        request and the rank. Returns and raises as `_exchange`."""
        requests = [_copy_of(request) for _ in range(self._count)]
        for i, x in enumerate(requests):
            change(x, i)
        return self._exchange(requests)

    def _save(self, request: Any) -> Any:
        path = request.save
        with self._parts(path) as parts:
            answers = self._ask_each(
                request, lambda x, i: setattr(x, "save", parts[i]))
            _join_states(path, parts, self._first,
                         is_whole=self._member is None)
        return answers[0].as_builder()

    def _compare(self, request: Any) -> Any:
        x = request.compare
        with self._split(x.path) as ones, self._split(x.other) as others:
            def change(to: Any, i: int) -> None:
                to.compare.path, to.compare.other = ones[i], others[i]
            answers = self._ask_each(request, change)
        found: list[str] = []
        for i, answer in enumerate(answers):
            if answer.differences.which() == "unknown":
                return answer.as_builder()
            found += [f"rank {self._first + i}: {line}"
                      for line in answer.differences.found]
        result = process.Answer.new_message(number=request.number)
        result.init("differences").found = found
        return result

    @contextmanager
    def _parts(self, path: str) -> Iterator[list[str]]:
        """Yields the paths of the ranks' parts of a state, which are removed
        afterwards."""
        parts = parts_of(path, self._count)
        try:
            yield parts
        finally:
            for part in parts:
                with suppress(FileNotFoundError):
                    os.remove(part)

    @contextmanager
    def _split(self, path: str) -> Iterator[list[str]]:
        """Yields the paths of the ranks' parts of a state, as files."""
        with self._parts(path) as parts:
            split_state(path, parts, self._first, self._size)
            yield parts

    # -- processes ------------------------------------------------------------

    def _start(self) -> None:
        """Starts all ranks, and tells them what their predecessors were told.

        Raises:
            RankFailed: one of them has failed.
        """
        command = [sys.executable, "-m", "hippo_hpo.workload_process",
                   *self._names]
        shared = self._environment()
        for i in range(self._count):
            number = str(self._first + i)
            env = shared | {"RANK": number, "LOCAL_RANK": str(i),
                            "ROLE_RANK": number}
            if scratch := shared.get("HIPPO_SCRATCH"):
                env["HIPPO_SCRATCH"] = os.path.join(scratch, f"rank{number}")
                os.makedirs(env["HIPPO_SCRATCH"], exist_ok=True)
            self._ranks.append(_Rank(command, env))
        for request in self._begun:
            self._ask_all(request)

    def _environment(self) -> dict[str, str]:
        """Returns the variables of all ranks."""
        result = dict(os.environ)
        member = self._member or Member(
            0, self._count, "127.0.0.1", "127.0.0.1", _free_port(),
            f"hippo-{uuid.uuid4()}")
        result |= {
            "WORLD_SIZE": str(self._size),
            "LOCAL_WORLD_SIZE": str(self._count),
            "GROUP_RANK": str(self._first // self._count),
            "GROUP_WORLD_SIZE": str(self._size // self._count),
            "ROLE_NAME": "default", "ROLE_WORLD_SIZE": str(self._size),
            "MASTER_ADDR": member.master_host,
            "MASTER_PORT": str(member.master_port),
            "TORCHELASTIC_RUN_ID": member.run_id,
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "0"}
        # By address: the name of this machine may resolve to another one.
        if name := interface_of(member.host):
            result.setdefault("GLOO_SOCKET_IFNAME", name)
        if self._devices:
            result["CUDA_VISIBLE_DEVICES"] = ",".join(
                visible_devices(self._devices, result))
        return result

    def _exchange(self, requests: list[Any]) -> list[Any]:
        """Sends each rank a request. @returns the answers of all, by rank

        Raises:
            RankFailed: a rank has failed, or has ended.
        """
        answers: dict[int, Any] = {}
        for i, (rank, request) in enumerate(zip(self._ranks, requests)):
            try:
                request.clear_write_flag()  # it may be written several times
                _write(request.to_bytes(), rank.stream)
            except OSError:
                raise self._ended(i) from None
        number = requests[0].number
        waiting = {rank.stream.fileno(): i
                   for i, rank in enumerate(self._ranks)}
        poll = select.poll()
        for fd in waiting:
            poll.register(fd, select.POLLIN)
        while len(answers) < self._count:
            for fd, _ in poll.poll():
                i = waiting[fd]
                try:
                    answer = process.Answer.read(self._ranks[i].stream)
                except Exception:  # pycapnp says EOF in several ways
                    raise self._ended(i) from None
                if answer.number != number:
                    raise RankFailed(f"rank {self._first + i} answered what it "
                                     f"was not asked")
                if answer.which() == "failed":
                    raise RankFailed(
                        f"{answer.failed.message} ({self._name(i)})",
                        answer.failed.details)
                if answer.which() != "progress":
                    answers[i] = answer
                    poll.unregister(fd)
        return [answers[i] for i in range(self._count)]

    def _name(self, i: int) -> str:
        return f"rank {self._first + i} of {self._size}"

    def _ended(self, i: int) -> RankFailed:
        """Says how a rank has ended whose line is closed."""
        try:
            code = self._ranks[i].process.wait(_FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            return RankFailed(f"{self._name(i)} has closed its connection")
        if code >= 0:
            how = f"exit code {code}"
        else:
            how = f"signal {-code} ({signal.strsignal(-code)})"
        more = "; the system kills like this what takes too much memory" \
            if code == -signal.SIGKILL else ""
        return RankFailed(f"{self._name(i)} ended with {how}{more}")

    def _end(self) -> None:
        """Ends all ranks: by themselves where they can, else by force."""
        ranks, self._ranks = self._ranks, []
        for rank in ranks:
            rank.stream.close()
            rank.process.terminate()
        deadline = time.monotonic() + _FAREWELL_SECONDS
        for rank in ranks:
            try:
                rank.process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                rank.process.kill()
                rank.process.wait()


def visible_devices(devices: list[str], env: dict[str, str]) -> list[str]:
    """Returns the words of CUDA_VISIBLE_DEVICES for devices of this process.

        >>> visible_devices(["cuda:2", "cuda:3"], {})
        ['2', '3']
        >>> visible_devices(["cuda:1"], {"CUDA_VISIBLE_DEVICES": "4, GPU-7f"})
        ['GPU-7f']
    """
    numbers = [int(x.removeprefix("cuda:")) for x in devices]
    if "CUDA_VISIBLE_DEVICES" not in env:
        return [str(x) for x in numbers]
    seen = [x.strip() for x in env["CUDA_VISIBLE_DEVICES"].split(",")]
    return [seen[x] for x in numbers]


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def interface_of(host: str) -> str:
    """Returns the network interface that has the address of a host; empty: it
    is none of this machine, or has no IPv4 address.

    Every address of 127.0.0.0/8 is that of loopback, which is asked for one of
    them alone: names of machines often resolve to 127.0.1.1.

        >>> interface_of("127.0.0.1"), interface_of("127.0.1.1")
        ('lo', 'lo')
    """
    with suppress(OSError), socket.socket(socket.AF_INET,
                                          socket.SOCK_DGRAM) as s:
        wanted = socket.inet_aton(socket.gethostbyname(host))
        if wanted[0] == _LOOPBACK[0]:
            wanted = _LOOPBACK
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # it has no address
                found = fcntl.ioctl(s, _SIOCGIFADDR,
                                    struct.pack("256s", name.encode()))
                if found[20:24] == wanted:
                    return name
    return ""


def _write(data: bytes, stream: socket.SocketIO) -> None:
    """Writes all of a message to a stream without a buffer."""
    left = memoryview(data)
    while left:
        left = left[stream.write(left) or 0:]


def _copy_of(request: Any) -> Any:
    return request.as_reader().as_builder()


# -- states -------------------------------------------------------------------


def parts_of(path: str, ranks: int) -> list[str]:
    """Returns the paths for the parts of a group's state, beside it."""
    return [f"{path}.rank{i}" for i in range(ranks)]


def _join_states(path: str, parts: list[str], first: int, *,
                 is_whole: bool) -> None:
    """Writes the state of a group: a tar file with `rank0`, `rank1` and so on.
    Equal parts give equal bytes.

    Args:
        first: the rank of the first part.
        is_whole: whether these are all ranks. Otherwise the end of the file is
            missing: the states of all members, one after the other, are the
            whole without its end.
    """
    with open(path, "wb") as file:
        whole = tarfile.TarFile(fileobj=file, mode="w",
                                format=tarfile.GNU_FORMAT,
                                copybufsize=_COPIED_BYTES)
        for i, part in enumerate(parts, first):
            member = tarfile.TarInfo(f"rank{i}")
            with open(part, "rb") as content:
                member.size = os.fstat(content.fileno()).st_size
                whole.addfile(member, content)
        if is_whole:
            whole.close()


def split_state(path: str, parts: list[str], first: int = 0,
                ranks: int | None = None) -> None:
    """Writes some parts of a group's state to files.

    Args:
        path: the state of all ranks.
        parts: where its parts go.
        first: the rank of the first of these.
        ranks: their number in all; nothing: these are all.

    Raises:
        RankFailed: the file is not the state of so many ranks.
    """
    if ranks is None:
        ranks = len(parts)
    try:
        with open(path, "rb") as file, \
                tarfile.open(fileobj=file, mode="r:") as whole:
            members = whole.getmembers()
            names = [f"rank{i}" for i in range(ranks)]
            if [x.name for x in members] != names:
                raise RankFailed(f"the state is of {len(members)} ranks, not "
                                 f"of {ranks}")
            for member, part in zip(members[first:], parts):
                content = whole.extractfile(member)
                if content is None:
                    raise RankFailed(f"{member.name} of the state is no file")
                with open(part, "wb") as to:
                    shutil.copyfileobj(content, to, _COPIED_BYTES)
    except tarfile.TarError as why:
        raise RankFailed(f"the state cannot be read: {why}") from None


def ranks_of_state(path: str) -> int:
    """Returns of how many ranks a file is the state, 1 if it is of a single
    process."""
    if not tarfile.is_tarfile(path):
        return 1
    with tarfile.open(path) as whole:
        return len(whole.getmembers())
