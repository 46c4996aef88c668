"""Prints for each file of SkyPilot or dstack a line of JSON: what is in it, if
the tool's own schema takes it, or else the reason as a text. For the
interpreter of .cache/launch-venv.

    launch_files.py skypilot|dstack FILE...
"""

import functools
import importlib.util
import json
import sys
import types

import yaml


class Refused(Exception):
    """Says why the tool does not take a file."""


@functools.cache
def schemas_of_skypilot():
    """The parts of its package that have the schemas, without the imports of
    the whole, which would need 460 MB of packages."""
    found = importlib.util.find_spec("sky")
    package = types.ModuleType("sky")
    package.__path__ = found.submodule_search_locations
    package.__version__ = "0"
    autostop = types.ModuleType("sky.skylet.autostop_lib")
    autostop.AutostopWaitFor = types.SimpleNamespace(supported_modes=list)
    sys.modules.update({"sky": package, autostop.__name__: autostop})
    from sky import skylet
    skylet.autostop_lib = autostop
    from sky.utils import schemas, validator
    # The schema of `config`, settings of SkyPilot itself.
    schemas._task_config_schema = lambda: False
    return schemas, validator.get_schema_validator()


def skypilot(config):
    schemas, validate = schemas_of_skypilot()
    for part, schema in ((config, schemas.get_task_schema()),
                         (config.get("resources", {}),
                          schemas.get_resources_schema())):
        errors = [f"{x.json_path}: {x.message}"
                  for x in validate(schema).iter_errors(part)]
        if errors:
            raise Refused("\n".join(errors))


def dstack(config):
    from dstack._internal.core import errors
    from dstack._internal.core.models import configurations
    try:
        configurations.parse_apply_configuration(config)
    except errors.ConfigurationError as why:
        raise Refused(str(why)) from why


if __name__ == "__main__":
    for path in sys.argv[2:]:
        with open(path) as file:
            found = yaml.safe_load(file)
        try:
            {"skypilot": skypilot, "dstack": dstack}[sys.argv[1]](found)
        except Refused as why:
            found = str(why)
        print(json.dumps(found))
