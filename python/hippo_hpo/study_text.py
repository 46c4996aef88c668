"""Study files and values on their way to the service."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ._packing import Fetch, pack, with_code
from .errors import InvalidArgument
from .space import plain
from .study_file import StudyFile

# What `Client.submit` and `Client.preview` take for a study.
StudySource = str | os.PathLike[str] | Mapping[str, Any] | StudyFile


def json_of(what: str, x: Mapping[str, Any], indent: int | None = None) -> str:
    """Writes a map as JSON, which is YAML as well, and means the same.

    Raises:
        InvalidArgument: there is something in it that no study file has, or a
            number is not finite.
    """
    try:
        return json.dumps(plain(x), indent=indent, allow_nan=False,
                          ensure_ascii=False)
    except (InvalidArgument, ValueError) as why:
        raise InvalidArgument(f"{what} cannot be written as JSON: {why}") \
            from None


def text_of(study: StudySource, name: str | None, fetch: Fetch | None = None
            ) -> tuple[str, str]:
    """Returns the text of a study file, with the code that it brings, and what
    messages call it. The files of a map or a text are looked for in the working
    directory. `fetch` is that of `pack`."""
    folder = code = ""
    if isinstance(study, StudyFile):
        code = study.code
        study = study.to_map()
    if isinstance(study, Mapping):
        own = study.get("study")
        text = with_code(json_of("the study", study, indent=1), code)
        name = name or (own if isinstance(own, str) else "study")
    elif isinstance(study, str) and "\n" in study:
        text = study
        name = name or "study"
    else:
        folder = os.path.dirname(study)
        name = name or os.fspath(study)
        with open(study, encoding="utf-8") as file:
            text = file.read()
    return pack(text, name, folder, fetch), name
