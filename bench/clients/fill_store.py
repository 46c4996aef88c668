"""Lets a study give so many results, 100 for each trial, and leaves it running.

    fill_store.py SERVER RESULTS
"""

import json
import sys
import time

import hippo_hpo as hippo

import no_op

STEPS = 100

server, results = sys.argv[1], int(sys.argv[2])
trials = results // STEPS
with hippo.connect(server) as client:
    study = client.submit(no_op.study(
        f"full-{results}", 2 * trials + 100, STEPS))
    while study.info.finished < trials:
        time.sleep(0.1)
    assert study.state == "RUNNING"
print(json.dumps({"results": results}))
