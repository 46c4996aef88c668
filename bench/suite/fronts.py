"""What searches find for two metrics in so many trainings

The tuner alone, one trial at a time, and the peers by their ask and tell.
Hypervolume of all that was measured at the last step.
"""

import statistics
import subprocess

import harness
from harness import Result, Row

MARKS = [10, 20, 50, 100]
FUNCTIONS = ["zdt1", "zdt2", "zdt3"]
REFERENCE = (1.1, 6.0)

OURS = {
    "random": "random",
    "tpe": "tpe",
    "nsga2": "nsga2",
    "asha": "asha",
    "asha, stopping": "{asha: {mode: stopping}}",
    "asha, tpe": "{asha: {sampler: tpe}}",
    "asha, nsga2": "{asha: {sampler: nsga2}}",
    "bohb": "bohb",
}

# Of MOASHA, which takes minutes for a seed.
SLOW, SLOW_SEEDS = "Syne Tune MOASHA", 3

# What is compared with a peer: at equal steps ours is to be as good.
BEST = "asha, tpe"


def volume(points):
    """The area below the reference that the points dominate."""
    result, height = 0.0, REFERENCE[1]
    for f, g in sorted(map(tuple, points)):
        if f < REFERENCE[0] and g < height:
            result += (REFERENCE[0] - f) * (height - g)
            height = g
    return result


def volumes(found):
    """By mark, those of all seeds."""
    return [[volume(seed[i]) for seed in found["points"]]
            for i in range(len(MARKS))]


def table(by_who):
    lines = [["", *(f"at {mark}" for mark in MARKS), "seeds"]]
    for who, found in by_who.items():
        cells = []
        for x in found:
            low, _, high = statistics.quantiles(x, method="inclusive")
            cells.append(f"{statistics.fmean(x):.3f} ({low:.2f}–{high:.2f})")
        lines.append([who, *cells, str(len(found[0]))])
    return harness.markdown(lines)


def peers(bench):
    """Commands of those that are installed, and why others are not tried."""
    optuna = [bench.python, harness.PEERS / "fronts_optuna.py"]
    found = {"Optuna NSGA-II": [*optuna, "nsga2"],
             "Optuna TPE": [*optuna, "tpe"]}
    syne = subprocess.run([bench.python, "-c", "import syne_tune"],
                          capture_output=True, check=False)
    if syne.returncode == 0:
        found[SLOW] = [bench.python, harness.PEERS / "fronts_syne.py"]
        return found, []
    return found, ["Syne Tune is not installed: MOASHA was not tried."]


def run(bench):
    seeds = 3 if bench.quick else 20
    others, notes = peers(bench)

    def command(x, who):
        if who in OURS:
            return [bench.program("fronts"), x, OURS[who], seeds, *MARKS]
        count = min(seeds, SLOW_SEEDS) if who == SLOW else seeds
        return [*others[who], x, count, *MARKS]

    found = {x: {} for x in FUNCTIONS}
    for (x, who), printed in bench.at_once({
            (x, who): lambda x=x, who=who: bench.json(command(x, who))
            for x in FUNCTIONS for who in [*OURS, *others]}).items():
        found[x][who] = volumes(printed)
    rows = [Row(f"{BEST}: {x} at {MARKS[-1]}", "",
                [statistics.fmean(found[x][BEST][-1])], who,
                [statistics.fmean(found[x][who][-1])], aim=1,
                aim_of_ratio=True)
            for x in FUNCTIONS for who in others]
    return Result(rows,
                  notes=["Mean hypervolume (quartiles) after so many trainings "
                         f"in full, up to {REFERENCE}:",
                         *(f"{x}:\n\n{table(found[x])}" for x in FUNCTIONS),
                         *notes],
                  data=found)
