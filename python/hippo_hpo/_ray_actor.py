"""The actor that keeps a trainer alive on a node of a Ray cluster.

Ray sends this module's code to the nodes, so it needs the standard library
alone: a node without Hippo can then say that, and what would be right.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

# Names the program on a node, before anything else.
VARIABLE = "HIPPO_TRAINER_PROGRAM"

# Exit code of the trainer for arguments, keys and devices that cannot be used.
USAGE = 2

# Seconds to the first new start of a trainer that has died, and at most. A
# trainer that has lived for the latter begins again with the former.
BACKOFF = (1.0, 60.0)

# What a trainer says of keys, or of a release, that the service does not take.
# Of a closed connection nobody knows: the service may just be starting.
REFUSALS = ("another authority", "it refuses the certificate",
            "not that of a Hippo service", "certificate has expired",
            "certificate is not valid", "run the same release of both")

# Becomes the trainer, which the kernel kills once its parent is no more,
# however that came about. `hippo-trainer --parent` would end with each loss of
# the service as well.
_LAUNCH = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""


class Condition:
    """The condition of a trainer, by the lines that it writes.

    Attributes:
        state: ``"starting"``, ``"ready"`` (registered with the service) or
            ``"failed"`` (not started again).
        why: the last reason why it is not ready; empty: there is none.
        was_ready: whether it has ever been.
    """

    def __init__(self) -> None:
        self.state, self.why, self.was_ready = "starting", "", False

    def on_line(self, line: str) -> None:
        """Takes a line of the trainer's log, as text or as JSON."""
        if "trainer: registered as number" in line:
            self.state, self.why, self.was_ready = "ready", "", True
        elif "trainer: cannot reach" in line:
            why = line.partition("trainer: ")[2].partition("; trying again")[0]
            self.state, self.why = "starting", why
        elif line.startswith("hippo-trainer: "):
            self.why = line.partition(": ")[2]
        elif REFUSALS[-1] in line:
            self.why = line.partition("trainer: ")[2] or line
        # A service that was there may come back with its keys.
        if not self.was_ready and any(x in self.why for x in REFUSALS):
            self.state = "failed"

    def on_end(self, code: int) -> None:
        """The process has ended, with an exit code or by a signal."""
        if self.state == "failed":
            return
        self.state = "starting"
        if code == USAGE and not self.was_ready:
            self.state = "failed"
        self.why = self.why or (
            f"its process was ended by signal {-code}" if code < 0
            else f"its process ended with exit code {code}")


class Keeper:
    """Starts a trainer, and starts it again when it dies. It ends with this
    actor."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self._order = dict(order)
        self._key = self._order.pop("key_content", None)
        self._key_path = ""
        self._condition = Condition()
        self._process: subprocess.Popen[str] | None = None
        self._starts = 0
        self._ending = threading.Event()
        self._lock = threading.Lock()
        # The kernel kills the trainer with the thread that has started it.
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def state(self) -> dict[str, Any]:
        """The state of the trainer, and the order that it was started by."""
        process = self._process
        state = self._condition.state
        if self._ending.is_set():
            state = "leaving" if self._thread.is_alive() else "ended"
        return {"state": state, "why": self._condition.why,
                "starts": self._starts, "host": socket.gethostname(),
                "pid": process.pid if process is not None
                and process.poll() is None else 0,
                "worker": os.getpid(), "token": self._order["token"],
                "same": self._order["same"]}

    def end(self) -> None:
        """Lets the trainer leave: it saves its present step. Returns when it
        has ended."""
        self._ending.set()
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                self._process.send_signal(signal.SIGTERM)
        self._thread.join(self._order["grace"])
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._process is not None:
                self._process.kill()
        self._thread.join()

    def _keep(self) -> None:
        try:
            command = [*self._command(), *self._key_option()]
            self._keep_going(command)
        except Exception as why:  # the thread has nobody else to tell
            self._condition.state, self._condition.why = "failed", str(why)
            print(f"hippo: {why}", flush=True)

    def _command(self) -> list[str]:
        """The command with the program's path on this node."""
        program, *options = self._order["command"]
        return [program_here(program), *options]

    def _key_option(self) -> list[str]:
        """The key as a file in memory: nothing of it stays on the disk. The
        trainer reads it in this process, since it may start anew."""
        if self._key is None:
            return []
        number = os.memfd_create("hippo-key")
        os.fchmod(number, 0o600)
        os.write(number, self._key)
        self._key_path = f"/proc/{os.getpid()}/fd/{number}"
        return ["--keys", self._key_path]

    def _keep_going(self, command: list[str]) -> None:
        shortest, longest = BACKOFF
        wait = shortest
        while not self._ending.is_set():
            began = time.monotonic()
            code = self._run(command)
            if self._ending.is_set():
                return
            self._condition.on_end(code)
            print(f"hippo: the trainer is not running: {self._condition.why}",
                  flush=True)
            if self._condition.state == "failed":
                return
            if time.monotonic() - began >= longest:
                wait = shortest
            self._ending.wait(wait)
            wait = min(2 * wait, longest)

    def _run(self, command: list[str]) -> int:
        """Runs the trainer once. @returns its exit code"""
        # `python3` is this interpreter for the code that studies bring.
        path = os.pathsep.join([os.path.dirname(sys.executable),
                                os.environ.get("PATH", os.defpath)])
        with self._lock:
            if self._ending.is_set():
                return 0
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LAUNCH, str(os.getpid()), *command],
                env={**os.environ, "PATH": path, **self._order["env"]},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace")
            self._starts += 1
        reader = threading.Thread(target=self._read, args=[self._process],
                                  daemon=True)
        reader.start()
        code = self._process.wait()
        reader.join(2)  # a process that it has left behind may still write
        return code

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Passes the trainer's log on to Ray's."""
        for line in process.stdout or ():
            if self._key_path:
                line = line.replace(self._key_path, "the given file")
            print(line, end="", flush=True)
            self._condition.on_line(line.strip())
            if self._condition.state == "failed":
                process.terminate()


def program_here(name: str) -> str:
    """The path of a trainer's program on this node: `name` if it is a path;
    else that of HIPPO_TRAINER_PROGRAM, the one of an installed hippo-hpo, or
    the one in PATH.

    Raises:
        RuntimeError: there is none.
    """
    if os.path.dirname(name):
        found = os.path.expanduser(name)
        if os.access(found, os.X_OK):
            return found
        raise RuntimeError(f"{_here()} has no program {found}: give the path "
                           "of hippo-trainer there")
    package = importlib.util.find_spec("hippo_hpo")
    folder = os.path.join(os.path.dirname(package.origin), "bin") \
        if package is not None and package.origin else ""
    full, plain = (os.path.join(folder, x) if folder else ""
                   for x in ("hippo-trainer", "hippo-trainer-plain"))
    for path in (os.environ.get(VARIABLE), full, plain, shutil.which(name)):
        if path and os.access(path, os.X_OK):
            return path
    raise RuntimeError(
        f"{_here()} has no program hippo-trainer: install a wheel of hippo-hpo "
        "on the nodes, or let Ray do it: runtime_env={'pip': "
        "['/shared/hippo_hpo-VERSION.whl']}")


def _here() -> str:
    return f"the node {socket.gethostname()}"
