"""The interface of the service, as pycapnp loads it."""

from __future__ import annotations

import os
from typing import Any

import capnp


def _load() -> Any:
    here = os.path.dirname(__file__)
    # pycapnp brings the files that the schema imports as /capnp/NAME.
    shared = os.path.dirname(os.path.dirname(capnp.__file__))
    return capnp.SchemaParser().load(
        os.path.join(here, "service.capnp"), imports=[shared])


service: Any = _load()
