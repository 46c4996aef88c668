"""A service of one's own, which comes and goes with those who use it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time

from ._program import hippo_program
from .client import Client, connect
from .errors import Disconnected, Error

# How long a service goes on when its last client has gone, in seconds.
LINGER_SECONDS = 3.0

# How long a service may take to start: one with much to go on with reads it.
START_SECONDS = 600.0


# The services that this process has started and not yet seen to end.
_started: list[subprocess.Popen[bytes]] = []


def local(state: str | os.PathLike[str] = "hippo-state", *,
          trainers: int | str = "auto", device: str | list[str] | None = None,
          threads: int = 1, ranks: int = 1, keep: bool = False) -> Client:
    """Connects to the service of a state folder on this machine, and starts it
    if it is not running.

    The service resumes studies of the folder that have not ended. It ends 3 s
    after its last client has disconnected; the next client starts it again.
    Several programs may use a service at the same time: their studies share
    training.

    Args:
        state: the folder with all results and checkpoints.
        trainers: the number of trainers on the CPU; "auto": one for each core.
            A running service keeps its trainers.
        device: "cuda:0", "all" or several devices instead of the CPU.
        threads: threads of each trainer on the CPU. The bits of results depend
            on their number, as on the kind of device.
        ranks: the number of processes of each trial that its trainers train.
        keep: keep the service running without clients, until it is told to end.

    Raises:
        Error: it cannot be started; the text gives the reason.
    """
    folder = os.path.abspath(os.fspath(state))
    deadline = time.monotonic() + START_SECONDS
    while True:
        if (client := _connect_to(folder)) is not None:
            return client
        command = [hippo_program(), "serve", "--state", folder,
                   "--listen", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
                   "--http", "127.0.0.1:0", "--threads", str(threads),
                   "--ranks", str(ranks),
                   "--notify-private"]  # its studies are this user's
        if device is None:
            count = os.cpu_count() if trainers == "auto" else trainers
            command += ["--trainers", str(count)]
        else:
            for x in [device] if isinstance(device, str) else device:
                command += ["--device", x]
        if not keep:
            command += ["--linger", str(LINGER_SECONDS)]
        # A session of its own, so that Ctrl-C is ours; it ends by itself.
        with tempfile.TemporaryFile() as said:
            service = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=said, start_new_session=True)
            _started[:] = [x for x in [*_started, service] if x.poll() is None]
            while service.poll() is None:
                if (client := _connect_to(folder)) is not None:
                    return client
                if time.monotonic() > deadline:
                    raise Error(f"the service of {folder} has not come up in "
                                f"{START_SECONDS:g} s: see {folder}/hippo.log")
                time.sleep(0.02)
            said.seek(0)
            why = said.read().decode(errors="replace").strip()
        # Another program may have been faster.
        if "is in use" not in why or time.monotonic() > deadline:
            raise Error(f"the service of {folder} has ended with exit code "
                        f"{service.returncode}:\n{why}")
        time.sleep(0.1)


def _connect_to(folder: str) -> Client | None:
    """Connects to the service that runs on a state folder, if one does."""
    try:
        with open(os.path.join(folder, "service.json"),
                  encoding="utf-8") as file:
            address = json.load(file)["clients"]
        return connect(address)
    except (OSError, ValueError, KeyError, Disconnected):
        return None
