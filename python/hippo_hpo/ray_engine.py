"""The engine Ray of ``hippo scale``: starts and ends trainers on request.

    python -m hippo_hpo.ray_engine --address auto

Reads a request a line from the standard input, as JSON, and writes an answer a
line to the standard output:

    {"call": "list", "fleet": "lab"}
    {"trainers": [{"id": "lab/gpu/1", "name": "1", "group": "gpu",
                   "state": "running"}]}

- ``list`` knows the trainers of its fleet alone. `state` is ``waiting`` (for a
  node, which an autoscaler of Ray may bring), ``running`` or ``ended``. An
  ended one was told once, and frees its resources by that.
- ``start`` takes `fleet`, `group`, `name`, `gpus`, `cpus`, `memory_bytes`,
  `command` (the words of hippo-trainer) and `env`, and answers `id`. A trainer
  of that name that is there stays as it is. The file of ``--keys`` travels, if
  it is here.
- ``end`` takes `id`; the trainer saves its present step. It answers at once.

A request that fails is answered by ``{"error": TEXT, "temporary": BOOL}``; one
that is temporary may succeed later. Everything else goes to the standard error.
Ray ends a process that has not reached its control store for a minute: start
this one again then. It keeps nothing, and trainers outlive it.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from . import _ray_cluster as cluster
from .errors import Error, InvalidArgument

# Seconds for which `list` waits for the answers of actors.
_LOOK_SECONDS = 2.0

# Seconds after which a request fails because Ray does not answer.
_CALL_SECONDS = 20.0

# Seconds for which a trainer may take to leave: the actor kills it after its
# own notice.
_LONGEST_NOTICE = 86_400.0


class Engine:
    """What carries out requests."""

    def __init__(self) -> None:
        self._actors: dict[str, cluster.Actor] = {}
        self._leaving: dict[str, threading.Thread] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carries out a request. It raises nothing: errors are answers."""
        calls: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "list": self._list, "start": self._start, "end": self._end}
        try:
            call = _text(request, "call")
            if call not in calls:
                raise InvalidArgument(
                    f"call {call!r}: must be {', '.join(calls)}")
            return calls[call](request)
        except Error as why:
            return _failure(why.message, False)
        except Exception as why:  # Ray has many, and none of ours is lasting
            return _failure(f"Ray: {type(why).__name__}: {why}", True)

    def _list(self, request: Mapping[str, Any]) -> dict[str, Any]:
        fleet = _text(request, "fleet")
        found: dict[str, cluster.Actor] = {}
        for name in cluster.names():
            parts = cluster.parts_of(name)
            if len(parts) == 3 and parts[0] == fleet:
                actor = self._actors.get(name) or cluster.find(name)
                if actor is not None:
                    found[name] = actor
        self._actors.update((name, x) for name, x in found.items()
                            if name not in self._leaving)
        states = cluster.look(list(found.values()), _LOOK_SECONDS)
        rows = []
        for actor, state in zip(found.values(), states):
            _, group, name = cluster.parts_of(actor.name)
            rows.append({"id": actor.name, "name": name, "group": group,
                         "state": self._state_of(actor, state)})
        return {"trainers": rows}

    def _state_of(self, actor: cluster.Actor, found: Mapping[str, Any]) -> str:
        if found["state"] in ("waiting", "restarting"):
            return "waiting"
        if found["state"] not in ("failed", "ended"):
            return "running"
        if actor.name in self._actors:  # nobody has told it to end
            print(f"trainer {actor.name} has ended: {found.get('why', '')}",
                  file=sys.stderr, flush=True)
        self._actors.pop(actor.name, None)
        actor.kill()
        return "ended"

    def _start(self, request: Mapping[str, Any]) -> dict[str, Any]:
        name = cluster.name_of(*(_text(request, x)
                                 for x in ("fleet", "group", "name")))
        command = request.get("command")
        if not isinstance(command, list) or not command or not all(
                isinstance(x, str) for x in command):
            raise InvalidArgument("command: must be the words of hippo-trainer")
        need = cluster.Need(_number(request, "cpus", 1.0),
                            _number(request, "gpus", 0.0),
                            int(_number(request, "memory_bytes", 0.0)) or None)
        need.check()
        if name in self._leaving:
            return _failure(f"{name} is leaving", True)
        words, key = _with_key(command)
        env = request.get("env") or {}
        if not isinstance(env, dict):
            raise InvalidArgument("env: must be a map of variables")
        order = cluster.Order(words, key,
                              {str(x): str(y) for x, y in env.items()},
                              _grace_of(words))
        self._actors[name] = cluster.start(name, order, need)
        return {"id": name}

    def _end(self, request: Mapping[str, Any]) -> dict[str, Any]:
        name = _text(request, "id")
        if len(cluster.parts_of(name)) != 3:
            raise InvalidArgument(f"id {name!r}: must be one that start gave")
        actor = self._actors.pop(name, None) or cluster.find(name)
        if actor is not None and name not in self._leaving:
            self._leaving[name] = threading.Thread(
                target=self._leave, args=[name, actor])
            self._leaving[name].start()
        return {}

    def _leave(self, name: str, actor: cluster.Actor) -> None:
        try:
            cluster.end([actor], _LONGEST_NOTICE)
        except Exception as why:
            print(f"trainer {name} may not have ended: {why}",
                  file=sys.stderr, flush=True)
        finally:
            del self._leaving[name]

    def finish(self) -> None:
        """Waits for the trainers that leave."""
        for x in list(self._leaving.values()):
            x.join()


