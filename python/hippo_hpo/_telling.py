"""What `optimize` says of a study: before it, while somebody waits, and in the
end."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._failures import failure_of, remedy_of
from .errors import StudyFailed
from .progress import shown
from .records import StudyInfo
from .space import Form

if TYPE_CHECKING:
    from ._source import Source
    from .study import Study

# For how long trainers may be unable to start what they are to train.
STUCK_SECONDS = 10.0

# For how long no trainer at all may be there, of a service on demand.
ALONE_SECONDS = 90.0

# What a service says where no trainer is connected to it.
_ALONE = "no trainer is connected"

# `FILE:LINE:COLUMN: ` before a finding: nobody has seen that file.
_PLACE = re.compile(r"^[^\s:]+:\d+:\d+: ", re.MULTILINE)


def without_places(text: str) -> str:
    """Findings without their places in a file that nobody has written."""
    return _PLACE.sub("", text)


def page_of(state: str | os.PathLike[str]) -> str | None:
    """The address of the page of the service that runs on a state folder."""
    try:
        with open(os.path.join(state, "service.json"),
                  encoding="utf-8") as file:
            said = json.load(file)
        return f"http{'s' if said.get('tls') else ''}://{said['http']}/"
    except (OSError, ValueError, KeyError):
        return None


def opening(info: StudyInfo, goals: Mapping[str, str], notes: list[str],
            options: Mapping[str, Any], steps: int | Form,
            page: str | None) -> str:
    """The first line: which study, what it does with which metric, by which
    algorithm and why, how much, and where its page is."""
    ways = " and ".join(f"{direction[:-1]}es {metric}"
                        for metric, direction in goals.items())
    chosen = next((x.partition("algorithm: ")[2]
                   for x in map(without_places, notes)
                   if x.startswith("algorithm: ")), "")
    given = options.get("algorithm", "auto")
    algorithm = _in_words(chosen) or info.algorithm + (
        "" if given == "auto" else ", as given")
    trials = options.get("trials")
    each = "1 step" if steps == 1 else "several lengths" \
        if isinstance(steps, Form) else f"{steps} steps"
    budget = [f"at most {trials} trials of {each}" if trials
              else f"all combinations, {each} each" if info.algorithm == "grid"
              else f"trials of {each}, as many as the algorithm wants"]
    budget += [f"at most {x:g} {unit}" for x, unit in
               [(options.get("seconds"), "s"),
                (options.get("device_hours"), "device hours")]
               if x is not None]
    if options.get("total_steps") is not None:
        budget.append(f"at most {options['total_steps']} steps in all")
    if options.get("deadline") is not None:
        budget.append(f"deadline {options['deadline']}")
    parts = [f"{info.name}: study {info.id} {ways}", f"algorithm {algorithm}",
             ", ".join(budget)]
    if page:
        parts.append(f"page {page}")
    return "; ".join(parts)


def _in_words(chosen: str) -> str:
    """Says an algorithm, and why it was chosen, without JSON.

        >>> _in_words('{"asha":{"eta":3.0,"sampler":"gp"}}, since x')
        'asha (eta 3, sampler gp), since x'
    """
    text, since, why = chosen.partition(", since ")
    try:
        (name, options), = json.loads(text).items()
    except (ValueError, AttributeError):
        return chosen
    told = ", ".join(f"{key} {x:g}" if isinstance(x, float) else f"{key} {x}"
                     for key, x in (options or {}).items())
    head = f"{name} ({told})" if told else str(name)
    return head + since + why


class Watch:
    """Shows a study, and sees whether it can go on at all.

    Args:
        may_be_alone: whether trainers may come at any time, as those of a
            service of others.
        show: whether to show it.
    """

    def __init__(self, may_be_alone: bool, show: bool) -> None:
        self._may_be_alone = may_be_alone
        self._own = shown() if show else None
        self._stuck_since: float | None = None

    def __call__(self, info: StudyInfo) -> None:
        if self._own is not None:
            self._own(info)
        if info.state == "PAUSED" and info.reason:
            raise Stuck(info.reason, True)
        if not info.waiting or info.state == "PAUSED":
            self._stuck_since = None
            return
        now = time.monotonic()
        if self._stuck_since is None:
            self._stuck_since = now
        alone = info.waiting.startswith(_ALONE)
        if alone and self._may_be_alone:
            return
        if now - self._stuck_since > (ALONE_SECONDS if alone
                                      else STUCK_SECONDS):
            raise Stuck(info.waiting, False)

    def end(self) -> None:
        """Leaves what is shown as it is."""
        if self._own is not None:
            self._own.end()


class Stuck(Exception):
    """A study does not go on by itself.

    Attributes:
        why: in the service's words.
        is_paused: whether it has paused by itself.
    """

    def __init__(self, why: str, is_paused: bool) -> None:
        super().__init__(why)
        self.why = why
        self.is_paused = is_paused


def failed_study(study: Study, info: StudyInfo, why: str,
                 source: Source | None) -> StudyFailed:
    """Makes the exception of a study that has come to nothing.

    Args:
        why: it has ended, or does not go on; empty: its trials have failed.
    """
    failed = [x for x in study.trials if x.state == "FAILED" and x.failure]
    if not failed:
        return StudyFailed(_lines(f"{info.name}: {why}", remedy_of(why)),
                           study, None, why)
    trial = failed[0]
    failure = failure_of(trial.failure, source)
    if "failed alike" in why:  # others were not begun
        others = f"the first {len(failed)} trials failed alike"
    elif len(failed) == info.trials:
        others = f"all {info.trials} trials failed" if info.trials > 1 \
            else "its only trial failed"
    else:
        others = ""
    head = f"trial {trial.number} failed {failure.line}" if not others \
        else f"{others}; trial {trial.number} {failure.line}"
    if why and not others:
        head = why
    printed = f"It has printed:\n{failure.printed}" if failure.printed else ""
    return StudyFailed(
        _lines(f"{info.name}: {head}",
               remedy_of(failure.error) or remedy_of(why),
               f"With {_values(trial.params)}" if failure.traceback else "",
               failure.traceback, printed),
        study, trial.number, failure.error)


def _values(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={x!r}" for name, x in params.items()) \
        or "no hyper-parameters"


def _lines(*lines: str) -> str:
    return "\n".join(x for x in lines if x)


def closing(study: Study, info: StudyInfo, source: Source | None) -> str:
    """The last lines: how it has ended, the best, and what merging saved."""
    trials = study.trials
    failed = [x for x in trials if x.state == "FAILED"]
    cancelled = sum(x.state == "CANCELLED" for x in trials)
    head = (f"{info.name}: {info.state}, "
            f"{len(trials) - len(failed) - cancelled} finished")
    if cancelled:
        head += f", {cancelled} cancelled"
    if failed:
        head += (f", {len(failed)} failed; first: trial {failed[0].number} "
                 f"{failure_of(failed[0].failure, source).line}")
    if info.reason:
        head += f"; {info.reason}"
    lines = [head]
    best = info.best_trial
    saved = _saved(info)
    if best is not None and best.value is not None:
        lines.append(
            f"{info.name}: best {info.metric} {best.value:.6g} in trial "
            f"{best.number} after {_count(best.step or 0, 'step')}, "
            f"{_values(best.params)}{saved}")
    elif info.front is not None:
        lines.append(f"{info.name}: front of {len(info.front.points)} "
                     f"measurements{saved}")
    return "\n".join(lines)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def _saved(info: StudyInfo) -> str:
    if not info.delivered_steps:
        return ""
    share = info.shared_steps / info.delivered_steps
    return (f"; merging saved {info.shared_steps:,} of "
            f"{_count(info.delivered_steps, 'step')} ({share:.0%})")


def say(text: str) -> None:
    """Says something to whoever waits."""
    print(text, file=sys.stderr, flush=True)

