#!/usr/bin/env python3
"""Runs studies with and without merging and compares what they cost.

    bench/merging.py HIPPO STUDY.yaml... [--trainers N] [--schedulers]
                     [--picture FILE.svg]

Prints, for each way, the steps trained, device time and wall time, how far the
wall time lies above the bound (time at work / trainers), and the ratios
against merging off, all of this one invocation. Says whether the results of
every trial were the same, digit for digit, in all of them. The picture, which
needs matplotlib, shows the best value of each study over time, with and
without merging.
"""

import argparse
import contextlib
import json
import sqlite3
import subprocess
import sys
import tempfile
import time

# Measurements in their order, as docs/state.md has it.
MEASURED = """
SELECT e.time, m.value FROM events e JOIN metrics m USING (workload, node, step)
JOIN studies s ON s.id = e.study
WHERE e.kind = 'measured' AND s.name = ? AND m.name = ? ORDER BY e.id"""


def run(hippo, studies, trainers, *flags):
    """Runs studies. Returns their report, in which each study has a `history`
    besides: the seconds from the start and the value of each new best."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.time()
        subprocess.run(
            [hippo, "run", *studies, "--trainers", str(trainers), "--quiet",
             "--state", folder + "/state", *flags],
            check=True, stdout=subprocess.DEVNULL)
        with open(folder + "/state/report/latest/report.json") as file:
            report = json.load(file)
        with contextlib.closing(sqlite3.connect(
                folder + "/state/hippo.db")) as state:
            for study in report["studies"]:
                study["history"] = [
                    (at - begin, value)
                    for at, value in improvements(study, state.execute(
                        MEASURED, (study["name"], study["metric"])))]
        return report


def improvements(study, measured):
    best = None
    better = max if study["direction"] == "maximize" else min
    for at, value in measured:
        if value is not None and (best is None or value != best
                                  and better(value, best) == value):
            best = value
            yield at, value


def draw(path, reports):
    """Draws the history of each study in each report, by its name."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "hippo"
    matplotlib.rcParams["svg.fonttype"] = "none"  # texts, not outlines
    from matplotlib import pyplot
    studies = [x["name"] for x in next(iter(reports.values()))["studies"]]
    figure, rows = pyplot.subplots(1, len(studies), figsize=(9, 3.2),
                                   sharex=True, squeeze=False,
                                   layout="constrained")
    for place, (name, axes) in enumerate(zip(studies, rows[0])):
        for (way, report), style in zip(reports.items(), ("--", "-")):
            study = report["studies"][place]
            end = report["wall_seconds"]
            points = [*study["history"], (end, study["history"][-1][1])]
            axes.step(*zip(*points), style, where="post", label=way)
        axes.set(title=name, xlabel="seconds", ylabel="best " + study["metric"])
        axes.grid(True, alpha=0.3)
        axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def results(report):
    return {(study["name"], trial["id"], result["step"]):
            json.dumps(result["metrics"], sort_keys=True)
            for study in report["studies"]
            for trial in study["trials"]
            for result in trial["results"]}


def row(name, report, base, trainers):
    overhead = report["overhead"]
    work = sum(overhead[x] for x in ("load", "train", "evaluate", "save"))
    print(f"{name:<24} {report['trained_steps']:>7} "
          f"{report['device_seconds']:>9.1f} {report['wall_seconds']:>8.1f} "
          f"{report['wall_seconds'] / (work / trainers):>7.3f} "
          f"{base['device_seconds'] / report['device_seconds']:>8.2f} "
          f"{base['wall_seconds'] / report['wall_seconds']:>8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hippo")
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--trainers", type=int, default=2)
    parser.add_argument("--schedulers", action="store_true",
                        help="compare the schedulers too")
    parser.add_argument("--picture", metavar="FILE.svg",
                        help="draw the best values over time")
    args = parser.parse_args()

    ways = [("merging off", ["--merge", "off"]), ("merging on", [])]
    if args.schedulers:
        ways += [("on, " + x, ["--scheduler", x])
                 for x in ("breadth-first", "trial")]
    print(f"{'':<24} {'steps':>7} {'device s':>9} {'wall s':>8} "
          f"{'/bound':>7} {'device x':>8} {'wall x':>8}")
    base = None
    same = True
    reports = {}
    for name, flags in ways:
        report = run(args.hippo, args.studies, args.trainers, *flags)
        reports[name] = report
        base = base or report
        row(name, report, base, args.trainers)
        common = results(report).keys() & results(base).keys()
        same = same and all(results(report)[x] == results(base)[x]
                            for x in common)
    if args.picture:
        draw(args.picture, {name: reports[name] for name, _ in ways[:2]})
    print("p", round(report["merge_rate"], 3),
          " q", round(report["k_wise_merge_rate"], 3))
    print("results equal, digit for digit:", "yes" if same else "NO")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
