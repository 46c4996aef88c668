"""A thousand trainers on one service

Simulated ones in ten processes on the same machine, whose steps take 0.5 to 1.5
seconds and do nothing; every stage is one step. Idle is what trainers waited
between two stages, of all their time: report, checkpoint, decision, dispatch.
"""

from harness import Result, Row
from suite.service import service

SIZES = [10, 100, 1_000]
STEPS = 10  # for each trainer
STAGE_SECONDS = 1


def run(bench):
    sizes = SIZES[:2] if bench.quick else SIZES
    shares = []
    for size in sizes:
        with service(bench, bench.scratch / str(size)) as running:
            for _ in range(10):
                running.add_trainers(size // 10, STAGE_SECONDS)
            running.wait_for_trainers(size)
            bench.client("run_study.py", running.address, str(size * STEPS))
            busy, idle = running.stop()
        shares.append((size, 100 * idle / (busy + idle)))
    rows = [Row(f"{size:,} trainers", "% idle", [x], more_is_better=False,
                aim=1) for size, x in shares]
    return Result(rows, {"idle": shares}, ("trainers", "% of their time idle"),
                  ["Ten stages of a second for each trainer. Measured once."])
