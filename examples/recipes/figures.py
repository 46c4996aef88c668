#!/usr/bin/env python3
"""Prints the results of a study beside this file as a table of Markdown, and
draws them if there is matplotlib:

    python3 figures.py hippo-state/report/latest/report.json [PICTURE.svg]
"""

import collections
import json
import math
import sys

SETS = ("prose", "python", "perl")
TOLERANCE = 0.01  # of a loss, up to which a batch size does no harm
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]


def table(head, rows):
    """Prints a table; numbers that are not whole have four digits."""
    def text(x):
        return f"{x:.4f}" if isinstance(x, float) else str(x)
    for row in [head, ["---"] * len(head), *rows]:
        print("|", " | ".join(map(text, row)), "|")
    print()


def last_loss(trial, metric="val_loss"):
    return trial["results"][-1]["metrics"][metric]


def by_steps(trial):
    """The curve of a trial."""
    return ([x["step"] for x in trial["results"]],
            [x["metrics"]["val_loss"] for x in trial["results"]])


def cooldown_law(trials, axes):
    """Losses by length and shape, and a power law through the best."""
    found = collections.defaultdict(dict)
    for trial in trials:
        shape = trial["params"]["lr"]["wsd"]["shape"]
        found[trial["steps"]][shape] = last_loss(trial)
        axes and axes.plot(*by_steps(trial), color="#bbbbbb", linewidth=1)
    shapes = list(next(iter(found.values())))
    best = {steps: min(x.values()) for steps, x in found.items()}
    table(["steps", *shapes, "best"],
          [[steps, *x.values(), best[steps]] for steps, x in found.items()])
    xs, ys = [list(map(math.log, x)) for x in (best, best.values())]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = (sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys))
             / sum((x - x_mean) ** 2 for x in xs))
    print(f"loss = {math.exp(y_mean - slope * x_mean):.3f} "
          f"* steps ** {slope:.4f}\n")
    for shape, colour in zip(shapes, COLOURS):
        axes and axes.plot(list(found), [x[shape] for x in found.values()],
                           "o-", color=colour, label=shape)


def microanneals(trials, axes):
    """Losses by shares of the last tenth, the best mean first."""
    def share(trial, name):
        return trial["params"][name]["piecewise"][-1][-1]
    trials = sorted(trials, key=last_loss)
    table([*SETS, "val_loss", *(f"{x}_loss" for x in SETS)],
          [[*(f"{share(x, name):.1f}" for name in SETS), last_loss(x),
            *(last_loss(x, f"{name}_loss") for name in SETS)]
           for x in trials])
    for name, colour in zip(SETS, COLOURS):
        axes and axes.plot([share(x, name) for x in trials],
                           [last_loss(x, f"{name}_loss") for x in trials],
                           "o", color=colour, label=name)


def critical_batch_size(trials, axes):
    """Losses by state and batch size, and the largest one that does no harm."""
    found = collections.defaultdict(dict)
    for trial in trials:
        sizes = trial["params"]["batch_size"]
        size = sizes["piecewise"][-1][-1] if isinstance(sizes, dict) else sizes
        found[trial["steps"]][size] = last_loss(trial)
    rows = []
    for (steps, x), colour in zip(found.items(), COLOURS):
        sizes = sorted(x)
        least = min(x.values())
        harmless = max(s for s in sizes if x[s] <= least + TOLERANCE)
        rows.append([steps, *(x[s] for s in sizes), harmless])
        axes and axes.plot(sizes, [x[s] - least for s in sizes], "o-",
                           color=colour, label=f"step {steps}")
    table(["steps", *map(str, sizes), "largest harmless"], rows)
    if axes:
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, sizes)


# Of each study: its table, and the names of the picture's axes.
STUDIES = {
    "cooldown-law": (cooldown_law, "steps", "val_loss"),
    "microanneals": (microanneals, "share in the last tenth", "loss"),
    "critical-batch-size": (critical_batch_size, "batch size",
                            "val_loss above the best"),
}


def picture():
    """The axes of a picture, whose bytes depend on its content only."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("there is no matplotlib: pip install matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none",
                                "svg.hashsalt": "hippo", "font.size": 9})
    from matplotlib import pyplot
    return pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")


def main():
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        sys.exit("usage: figures.py REPORT.json [PICTURE.svg]")
    with open(sys.argv[1]) as file:
        report = json.load(file)
    study, = report["studies"]
    print(f"{study['name']}: p = {report['merge_rate']:.2f}, "
          f"{report['trained_steps']} steps trained of "
          f"{report['asked_steps']}, {report['wall_seconds']:.0f} s\n")
    draw, x, y = STUDIES[study["name"]]
    figure, axes = picture() if len(sys.argv) > 2 else (None, None)
    draw([x for x in study["trials"] if x["state"] == "COMPLETE"], axes)
    if axes:
        axes.set(xlabel=x, ylabel=y)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
        figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
