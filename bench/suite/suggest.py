"""A suggestion of the TPE sampler after many trials

In process, six hyper-parameters; telling the result is included.
"""

from harness import Result, Row

SIZES = [100, 1_000, 10_000]
AIM = 1


def run(bench):
    sizes = SIZES[:2] if bench.quick else SIZES
    key = "milliseconds_per_suggestion"
    values = {size: bench.in_turn({
        "Hippo": lambda: bench.json([bench.program("suggest"), size])[key],
        "Optuna": lambda: bench.peer("optuna_tpe.py", "--trials", str(size),
                                     "--suggestions", "10")[key]},
        min(bench.rounds, 3)) for size in sizes}
    return Result(
        [Row(f"after {size:,} trials", "ms", x["Hippo"], "Optuna TPE",
             x["Optuna"], more_is_better=False, aim=AIM)
         for size, x in values.items()],
        {who: [(size, sorted(x[who])[len(x[who]) // 2])
               for size, x in values.items()] for who in ("Hippo", "Optuna")},
        ("trials before", "ms a suggestion"))
