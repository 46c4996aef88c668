"""Lets a study give so many results, 100 for each trial, and leaves it running.

    fill_store.py SERVER RESULTS
"""

import json
import sys
import time

import hippo

STEPS = 100

server, results = sys.argv[1], int(sys.argv[2])
trials = results // STEPS
with hippo.connect(server) as client:
    study = client.submit({
        "study": f"full-{results}",
        "workload": {"name": "fashion-mlp"},
        "objective": {"metric": "val_accuracy", "direction": "maximize"},
        "steps": {"max": STEPS},
        "space": {"lr": {"log_uniform": [1e-6, 0.1]}},
        "budget": {"trials": trials + max(trials // 10, 100)},
    })
    while study.info().finished < trials:
        time.sleep(0.1)
    assert study.state == "RUNNING"
print(json.dumps({"results": results}))
