"""Study files and values on their way to the service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._document import write_document
from ._packing import pack, with_code
from .study_file import StudyFile

# What `Client.submit` and `Client.preview` take for a study.
StudySource = str | os.PathLike[str] | Mapping[str, Any] | StudyFile


def text_of(study: StudySource, name: str | None) -> tuple[str, str]:
    """Returns the text of a study file, with the code that it brings, and what
    messages call it. The files of a map or a text are looked for in the working
    directory."""
    folder = code = ""
    if isinstance(study, StudyFile):
        code = study.code
        study = study.to_map()
    if isinstance(study, Mapping):
        own = study.get("study")
        text = with_code(write_document(study), code)
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
