"""Actors with trainers in a Ray cluster: their names, places and ends."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import secrets
import time
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

try:
    import ray
except ImportError:
    raise ImportError("this needs Ray: pip install 'hippo-hpo[ray]'") from None

from . import _ray_actor
from .errors import Error, InvalidArgument

# The namespace of all actors of Hippo: names are found from any driver.
NAMESPACE = "hippo"

# Seconds from SIGTERM to SIGKILL of a trainer, beside its notice.
GRACE_SECONDS = 30.0

# Calls that an actor answers at the same time: the end of its trainer may take
# a while.
CALLS_AT_ONCE = 4


def connect(address: str = "auto") -> None:
    """Connects this process to a Ray cluster, unless it is connected.

    Raises:
        Error: there is no cluster.
    """
    if ray.is_initialized():
        return
    try:
        ray.init(address=address, log_to_driver=False,
                 logging_level=logging.WARNING)
    except (ConnectionError, ValueError, RuntimeError) as why:
        raise Error(f"there is no Ray cluster at {address!r}: {_first(why)}. "
                    "`ray start --head` starts one; ray.init(address=...) "
                    "before this call names another") from None


def disconnect() -> None:
    """Ends the connection of this process; detached actors stay."""
    ray.shutdown()


@dataclasses.dataclass(frozen=True)
class Need:
    """Resources of one trainer; `memory` in bytes."""

    num_cpus: float = 1
    num_gpus: float = 0
    memory: int | None = None
    resources: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def check(self) -> None:
        """Raises InvalidArgument for resources that no trainer can have."""
        if self.num_gpus != int(self.num_gpus) or self.num_gpus < 0:
            raise InvalidArgument(
                f"num_gpus={self.num_gpus}: must be a whole number, 0 or more: "
                "a GPU has one trainer, which trains several leases at the "
                "same time (at_once=)")
        if not 0 <= self.num_cpus <= 1024:
            raise InvalidArgument(
                f"num_cpus={self.num_cpus}: must be from 0 to 1024")
        for name, x in self.resources.items():
            if name in ("CPU", "GPU", "memory"):
                right = {"CPU": "num_cpus", "GPU": "num_gpus"}.get(name, name)
                raise InvalidArgument(f"resources: {name!r} is {right}=")
            if not x > 0:
                raise InvalidArgument(
                    f"resources: {name!r}: {x}: must be above 0")

    def amounts(self) -> dict[str, float]:
        """The amounts by Ray's names; those that are 0 are left out."""
        named = {"CPU": self.num_cpus, "GPU": self.num_gpus,
                 "memory": float(self.memory or 0), **self.resources}
        return {name: x for name, x in named.items() if x > 0}


def check_capacity(need: Need, num: int) -> None:
    """Raises Error if the cluster could not place `num` trainers even if it
    were idle."""
    wanted = need.amounts()
    nodes = [x["Resources"] for x in ray.nodes() if x["Alive"]]
    places = sum(_places(x, wanted) for x in nodes)
    if places >= num:
        return
    each = ", ".join(_amount(*x) for x in wanted.items())
    raise Error(
        f"the cluster has no place for {num} trainers of {each} each: it could "
        f"take {places}. Its {len(nodes)} nodes have "
        f"{_summary(ray.cluster_resources(), wanted)} together. Ask for less, "
        "or give wait=True if an autoscaler brings nodes")


def _places(node: Mapping[str, float], wanted: Mapping[str, float]) -> int:
    """The number of trainers for which a node has room."""
    if not wanted:
        return 1 << 20
    return min(int(node.get(name, 0) / x + 1e-9) for name, x in wanted.items())


def _summary(has: Mapping[str, float], wanted: Iterable[str]) -> str:
    names = [*wanted, *(x for x in sorted(has) if x not in wanted
                        and not x.startswith(("node:", "object_store")))]
    return ", ".join(_amount(x, has.get(x, 0)) for x in names)


def _amount(name: str, x: float) -> str:
    return f"{x / (1 << 30):.3g} GiB memory" if name == "memory" \
        else f"{x:g} {name}"


def check_address(service: str) -> None:
    """Raises InvalidArgument if nodes cannot mean the same by an address."""
    host, colon, port = service.rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise InvalidArgument(
            f"service={service!r}: must be HOST:PORT, the address for trainers "
            "that `hippo serve` prints")
    hosts = {x["NodeManagerAddress"] for x in ray.nodes() if x["Alive"]}
    if host in ("localhost", "[::1]") or host.startswith("127."):
        if len(hosts) > 1:
            raise InvalidArgument(
                f"service={service!r}: every node would look for it on itself, "
                f"and the cluster has {len(hosts)} machines: let the service "
                "listen on an address of the network (hippo serve --listen, "
                "--keys)")


