"""Trainers as actors of a Ray cluster.

    import hippo_hpo.ray

    with hippo_hpo.ray.trainers("gpu-lab:4848", num=8, num_gpus=1,
                                key="hippo-keys/gpu.pem") as fleet:
        fleet.wait_ready()
        ...

`optimize` runs a study of a training function on such trainers. docs/deploy.md
describes them. Needs Ray: ``pip install 'hippo-hpo[ray]'``.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _ray_cluster as cluster
from .errors import Error, InvalidArgument, NotAllowed, Timeout

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .optimizing import Options, Trainable
    from .study import Study

__all__ = ["TrainerState", "Trainers", "optimize", "trainers"]

# Seconds for which a service may close connections before that is taken for a
# refusal: one that starts or ends does so, too.
_DOUBT_SECONDS = 10.0

_MOST = 10_000


@dataclasses.dataclass(frozen=True)
class TrainerState:
    """The state of a trainer in the cluster.

    Attributes:
        name: of its actor, as Ray's dashboard shows it.
        state: ``"waiting"`` (for a node with room), ``"starting"``,
            ``"ready"`` (registered with the service), ``"restarting"`` (its
            node or process was lost), ``"leaving"``, ``"failed"`` (its key,
            release, program or device cannot be used; it is not started again)
            or ``"ended"``.
        why: the reason if it is not ready; empty: there is none yet.
        host: the node's host name; empty: it has no node.
        pid: of hippo-trainer on the node; 0: it does not run.
        worker: the process id of the actor; 0: it has no node.
        starts: how often the trainer was started on this node.
    """

    name: str
    state: str
    why: str = ""
    host: str = ""
    pid: int = 0
    worker: int = 0
    starts: int = 0


class Trainers:
    """Trainers in the cluster; `trainers` returns it. In a ``with`` statement
    those that the call has started end with the block; else they stay until
    `end`, also when the program ends.

    Attributes:
        names: of all actors.
        started: of those that this call has started.
        service: the address of their service.
    """

    def __init__(self, service: str, actors: Sequence[cluster.Actor],
                 grace: float) -> None:
        self.service = service
        self._actors = list(actors)
        self._grace = grace

    @property
    def names(self) -> list[str]:
        return [x.name for x in self._actors]

    @property
    def started(self) -> list[str]:
        return [x.name for x in self._actors if x.token]

    def __repr__(self) -> str:
        return f"<{len(self._actors)} trainers in Ray of {self.service}>"

    def __enter__(self) -> Trainers:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.end()

    def states(self, timeout: float = 5.0) -> list[TrainerState]:
        """Returns the state of each trainer, in the order of `names`.

        Args:
            timeout: seconds to wait for the answers of actors; those that have
                not answered by then are ``"waiting"``.
        """
        known = {x.name for x in dataclasses.fields(TrainerState)}
        return [TrainerState(name=actor.name, **{
                    name: x for name, x in found.items() if name in known})
                for actor, found in zip(
                    self._actors, cluster.look(self._actors, timeout))]

    def wait_ready(self, timeout: float = 120.0, *,
                   num: int | None = None) -> Trainers:
        """Waits until trainers are registered with the service.

        Args:
            timeout: in seconds; with an autoscaler, a node may take minutes.
            num: the number that suffices; None: all of them.

        Raises:
            NotAllowed: the service refuses their key.
            Error: one cannot run; the text has the reason.
            Timeout: not all are ready in time; the text says which, and why.
        """
        end = time.monotonic() + timeout
        doubt: dict[str, float] = {}
        while True:
            left = end - time.monotonic()
            found = self.states(max(0.1, min(left, 2.0)))
            rest = [x for x in found if x.state != "ready"]
            if len(found) - len(rest) >= (len(found) if num is None else num):
                return self
            for x in rest:
                if x.state in ("failed", "ended"):
                    raise _failure(x)
                if "--keys" not in x.why:
                    doubt.pop(x.name, None)
                elif time.monotonic() - doubt.setdefault(
                        x.name, time.monotonic()) > _DOUBT_SECONDS:
                    raise _failure(x)
            if left <= 0:
                raise Timeout(f"{len(rest)} of {len(found)} trainers are not "
                              f"ready after {timeout:g} s:\n" + "\n".join(
                                  f"  {_text(x)}" for x in rest[:10]))
            time.sleep(min(0.1, max(0.0, left)))

    def end(self, *, found: bool = False) -> None:
        """Lets the trainers leave, and ends their actors: each saves its
        present step. Those that were there before the call stay.

        Args:
            found: whether those that were there before are to end as well.
        """
        ours = [x for x in self._actors if x.token or found]
        cluster.end(ours, self._grace + 10)
        if found:
            self._actors = []
        else:
            self._actors = [x for x in self._actors if not x.token]


def _failure(x: TrainerState) -> Error:
    is_of_key = any(word in x.why for word in (
        "authority", "certificate", "--keys", "key of a"))
    return (NotAllowed if is_of_key else Error)(_text(x))


def _text(x: TrainerState) -> str:
    waiting = ("no node has room for it: see `ray status`"
               if x.state == "waiting" else "it has not registered yet")
    place = f" on {x.host}" if x.host else ""
    return f"trainer {x.name}{place} is {x.state}: {x.why or waiting}"


def trainers(service: str, *, num: int, num_gpus: int = 0,
             num_cpus: float = 1,
             resources: Mapping[str, float] | None = None,
             memory: int | None = None, max_restarts: int = -1,
             key: str | os.PathLike[str] | bytes | None = None,
             node_key: str | None = None, name: str = "hippo-trainer",
             notice: int | None = None, at_once: int | None = None,
             threads: int | None = None, gangs: bool = True,
             options: Sequence[str] = (), program: str | None = None,
             runtime_env: Mapping[str, Any] | None = None,
             wait: bool = False) -> Trainers:
    """Starts trainers in the Ray cluster that this process is connected to, or
    in that of ``ray.init(address="auto")``.

    Each is a detached actor, ``NAME/0`` and so on, with a `hippo-trainer` as
    its child. Ray starts it again if its node is lost, and the actor starts the
    trainer again if that dies. Actors that are there already are used as they
    are, so the call may be repeated.

    Args:
        service: ``HOST:PORT`` for trainers, as all nodes reach it.
        num: the number of trainers.
        num_gpus: GPUs of each trainer, a whole number; 0: it trains on the CPU.
        num_cpus: CPUs of each.
        resources: further resources of each, by the cluster's names.
        memory: bytes that Ray reserves for each; None: none are reserved.
        max_restarts: how often Ray restarts an actor; -1: always.
        key: the file of ``hippo keys add NAME --role trainer`` here, or its
            content; it travels with the actor. None: there is none here.
        node_key: the path of this file on each node, instead of `key`.
        name: of the trainers.
        notice: as ``hippo-trainer --notice``: seconds from SIGTERM to the end
            of a machine that may be taken away; `end` waits as long.
        at_once: as ``hippo-trainer --at-once``.
        threads: threads that a CPU trains with, which decide the bits of
            results; None: `num_cpus`, one at least.
        gangs: whether several may train a path together, by
            ``--gang-listen auto``: each is reached at the address from which it
            connects to the service. `options` with ``--gang-listen`` or
            ``--members`` say otherwise.
        options: further words of `hippo-trainer`.
        program: its path on the nodes; None: HIPPO_TRAINER_PROGRAM there, the
            one of an installed `hippo-hpo`, or the one in PATH.
        runtime_env: Ray's environment of the actors, which may install a wheel:
            ``{"pip": ["/shared/hippo_hpo-1.0-py3-none-linux_x86_64.whl"]}``.
        wait: whether to wait for nodes that the cluster does not have, which an
            autoscaler may bring.

    Raises:
        InvalidArgument: an argument cannot be; the text has what can.
        Error: there is no cluster, or it has no place for the trainers.
    """
    return start_trainers(
        service, num=num, num_gpus=num_gpus, num_cpus=num_cpus,
        resources=resources, memory=memory, max_restarts=max_restarts, key=key,
        node_key=node_key, name=name, notice=notice, at_once=at_once,
        threads=threads, gangs=gangs, options=options, program=program,
        runtime_env=runtime_env, wait=wait)


def start_trainers(service: str, *, num: int, num_gpus: int = 0,
                   num_cpus: float = 1,
                   resources: Mapping[str, float] | None = None,
                   memory: int | None = None, max_restarts: int = -1,
                   key: str | os.PathLike[str] | bytes | None = None,
                   node_key: str | None = None, name: str,
                   notice: int | None = None, at_once: int | None = None,
                   threads: int | None = None, gangs: bool = True,
                   options: Sequence[str] = (), program: str | None = None,
                   runtime_env: Mapping[str, Any] | None = None,
                   wait: bool = False, is_detached: bool = True) -> Trainers:
    """Does what `trainers` promises. Actors that are not detached end with this
    process."""
    if not 1 <= num <= _MOST:
        raise InvalidArgument(f"num={num}: must be from 1 to {_MOST}")
    if not name or "/" in name:
        raise InvalidArgument(f"name={name!r}: must be a word without a slash")
    need = cluster.Need(num_cpus, num_gpus, memory, dict(resources or {}))
    need.check()
    order = cluster.Order(
        _command(service, num_gpus, num_cpus, threads, notice, at_once,
                 node_key, gangs, options, program),
        _content(key, node_key), grace=cluster.GRACE_SECONDS
        if notice is None else float(notice))
    cluster.connect()
    cluster.check_address(service)
    wanted = [cluster.name_of(name, str(i)) for i in range(num)]
    present = set(cluster.names())
    if not wait:
        cluster.check_capacity(need, num)
    actors = [cluster.start(x, order, need, max_restarts=max_restarts,
                            runtime_env=runtime_env,
                            is_detached=is_detached) for x in wanted]
    _refuse_others([x for x in actors if x.name in present], order)
    return Trainers(service, actors, order.grace)


def _command(service: str, num_gpus: int, num_cpus: float,
             threads: int | None, notice: int | None, at_once: int | None,
             node_key: str | None, gangs: bool, options: Sequence[str],
             program: str | None) -> list[str]:
    command = [program or "hippo-trainer", "--connect", service]
    # Ray shows each actor its own GPUs alone, from 0 on.
    for i in range(int(num_gpus)):
        command += ["--device", f"cuda:{i}"]
    if not num_gpus:
        command += ["--threads", str(threads or max(1, int(num_cpus)))]
    elif threads is not None:
        raise InvalidArgument("threads= is for trainers on the CPU: leave out "
                              "num_gpus or threads")
    for name, value in ("--notice", notice), ("--at-once", at_once):
        if value is not None:
            command += [name, str(value)]
    if node_key is not None:
        command += ["--keys", node_key]
    named = {x.partition("=")[0] for x in options}
    if gangs and named.isdisjoint({"--gang-listen", "--members"}):
        command += ["--gang-listen", "auto"]
    return [*command, *options]


def _content(key: str | os.PathLike[str] | bytes | None,
             node_key: str | None) -> bytes | None:
    if key is None or isinstance(key, bytes):
        content = key
    else:
        path = os.path.expanduser(os.fspath(key))
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as why:
            raise InvalidArgument(
                f"cannot read the key {path} ({why.strerror}): `hippo keys add "
                "NAME --role trainer` makes it; node_key= names one that is on "
                "the nodes") from None
    if content is not None and node_key is not None:
        raise InvalidArgument("key= travels, node_key= is there: give one")
    if content is not None and b"PRIVATE KEY" not in content:
        raise InvalidArgument("key= has no private key: give the file that "
                              "`hippo keys add NAME --role trainer` writes")
    return content


def _refuse_others(present: Sequence[cluster.Actor],
                   order: cluster.Order) -> None:
    """Raises InvalidArgument if actors were started with another order."""
    for actor, found in zip(present, cluster.look(present, 5.0)):
        if found.get("same", order.digest()) != order.digest():
            raise InvalidArgument(
                f"the actor {actor.name} exists with other options, or for "
                "another service or key: choose another name=, or end it by "
                "the call that it was started by, with .end(found=True)")


def optimize(train: Trainable, space: Mapping[str, Any], *,
             num_trainers: int, num_gpus: int = 0, num_cpus: float = 1,
             resources: Mapping[str, float] | None = None,
             state: str | os.PathLike[str] = "hippo-state",
             host: str | None = None,
             runtime_env: Mapping[str, Any] | None = None,
             wait: bool = False, timeout: float = 300.0,
             progress: bool = True, rerun: bool = False,
             **options: Unpack[Options]) -> Study:
    """Runs a study of a training function on trainers in the Ray cluster and
    waits for its end: `hippo_hpo.optimize` for a cluster.

    A service runs on this machine as long as the call; it listens on the
    address by which Ray knows the machine, with keys made for this call. Steps
    that are in the state folder are not trained again.

    Args:
        train: as for `hippo_hpo.optimize`, and so are `space`, `progress`,
            `rerun` and `options`.
        num_trainers: the number of trainers.
        num_gpus: as for `trainers`, and so are `num_cpus`, `resources`,
            `runtime_env` and `wait`.
        state: the folder with all results and checkpoints.
        host: the address of this machine for the nodes; None: Ray's.
        timeout: seconds until the first trainer must be there.

    Returns:
        The study, which has ended, as it was then. The service has ended too:
        the same call, or ``hippo_hpo.local(state)``, reads more of it.

    Raises:
        Error: as `trainers` and `hippo_hpo.optimize`.
    """
    from ._ray_service import run
    return run(train, space, host=host, state=state, num=num_trainers,
               placed={"num_gpus": num_gpus, "num_cpus": num_cpus,
                       "resources": resources, "runtime_env": runtime_env,
                       "wait": wait},
               timeout=timeout, progress=progress, rerun=rerun,
               options=options)
