"""A server of the Model Context Protocol: tools by which a program such as a
language model previews, submits, steers and reads studies of a service.

    hippo-mcp [--server HOST:PORT] [--keys FILE] [--folder DIR]
              [--allow-submit --budget-device-hours H] [--name NAME]

It speaks over stdin and stdout. Needs the official SDK: ``pip install
'hippo-hpo[mcp]'``. docs/mcp.md describes the tools.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import math
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._mcp_answers import ERROR_CHARS_MAX, cut_text, to_json
from ._mcp_budget import NAME, Budget
from ._mcp_tools import Tools
from .errors import Error

if TYPE_CHECKING:
    from mcp.server import MCPServer

_INSTRUCTIONS = (
    "Hyper-parameter studies of a Hippo service. Trials of a study share the "
    "training of the steps before their values differ, and known steps are "
    "never trained again: preview a study before you submit it, it says how "
    "many steps are new. A study file is YAML with the keys study, workload, "
    "objective, steps, space, algorithm and budget. Answers are short: lists "
    "have pages, with `next` as the cursor of the next one.")

# The tools, by what they do.
_READING = ("service", "list_studies", "study", "study_file", "best", "trials",
            "curves", "tree", "cost", "importance", "wait", "preview")
_CHANGING = ("submit", "extend", "enqueue", "fork", "set_space", "note", "ask",
             "train")
# Called twice, they do twice as much.
_ADDING = ("submit", "extend", "enqueue", "fork", "ask")
_ENDING = ("steer", "tell", "close_study")


def make_server(tools: Tools) -> MCPServer[Any]:
    """Returns the server of some tools, for any transport of the SDK."""
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    server: MCPServer[Any] = MCPServer(
        "hippo", title="Hippo", instructions=_INSTRUCTIONS,
        log_level="WARNING")
    for name in (*_READING, *_CHANGING, *_ENDING):
        server.add_tool(
            _told(getattr(tools, name)), name=name, structured_output=False,
            annotations=ToolAnnotations(
                read_only_hint=name in _READING,
                destructive_hint=name in _ENDING,
                idempotent_hint=name not in _ADDING,
                open_world_hint=False))
    return server


def _told(tool: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """A tool whose answer is JSON, and whose errors are sentences."""
    @functools.wraps(tool)
    def call(**arguments: Any) -> Any:
        from mcp.types import CallToolResult, TextContent

        is_error, text = False, ""
        try:
            text = to_json(tool(**arguments))
        except (Error, OSError) as why:
            is_error, text = True, cut_text(str(why), ERROR_CHARS_MAX)
        return CallToolResult(content=[TextContent(type="text", text=text)],
                              is_error=is_error)
    # The SDK reads the parameters of a tool from its annotations.
    signature = inspect.signature(tool, eval_str=True)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {x.name: x.annotation
                            for x in signature.parameters.values()}
    return call


def _hours(text: str) -> float:
    hours = float(text)
    if not (math.isfinite(hours) and hours > 0):
        raise ValueError(text)
    return hours


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError(text)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="hippo-mcp", description="Tools for studies of a service, by the "
        "Model Context Protocol over stdin and stdout.")
    parser.add_argument(
        "--server", metavar="HOST:PORT",
        help="the service; by default HIPPO_SERVER, or 127.0.0.1:4849")
    parser.add_argument("--keys", metavar="FILE",
                        help="credentials, as hippo keys add writes them")
    parser.add_argument(
        "--folder", metavar="DIR", default=os.curdir,
        help="study files and their code are read from it alone; by default "
        "the working directory")
    parser.add_argument(
        "--allow-submit", action="store_true",
        help="allow to submit studies, and to steer these")
    parser.add_argument(
        "--budget-device-hours", metavar="H", type=_hours,
        help="the most working time of trainers for all studies that are "
        "submitted under --name, in hours")
    parser.add_argument(
        "--name", metavar="NAME", type=_name, default="mcp",
        help="servers of one name share their budget and their studies; by "
        "default mcp")
    args = parser.parse_args()
    if args.allow_submit != (args.budget_device_hours is not None):
        parser.error("--allow-submit and --budget-device-hours go together")
    try:
        import mcp.server  # noqa: F401
    except ImportError as why:
        print(f"hippo-mcp: the SDK of the protocol is needed: {why}. Install "
              "it with pip install 'hippo-hpo[mcp]'", file=sys.stderr)
        return 1
    budget = Budget(args.name, args.budget_device_hours) \
        if args.allow_submit else None
    tools = Tools(args.server, args.keys, args.folder, budget)
    try:
        make_server(tools).run("stdio")
    except KeyboardInterrupt:
        pass
    finally:
        tools.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
