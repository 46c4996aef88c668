"""A step of a training function against the loop by hand

A small network, batches of 64, PyTorch on one thread. By hand is a loop with
PyTorch's own DataLoader; the function has `ctx.steps`, `ctx.loader`, `apply`,
and is driven as a trainer drives it. Processor time, steps in turn.
"""

from harness import Result, Row

SECONDS = 0.3
AIM = 0.99


def run(bench):
    seconds, steps = (0.03, 5) if bench.quick else (SECONDS, 15)
    values = [bench.client("function_step.py", str(seconds), str(steps))
              for _ in range(bench.rounds)]
    return Result([
        Row(f"a step of {seconds} s", "ms", [x["function"] for x in values],
            "loop by hand", [x["by_hand"] for x in values],
            more_is_better=False, aim=AIM, aim_of_ratio=True),
        Row("a step that trains nothing", "ms", [x["empty"] for x in values],
            more_is_better=False)])