def _failure(text: str, is_temporary: bool) -> dict[str, Any]:
    return {"error": " ".join(text.split()), "temporary": is_temporary}


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"{name}: must be a text, and is {value!r}")
    return value


def _number(request: Mapping[str, Any], name: str, default: float) -> float:
    value = request.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) \
            or value < 0:
        raise InvalidArgument(
            f"{name}: must be a number, 0 or more, and is {value!r}")
    return float(value)


def _with_key(command: list[str]) -> tuple[list[str], bytes | None]:
    """The command without ``--keys FILE`` and the content of the file, if it is
    here; else the command as it is."""
    for i, x in enumerate(command[:-1]):
        path = os.path.expanduser(command[i + 1])
        if x == "--keys" and os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    return command[:i] + command[i + 2:], file.read()
            except OSError as why:
                raise InvalidArgument(f"command: cannot read the key {path} "
                                      f"({why.strerror})") from None
    return command, None


def _grace_of(command: list[str]) -> float:
    """The notice of the command, or else that of all trainers."""
    for x, value in zip(command, command[1:]):
        if x == "--notice" and value.isdigit():
            return float(value)
    return cluster.GRACE_SECONDS


class Patience:
    """Calls a function, one call after the other, and gives up one that takes
    too long; it goes on by itself."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: threading.Thread | None = None

    def call(self, function: Callable[[], dict[str, Any]]
             ) -> dict[str, Any] | None:
        """Returns the result; None: there is none in time."""
        found: list[dict[str, Any]] = []
        if self._running is not None:
            self._running.join(self._seconds)
            if self._running.is_alive():
                return None
        self._running = threading.Thread(
            target=lambda: found.append(function()), daemon=True)
        self._running.start()
        self._running.join(self._seconds)
        return found[0] if found else None


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answers requests, a line each, until there are none or nobody reads the
    answers."""
    engine = Engine()
    patience = Patience(_CALL_SECONDS)
    for line in requests:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise ValueError("it is no object")
            answer = patience.call(functools.partial(engine.answer, request))
            if answer is None:
                answer = _failure(
                    f"Ray has not answered for {_CALL_SECONDS:g} s", True)
        except ValueError as why:
            answer = _failure(f"a request must be a JSON object: {why}", False)
        try:
            print(json.dumps(answer), file=answers, flush=True)
        except BrokenPipeError:
            # The file would write once more when it is closed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())
            break
    engine.finish()


def main() -> int:
    """Connects to a cluster, and serves. @returns the exit code"""
    parser = argparse.ArgumentParser(
        prog="python -m hippo_hpo.ray_engine",
        description="Starts and ends trainers in a Ray cluster, for `hippo "
        "scale --on ray`.")
    parser.add_argument("--address", default="auto",
                        help="the cluster, HOST:PORT; auto: that of this node")
    address = parser.parse_args().address
    # Whatever Ray writes goes to the standard error.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        try:
            cluster.connect(address)
        except Error as why:
            print(json.dumps(_failure(why.message, True)), file=answers,
                  flush=True)
            return 1
        serve(sys.stdin, answers)
        cluster.disconnect()
    return 0


if __name__ == "__main__":
    sys.exit(main())