@dataclasses.dataclass(frozen=True)
class Order:
    """A trainer that is to run.

    Attributes:
        command: the words of hippo-trainer, its name first.
        key: content of its key; None: it has none, or the command names one.
        env: further variables of its environment.
        grace: seconds from SIGTERM to SIGKILL.
    """

    command: Sequence[str]
    key: bytes | None = dataclasses.field(default=None, repr=False)
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    grace: float = GRACE_SECONDS

    def digest(self) -> str:
        """Equal for equal orders."""
        text = json.dumps([list(self.command), sorted(self.env.items())])
        return hashlib.sha256(text.encode() + (self.key or b"")).hexdigest()


@dataclasses.dataclass
class Actor:
    """An actor with a trainer.

    Attributes:
        token: of this process's order, if it has started the actor.
    """

    name: str
    handle: Any = dataclasses.field(repr=False)
    token: str = ""
    asked: Any = dataclasses.field(default=None, repr=False)

    def kill(self) -> None:
        """Ends it at once; its trainer ends with it."""
        ray.kill(self.handle, no_restart=True)


def name_of(*parts: str) -> str:
    """The name of an actor: its parts, which may have any characters."""
    return "/".join(urllib.parse.quote(x, safe=" ") for x in parts)


def parts_of(name: str) -> list[str]:
    """The parts of a name."""
    return [urllib.parse.unquote(x) for x in name.split("/")]


def names() -> list[str]:
    """The names of all actors of Hippo, also of those that wait for a node."""
    found = ray.util.list_named_actors(all_namespaces=True)
    return sorted(x["name"] for x in found if x["namespace"] == NAMESPACE)


def find(name: str) -> Actor | None:
    """The actor of a name; None: there is none."""
    try:
        return Actor(name, ray.get_actor(name, namespace=NAMESPACE))
    except ValueError:
        return None


def start(name: str, order: Order, need: Need, *, max_restarts: int = -1,
          runtime_env: Mapping[str, Any] | None = None,
          is_detached: bool = True) -> Actor:
    """Starts an actor, unless there is one of that name. One that is not
    detached ends with this process."""
    if (found := find(name)) is not None:
        return found
    token = secrets.token_hex(8)
    given = {"command": list(order.command), "key_content": order.key,
             "env": dict(order.env), "grace": order.grace, "token": token,
             "same": order.digest()}
    # The nodes may have no Hippo: the code of the actor travels.
    ray.cloudpickle.register_pickle_by_value(_ray_actor)
    try:
        handle = ray.remote(_ray_actor.Keeper).options(
            name=name, namespace=NAMESPACE,
            lifetime="detached" if is_detached else None,
            get_if_exists=True, max_restarts=max_restarts,
            max_concurrency=CALLS_AT_ONCE, num_cpus=need.num_cpus,
            num_gpus=int(need.num_gpus), memory=need.memory,
            resources=dict(need.resources) or None,
            runtime_env=dict(runtime_env) if runtime_env else None,
        ).remote(given)
    finally:
        ray.cloudpickle.unregister_pickle_by_value(_ray_actor)
    return Actor(name, handle, token)


def look(actors: Sequence[Actor], seconds: float) -> list[dict[str, Any]]:
    """Asks actors for their states, for some seconds at most. The key
    ``state`` has ``waiting`` for those without a node, ``restarting`` for those
    that Ray starts anew and ``ended``, beside the states of a trainer."""
    for x in actors:
        if x.asked is None:
            x.asked = x.handle.state.remote()
    asked = {x.asked: x for x in actors}
    done, _ = ray.wait(list(asked), num_returns=len(asked), timeout=seconds) \
        if asked else ([], [])
    answered = set(done)
    return [_answer(x) if x.asked in answered else {"state": "waiting"}
            for x in actors]


def _answer(actor: Actor) -> dict[str, Any]:
    reference, actor.asked = actor.asked, None
    try:
        answer: dict[str, Any] = ray.get(reference)
        return answer
    except ray.exceptions.ActorUnavailableError:
        return {"state": "restarting", "why": "its process or node was lost"}
    except (ray.exceptions.RayActorError,
            ray.exceptions.RuntimeEnvSetupError,
            ray.exceptions.ActorUnschedulableError) as why:
        return {"state": "ended", "why": str(why).strip()}


def end(actors: Sequence[Actor], seconds: float) -> None:
    """Lets trainers leave, all at the same time, for some seconds at most; then
    their actors end."""
    leaving = [x.handle.end.remote() for x in actors]
    deadline = time.monotonic() + seconds
    if leaving:
        # One that has no node yet never answers, and one that died has left.
        placed = {x.name for x, y in zip(actors, look(actors, 2.0))
                  if y["state"] not in ("waiting", "restarting", "ended")}
        wait = [y for x, y in zip(actors, leaving) if x.name in placed]
        if wait:
            ray.wait(wait, num_returns=len(wait),
                     timeout=max(0.0, deadline - time.monotonic()))
    for x in actors:
        x.kill()


def _first(why: BaseException) -> str:
    return str(why).strip().partition("\n")[0].rstrip(".")
