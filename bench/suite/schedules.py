"""What searches find among schedules for so much training

About 20,000 ResNet-56 schedules on the simulated curve, merged.
"""

import statistics

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

PRICED, UNPRICED, TPE = "asha, gp, price", "asha, gp, off", "asha, tpe"
MARK = REGRETS.index(0.0067)


def cost_to(found, mark):
    """The median cost to a regret; a seed that never came there has infinite
    cost.
    """
    return statistics.median(float("inf") if x[mark] is None else x[mark]
                             for x in found["cost_to_regret"])


def regret_at(found, mark):
    return statistics.fmean(x[mark] for x in found["regret_at_cost"])


def table(found):
    lines = [["", *(f"to {x}" for x in REGRETS), *(f"at {x}" for x in COSTS)]]
    for who, x in found.items():
        lines.append([
            who,
            *(f"{cost_to(x, i):.2f}" for i in range(len(REGRETS))),
            *(f"{regret_at(x, i):.5f}" for i in range(len(COSTS)))])
    widths = [max(len(line[i]) for line in lines)
              for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(x.ljust(width) for x, width in
                                       zip(line, widths)) + " |"
                     for line in lines)


def gates(found, trainers):
    def against(what, ours, theirs, mark, aim):
        return Row(f"{what} to {REGRETS[mark]}, {trainers} trainers",
                   "trainings", [cost_to(found[ours], mark)], theirs,
                   [cost_to(found[theirs], mark)], more_is_better=False,
                   aim=aim, aim_of_ratio=True)

    rows = [against(PRICED, PRICED, UNPRICED, i, 1.4 if i == MARK else 1 / 1.05)
            for i in range(len(REGRETS))]
    rows += [against(UNPRICED, UNPRICED, TPE, i, 1)
             for i in range(len(REGRETS))]
    best = min((who for who in found if who != "auto"),
               key=lambda who: cost_to(found[who], MARK))
    rows.append(against("auto", "auto", best, MARK, 1 / 1.1))
    return rows


def run(bench):
    seeds = 2 if bench.quick else 20
    rows, notes, data = [], [], {}
    for trainers in TRAINERS:
        found = {}
        for who, algorithm in OURS.items():
            bench.say(f"{trainers} trainers: {who}")
            found[who] = bench.json([
                bench.program("schedules"), algorithm, trainers, seeds,
                TRIALS.get(who.partition(",")[0], 80)])
        data[trainers] = found
        rows += gates(found, trainers)
        notes += [f"{trainers} trainers, {seeds} seeds: median cost, in full "
                  "trainings, to a regret; mean regret at a cost. `auto` is "
                  f"`{found['auto']['algorithm']}`.", table(found)]
    return Result(rows, notes=notes, data=data)
