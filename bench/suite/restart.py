"""From the start of a service with a full store to its first dispatch

Studies of which 10,000 trials have run, each measured after every step, are
killed with their service; another one goes on with them. Its trainers do nothing
but connect.
"""

import time

from harness import Result, Row
from suite.service import service

SIZES = [10_000, 100_000, 1_000_000]
AIM = 5


def run(bench):
    sizes = SIZES[:1] if bench.quick else SIZES
    points = []
    for size in sizes:
        state = bench.scratch / str(size)
        with service(bench, state, trainers=2) as running:
            bench.client("fill_store.py", running.address, str(size))
        begin = time.perf_counter()
        with service(bench, state, trainers=1, step_seconds=60) as running:
            running.wait_for_lease()
            points.append((size, time.perf_counter() - begin))
    return Result(
        [Row(f"{size:,} results in the store", "s", [x], more_is_better=False,
             aim=AIM) for size, x in points],
        {"restart": points}, ("results in the store", "s to first dispatch"),
        ["The times include the start of the programs. Measured once."])
