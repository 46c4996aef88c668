#!/usr/bin/env python3
"""Runs studies with and without merging and compares what they cost.

    bench/merging.py HIPPO STUDY.yaml... [--trainers N] [--schedulers]

Prints, for each way, the steps trained, device time and wall time, how far the
wall time lies above the bound (time at work / trainers), and the ratios
against merging off, all of this one invocation. Says whether the results of
every trial were the same, digit for digit, in all of them.
"""

import argparse
import json
import subprocess
import sys
import tempfile


def run(hippo, studies, trainers, *flags):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [hippo, "run", *studies, "--trainers", str(trainers), "--quiet",
             "--state", folder + "/state", *flags],
            check=True, stdout=subprocess.DEVNULL)
        with open(folder + "/state/report/latest/report.json") as report:
            return json.load(report)


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
    args = parser.parse_args()

    ways = [("merging off", ["--merge", "off"]), ("merging on", [])]
    if args.schedulers:
        ways += [("on, " + x, ["--scheduler", x])
                 for x in ("breadth-first", "trial")]
    print(f"{'':<24} {'steps':>7} {'device s':>9} {'wall s':>8} "
          f"{'/bound':>7} {'device x':>8} {'wall x':>8}")
    base = None
    same = True
    for name, flags in ways:
        report = run(args.hippo, args.studies, args.trainers, *flags)
        base = base or report
        row(name, report, base, args.trainers)
        common = results(report).keys() & results(base).keys()
        same = same and all(results(report)[x] == results(base)[x]
                            for x in common)
    print("p", round(report["merge_rate"], 3),
          " q", round(report["k_wise_merge_rate"], 3))
    print("results equal, digit for digit:", "yes" if same else "NO")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
