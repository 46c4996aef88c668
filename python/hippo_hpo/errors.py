"""What can go wrong, as exceptions.

Each has the name of an error code of the service, in CamelCase.
"""

from __future__ import annotations

import re
from typing import Any


class Error(Exception):
    """Something could not be done. Its text is the service's, word for word.

    Codes that have no class of their own are raised as this one.

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
    """A study cannot be run. The text has every finding, one a line."""

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
    """The credentials are not good for this."""

    code = "not_allowed"


class IncompatibleVersion(Error):
    """The service is of another version than this package."""

    code = "incompatible_version"


class ResourceExhausted(Error):
    """The service has as much to do as it takes at a time. Try again later."""

    code = "resource_exhausted"


class Cancelled(Error):
    """Somebody asked for the work to end."""

    code = "cancelled"


class Disconnected(Error):
    """The service cannot be reached, or the connection was lost.

    Where it was lost in the middle of something that must not be done twice,
    the text says that it may have been carried out.
    """

    code = "disconnected"


class Timeout(Error, TimeoutError):
    """Nothing came within the time allowed."""

    code = "timeout"


class Closed(Error):
    """The client was closed."""

    code = "closed"


class TrialFailed(Error):
    """A trial ended before the step that it was to be trained to.

    Attributes:
        trial: its number.
        state: ``"FAILED"``, or what else it ended as.
        step: where it ended.
    """

    code = "training_failed"

    def __init__(self, message: str, trial: int, state: str,
                 step: int) -> None:
        super().__init__(message)
        self.trial = trial
        self.state = state
        self.step = step


class StudyFailed(Error):
    """A study that `optimize` ran has come to nothing: all its trials failed,
    the first ones did alike, or it cannot be trained at all. The text has the
    cause, what to do about it, and the traceback of the training code.

    Attributes:
        study: it has ended; `trials` and `output` tell more of it.
        trial: number of the first trial that failed; None: none did.
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
