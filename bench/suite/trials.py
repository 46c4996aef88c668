"""Trials that cost nothing, from submission to the last result

One study of a service over loopback with two simulated trainers, one step and
one result a trial; the peers with two workers and an objective that returns at
once.
"""

from harness import Result, Row
from suite.service import service

SIZES = [1_000, 10_000, 100_000]
AIM = 2_000


def run(bench):
    def ours(trials, folder):
        with service(bench, bench.scratch / folder, trainers=2) as running:
            return trials / bench.client("run_study.py", running.address,
                                         str(trials))["seconds"]

    number = iter(range(10**6))
    few, many = (100, 1_000) if bench.quick else (200, 10_000)

    def peer(script, trials, *flags):
        return lambda: bench.peer(script, "--trials", str(trials),
                                  *flags)["trials_per_second"]

    sides = {
        "": lambda: ours(many, f"own{next(number)}"),
        "Optuna, SQLite": peer("noop_optuna.py", few),
        "Optuna, journal": peer("noop_optuna.py", many, "--storage",
                                "journal"),
        "Ray Tune, reuse_actors": peer("noop_ray.py", few, "--reuse-actors"),
    }
    values = bench.in_turn(sides, min(bench.rounds, 3))
    # A minute each, and far behind.
    slow = bench.in_turn({
        "Ray Tune": peer("noop_ray.py", 20),
        "Syne Tune, poll 0.1 s": peer("noop_syne.py", 40, "--poll", "0.1"),
        "Syne Tune, poll 5 s": peer("noop_syne.py", 10, "--poll", "5"),
    }, 1)
    own = values.pop("")
    rows = [Row(f"{many:,} trials", "trials/s", own, name, theirs, aim=AIM)
            for name, theirs in values.items()]
    rows += [Row(f"{many:,} trials", "trials/s", own[:1], name, theirs)
             for name, theirs in slow.items()]
    sizes = SIZES[:1] if bench.quick else SIZES
    return Result(rows, {"Hippo": [(x, ours(x, f"size{x}")) for x in sizes]},
                  ("trials of the study", "trials/s"))
