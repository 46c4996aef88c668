"""What searches find on functions for so many trainings

The tuner alone, one trial at a time, and the peers by their ask and tell.
"""

import statistics

import harness
from harness import Result, Row

MARKS = [20, 50, 100, 200]

# Of Optuna's Gaussian process, which takes a second for each trial or more.
GP_SEEDS = 3
GP_MARKS = MARKS[:2]

OURS = {
    "random": "random",
    "tpe": "tpe",
    "gp": "gp",
    "sha": "sha",
    "asha": "asha",
    "asha, stopping": "{asha: {mode: stopping}}",
    "asha, tpe": "{asha: {sampler: tpe}}",
    "asha, gp": "{asha: {sampler: gp}}",
    "hyperband": "{hyperband: {order: in-turn}}",
    "bohb": "bohb",
    "boss": "boss",
    "median": "median",
    "dehb": "dehb",
    "dehb, first-round": "{dehb: {promote: first-round}}",
}

NAMES = {"hartmann3": "Hartmann3", "hartmann6": "Hartmann6",
         "branin": "Branin", "ones4": "ones 4+4", "ones8": "ones 8+8",
         "ones16": "ones 16+16"}

# Of mean regrets: DEHB by the paper's rule at cost 100 against random values;
# DEHB at cost 200; BOSS at cost 100 against random values.
FIRST_ROUND = dict(zip(NAMES, [.25, .6, .75, .6, .75, .85]))
ALWAYS = dict(zip(NAMES, [.002, .20, .015, .025, .08, .155]))
BOSS = {"hartmann3": .1, "branin": .5, "hartmann6": .4}

# Functions of which half of the space fails.
HALF_FAIL = {"branin-disc": "Branin, within a disc",
             "hartmann6-plane": "Hartmann6, off a plane",
             "hartmann3-edge": "Hartmann3, best at the edge",
             "ones4-pair": "ones 4+4, by two choices"}

# Functions with a constraint, and the costs at which they are looked at.
LIMITED = {"gardner-waves": "Gardner, waves", "gardner-slope": "Gardner, slope",
           "hartmann6-ball": "Hartmann6, in a ball"}
LIMITED_MARKS = [20, 50, 100]
LIMITED_ALGORITHMS = ["gp", "tpe", "random"]

BANDIT_PULLS = [1_000, 10_000]


def at(regrets, mark):
    """The regrets of all seeds at a mark; None where there is none yet, or it
    was not tried.
    """
    return [dict(zip(MARKS, x)).get(mark) for x in regrets]


def mean(regrets, mark):
    found = at(regrets, mark)
    return float("inf") if None in found else statistics.fmean(found)


def shown(x):
    return f"{x:.2g}" if x >= .001 or x == 0 else f"{x:.0e}"


def quartiles(found):
    """Median, and the quartiles beside it."""
    if None in found:
        return "–"
    if len(found) < 2:
        return shown(found[0])
    low, middle, high = statistics.quantiles(found, method="inclusive")
    return f"{shown(middle)} ({shown(low)}–{shown(high)})"


def regret_table(function, found):
    lines = [["", *(f"{mark}" for mark in MARKS), "seeds"]]
    for who, by_function in found.items():
        regrets = by_function.get(function)
        if regrets:
            lines.append([who, *(quartiles(at(regrets, mark))
                                 for mark in MARKS), str(len(regrets))])
    text = harness.markdown(lines)
    return f"{NAMES[function]}:\n\n{text}"


def times(found, ours, theirs, function, mark, gate):
    """A row that says how many times less our mean regret is at a mark; by the
    gate at least 1 / gate.
    """
    return Row(f"{ours}: {NAMES[function]} at {mark}", "",
               [mean(found[ours][function], mark)], theirs,
               [mean(found[theirs][function], mark)], more_is_better=False,
               aim=1 / gate, aim_of_ratio=True)


def gates(found):
    rows = [times(found, "dehb, first-round", "random", x, 100, gate)
            for x, gate in FIRST_ROUND.items()]
    rows += [Row(f"dehb: {NAMES[x]} at 200", "", [mean(found["dehb"][x], 200)],
                 "first-round", [mean(found["dehb, first-round"][x], 200)],
                 more_is_better=False, aim=gate)
             for x, gate in ALWAYS.items()]
    rows += [times(found, "boss", "random", x, 100, gate)
             for x, gate in BOSS.items()]
    for x in NAMES: # where it is the worst
        by_mark = [times(found, "gp", "tpe", x, mark, 1) for mark in MARKS]
        rows.append(min(by_mark, key=lambda row: row.ratios()[0]))
    return rows


