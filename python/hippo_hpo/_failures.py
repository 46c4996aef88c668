"""What a trial's failure says to whoever wrote the training code: where, what,
what to do about it, and the traceback with the lines of their own files."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re

from ._source import Source

# What stands before each part of a failure's text.
_PRINTED = "\nprinted before that:\n"
_LOG = re.compile(r"\nlog of trainer \d+:\n")
_WHERE = re.compile(r"((?:in|at|before) step \d+): ")
_FRAME = re.compile(r'  File "(?P<path>[^"]*?/hippo-code\.[^/"]+/'
                    r'(?P<name>[^"]+))", line (?P<line>\d+)')

# How many lines of what was printed are shown.
_PRINTED_LINES_MAX = 10


@dataclasses.dataclass(frozen=True)
class Failure:
    """The text of a failure, taken apart.

    Attributes:
        where: ``"in step 3"``, as the training code counts; may be empty.
        error: one line.
        traceback: with the lines of the user's files; may be empty.
        printed: the last lines that the code has printed; may be empty.
    """

    where: str
    error: str
    traceback: str
    printed: str

    @property
    def line(self) -> str:
        """Where, and what."""
        return f"{self.where}: {self.error}" if self.where else self.error


def failure_of(text: str, source: Source | None = None) -> Failure:
    """Takes a failure's text apart.

    Args:
        source: the code that was trained, whose places are told in its files.
    """
    log = _LOG.search(text)
    if log is not None:
        text = text[:log.start()]
    text, _, printed = text.partition(_PRINTED)
    first, _, rest = text.partition("\n")
    where = _WHERE.match(first)
    if where is not None:
        first = first[where.end():]
    lines = printed.rstrip("\n").split("\n")[-_PRINTED_LINES_MAX:]
    return Failure(where.group(1) if where else "", first,
                   _in_own_files(rest.rstrip("\n"), source),
                   "\n".join(lines))


def _in_own_files(traceback: str, source: Source | None) -> str:
    """Names the places of the user's files in place of those of the copies
    that a trainer had."""
    def place(x: re.Match[str]) -> str:
        own = source.place_of(x["name"], int(x["line"])) if source else None
        return x.group(0) if own is None \
            else f'  File "{own[0]}", line {own[1]}'
    return _FRAME.sub(place, traceback)


def remedy_of(error: str) -> str:
    """What to do about an error of training code; empty: nothing is known."""
    for pattern, remedy in _REMEDIES:
        if (found := re.search(pattern, error)) is not None:
            said = remedy(found) if callable(remedy) else remedy
            if said:
                return str(said)
    return ""


def _unknown_parameter(x: re.Match[str]) -> str:
    close = difflib.get_close_matches(x["name"], x["known"].split(", "), 1)
    return f"did you mean ctx.hp.{close[0]}?" if close \
        else "name it in the space, or read another one"


def _missing_file(x: re.Match[str]) -> str:
    path = x["path"]
    if os.path.isabs(path):
        return "" if not os.path.exists(path) else \
            f"{path} is there on this machine: is it on the trainers'?"
    return ("training code runs in a folder of its own: name the file in "
            f"files=[{path!r}], or give its absolute path"
            + (f", {os.path.abspath(path)!r}" if os.path.exists(path) else ""))


_REMEDIES = [
    (r"the study has no hyper-parameter '(?P<name>[^']*)'; it has: "
     r"(?P<known>.*)", _unknown_parameter),
    (r"FileNotFoundError: .*'(?P<path>[^']+)'", _missing_file),
    (r"TypeError: .*\bfunction\b",
     "if that is a hyper-parameter: ctx.hp.NAME is a function of the step, so "
     "its value is ctx.hp.NAME(step)"),
    (r"ModuleNotFoundError: No module named '(?P<name>[^']+)'",
     lambda x: f"install {x['name'].partition('.')[0]} for the interpreter of "
               "the trainers, or, if it is a module of yours, import it in the "
               "script as well: it travels then"),
    (r"^(?:diverged: )?(?P<metric>\S+) is (?:-?nan|-?inf)",
     lambda x: f"{x['metric']} is no number there: the learning rate may be "
               "too high; look at what it is made of"),
    (r"ended with signal 9|out of memory|OutOfMemoryError|MemoryError",
     "memory was short: fewer trainers=, or smaller batches, take less"),
    (r"ended with signal 11",
     "a library crashed: python -X faulthandler shows where"),
]
