"""Study files and values on their way to the service."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ._packing import pack
from .errors import InvalidArgument
from .space import plain
from .study_file import StudyFile

# What `Client.submit` and `Client.preview` take for a study.
StudySource = str | os.PathLike[str] | Mapping[str, Any] | StudyFile


def _plain(x: Any) -> Any:
    """Returns the value of a scalar of numpy or the like."""
    if hasattr(x, "item"):
        return x.item()
    raise TypeError(f"{x!r} is a {type(x).__name__}")


def json_of(what: str, x: Mapping[str, Any], indent: int | None = None) -> str:
    """Writes a map as JSON, which is YAML as well.

    Raises:
        InvalidArgument: something in it is neither a number, a text, a truth
            value, None, a list nor a map, or a number is not finite.
    """
    try:
        return json.dumps(x, indent=indent, default=_plain, allow_nan=False,
                          ensure_ascii=False)
    except (TypeError, ValueError) as e:
        raise InvalidArgument(f"{what} cannot be written as JSON: {e}") \
            from None


def text_of(study: StudySource, name: str | None) -> tuple[str, str]:
    """Returns the text of a study file, with the code that it brings, and what
    messages call it. The files of a map or a text are looked for in the working
    directory."""
    folder = ""
    if isinstance(study, StudyFile):
        study = study.to_map()
    if isinstance(study, Mapping):
        own = study.get("study")
        text = json_of("the study", plain(study), indent=1)
        name = name or (own if isinstance(own, str) else "study")
    elif isinstance(study, str) and "\n" in study:
        text = study
        name = name or "study"
    else:
        folder = os.path.dirname(study)
        name = name or os.fspath(study)
        with open(study, encoding="utf-8") as file:
            text = file.read()
    return pack(text, name, folder), name
