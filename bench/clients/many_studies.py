"""Runs studies of 1,000 trials that cost nothing, one after the other.

    many_studies.py SERVER STUDIES PID

Prints the memory of the process PID in MB after each: what it holds, and what
of files is in it beside that, which the system takes back when it needs it.
"""

import json
import re
import sys

import hippo_hpo as hippo

import no_op

server, studies, pid = sys.argv[1], int(sys.argv[2]), sys.argv[3]
memory = {"held_mb": [], "mapped_mb": []}
with hippo.connect(server) as client:
    for i in range(studies):
        study = client.submit(no_op.study(f"short-{i}", 1000, seed=i))
        study.wait(progress=False)
        with open(f"/proc/{pid}/status") as status:
            text = status.read()
        for name, kind in (("held_mb", "RssAnon"), ("mapped_mb", "RssFile")):
            memory[name].append(
                int(re.search(rf"{kind}:\s+(\d+)", text)[1]) / 1024)
print(json.dumps(memory))
