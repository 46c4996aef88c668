"""The device hours that studies of `hippo_hpo.mcp` may use.

The ledger is in the service: each study that was submitted through a server
ends in a comment with the server's name and the study's bound. So a restart of
the server forgets nothing, and there is no file that could be removed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._document import read_document, write_document
from ._packing import code_of, study_of, with_code
from .errors import InvalidArgument, InvalidStudy

if TYPE_CHECKING:
    from .client import Client
    from .records import StudyInfo

_SECONDS = 3600.0

# The bound of a study whose training is known, in device hours.
KNOWN_HOURS = 1e-4

# Sums of hours that differ by less are equal.
_ROUNDING = 1e-9

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_MARK = re.compile(r"# submitted through hippo-mcp (?P<name>\S+), "
                   r"at most (?P<hours>[0-9.e+-]+) device hours")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A study that was submitted through a server.

    Attributes:
        bound: the most device hours that it may use.
        used: those that it has used, or more.
        is_over: whether it has ended.
    """

    id: int
    name: str
    bound: float
    used: float
    is_over: bool

    @property
    def counted(self) -> float:
        """What counts: the bound until it has ended."""
        return self.used if self.is_over else max(self.used, self.bound)


def with_mark(text: str, name: str, hours: float) -> str:
    """Returns a study's text with the comment that the ledger reads."""
    study = study_of(text).rstrip("\n")
    mark = f"# submitted through hippo-mcp {name}, at most {hours!r} device " \
           "hours"
    return with_code(f"{study}\n{mark}\n", code_of(text))


def bound_in(text: str, name: str) -> float | None:
    """Returns the bound of a study that a server of this name has submitted;
    None: it has not. Only the last line counts, which is never the
    submitter's."""
    found = _MARK.fullmatch(study_of(text).rstrip("\n").rpartition("\n")[2])
    if found is None or found["name"] != name:
        return None
    return float(found["hours"])


def declared_hours(text: str) -> float | None:
    """Returns `budget.device_hours` of a study file; None without one."""
    budget = read_document(study_of(text)).get("budget")
    hours = budget.get("device_hours") if isinstance(budget, Mapping) else None
    if isinstance(hours, bool) or not isinstance(hours, (int, float)):
        return None
    return float(hours)


def with_hours(text: str, hours: float) -> str:
    """Returns a study's text with `budget.device_hours`."""
    file = read_document(study_of(text))
    budget = file.get("budget") or {}
    if not isinstance(budget, Mapping):
        raise InvalidStudy("budget: must be a map, such as {device_hours: 1}")
    file["budget"] = {**budget, "device_hours": hours}
    return with_code(write_document(file), code_of(text))


class Budget:
    """A server's budget.

    Attributes:
        name: of the server. Servers of one name share a budget.
        hours: all device hours that its studies may use together.
    """

    def __init__(self, name: str, hours: float) -> None:
        self.name = name
        self.hours = hours
        # A study's text never changes.
        self._bounds: dict[tuple[int, str], float | None] = {}

    def entries(self, client: Client) -> list[Entry]:
        """Returns the studies that count, in the order of submission."""
        found = []
        trainers: int | None = None
        for info in client.studies():
            bound = self.bound_of(client, info)
            if bound is None:
                continue
            if info.ended and trainers is None:
                trainers = len(client.trainers())
            found.append(Entry(
                info.id, info.name, bound,
                _used_hours(client, info, bound, trainers or 0), info.ended))
        return found

    def bound_of(self, client: Client, info: StudyInfo) -> float | None:
        """The bound of a study; None: it was not submitted through this
        server."""
        key = (info.id, info.uid)
        if key not in self._bounds:
            self._bounds[key] = bound_in(
                client.study(info.id)._whole_text(), self.name)
        return self._bounds[key]

    def left(self, entries: list[Entry]) -> float:
        """The device hours that may still be promised."""
        return self.hours - sum(x.counted for x in entries)

    def summary(self, entries: list[Entry]) -> dict[str, Any]:
        """Returns the figures of the budget, for an answer."""
        return {
            "budget_device_hours": self.hours,
            "used_device_hours": sum(x.used for x in entries if x.is_over),
            "promised_device_hours":
                sum(x.counted for x in entries if not x.is_over),
            "left_device_hours": max(self.left(entries), 0.0)}

    def refuse_beyond(self, entries: list[Entry], hours: float,
                      what: str) -> None:
        """Raises InvalidArgument unless `hours` more are within the budget.

        Args:
            what: the study that wants them, in words.
        """
        left = self.left(entries)
        if hours <= left + _ROUNDING:
            return
        running = [f"{x.id} ({x.name}) {x.counted:.4g}"
                   for x in entries if not x.is_over]
        promised = ""
        if running:
            more = len(running) - 10
            promised = ("; promised to studies that have not ended: "
                        + ", ".join(running[:10])
                        + (f" and {more} more" if more > 0 else ""))
        raise InvalidArgument(
            f"{what} may use {hours:.4g} device hours, but of the "
            f"{self.hours:.4g} of this server {max(left, 0.0):.4g} are left"
            f"{promised}. Give it a smaller budget.device_hours, wait for a "
            "study to end or cancel one, or ask the person who started the "
            "server for a greater --budget-device-hours")


def _used_hours(client: Client, info: StudyInfo, bound: float,
                trainers: int) -> float:
    """The device hours that a study has used.

    The service tells the time of steps that were trained. Steps of failed and
    interrupted training are not among them: where there may be such, the time
    of all trainers counts, up to the study's bound.
    """
    seconds = client.study(info.id).info.cost_seconds
    is_exact = info.state == "COMPLETE" and not info.failed and not info.reason
    if info.ended and not is_exact:
        seconds = max(seconds, min(info.active_seconds * max(trainers, 1),
                                   bound * _SECONDS))
    return seconds / _SECONDS
