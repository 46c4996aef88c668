"""Puts the code that a study brings beside its text, as `hippo submit` does."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from ._document import read_document
from ._versions import versions
from .errors import Error, InvalidStudy

# Stands between a study file and its code.
DIVIDER = "\n--- # code\n"

# The most bytes of a study with its code.
BYTES_MAX = 1 << 20

# What JSON needs six bytes for.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def study_of(text: str) -> str:
    """Returns a study's text without the code that came with it."""
    study, divider, _ = text.partition(DIVIDER)
    return study + "\n" if divider else text


# Writes the state of a trial to a file, and returns its path.
Fetch = Callable[[Mapping[str, Any]], str]

# The programs that fetch states which this one does not.
_FETCHERS = {
    "trial": "the state of a trial is fetched by `hippo submit`, `hippo run`, "
             "optimize and Client.submit; `hippo export STUDY TRIAL --step STEP "
             "--weights FILE` writes it to a file",
    "s3": "objects are fetched by `hippo submit` and `hippo run`"}


def code_of(text: str) -> str:
    """Returns the code that came with a study's text; empty if none did."""
    return text.partition(DIVIDER)[2]


def with_code(text: str, code: str) -> str:
    return text.rstrip("\n") + DIVIDER + code if code else text


def pack(text: str, name: str, folder: str,
         fetch: Fetch | None = None) -> str:
    """Adds the files that a study's `workload` names, and the versions of what
    its interpreter has. Text that needs none stays as it is; so does what is no
    study, for the service to tell.

    Args:
        name: what messages call the study.
        folder: in which the files are.
        fetch: writes the state of a trial that the study begins from to a file,
            and returns its path; None: nothing is fetched.

    Raises:
        InvalidStudy: the interpreter is of no use, there is too much, or
            symbolic links lead out of the folder to a file.
    """
    try:
        workload = read_document(text).get("workload")
    except InvalidStudy:
        return text
    if not isinstance(workload, Mapping) or DIVIDER in text:
        return text
    if not {"python", "command", "files"} & workload.keys():
        return text
    code: dict[str, Any] = {"files": {}, "versions": {}}
    for path in _paths(workload):
        if place := place_outside(folder, path):
            raise InvalidStudy(
                f"{name}: workload: the file {path!r} is a symbolic link that "
                f"leads to {place}, out of the study file's folder, and files "
                "from there do not travel: copy it into the folder, or leave it "
                "where trainers find it and give its path in 'args'")
        if (found := _read(os.path.join(folder, path))) is not None:
            code["files"][path] = found
    if (source := workload.get("from")) is not None:
        code["initial"] = _initial(source, name, folder, fetch)
    if "python" in workload:
        _add_interpreter(code, workload, name, folder)
    packed = with_code(text, json.dumps(
        code, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
    if len(packed.encode()) > BYTES_MAX:
        raise InvalidStudy(
            f"{name}: workload: the study and its files have more than "
            f"{BYTES_MAX} bytes together: leave data where trainers find them, "
            "and give their path in 'args'")
    return packed


def _initial(source: Any, name: str, folder: str,
             fetch: Fetch | None) -> dict[str, Any]:
    """The initial state that a workload names."""
    from ._initial import read_initial
    is_trained = isinstance(source, Mapping)
    if str(source).startswith("s3://") or is_trained and fetch is None:
        raise InvalidStudy(
            f"{name}: workload.from: {_FETCHERS['trial' if is_trained else 's3']}"
            ": copy it to a file or folder, and name that")
    if is_trained and set(source) != {"study", "trial", "step"}:
        raise InvalidStudy(f"{name}: workload.from: must have study, trial and "
                           f"step, found {', '.join(map(str, source)) or '{}'}")
    try:
        return read_initial(fetch(source) if is_trained and fetch is not None
                            else os.path.join(folder, str(source)))
    except Error as why:
        raise InvalidStudy(f"{name}: workload.from: {why.message}") from None


def _paths(workload: Mapping[str, Any]) -> list[str]:
    """The paths that may be meant, without "./" in front."""
    named: list[Any] = []
    if isinstance(python := workload.get("python"), str):
        path = python.rpartition(":")[0] if ":" in python else python
        if path.endswith(".py"):
            named.append(path)
    if isinstance(command := workload.get("command"), list) and command:
        if "/" in str(command[0]) and not str(command[0]).startswith("/"):
            named.append(command[0])
    if isinstance(files := workload.get("files"), list):
        named += files
    found = []
    for path in named:
        path = str(path)
        while path.startswith("./"):
            path = path[2:]
        parts = path.split("/")
        if not {"", ".", ".."} & set(parts):
            found.append(path)
    return found


def place_outside(folder: str, path: str) -> str | None:
    """Where a file of a folder really is, if symbolic links lead out of the
    folder to it; None if it is there, or missing."""
    inside = os.path.realpath(folder or os.curdir)
    real = os.path.realpath(os.path.join(inside, path))
    if os.path.commonpath([inside, real]) == inside or not os.path.exists(real):
        return None
    return real


def _read(path: str) -> dict[str, Any] | None:
    """A file as JSON has it; None where there is none or it is no file."""
    if not os.path.isfile(path):
        return None  # nor is anybody waited for who writes into a pipe
    try:
        with open(path, "rb") as file:
            content = file.read(BYTES_MAX + 1)  # what is more is too much
    except OSError:
        return None
    result: dict[str, Any]
    try:
        text = content.decode()
        result = {"hex": content.hex()} if _CONTROLS.search(text) \
            else {"text": text}
    except UnicodeDecodeError:
        result = {"hex": content.hex()}
    if os.access(path, os.X_OK):
        result["executable"] = True
    return result


def _add_interpreter(code: dict[str, Any], workload: Mapping[str, Any],
                     name: str, folder: str) -> None:
    listed = workload.get("packages")
    packages = [x for x in listed if isinstance(x, str)] \
        if isinstance(listed, list) else []
    python = workload.get("python_executable")
    if not isinstance(python, str):
        code["versions"] = versions(packages)
        return
    if "/" in python:
        python = os.path.abspath(os.path.join(folder, python))
    code["python"] = python
    try:
        said = subprocess.run(
            [python, "-m", "hippo_hpo.workload_process", "--versions", *packages],
            capture_output=True, text=True, check=True)
        code["versions"] = json.loads(said.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as why:
        told = getattr(why, "stderr", None) or str(why)
        raise InvalidStudy(
            f"{name}: workload: {python} cannot run workloads: "
            f"{told.strip().splitlines()[-1]}. Install Hippo's Python package "
            "for it, or name another one under python_executable") from None
