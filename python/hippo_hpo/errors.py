"""Errors as exceptions.

Each has the name of an error code of the service, in CamelCase.
"""

from __future__ import annotations

import re
from typing import Any


class Error(Exception):
    """An error. Its text is that of the service.

    Codes without a class of their own are raised as this class.

    Attributes:
        code: the name of the error code, such as ``"unknown_study"``; the
            codes ``"disconnected"``, ``"timeout"``, ``"closed"`` and
            ``"failed"`` come from this package.
        message: a sentence, or several lines, for people.
    """

    code: str = "failed"

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidArgument(Error):
    """A value is outside of what is allowed."""

    code = "invalid_argument"


class InvalidStudy(Error):
    """A study cannot be run. The text has all errors, one a line."""

    code = "invalid_study"


class UnknownStudy(Error):
    """No study has that number or name."""

    code = "unknown_study"


class UnknownWorkload(Error):
    """No workload has that name."""

    code = "unknown_workload"


class MissingData(Error):
    """A data set is not where the workload expects it."""

    code = "missing_data"


class NotAllowed(Error):
    """The credentials do not allow this."""

    code = "not_allowed"


class IncompatibleVersion(Error):
    """The service and this package have different versions."""

    code = "incompatible_version"


class ResourceExhausted(Error):
    """The service is at one of its limits. Try again later."""

    code = "resource_exhausted"


class Cancelled(Error):
    """The work was cancelled."""

    code = "cancelled"


class Disconnected(Error):
    """The service cannot be reached, or the connection was lost.

    If it was lost during a call that must not be repeated, the text says that
    the call may have been carried out.
    """

    code = "disconnected"


class Timeout(Error, TimeoutError):
    """There was no answer in time."""

    code = "timeout"


class Closed(Error):
    """The client was closed."""

    code = "closed"


class TrialFailed(Error):
    """A trial ended before the step that it was to be trained to.

    Attributes:
        trial: its number.
        state: its last state, such as ``"FAILED"``.
        step: the step at which it ended.
    """

    code = "training_failed"

    def __init__(self, message: str, trial: int, state: str,
                 step: int) -> None:
        super().__init__(message)
        self.trial = trial
        self.state = state
        self.step = step


class StudyFailed(Error):
    """A study run by `optimize` has no result: all its trials failed, the first
    ones failed alike, or it cannot be trained. The text has the cause, a
    remedy, and the traceback of the training code.

    Attributes:
        study: the ended study; `trials` and `output` have details.
        trial: number of the first failed trial; None if there is none.
        cause: one line.
    """

    code = "study_failed"

    def __init__(self, message: str, study: Any, trial: int | None,
                 cause: str) -> None:
        super().__init__(message)
        self.study = study
        self.trial = trial
        self.cause = cause


_classes: dict[str, type[Error]] = {
    x.code: x for x in (
        InvalidArgument, InvalidStudy, UnknownStudy, UnknownWorkload,
        MissingData, NotAllowed, IncompatibleVersion, ResourceExhausted,
        Cancelled)}

# An exception comes over the wire as `remote exception: TEXT`; kj's own macros
# put the name of a variable before the text.
_wrapping = re.compile(r"^(?:remote exception: )?(?:\w+ = )?")
_coded = re.compile(r"([a-z][a-z_]*): (.*)", re.DOTALL)


def from_text(text: str) -> Error:
    """Makes an error of what the service has said: ``CODE: SENTENCE``."""
    text = _wrapping.sub("", text, count=1).strip()
    coded = _coded.fullmatch(text)
    if coded is None:
        return Error(text)
    code, message = coded.groups()
    return _classes.get(code, Error)(message, code)
