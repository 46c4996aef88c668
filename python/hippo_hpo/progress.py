"""Shows how far a study is while somebody waits for it."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import TextIO

from .notebook import LiveCard, in_notebook
from .records import StudyInfo


def line_of(info: StudyInfo) -> str:
    """Says in one line, of at most 80 characters mostly, how a study is."""
    shared = info.shared_steps / max(info.delivered_steps, 1)
    if info.waiting:
        return f"{info.name}: waiting: {info.waiting}"
    line = f"{info.name}: {info.state}, "
    if info.state in ("FAILED", "CANCELLED"):  # which cancels what is left
        line += f"{info.finished} of {info.trials} trials ended"
    else:
        line += (f"{info.finished - info.failed} of {info.trials} trials "
                 "finished")
    if info.failed:
        line += f", {info.failed} failed"
    line += f", {shared:.0%} shared"
    front = info.front
    if front is not None:
        line += f", front of {len(front.points)}"
        if front.hypervolume is not None:
            line += f", hypervolume {front.hypervolume:.6g}"
    best = info.best_trial
    if best is not None:
        line += f", best {best.value:.6g} (trial {best.number})"
    if info.seconds_left is not None and not info.ended:
        line += f", {duration(info.seconds_left)} left"
    return line


def duration(seconds: float) -> str:
    """A time that is about right.

        >>> duration(0.4), duration(75), duration(7000), duration(100000)
        ('1 s', '1 min', '1 h 56 min', '27 h')
    """
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = max(1, int(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h" + (f" {minutes} min" if hours < 10 else "")


# How long a study may wait before that is said: trainers take a moment to come.
PATIENCE_SECONDS = 5.0


class Progress:
    """A line that is redrawn in place; elsewhere, a line whenever trials
    have finished, or it waits for another reason.

    Args:
        out: None: stderr as it is now.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._in_place = self._out.isatty()
        self._width = 0
        self._finished = -1
        self._waiting = ""
        self._begin = time.monotonic()

    def __call__(self, info: StudyInfo) -> None:
        if time.monotonic() - self._begin < PATIENCE_SECONDS:
            info = dataclasses.replace(info, waiting="")
        line = line_of(info)
        if self._in_place:
            self._out.write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif (info.finished, info.waiting) != (self._finished, self._waiting):
            self._out.write(line + "\n")
        self._finished, self._waiting = info.finished, info.waiting
        self._out.flush()

    def end(self) -> None:
        """Leaves the last line as it is."""
        if self._in_place and self._width:
            self._out.write("\n")
            self._out.flush()


def shown() -> Progress | LiveCard:
    """Returns what shows a study here: a card in a notebook, else a line."""
    return LiveCard() if in_notebook() else Progress()
