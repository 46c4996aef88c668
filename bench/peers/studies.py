"""Study files, read by the rules of the service."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from hippo_hpo._document import read_document


def space_of(path):
    """Returns the `space` of a study file, as maps and lists."""
    return read_document(pathlib.Path(path).read_text())["space"]
