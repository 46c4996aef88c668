"""What a stage costs beside its steps

Two studies on Fashion-MNIST, those of the demo: where the time of two trainers
went. Each built-in workload by itself: what is between the steps of two stages
of a path where the first one leaves a checkpoint, and the start from a
checkpoint. And reading and writing one of 256 MiB, in a folder and over the
network, against copying such a file.
"""

import json
import subprocess

from harness import ROOT, Result, Row

STUDIES = [ROOT / "examples" / "fashion-mnist" / name
           for name in ("lr-schedules.yaml", "lr-and-batch.yaml")]


def overhead(bench):
    """Runs the demo; returns the report."""
    state = bench.scratch / "state"
    subprocess.run([bench.program("hippo"), "run", *STUDIES, "--trainers", "2",
                    "--quiet", "--state", state], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads((state / "report" / "latest" / "report.json").read_text())


def run(bench):
    report = overhead(bench)
    spent = report["overhead"]
    whole = sum(spent.values())
    beside = spent["load"] + spent["save"] + spent["dispatch"]
    rows = [
        Row("load, save and dispatch, of all device time", "%",
            [100 * beside / whole], more_is_better=False, aim=1),
        Row("idle, of all device time", "%", [100 * spent["idle"] / whole],
            more_is_better=False)]
    rows += [Row(f"{name}, for each step trained", "ms",
                 [1000 * spent[name] / report["trained_steps"]],
                 more_is_better=False)
             for name in ("load", "evaluate", "save", "dispatch")]
    for name in ("fashion-mlp", "fashion-cnn", "fashion-resnet"):
        costs = bench.json([bench.program("stages"), name,
                            "3" if bench.quick else "11"])
        first = f"{name} ({costs['mib']:.1f} MiB)"
        rows.append(Row(f"{first}, between two stages of a path", "ms",
                        [costs["between"]], more_is_better=False, aim=2))
        rows += [Row(f"{first}, start from {where}", "ms", [costs[where]],
                     more_is_better=False)
                 for where in ("memory", "disk", "network")]
    rounds = "1" if bench.quick else "5"
    rates = bench.json([bench.program("transfer"), "256", rounds])
    rows += [Row(f"{what} a checkpoint, {where}", "MB/s",
                 [rates[f"{what}_{where}"]], "cp", [rates["copy"]])
             for what in ("write", "read") for where in ("folder", "depot")]
    return Result(rows, notes=[
        f"{report['trained_steps']} steps trained, {whole:.1f} s of device "
        "time. Measured once; the costs of workloads are medians of eleven, "
        "transfers of five."])
