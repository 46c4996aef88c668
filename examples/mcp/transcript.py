"""Prints the transcript of docs/mcp.md: a scripted client of the Model Context
Protocol previews, submits and reads studies.

    python3 transcript.py HOST:PORT

Times and the order of training, which differ from run to run, are left out of
the answers.
"""

import asyncio
import json
import os
import re
import sys

from mcp import Client, StdioServerParameters

FOLDER = os.path.dirname(os.path.abspath(__file__))

# The tools that are called one after the other, with their arguments.
CALLS = [
    ("submit", {"file": "longer.yaml"}),
    ("preview", {"file": "wave.yaml"}),
    ("submit", {"file": "wave.yaml"}),
    ("wait", {"study": "wave", "seconds": 60}),
    ("best", {"study": "wave", "most": 2}),
    ("curves", {"study": "wave", "trials": [15], "points": 4}),
    ("tree", {"study": "wave", "most": 2}),
    ("preview", {"file": "wave.yaml"}),
    ("submit", {"file": "wave.yaml", "device_hours": 2}),
    ("steer", {"study": "wave", "verb": "fly"}),
]

VARYING = re.compile(r"seconds(_left)?$|hours$|^shared_steps$|^id$|^parent$")


def constant(x):
    """An answer without what differs from run to run."""
    if isinstance(x, dict):
        return {name: constant(y) for name, y in x.items()
                if not VARYING.search(name)}
    return [constant(y) for y in x] if isinstance(x, list) else x


async def call(client, tool, arguments):
    """The answer of a tool, or its error."""
    done = await client.call_tool(tool, arguments)
    text = done.content[0].text
    if done.is_error:
        return f"error: {text}"
    answer = constant(json.loads(text))
    if tool == "submit":
        del answer["state"]  # it may have ended already
    return json.dumps(answer)


async def main(server):
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hippo_hpo.mcp", "--server", server, "--folder", FOLDER,
              "--allow-submit", "--budget-device-hours", "0.1"],
        env=dict(os.environ))
    async with Client(parameters) as client:
        for tool, arguments in CALLS:
            print(f"> {tool} {json.dumps(arguments)}")
            print(await call(client, tool, arguments))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
