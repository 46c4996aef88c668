"""Large studies: ten million trials, a billion measurements, a million trained

A service without trainers takes a study in, and is killed and started again
with it. Beside each the same with a study that is as large as what is in flight
at a time: 4,096 trials of one measurement, and a trial of 4,096.

Then what is trained takes room: a thousand studies of a thousand trials, which
share nothing, follow each other under one key. In process, on trainers that
take no time: it is measured once.
"""

import re
import time

from harness import Result, Row
from suite.service import service

STUDY = """study: vast
workload: {{name: fashion-mlp}}
objective: {{metric: val_accuracy}}
max_steps: {steps}
space: {{lr: {{log_uniform: [1.0e-6, 0.1]}}}}
algorithm: random
budget: {{trials: {trials}}}
"""

IN_FLIGHT = 4096

# What is measured, its size, and the size that it is compared with.
CASES = {
    "10,000,000 trials": ({"trials": 10_000_000, "steps": 1},
                          {"trials": IN_FLIGHT, "steps": 1}),
    "1,000,000,000 measurements": ({"trials": 1, "steps": 1_000_000_000},
                                   {"trials": 1, "steps": IN_FLIGHT}),
}


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def measure(bench, folder, size):
    """Returns seconds of submission and of a restart, and MB that the service
    has grown by, and has then.
    """
    folder.mkdir()
    text = folder / "study.yaml"
    text.write_text(STUDY.format(**size))
    state = folder / "state"
    with service(bench, state) as running:
        before = resident(running.pid)
        begin = time.perf_counter()
        bench.output([bench.program("hippo"), "submit", text, "--server",
                      running.address])
        submitted = time.perf_counter() - begin
        grown = resident(running.pid) - before
    begin = time.perf_counter()
    with service(bench, state) as running:
        # It answers once it has its studies back.
        bench.output([bench.program("hippo"), "show", "1", "--server",
                      running.address])
        return (submitted, time.perf_counter() - begin, grown,
                resident(running.pid))


def follow_each_other(bench):
    """Returns pairs of how many trials were trained, and the most memory, in
    MB, that was allocated by then.
    """
    studies = 100 if bench.quick else 1000
    found = bench.json([bench.program("books"), "random", 1000, studies])
    return [((i + 1) * 1000, x["most"] / 2**20) for i, x in enumerate(found)]


def run(bench):
    rows = []
    for number, (name, (vast, small)) in enumerate(CASES.items()):
        sides = {"vast": [], "small": []}
        for i in range(bench.rounds):
            for side, size in (("vast", vast), ("small", small)):
                sides[side].append(
                    measure(bench, bench.scratch / f"{number}-{side}-{i}",
                            size))
        for j, (what, unit) in enumerate([
                ("submit", "s"), ("start again", "s"),
                ("memory it takes", "MB"), ("memory after the start", "MB")]):
            rows.append(Row(f"{name}: {what}", unit,
                            [x[j] for x in sides["vast"]], "what is in flight",
                            [x[j] for x in sides["small"]],
                            more_is_better=False))
    curve = follow_each_other(bench)
    (trials, most), (early, least) = curve[-1], curve[len(curve) // 2]
    rows += [Row(f"{trials:,} trials that follow each other: most memory",
                 "MB", [most], more_is_better=False),
             Row("what each of the second half of them has added", "bytes",
                 [(most - least) * 2**20 / (trials - early)],
                 more_is_better=False)]
    return Result(rows, {"studies and plan": curve}, ("trials", "MB"),
                  ["The times include the start of the programs."])
