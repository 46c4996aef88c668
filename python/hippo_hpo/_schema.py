"""The interfaces of the service and of workload processes, as pycapnp loads
them."""

from __future__ import annotations

import os
from typing import Any

import capnp

# pycapnp brings the files that schemas import as /capnp/NAME.
_parser = capnp.SchemaParser()
_imports = [os.path.dirname(os.path.dirname(capnp.__file__))]


def _load(name: str) -> Any:
    here = os.path.dirname(__file__)
    return _parser.load(os.path.join(here, name), imports=_imports)


depot: Any = _load("depot.capnp")
model: Any = _load("model.capnp")
service: Any = _load("service.capnp")
process: Any = _load("process.capnp")
