"""Previews beside the runs that follow, and step times that are predicted

The two studies of the demo, on two trainers of one thread: `hippo profile`,
then `hippo preview` with what that has measured, then the run. And the times of
steps of three networks on two kinds of device, one and two threads, of which
each batch size is left out in turn and predicted from all the others.
"""

import json
import statistics

from harness import ROOT, Result, Row
from suite import studies

DEMO = ["lr-schedules.yaml", "lr-and-batch.yaml"]
NETWORKS = ["mlp", "cnn", "resnet"]
THREADS = [1, 2]
STUDY = """\
study: {name}
workload:
  name: fashion-{name}
  seed: 1
  data: {{train: 2048, validation: 256}}
objective: {{metric: val_accuracy}}
max_steps: 2
space:
  lr: 0.1
  batch_size: {{choice: [32, 64, 128, 256]}}
"""


def run(bench):
    paths = studies.files(bench, DEMO, ROOT / "examples" / "fashion-mnist")
    pairs = [previewed(bench, paths) for _ in range(bench.rounds)]
    rows = [error_row(f"the demo: {what}", [error(x[key], y[key])
                                            for x, y in pairs], aim)
            for what, key, aim in (("time to finish", "wall_seconds", 15),
                                   ("device time", "device_seconds", 10))]
    found = bench.json([bench.program("step_times"), *profiles(bench)])
    batches = errors(found["batches"])
    whole = errors(found["profiles"])
    rows += [error_row("a batch size left out: mean",
                       [statistics.fmean(batches)], 20),
             error_row("a batch size left out: largest", [max(batches)]),
             error_row("a workload left out on a kind: mean",
                       [statistics.fmean(whole)]),
             error_row("a workload left out on a kind: largest", [max(whole)])]
    notes = ["What was previewed and what the run then took, in seconds: "
             + "; ".join(f"{what} {x[key]:.1f} and {y[key]:.1f}"
                         for x, y in pairs
                         for what, key in (("time", "wall_seconds"),
                                           ("device time", "device_seconds")))
             + f". Of {len(batches)} step times, "
             f"{inside(found['batches'])} lie in the interval that came with "
             "the prediction."]
    return Result(rows, notes=notes, data={"runs": pairs, "steps": found})


def error_row(what, errors, aim=None):
    return Row(what, "% off", errors, more_is_better=False, aim=aim)


def error(predicted, measured):
    return 100 * abs(predicted / measured - 1)


def errors(predictions):
    return [error(x["predicted"], x["measured"]) for x in predictions]


def inside(predictions):
    return sum(1 / (1 + x["margin"]) <= x["measured"] / x["predicted"]
               <= 1 + x["margin"] for x in predictions)


def previewed(bench, paths):
    """Returns what the run of these studies is said to take, and what it does.
    """
    profile = bench.scratch / "profile.yaml"
    bench.output([bench.program("hippo"), "profile", paths[0], "--trainers",
                  "2", "--out", profile])
    told = json.loads(bench.output(
        [bench.program("hippo"), "preview", *paths, "--trainers", "2",
         "--profile", profile, "--format", "json"]))
    report = studies.hippo(bench, paths).report
    return told["times"]["merged"], {
        key: report[key] for key in ("wall_seconds", "device_seconds")}


def profiles(bench):
    """Measures each network on each kind of device. Returns their profiles."""
    result = []
    for name in NETWORKS[:2] if bench.quick else NETWORKS:
        study = bench.scratch / f"{name}.yaml"
        study.write_text(STUDY.format(name=name))
        for threads in THREADS:
            result.append(bench.scratch / f"{name}-{threads}.yaml")
            bench.output([bench.program("hippo"), "profile", study, "--threads",
                          str(threads), "--steps", "3", "--out", result[-1]])
    return result
