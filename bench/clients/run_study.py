"""Submits a study of a workload that costs nothing, and waits for its end.

    run_study.py SERVER TRIALS

Prints how long that took in seconds. Every trial has a learning rate of its
own, one step and one measurement.
"""

import argparse
import json
import time

import hippo


def study(trials):
    return {
        "study": f"no-op-{trials}",
        "workload": {"name": "fashion-mlp"},
        "objective": {"metric": "val_accuracy", "direction": "maximize"},
        "steps": {"max": 1},
        "space": {"lr": {"log_uniform": [1e-6, 0.1]}},
        "budget": {"trials": trials},
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("trials", type=int)
    args = parser.parse_args()
    with hippo.connect(args.server) as client:
        begin = time.perf_counter()
        submitted = client.submit(study(args.trials))
        submitted.wait(progress=False)
        seconds = time.perf_counter() - begin
        info = submitted.info()
        assert info.finished == args.trials, info
    print(json.dumps({"seconds": seconds}))


main()
