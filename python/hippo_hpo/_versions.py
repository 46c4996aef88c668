"""What an interpreter has that decides the results of training code."""

from __future__ import annotations

import importlib.metadata
import platform


def versions(packages: list[str]) -> dict[str, str]:
    """The versions of the interpreter, of this package and of others, ""
    where unknown."""
    result = {"python": platform.python_version()}
    for name in {"hippo-hpo", *packages} - {"python"}:
        try:
            result[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            result[name] = ""
    return dict(sorted(result.items()))
