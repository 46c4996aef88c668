"""A suggestion of the samplers that learn after many trials

In process, six hyper-parameters; telling the result is included.
"""

from harness import Result, Row

SIZES = [100, 1_000, 10_000]
AIM = {"TPE": 1, "GP": 10}

# Optuna's Gaussian process takes its time.
THEIR_SUGGESTIONS = {"TPE": 10, "GP": 3}
GP_SIZES = SIZES[:2]


def measure(bench, sampler, size):
    key = "milliseconds_per_suggestion"
    word = sampler.lower()
    program = bench.program("suggest")
    return bench.in_turn({
        "Hippo": lambda: bench.json([program, size, word])[key],
        "Optuna": lambda: bench.peer(
            "optuna_suggest.py", "--sampler", word, "--trials", str(size),
            "--suggestions", str(THEIR_SUGGESTIONS[sampler]))[key]},
        min(bench.rounds, 3))


def imported(bench, size):
    """The same after as many results from elsewhere, beside trials."""
    key = "milliseconds_per_suggestion"
    program = bench.program("suggest")
    return bench.in_turn({
        "imported": lambda: bench.json(
            [program, size, "tpe", "imported"])[key],
        "trials": lambda: bench.json([program, size, "tpe"])[key]},
        min(bench.rounds, 3))


def constrained(bench, size):
    """The same with a limit that half of the trials break, beside none."""
    key = "mean" # with the fits
    program = bench.program("suggest")
    return bench.in_turn({
        "with": lambda: bench.json([program, size, "gp", "constrained"])[key],
        "without": lambda: bench.json([program, size, "gp"])[key]},
        min(bench.rounds, 3))


def run(bench):
    sizes = {"TPE": SIZES[:2] if bench.quick else SIZES,
             "GP": GP_SIZES[:1] if bench.quick else GP_SIZES}
    values = {sampler: {size: measure(bench, sampler, size) for size in all}
              for sampler, all in sizes.items()}
    return Result(
        [Row(f"{sampler} after {size:,} trials", "ms", x["Hippo"],
             f"Optuna {sampler}", x["Optuna"], more_is_better=False,
             aim=AIM[sampler])
         for sampler, by_size in values.items()
         for size, x in by_size.items()]
        + [Row(f"TPE after {size:,} imported results", "ms", x["imported"],
               "after as many trials", x["trials"], more_is_better=False,
               aim=1)
           for size in sizes["TPE"][-1:] for x in [imported(bench, size)]]
        + [Row(f"GP after {size:,} trials, one constraint", "ms", x["with"],
               "without it", x["without"], more_is_better=False, aim=10)
           for size in sizes["GP"][-1:] for x in [constrained(bench, size)]],
        {f"{who}, {sampler}": [(size, sorted(x[who])[len(x[who]) // 2])
                               for size, x in by_size.items()]
         for sampler, by_size in values.items() for who in ("Hippo", "Optuna")},
        ("trials before", "ms a suggestion"))
