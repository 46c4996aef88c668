"""Decays of a learning rate that are predicted and not trained

The law of learning-rate schedules on the public curves of the Multi-Power Law
(github.com/thu-yao-01-luo/MultiPowerLaw), under multi-power-law/csv_25 and
csv_100 of the folder that --data or HIPPO_PUBLIC_DATA names, without which they
are left out; and searches of 200 decays with the law and without it.
"""

import statistics

import harness
from harness import Result, Row

SIZES = {"25M": "csv_25", "100M": "csv_100"}

SEEDS = 20
TRIALS = 100
BEST = 3  # of the regrets: the best decay
ASHA = "asha: {{min: 40, sampler: gp, mean: {}}}"
WAYS = {"gp": "gp: {{mean: {}}}", "asha, gp": ASHA}


def curves(bench, rows, notes):
    if not bench.data:
        return None
    result = {}
    for size, folder in SIZES.items():
        found = bench.json([bench.program("schedule_law"),
                            bench.data / "multi-power-law" / folder])
        result[size] = found
        error = statistics.fmean(x["mae"] for x in found["curves"].values())
        rows.append(Row(f"six curves, {size}: mean absolute error", "",
                        [error], more_is_better=False, aim=0.005))
    names = result["25M"]["curves"]
    notes += ["Mean absolute errors of the curves that were not fitted:",
              harness.markdown([
                  ["", *SIZES],
                  *([name, *(f"{result[size]['curves'][name]['mae']:.4f}"
                             for size in SIZES)] for name in names)])]
    return result


def decays(found):
    """The mean number of decays begun when the best one was found; a seed that
    did not find it counts with all of its trials.
    """
    return statistics.fmean(TRIALS if x[BEST] is None else x[BEST]
                            for x in found["decayed_to_regret"])


def never(found):
    """Seeds that did not find the best decay."""
    return sum(x[BEST] is None for x in found["decayed_to_regret"])


def trainings(found):
    return statistics.median(
        float("inf") if x[BEST] is None else x[BEST]
        for x in found["cost_to_regret"])


def run(bench):
    seeds = 2 if bench.quick else SEEDS
    rows, notes, data = [], [], {}
    data["curves"] = curves(bench, rows, notes)
    found = bench.at_once({
        (way, mean): lambda text=text, mean=mean: bench.json(
            [bench.program("schedules"), "decays",
             "{" + text.format(mean) + "}", 1, seeds, TRIALS])
        for way, text in WAYS.items() for mean in ["schedules", "zero"]})
    for way in WAYS:
        ours, theirs = found[way, "schedules"], found[way, "zero"]
        rows.append(Row(f"{way}: decays begun to the best", "decays",
                        [decays(ours)], "mean: zero", [decays(theirs)],
                        more_is_better=False, aim=1 / 0.6, aim_of_ratio=True))
    notes += [f"200 decays, 1 trainer, {seeds} seeds, until the best of them is"
              " measured:",
              harness.markdown([
                  ["", "decays begun", "median trainings", "never"],
                  *([f"{way}, mean: {mean}", f"{decays(x):.1f}",
                     f"{trainings(x):.2f}", str(never(x))]
                    for (way, mean), x in found.items())])]
    data["search"] = {f"{way}, {mean}": x for (way, mean), x in found.items()}
    return Result(rows, notes=notes, data=data)
