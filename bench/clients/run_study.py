"""Submits a study of a workload that costs nothing, and waits for its end.

    run_study.py SERVER TRIALS

Prints how long that took in seconds. Every trial has a learning rate of its
own, one step and one measurement.
"""

import argparse
import json
import time

import hippo_hpo as hippo

import no_op


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("trials", type=int)
    parser.add_argument("--no-wait", action="store_true",
                        help="only submit it")
    args = parser.parse_args()
    with hippo.connect(args.server) as client:
        if args.no_wait:
            # With another seed: it shares nothing with who was there before.
            client.submit(no_op.study("goes-on", args.trials, seed=1))
            print(json.dumps({"seconds": 0}))
            return
        begin = time.perf_counter()
        submitted = client.submit(
            no_op.study(f"no-op-{args.trials}", args.trials))
        submitted.wait(progress=False)
        seconds = time.perf_counter() - begin
        info = submitted.info
        assert info.finished == args.trials, info
    print(json.dumps({"seconds": seconds}))


main()
