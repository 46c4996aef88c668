"""Initial states of studies (`from` of a workload): files that Hippo did not
make. Only their digests travel with a study; the files are sent before it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._packing import code_of
from .errors import InvalidStudy

if TYPE_CHECKING:
    from ._line import Session

# The limits of an initial state; the service has the same.
FILES_MAX = 1000
BYTES_MAX = 64 << 30

# The bytes that are read at a time, and those that travel in one message.
_CHUNK = 512 << 10


def read_initial(path: str) -> dict[str, Any]:
    """Reads the names, sizes and digests of the files of an initial state.

    Args:
        path: of a file, or of a folder with all that is in it.

    Raises:
        InvalidStudy: there is no such file, a file is no regular one or a link
            that leads out of the folder, it has too many files or too many
            bytes, or it changed while it was read.
    """
    real = os.path.realpath(path)
    if not os.path.exists(real):
        raise InvalidStudy(f"{path} is not there")
    if not os.path.isdir(real):
        name = "state" + os.path.splitext(path)[1]
        return {"files": {name: _digest(real)}, "folder": False, "path": real}
    files = {name: _digest(os.path.join(real, name)) for name in _names(real)}
    if not files:
        raise InvalidStudy(f"{real} has no files")
    if sum(x["bytes"] for x in files.values()) > BYTES_MAX:
        raise InvalidStudy(f"{real} has more than {BYTES_MAX} bytes, the most "
                           "that an initial state may have")
    return {"files": files, "folder": True, "path": real}


def _names(folder: str) -> Iterator[str]:
    """The files of a folder, by their paths in it."""
    count = 0
    for at, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(at, name)
            if os.path.islink(path) and (
                    name in folders
                    or os.path.commonpath([folder, os.path.realpath(path)])
                    != folder):
                raise InvalidStudy(
                    f"{path} is a link that leads to {os.path.realpath(path)}: "
                    "copy the folder with cp -rL, and name the copy")
        for name in names:
            count += 1
            if count > FILES_MAX:
                raise InvalidStudy(
                    f"{folder} has more than {FILES_MAX} files, the most that "
                    "an initial state may have")
            yield os.path.relpath(os.path.join(at, name), folder)


def _digest(path: str) -> dict[str, Any]:
    if not os.path.isfile(path):
        raise InvalidStudy(f"{path} is no file but a pipe, a device or a link "
                           "that leads nowhere")
    hasher, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            before = os.fstat(file.fileno())
            while chunk := file.read(_CHUNK):
                hasher.update(chunk)
                size += len(chunk)
            after = os.fstat(file.fileno())
    except OSError as why:
        raise InvalidStudy(f"{path} cannot be read: {why.strerror}") from None
    if (before.st_size, before.st_mtime_ns) != (size, after.st_mtime_ns):
        raise InvalidStudy(f"{path} changed while it was read: send the study "
                           "again once nobody writes it")
    return {"sha256": hasher.hexdigest(), "bytes": size}


def initial_in(text: str) -> dict[str, Any] | None:
    """The initial state of a packed study; None: it names none."""
    code = code_of(text)
    found: dict[str, Any] | None = json.loads(code).get("initial") if code \
        else None
    return found


def initial_path(text: str) -> str:
    """The path that the initial state of a packed study was read from; empty:
    it names none."""
    return str((initial_in(text) or {}).get("path", ""))


async def send_initial(session: Session, state: dict[str, Any]) -> None:
    """Sends the files of an initial state that the service lacks."""
    from . import _schema
    for name, file in state["files"].items():
        answer = await session.service.sendInitial(file["sha256"],
                                                   file["bytes"])
        if answer.isThere:
            continue
        upload = answer.upload.as_interface(_schema.depot.Upload)
        path = os.path.join(state["path"], name) if state["folder"] \
            else state["path"]
        try:
            with open(path, "rb") as source:
                while chunk := source.read(_CHUNK):
                    _expect_success(path, await upload.put(chunk))
        except OSError as why:
            raise InvalidStudy(f"{path} cannot be read: {why.strerror}") \
                from None
        _expect_success(path, await upload.commit(0))


def _expect_success(path: str, answer: Any) -> None:
    if answer.failure.code:
        raise InvalidStudy(f"{path}: {answer.failure.message}")
