"""Memory of a service over 1,000,000 short trials

A thousand studies of 1,000 trials, one after the other, all of one workload, on
two simulated trainers. What a service holds is memory of its own; what is
mapped of files, programs included, the system takes back when it needs it.
"""

from harness import Result, Row
from suite.service import service


def curve(values):
    """Some fifty of the values, by the number of trials."""
    apart = max(1, len(values) // 50)
    return [((i + 1) * 1000, x) for i, x in enumerate(values)
            if (i + 1) % apart == 0]


def run(bench):
    studies = 20 if bench.quick else 1000
    with service(bench, bench.scratch / "state", trainers=2) as running:
        memory = bench.client("many_studies.py", running.address,
                              str(studies), str(running.pid))
    held, mapped = memory["held_mb"], memory["mapped_mb"]
    half = studies // 2
    grown = held[-1] - held[half - 1]
    rows = [Row(f"held after {count * 1000:,} trials", "MB", [held[count - 1]],
                more_is_better=False)
            for count in (10, half, studies)]
    return Result(
        rows
        + [Row(f"mapped after {studies * 1000:,} trials", "MB", [mapped[-1]],
               more_is_better=False),
           Row("held, growth in the second half", "bytes/trial",
               [grown * 2**20 / ((studies - half) * 1000)],
               more_is_better=False, aim=0)],
        {"held": curve(held),
         "held and mapped": curve([x + y for x, y in zip(held, mapped,
                                                         strict=True)])},
        ("trials", "MB"))
