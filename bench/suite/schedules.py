"""What searches find among schedules for so much training

About 20,000 ResNet-56 schedules on the simulated curve, such schedules with
numbers of ranges, and learning rates of six continuous pieces on a noisy
quadratic; merged.
"""

import statistics

import harness
from harness import Result, Row

REGRETS = [0.01, 0.0067, 0.005, 0.002]
COSTS = [5, 10, 20, 40]
TRAINERS = [1, 40]

EARLY = "{{asha: {{eta: 4, min: 15, max: 120{}}}}}"
OURS = {
    "auto": "auto",
    "asha": EARLY.format(""),
    "asha, tpe": EARLY.format(", sampler: tpe"),
    "asha, gp, off": EARLY.format(", sampler: gp, prefer_shared: off"),
    "asha, gp, ties": EARLY.format(", sampler: gp, prefer_shared: ties"),
    "asha, gp, price": EARLY.format(", sampler: gp, prefer_shared: price"),
    "dehb": "{dehb: {min: 15}}",
    "random": "random",
    "tpe": "tpe",
    "gp, off": "{gp: {prefer_shared: off}}",
    "gp, price": "{gp: {prefer_shared: price}}",
}

# More than what the greatest cost pays for.
TRIALS = {"asha": 1000, "auto": 1000, "dehb": 1000}

# Numbers of ranges: no two schedules begin alike by themselves.
EARLY_OF_RANGES = "{{asha: {{eta: 3, min: 15{}}}}}"
RANGES = {
    "auto": "auto",
    "random": "random",
    "tpe": "tpe",
    "gp, off": "{gp: {prefer_shared: off}}",
    "gp, price": "gp",
    "asha": EARLY_OF_RANGES.format(""),
    "asha, tpe": EARLY_OF_RANGES.format(", sampler: tpe"),
    "asha, gp, price": EARLY_OF_RANGES.format(", sampler: gp"),
    "dehb": "{dehb: {eta: 3, min: 15}}",
    "bohb": "bohb",
}

# The noisy quadratic: regret .25 is within 1.25 times of the optimum.
QUADRATIC_REGRETS = [1, 0.5, 0.25, 0.1]
QUADRATIC_COSTS = [50, 100, 200, 400]
QUADRATIC_SEEDS = 10
THIRDS = "{{{}: {{eta: 3, min: 20{}}}}}"
QUADRATIC = {
    "auto": ("auto", 4000),
    "random": ("random", 400),
    "sha": (THIRDS.format("sha", ""), 1200),
    "asha": (THIRDS.format("asha", ""), 4000),
    "asha, tpe": (THIRDS.format("asha", ", sampler: tpe"), 4000),
    "asha, gp, off": (
        THIRDS.format("asha", ", sampler: gp, prefer_shared: off"), 4000),
    "asha, gp, price": (THIRDS.format("asha", ", sampler: gp"), 4000),
    "dehb": ("{dehb: {min: 20}}", 4000),
    "gp, off": ("{gp: {prefer_shared: off}}", 400),
    "gp, price": ("gp", 1000),
}

# What drawing the rest of a good schedule anew takes to come within 1.25 times
# of the optimum, and what changing one piece of it anywhere does: prototypes,
# the least cost that was known.
QUADRATIC_KNOWN = 208

PRICED, UNPRICED, TPE = "asha, gp, price", "asha, gp, off", "asha, tpe"
MARK = REGRETS.index(0.0067)


def crew(trainers):
    return "1 trainer" if trainers == 1 else f"{trainers} trainers"


def cost_to(found, mark):
    """The median cost to a regret; a seed that never came there has infinite
    cost.
    """
    return statistics.median(float("inf") if x[mark] is None else x[mark]
                             for x in found["cost_to_regret"])


def regret_at(found, mark):
    return statistics.fmean(x[mark] for x in found["regret_at_cost"])


def shown(cost):
    return "–" if cost == float("inf") else f"{cost:.2f}"


