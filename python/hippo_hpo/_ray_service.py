"""Studies whose trainers are in a Ray cluster, and whose service is here."""

from __future__ import annotations

import atexit
import dataclasses
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ray

from . import _ray_cluster as cluster
from . import optimizing
from ._arguments import refuse_unknown
from ._local import LINGER_SECONDS, START_SECONDS
from ._program import hippo_program
from .client import Client, connect
from .errors import Disconnected, Error
from .ray import start_trainers

if TYPE_CHECKING:
    from .study import Study


@dataclasses.dataclass(frozen=True)
class _Service:
    """A service that this process has started.

    Attributes:
        client: keeps it running; it ends soon after this process.
        address: for trainers.
        key: the trainers'.
        process: of the service.
    """

    client: Client
    address: str
    key: bytes
    process: subprocess.Popen[bytes]


# By state folder and host.
_services: dict[tuple[str, str], _Service] = {}

_number = itertools.count()


def run(train: Any, space: Mapping[str, Any], *, host: str | None,
        state: str | os.PathLike[str], num: int, placed: Mapping[str, Any],
        timeout: float, progress: bool, rerun: bool,
        options: Mapping[str, Any]) -> Study:
    """Does what `hippo_hpo.ray.optimize` promises; `placed` has the arguments
    of its trainers."""
    refuse_unknown("optimize", options, [
        "train", "space", "num_trainers", *placed, "state", "host", "timeout",
        "progress", "rerun", *optimizing.Options.__annotations__])
    cluster.connect()
    # Nothing half-starts: what would be refused is known before the service.
    need = cluster.Need(placed["num_cpus"], placed["num_gpus"], None,
                        dict(placed["resources"] or {}))
    need.check()
    if not placed["wait"]:
        cluster.check_capacity(need, num)
    host = host or ray.util.get_node_ip_address()
    service = _service_of(os.path.abspath(os.fspath(state)), host)
    name = f"hippo-optimize-{os.getpid()}-{next(_number)}"
    # They end with this process, however that ends.
    with start_trainers(service.address, num=num, key=service.key, name=name,
                        is_detached=False, **placed) as fleet:
        fleet.wait_ready(timeout, num=1)
        return optimizing.optimize(train, space, client=service.client,
                                   progress=progress, rerun=rerun,
                                   **options)


def _service_of(folder: str, host: str) -> _Service:
    """The service of a state folder that this process has started, or
    starts."""
    known = _services.get((folder, host))
    if known is not None:
        try:
            known.client.studies()
            return known
        except Error:
            known.client.close()
            del _services[folder, host]
    keys = tempfile.mkdtemp(prefix="hippo-keys-")
    atexit.register(shutil.rmtree, keys, ignore_errors=True)
    for words in (["init"], ["add", "ray", "--role", "trainer"],
                  ["add", "driver", "--role", "client"]):
        done = subprocess.run(
            [hippo_program(), "keys", *words, "--keys", keys],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise Error(f"hippo keys {words[0]}: {done.stderr.strip()}")
    with open(os.path.join(keys, "ray.pem"), "rb") as file:
        key = file.read()
    service = _services[folder, host] = _start(folder, host, keys, key)
    return service


def _start(folder: str, host: str, keys: str, key: bytes) -> _Service:
    """Starts a service with these keys; `key` is the trainers'."""
    here = f"[{host}]:0" if ":" in host else f"{host}:0"
    command = [hippo_program(), "serve", "--state", folder, "--keys", keys,
               "--listen", here, "--rpc", here, "--http", "127.0.0.1:0",
               "--linger", str(LINGER_SECONDS), "--notify-private"]
    deadline = time.monotonic() + START_SECONDS
    with tempfile.TemporaryFile() as said:
        service = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=said, start_new_session=True)
        while service.poll() is None and time.monotonic() < deadline:
            found = _announced(folder, service.pid)
            if found is not None:
                try:
                    client = connect(
                        found["clients"],
                        credentials=os.path.join(keys, "driver.pem"))
                    return _Service(client, found["trainers"], key, service)
                except Disconnected:
                    pass
            time.sleep(0.02)
        if service.poll() is None:
            service.terminate()
            raise Error(f"the service of {folder} has not come up in "
                        f"{START_SECONDS:g} s: see {folder}/hippo.log")
        said.seek(0)
        why = said.read().decode(errors="replace").strip()
    raise Error(f"the service of {folder} on {host} has ended with exit code "
                f"{service.returncode}:\n{why}")


def _announced(folder: str, pid: int) -> dict[str, str] | None:
    """The addresses of a service, once it listens."""
    try:
        with open(os.path.join(folder, "service.json"),
                  encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return None
    return found if found.get("pid") == pid else None
