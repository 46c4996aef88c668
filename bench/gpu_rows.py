"""What bench/gpu measures: each of PARTS returns lines of its table, and notes
on them.
"""

import json
import re
import time

from harness import ROOT, Bench, Failed, Result, Row

STUDIES = ROOT / "bench" / "studies" / "gpu"

# The study of which the opponent trains every trial; see studies() below. On
# simulated trainers its trials need 7 % fewer steps than those of all do.
MEASURED = "momentum"


class GpuBench(Bench):
    """What a part is given.

    device: where both sides train
    lanes: of Hippo where it trains several trials at once
    precision: of both sides' residual networks
    seconds: of a measurement
    """

    def __init__(self, *args, device, lanes, precision, seconds, **flags):
        super().__init__(*args, **flags)
        self.device = device
        self.lanes = lanes
        self.precision = precision
        self.seconds = seconds or (0.1 if self.quick else 5)

    def ours(self, workload, batch, examples, *flags):
        """Examples per second of our trainer."""
        return self.json([self.program("trainer"), workload, batch, examples,
                          self.seconds, self.device,
                          *flags])["examples_per_second"]

    def theirs(self, script, workload, batch, examples, *flags):
        """Examples per second of a peer, or, if it is enough to look if ours
        works, why there is no figure.
        """
        try:
            return self.peer(
                script, "--workload", workload, "--batch-size", batch,
                "--examples", examples, "--seconds", self.seconds, "--device",
                self.device, *flags)["examples_per_second"]
        except Failed as failed:
            if not self.quick:
                raise
            if "No module named 'torch'" in str(failed):
                return "no PyTorch here"
            return "PyTorch cannot do it here"

    def against(self, what, unit, ours, opponent, theirs, aim):
        """A line of the table."""
        why = next((x for x in theirs if isinstance(x, str)), None)
        if why:
            return Row(what, unit, ours, why)
        return Row(what, unit, ours, opponent, theirs, aim=aim,
                   aim_of_ratio=True)


def precision_flags(name):
    """Of our programs; 32 bits is what they do anyway."""
    return [] if name == "float32" else ["--option", f"precision={name}"]


def networks(bench):
    """Residual networks: one trial, and a trial in each lane"""
    rows = []
    batch = 8 if bench.quick else 128
    examples = (2 if bench.quick else 100) * batch
    ours = precision_flags(bench.precision)
    theirs = ["--precision", bench.precision]
    for workload, aim in (("cifar-resnet20", 6), ("cifar-resnet56", 3)):
        sizes = (workload, batch, examples)
        found = bench.in_turn({
            "ours": lambda: bench.ours(*sizes, *ours),
            "eager": lambda: bench.theirs("train_network.py", *sizes, *theirs),
            "compiled": lambda: bench.theirs("train_network.py", *sizes,
                                             *theirs, "--compile"),
            "lanes": lambda: bench.ours(*sizes, *ours, "--option",
                                        f"lanes={bench.lanes}")})
        what = f"{workload}, batch {batch}, {bench.precision}"
        rows += [
            bench.against(what, "images/s", found["ours"], "PyTorch eager",
                          found["eager"], 2),
            bench.against(what, "images/s", found["ours"], "torch.compile",
                          found["compiled"], 1),
            bench.against(f"{what}, {bench.lanes} lanes", "images/s",
                          found["lanes"], "one at a time", found["ours"],
                          aim)]
    return Result(rows)


def bert(bench):
    """BERT: one trial"""
    workload, precision = "squad-bert-base", "bfloat16"
    batch, batches, length = 32, 10, 384
    if bench.quick:
        workload, precision = "squad-bert-tiny", "float32"
        batch, batches, length = 4, 2, 32
    sizes = (workload, batch, batches * batch)
    found = bench.in_turn({
        "ours": lambda: bench.ours(
            *sizes, "--option", f"data.length={length}", "--set",
            "dropout=0.1", *precision_flags(precision)),
        "eager": lambda: bench.theirs(
            "train_bert.py", *sizes, "--length", length, "--dropout", 0.1,
            "--precision", precision)})
    return Result([bench.against(
        f"{workload}, batch {batch} × {length}, {precision}", "sequences/s",
        found["ours"], "PyTorch eager, SDPA", found["eager"], 1.1)])


