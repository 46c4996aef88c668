"""Asks a study that a client drives for trials and tells it a value of each.

    ask_tell.py SERVER TRIALS

Prints the medians of the last tenth in milliseconds.
"""

import json
import statistics
import sys
import time

import hippo_hpo as hippo

import no_op

server, trials = sys.argv[1], int(sys.argv[2])
ask, tell = [], []
with hippo.connect(server) as client:
    study = client.submit(no_op.study(
        "ask-and-tell", trials, algorithm="client",
        space={"lr": {"log_uniform": [1e-6, 0.1]},
               "dropout": {"uniform": [0, 0.5]}}))
    for _ in range(trials):
        begin = time.perf_counter()
        trial = study.ask()
        asked = time.perf_counter()
        study.tell(trial, 0.5)
        ask.append(1000 * (asked - begin))
        tell.append(1000 * (time.perf_counter() - asked))
last = -(-trials // 10)
print(json.dumps({"ask_ms": statistics.median(ask[-last:]),
                  "tell_ms": statistics.median(tell[-last:])}))
