"""Trains every combination of the studies of `bench/run table` with Hippo,
merged, and writes what was measured to bench/data, for simulations to play
(docs/simulation.md): by `bench/run --make-table`.
"""

import csv
import gzip
import io
import json
import pathlib
import sys
import tempfile

from harness import ROOT

DATA = ROOT / "bench" / "data"
NAMES = ["schedules", "ranges"]


def study_file(name):
    return ROOT / "bench" / "studies" / f"table_{name}.yaml"


def unpack():
    """Unpacks the tables beside their archives, where profiles look for them.
    """
    for name in NAMES:
        (DATA / f"{name}.csv").write_bytes(gzip.decompress(
            (DATA / f"{name}.csv.gz").read_bytes()))


def cell(value):
    """A value as a study file writes it."""
    return json.dumps(value, separators=(",", ":"))


def measured(trial, metric, steps):
    """What a trial measured after each step; nan once it had diverged."""
    found = {x["step"]: x["metrics"][metric] for x in trial["results"]}
    if trial["failure"] and "diverged" not in trial["failure"]:
        sys.exit(f"trial {trial['id']}: {trial['failure']}")
    if not trial["failure"] and len(found) < steps:
        sys.exit(f"trial {trial['id']} has {len(found)} results of {steps}")
    return [f"{found[step]:.6g}" if step in found else "nan"
            for step in range(1, steps + 1)]


def write(study, path):
    """Writes the table of a study of a report, packed."""
    metric = study["metric"]
    trials = study["trials"]
    steps = max(x["steps"] for x in trials)
    names = [x for x in trials[0]["params"]
             if any(y["params"][x] != trials[0]["params"][x] for y in trials)]
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*names, *(f"{metric}@{step}"
                            for step in range(1, steps + 1))])
    for trial in trials:
        out.writerow([*(cell(trial["params"][x]) for x in names),
                      *measured(trial, metric, steps)])
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def make(bench, trainers=2):
    for name in NAMES:
        with tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
            folder = pathlib.Path(folder)
            study = folder / "study.yaml"
            study.write_text(study_file(name).read_text()
                             + "algorithm: grid\n")
            bench.say(f"training {name}")
            bench.output([bench.program("hippo"), "run", study, "--quiet",
                          "--trainers", trainers, "--threads", 1,
                          "--state", folder / "state",
                          "--report", folder / "report",
                          "--trainer-program",
                          bench.program("hippo-trainer")])
            report = json.loads((folder / "report" / "report.json")
                                .read_text())
        write(report["studies"][0], DATA / f"{name}.csv.gz")
        bench.say(f"{name}: {len(report['studies'][0]['trials'])} trials, "
                  f"merge rate {report['merge_rate']:.2f}, "
                  f"{report['wall_seconds']:.0f} s")
