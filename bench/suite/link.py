"""Service and trainers: what lies between them, against CAF's own way

Two actor systems of one process over loopback: the frames of hippo/link, with
their limits, and BASP, which was used before and has none.
"""

from harness import Result, Row


def run(bench):
    ways = {"frames": [], "basp": []}
    for _ in range(bench.rounds):
        for way, runs in ways.items():
            runs.append(bench.json([bench.program("trainer_link"), way]))

    def row(what, unit, key):
        return Row(what, unit, [x[key] for x in ways["frames"]], "BASP",
                   [x[key] for x in ways["basp"]])

    return Result([
        row("a question and its answer, one at a time", "1/s", "round_trips"),
        row("heartbeats, 64 before each answer", "1/s", "heartbeats"),
        row("reports of 16 KiB, 64 before each answer", "1/s", "reports")])