def bandit_rows(bench, seeds):
    rows, notes = [], []
    for arms in ["gaussian", "bernoulli"]:
        by = {rule: bench.json([bench.program("search"), "bandit", arms, rule,
                                seeds, *BANDIT_PULLS])
              for rule in ["sub-sampling", "ucb1"]}
        late = {rule: statistics.fmean(y[-1] for y in x["regret"])
                for rule, x in by.items()}
        early = statistics.fmean(y[0] for y in by["sub-sampling"]["regret"])
        rows.append(Row(f"sub-sampling: {arms} arms, 10,000 pulls", "",
                        [late["sub-sampling"]], "UCB1", [late["ucb1"]],
                        more_is_better=False, aim=1, aim_of_ratio=True))
        rows.append(Row("the same by that after 1,000", "×",
                        [late["sub-sampling"] / early if early else 1],
                        more_is_better=False, aim=2.2))
        notes.append(f"{arms}: {early:.0f} after 1,000 pulls; every arm was "
                     + ("" if by["sub-sampling"]["forgets_none"]
                        else "**not** ")
                     + "pulled sqrt(ln n) - 1 times or more.")
    return rows, notes


def failure_rows(bench, seeds):
    """Failed trials, where half of the space fails."""
    found = bench.at_once({
        (x, who): lambda x=x, who=who: bench.json([
            bench.program("search"), "run", x, who, seeds, *MARKS[:3]])
        for x in HALF_FAIL for who in ["gp", "random"]})
    lines = [["", *(f"{who}: {what}" for who in ["gp", "random"]
                    for what in ["failed", "regret"])]]
    rows = []
    for x, name in HALF_FAIL.items():
        line, failed = [name], {}
        for who in ["gp", "random"]:
            regrets = found[x, who]["regret"]
            failed[who] = [statistics.fmean(y)
                           for y in zip(*found[x, who]["failed"])]
            line += ["; ".join(f"{y:.1f}" for y in failed[who]),
                     "; ".join(shown(mean(regrets, mark))
                               for mark in MARKS[:3])]
        lines.append(line)
        rows.append(Row(f"gp: failed trials of {MARKS[2]}, {name}", "",
                        failed["gp"][-1:], "random", failed["random"][-1:],
                        more_is_better=False, aim=3, aim_of_ratio=True))
    return rows, ["Half of the space fails. Failed trials and mean regret "
                  f"after {MARKS[0]}, {MARKS[1]} and {MARKS[2]} trainings:",
                  harness.markdown(lines)]


def limited_rows(bench, seeds):
    """Regrets of the best that keeps a constraint."""
    found = bench.at_once({
        (x, who): lambda x=x, who=who: bench.json([
            bench.program("search"), "run", x, who, seeds, *LIMITED_MARKS])
        for x in LIMITED for who in LIMITED_ALGORITHMS})
    lines = [["", *(f"{who} at {mark}" for who in LIMITED_ALGORITHMS
                    for mark in LIMITED_MARKS)]]
    rows = []
    for x, name in LIMITED.items():
        # Without one that keeps the constraint there is no regret.
        medians = {who: [statistics.median(float("inf") if z is None else z
                                           for z in y)
                         for y in zip(*found[x, who]["regret"])]
                   for who in LIMITED_ALGORITHMS}
        lines.append([name, *("–" if y == float("inf") else shown(y)
                              for who in LIMITED_ALGORITHMS
                              for y in medians[who])])
        rows.append(Row(f"gp: median regret at {LIMITED_MARKS[1]}, {name}", "",
                        [medians["gp"][1]], "tpe", [medians["tpe"][1]],
                        more_is_better=False, aim=1, aim_of_ratio=True))
    return rows, ["Functions with a constraint: median regret of the best "
                  "that keeps it.", harness.markdown(lines)]


def searches(bench):
    """All searches, as functions by function and name that return regrets."""
    seeds = 2 if bench.quick else 20
    program = bench.program("search")
    harness.make_venv(harness.DEHB_VENV, harness.DEHB_PACKAGES)
    dehb = harness.DEHB_VENV / "bin" / "python"
    optuna = [bench.python, harness.PEERS / "search_optuna.py", program]
    commands = {
        **{who: lambda x, algorithm=algorithm: [
            program, "run", x, algorithm, seeds, *MARKS]
           for who, algorithm in OURS.items()},
        "DEHB 0.1.2": lambda x: [
            dehb, harness.PEERS / "search_dehb.py", program, x, seeds, *MARKS],
        "Optuna TPE": lambda x: [*optuna, "tpe", x, seeds, *MARKS],
        "Optuna GP": lambda x: [
            *optuna, "gp", x, min(seeds, GP_SEEDS), *GP_MARKS]}
    return {(x, who): lambda command=command, x=x: bench.json(
                command(x))["regret"]
            for who, command in commands.items() for x in NAMES}


def run(bench):
    found = {}
    for (x, who), regret in bench.at_once(searches(bench)).items():
        found.setdefault(who, {})[x] = regret
    rows, notes = bandit_rows(bench, 2 if bench.quick else 12)
    failures, failure_notes = failure_rows(bench, 2 if bench.quick else 20)
    limited, limited_notes = limited_rows(bench, 2 if bench.quick else 20)
    return Result([*gates(found), *failures, *limited, *rows],
                  notes=["Figures are means over seeds. "
                         "Median regret (quartiles) at a cost of so many "
                         "trainings in full:",
                         *(regret_table(x, found) for x in NAMES),
                         *failure_notes, *limited_notes, *notes],
                  data=found)
