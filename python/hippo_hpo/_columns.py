"""Answers by columns: docs/http.md#columns."""

from __future__ import annotations

import array
import base64
import math
import sys
from typing import Any


def column(x: Any) -> list[Any]:
    """Returns a list as it was before it was coded."""
    if isinstance(x, list):
        return x
    if "of" in x:
        return [x["of"][i] for i in x["at"]]
    numbers = array.array("f", base64.b64decode(x["float32"]))
    if sys.byteorder != "little":
        numbers.byteswap()
    # It had seven digits, and has no more.
    return [None if math.isnan(y) else float(f"{y:.7g}") for y in numbers]