def stages(bench):
    """Between stages, and forks"""
    batch = 8 if bench.quick else 128
    # A stage is longer than it takes to write what the one before has left.
    examples = (2 if bench.quick else 40) * batch
    rows = []
    for workload in ("cifar-resnet20", "cifar-resnet56"):
        found = bench.json([
            bench.program("stages"), workload, 3 if bench.quick else 21,
            bench.device, batch, examples,
            *precision_flags(bench.precision)])
        what = f"{workload} ({found['mib']:.1f} MiB)"
        rows += [
            Row(f"{what}, between two stages of a path", "ms",
                [found["between"]], more_is_better=False, aim=1),
            Row(f"{what}, fork from a checkpoint just left", "ms",
                [found["fork"]], more_is_better=False, aim=5)]
    return Result(rows)


def study_files(bench):
    """Returns the eight studies' paths, of small ones if quick."""
    paths = sorted(STUDIES.glob("*.yaml"))
    if not bench.quick:
        return paths
    small = {"train": 32, "validation": 32, "max": 3, "trials": 3,
             "batch_size": 8}
    for path in paths:
        text = path.read_text()
        for name, number in small.items():
            text = re.sub(rf"\b{name}: \d+", f"{name}: {number}", text)
        (bench.scratch / path.name).write_text(text)
    return [bench.scratch / path.name for path in paths]


def run_studies(bench, name, paths, *flags):
    """Runs studies. Returns the whole program's seconds, and the report."""
    state = bench.scratch / name
    if bench.device == "cpu":
        flags = ["--trainers", 1, *flags]
    begin = time.perf_counter()
    bench.output([bench.program("hippo"), "run", *paths, "--device",
                  bench.device, "--quiet", "--state", state, *flags])
    seconds = time.perf_counter() - begin
    report = state / "report/latest/report.json"
    return seconds, json.loads(report.read_text())


def trials_of(report):
    return sum(len(study["trials"]) for study in report["studies"])


def studies(bench):
    """Eight overlapping studies, merged and in lanes, and one trial at a time

    The opponent would take very long, so it trains the trials of one study and
    is taken to need as many steps for each trial of the others, each in the
    time that its own took. Its start counts once.
    """
    paths = study_files(bench)
    seconds, merged = run_studies(bench, "merged", paths, "--lanes",
                                  bench.lanes)
    some_seconds, some = run_studies(
        bench, "alone", [x for x in paths if x.stem == MEASURED], "--lanes", 1,
        "--merge", "off")
    scale = trials_of(merged) / trials_of(some)
    device_seconds = some["device_seconds"] * scale
    wall_seconds = some_seconds + device_seconds - some["device_seconds"]
    what, alone = f"{len(paths)} studies of ResNet-20, ASHA", "one at a time"
    rows = [
        Row(f"{what}: time", "s", [seconds], alone, [wall_seconds],
            more_is_better=False, aim=10, aim_of_ratio=True),
        Row(f"{what}: GPU-seconds", "s", [merged["device_seconds"]], alone,
            [device_seconds], more_is_better=False),
        Row(f"{what}: epochs trained", "", [merged["trained_steps"]], alone,
            [some["trained_steps"] * scale], more_is_better=False)]
    return Result(rows, notes=[
        f"Of the studies' {trials_of(merged)} trials the opponent trained "
        f"{trials_of(some)}, those of {MEASURED}: {some['trained_steps']} "
        f"epochs in {some_seconds:.0f} s. Its figures are for all, in "
        f"proportion. Merging: p {merged['merge_rate']:.2f}, q "
        f"{merged['k_wise_merge_rate']:.2f}; the trials asked for "
        f"{merged['asked_steps']} epochs."])


PARTS = {"networks": networks, "bert": bert, "stages": stages,
         "studies": studies}
