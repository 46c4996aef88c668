"""Imports the code of studies once: each workload runs in a fork of the process
that has imported it, so that nothing of one workload reaches the next.

A trainer asks for it by `--renew`. The process imports the code, and forks when
a request comes. The fork is the workload's process until it is asked to `renew`;
then it ends, with all that it has started, and the next request gets a fork of
its own. When a fork ends otherwise, the process ends in the same way.

A fork shares more with its parent than memory. Code that has made any such thing
while it was imported is not forked: it runs in the process itself.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import os
import random
import resource
import select
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, NoReturn

from hippo_hpo._schema import process

# How long a fork may take to end by itself.
_FAREWELL_SECONDS = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CUDA_ERROR_NOT_INITIALIZED = 3

# Files of a folder, with what changes when they are written.
_Listing = dict[str, tuple[int, int]]


class Fork:
    """A fork, in the eyes of itself.

    Attributes:
        notes: notes that forks before it have left.
    """

    def __init__(self, line: int, notes: frozenset[bytes]) -> None:
        self._line = line
        self.notes = notes

    def end(self, number: int, note: bytes) -> NoReturn:
        """Ends this process as Python does, but for taking the modules apart: a
        second for PyTorch, and it would copy their memory first.

        Args:
            number: of the request that is answered once nothing is left of it.
            note: what later forks are to know, up to 64 bytes; empty: nothing.
        """
        os.write(self._line, number.to_bytes(8, "little") + note)
        # Whatever the code does at its end does not take for ever.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        signal.alarm(_FAREWELL_SECONDS)
        try:
            for thread in threading.enumerate():
                if not thread.daemon and thread is not threading.main_thread():
                    thread.join()
            atexit._run_exitfuncs()
            for x in gc.get_objects():  # those that were made since the fork
                if issubclass(type(x), io.IOBase):
                    with suppress(Exception):
                        x.flush()
        finally:
            os._exit(0)


class ForkServer:
    """The process that imports the code, and its forks."""

    def __init__(self) -> None:
        self._notes: frozenset[bytes] = frozenset()
        self._files = _open_files()
        self._folder = _list_folder()
        self._has_temporary = False

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Surrounds the import of the code."""
        # torch.cuda.is_available() would start CUDA, which survives no fork.
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
        make = tempfile.mkdtemp

        def mkdtemp(*args: Any, **options: Any) -> Any:
            self._has_temporary = True
            return make(*args, **options)
        tempfile.mkdtemp = mkdtemp
        try:
            yield
        finally:
            tempfile.mkdtemp = make

    def can_fork(self) -> bool:
        """Whether a fork is what another process would be that has imported the
        same."""
        return (sys.platform == "linux"
                and not self._has_temporary
                and _list_folder() == self._folder
                and _open_files() == self._files
                and not _has_shared_memory()
                and not _has_started_cuda()
                and not _children()
                and not _has_threads())

    def fork(self, stream: BinaryIO) -> Fork:
        """Waits for a request and forks. Returns in forks only.

        Args:
            stream: the connection to the trainer.
        """
        gc.freeze()  # a collection in a fork would copy all of it
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        drawn = random.getstate()
        requests = select.poll()
        requests.register(stream, select.POLLIN)
        while True:
            if requests.poll()[0][1] & select.POLLHUP:
                os._exit(0)  # the trainer has gone
            ours, theirs = os.pipe()
            libc.fflush(None)  # what is in a buffer would be printed twice
            parent = os.getpid()
            # SIGTERM comes to both, and is the fork's business.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            heard = signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = os.fork()
            if child == 0:
                libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:
                    os._exit(1)
                os.close(ours)
                signal.signal(signal.SIGTERM, heard or signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                random.setstate(drawn)  # Python seeds it anew in a fork
                return Fork(theirs, self._notes)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(theirs)
            status = _wait(child)
            signal.signal(signal.SIGTERM, heard or signal.SIG_DFL)
            _end_children()
            said = os.read(ours, 8 + 64)
            os.close(ours)
            if not said:
                _end_like(status)
            self._notes |= {said[8:]} - {b""}
            answer = process.Answer.new_message(
                number=int.from_bytes(said[:8], "little"))
            answer.done = None
            with suppress(OSError):  # the trainer has gone
                answer.write(stream)


def _wait(child: int) -> int:
    """Waits for a child, and for orphans meanwhile. @returns its status"""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            return status


def _end_children() -> None:
    """Ends all that a fork has started. What loses its parent becomes a child of
    this process, and so is found."""
    while True:
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _end_like(status: int) -> None:
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


# -- what a fork would share --------------------------------------------------


def _open_files() -> dict[int, tuple[int, int]]:
    """Returns the open files by descriptor. Two processes would read on in turn;
    devices have no place to read on from, and pycapnp keeps folders open."""
    result = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing's own is closed by now
            x = os.fstat(int(name))
            if not stat.S_ISCHR(x.st_mode) and not stat.S_ISDIR(x.st_mode):
                result[int(name)] = x.st_dev, x.st_ino
    return result


def _list_folder() -> _Listing:
    """Lists the folder that the code lies in, which is laid out anew for each
    workload, as it was before the import."""
    result: _Listing = {}
    for folder, folders, files in os.walk("."):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in folders:
            result[os.path.join(folder, name)] = 0, 0
        for name in files:
            path = os.path.join(folder, name)
            x = os.lstat(path)
            result[path] = x.st_size, x.st_mtime_ns
    return result


def _has_shared_memory() -> bool:
    with open("/proc/self/maps") as maps:
        return any(x.split(None, 2)[1][1::2] == "ws" for x in maps)


def _has_started_cuda() -> bool:
    with open("/proc/self/maps") as maps:
        if not any("libcuda.so" in x for x in maps):
            return False
    count = ctypes.c_int()
    said = ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count))
    return bool(said != _CUDA_ERROR_NOT_INITIALIZED)


def _children() -> list[int]:
    result = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # Its name is in parentheses, and may hold anything.
            parent = int(file.read().rpartition(b")")[2].split()[1])
            if parent == os.getpid():
                result.append(int(name))
    return result


def _has_threads() -> bool:
    """Whether there are threads that a fork would lack. Those of OpenBLAS end
    before a fork, and are started again when they are needed."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return len(os.listdir("/proc/self/task")) > 1