def table(found, regrets=REGRETS, costs=COSTS):
    lines = [["", *(f"to {x}" for x in regrets), *(f"at {x}" for x in costs)]]
    for who, x in found.items():
        lines.append([
            who,
            *(shown(cost_to(x, i)) for i in range(len(regrets))),
            *(f"{regret_at(x, i):.5f}" for i in range(len(costs)))])
    return harness.markdown(lines)


def gates(found, trainers):
    def against(what, ours, theirs, mark, aim):
        return Row(f"{what} to {REGRETS[mark]}, {crew(trainers)}",
                   "trainings", [cost_to(found[ours], mark)], theirs,
                   [cost_to(found[theirs], mark)], more_is_better=False,
                   aim=aim, aim_of_ratio=True)

    rows = [against(PRICED, PRICED, UNPRICED, i, 1.4 if i == MARK else 1 / 1.05)
            for i in range(len(REGRETS))]
    rows += [against(UNPRICED, UNPRICED, TPE, i, 1)
             for i in range(len(REGRETS))]
    rows.append(against_best(crew(trainers), found, MARK, 0.0067))
    # Where neither side came there is nothing to compare.
    return [x for x in rows if min(x.ours + x.theirs) < float("inf")]


def against_best(what, found, mark, where):
    best = min((who for who in found if who != "auto"),
               key=lambda who: cost_to(found[who], mark))
    return Row(f"auto to {where}, {what}", "trainings",
               [cost_to(found["auto"], mark)], best,
               [cost_to(found[best], mark)], more_is_better=False,
               aim=1 / 1.1, aim_of_ratio=True)


def searches(bench, space, trainers, seeds, algorithms):
    """What searches find, by name; of each the algorithm and its trials."""
    bench.say(f"{space}, {crew(trainers)}")
    return bench.at_once({
        who: lambda algorithm=algorithm, trials=trials: bench.json(
            [bench.program("schedules"), space, algorithm, trainers, seeds,
             trials])
        for who, (algorithm, trials) in algorithms.items()})


def ranges(bench, rows, notes):
    seeds = 1 if bench.quick else 20
    found = searches(bench, "ranges", 1, seeds,
                     {who: (x, 2000) for who, x in RANGES.items()})
    rows.append(against_best("ranges", found, MARK, 0.0067))
    notes += ["ResNet-56 schedules whose numbers are of ranges, 1 trainer, "
              f"{seeds} seeds. `auto` is `{found['auto']['algorithm']}`.",
              table(found)]
    return found


def quadratic(bench, rows, notes):
    seeds = 1 if bench.quick else QUADRATIC_SEEDS
    found = searches(bench, "quadratic", 1, seeds, QUADRATIC)
    mark = QUADRATIC_REGRETS.index(0.25)
    best = min(found, key=lambda who: cost_to(found[who], mark))
    rows.append(Row(f"noisy quadratic: {best} to 0.25", "trainings",
                    [cost_to(found[best], mark)], more_is_better=False,
                    aim=QUADRATIC_KNOWN))
    rows.append(against_best("noisy quadratic", found, mark, 0.25))
    notes += [f"Noisy quadratic, six continuous pieces, {seeds} seeds: median "
              "cost to a loss of so much more than the optimum (0.25: within "
              "1.25 times of it); mean excess at a cost. `auto` is "
              f"`{found['auto']['algorithm']}`.",
              table(found, QUADRATIC_REGRETS, QUADRATIC_COSTS)]
    return found


def run(bench):
    seeds = 2 if bench.quick else 20
    rows, notes, data = [], [], {}
    for trainers in TRAINERS:
        found = searches(
            bench, "resnet", trainers, seeds,
            {who: (x, TRIALS.get(who.partition(",")[0], 80))
             for who, x in OURS.items()})
        data[trainers] = found
        rows += gates(found, trainers)
        notes += [f"{crew(trainers)}, {seeds} seeds: median cost, in full "
                  "trainings, to a regret; mean regret at a cost. `auto` is "
                  f"`{found['auto']['algorithm']}`.", table(found)]
    data["ranges"] = ranges(bench, rows, notes)
    data["quadratic"] = quadratic(bench, rows, notes)
    return Result(rows, notes=notes, data=data)
