"""Memory of a service over 100,000 short trials

A hundred studies of 1,000 trials, one after the other, all of one workload, on
two simulated trainers.
"""

from harness import Result, Row
from suite.service import service


def run(bench):
    studies = 20 if bench.quick else 100
    with service(bench, bench.scratch / "state", trainers=2) as running:
        memory = bench.client("many_studies.py", running.address,
                              str(studies), str(running.pid))["memory_mb"]
    grown = memory[-1] - memory[9]
    return Result(
        [Row("after 10,000 trials", "MB", [memory[9]], more_is_better=False),
         Row(f"after {studies * 1000:,} trials", "MB", [memory[-1]],
             more_is_better=False),
         Row("growth after the first 10,000", "bytes/trial",
             [grown * 2**20 / (studies * 1000 - 10_000)],
             more_is_better=False, aim=0)],
        {"service": [((i + 1) * 1000, x) for i, x in enumerate(memory)]},
        ("trials", "MB"))
