"""What searches find of real training, played from a table

fashion-mlp over 27 epochs, trained once by `bench/run --make-table`; all play
the tables of bench/data in virtual time, an epoch a minute.
"""

import csv
import pathlib
import statistics
import tempfile

import harness
import make_table
from harness import Result, Row

# Hours of virtual time by the number of workers: 960 and 2,400 epochs.
HOURS = {4: 4, 40: 1}

# The value to come to: this share of the way from the worst to the best.
SHARE = .99

SEEDS = 20

# A search of a peer that takes longer than these seconds is cut short, and
# those that take a minute or more, by the workers with which they do, are made
# with few seeds.
LIMIT = 120
SLOW = {"Syne Tune ASHABORE": [40], "Syne Tune ASHACQR": [4, 40],
        "Optuna GP, Hyperband": [4, 40]}
SLOW_SEEDS = 3

EARLY = "{{asha: {{eta: 3, min: {}{}}}}}"
OURS = {
    "auto": "auto",
    "asha": EARLY.format(1, ""),
    "asha, tpe": EARLY.format(1, ", sampler: tpe"),
    "asha from 3": EARLY.format(3, ""),
    "asha from 3, tpe": EARLY.format(3, ", sampler: tpe"),
    "asha from 9, gp": EARLY.format(9, ", sampler: gp"),
    "bohb": "bohb",
    "dehb": "dehb",
    "gp": "gp",
}

PEERS = {
    **{f"Syne Tune {x}": ("table_syne.py", x)
       for x in ["ASHA", "BOHB", "ASHABORE", "ASHACQR", "BORE", "CQR"]},
    "Optuna TPE, Hyperband": ("table_optuna.py", "tpe"),
    "Optuna GP, Hyperband": ("table_optuna.py", "gp"),
}

# Gates of the best of ours against the best peer, by space and workers.
GATES = {("schedules", 4): 3, ("schedules", 40): 2,
         ("ranges", 4): 1, ("ranges", 40): 1}

TITLES = {"schedules": "2,880 schedules", "ranges": "2,000 points of ranges"}


def simulated(bench, space, algorithm, workers, seed):
    """One search of ours: how its best got better, in virtual seconds."""
    horizon = HOURS[workers] * 3600
    gains = []
    with tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
        folder = pathlib.Path(folder)
        study = folder / "study.yaml"
        study.write_text(make_table.study_file(space).read_text()
                         + f"algorithm: {algorithm}\nseed: {seed}\n"
                         f"budget: {{seconds: {horizon}}}\n")
        bench.output([bench.program("hippo"), "simulate", study, "--trainers",
                      workers, "--profile", make_table.DATA / f"{space}.yaml",
                      "--report", folder / "report",
                      "--measurements", folder / "measured.csv"])
        with open(folder / "measured.csv", newline="") as file:
            for x in csv.DictReader(file):
                value = float(x["val_accuracy"])
                if not gains or value > gains[-1][1]:
                    gains.append([float(x["seconds"]), value])
    return {"gains": gains, "until": horizon}


def searches(bench, space, workers, seeds):
    """All searches of a space, as functions by name that return one course for
    each seed.
    """
    def ours(algorithm):
        return lambda: [simulated(bench, space, algorithm, workers, seed)
                        for seed in range(seeds)]

    def theirs(who, script, method):
        return lambda: bench.peer(
            script, make_table.DATA / f"{space}.csv",
            make_table.study_file(space), method, workers,
            HOURS[workers] * 3600, 10 if bench.quick else LIMIT,
            min(seeds, SLOW_SEEDS) if workers in SLOW.get(who, []) else seeds)

    return {**{who: ours(x) for who, x in OURS.items()},
            **{who: theirs(who, *x) for who, x in PEERS.items()}}


def bounds(space):
    """The worst and the best of a space after the last epoch."""
    with open(make_table.DATA / f"{space}.csv") as file:
        last = [float(line.rsplit(",", 1)[1]) for line in list(file)[1:]]
    last = [x if x == x else .1 for x in last]
    return min(last), max(last)


def time_to(search, mark):
    """The virtual hours to a value; infinite if it never came there."""
    for seconds, value in search["gains"]:
        if value >= mark:
            return seconds / 3600
    return float("inf")


def area(search, low, high, horizon):
    """The mean of the best so far over the time, where the worst of the space
    is 0 and its best 1; None if the search was cut short.
    """
    if search["until"] < .99 * horizon:
        return None
    total, best, since = 0, low, 0
    for seconds, value in search["gains"]:
        seconds = min(seconds, horizon)
        total += (best - low) * (seconds - since)
        best, since = max(best, value), seconds
    total += (best - low) * (horizon - since)
    return total / horizon / (high - low)


def figures(searches, space, workers):
    low, high = bounds(space)
    mark = low + SHARE * (high - low)
    areas = [area(x, low, high, HOURS[workers] * 3600) for x in searches]
    return {"to": [time_to(x, mark) for x in searches],
            "area": None if None in areas else statistics.fmean(areas),
            "cut": sum(x is None for x in areas)}


def hours(x):
    return "∞" if x == float("inf") else f"{x:.2f}"


def table(found):
    """One line for each search, spaces and numbers of workers side by side."""
    head = ["", *(f"{space}, {workers}: {what}" for space, workers in GATES
                  for what in ["hours", "area"])]
    lines = [head]
    for who in [*OURS, *PEERS]:
        line = [who]
        for at in GATES:
            x = found[at][who]
            to = sorted(x["to"])
            low, high = to[len(to) // 4], to[-1 - len(to) // 4]
            line += [f"{hours(statistics.median(to))} "
                     f"({hours(low)}–{hours(high)})",
                     "cut" if x["area"] is None else f"{x['area']:.4f}"]
        lines.append(line)
    return harness.markdown(lines)


def gate(found, space, workers):
    by_time = lambda who: statistics.median(found[who]["to"])
    ours, peer = min(OURS, key=by_time), min(PEERS, key=by_time)
    return Row(f"{space}, {workers} workers: {ours}", "h", [by_time(ours)],
               peer, [by_time(peer)], more_is_better=False,
               aim=GATES[space, workers], aim_of_ratio=True)


def run(bench):
    seeds = 1 if bench.quick else SEEDS
    raw, found, rows = {}, {}, []
    make_table.unpack()
    for space, workers in GATES:
        bench.say(f"{space}, {workers} workers")
        courses = bench.at_once(searches(bench, space, workers, seeds))
        raw[f"{space}, {workers}"] = courses
        found[space, workers] = {
            who: figures(x, space, workers) for who, x in courses.items()}
        rows.append(gate(found[space, workers], space, workers))
    notes = [
        "Median virtual hours to .99 of the range of the table (quartiles), "
        "and the mean of the best so far over "
        + ", ".join(f"{HOURS[w]} h with {w} workers" for w in HOURS)
        + f", 1 being the best of the table; {seeds} seeds, "
        f"{min(seeds, SLOW_SEEDS)} of "
        + ", ".join(f"{who} ({' and '.join(map(str, at))} workers)"
                    for who, at in SLOW.items())
        + ". "
        + "; ".join(f"{x}: {TITLES[x]}" for x in TITLES)
        + f". `cut`: a search took more than {LIMIT} s of this machine.",
        table(found)]
    return Result(rows, notes=notes, data=raw)
