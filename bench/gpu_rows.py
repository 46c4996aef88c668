"""What bench/gpu measures: each of PARTS returns lines of its table, and notes
on them.
"""

import json
import re
import time

from harness import ROOT, Bench, Failed, Result, Row

STUDIES = ROOT / "bench" / "studies" / "gpu"

PRECISIONS = ["float32", "tf32", "bfloat16"]

# The study of which the opponent trains every trial; see studies() below. On
# simulated trainers its trials need 7 % fewer steps than those of all do.
MEASURED = "momentum"

# Two studies that overlap, of which every trial is trained on both sides.
PAIR = ("momentum", "smoothing")


class GpuBench(Bench):
    """What a part is given.

    device: where both sides train
    leases: how many Hippo trains at once where it trains several
    precisions: of the residual networks; the first is that of all parts
    seconds: of a measurement
    """

    def __init__(self, *args, device, leases, precisions, seconds, **flags):
        super().__init__(*args, **flags)
        self.device = device
        self.leases = leases
        self.precisions = precisions
        self.seconds = seconds or (0.1 if self.quick else 5)

    def ours(self, workload, batch, examples, *flags, leases=1):
        """Examples per second of our trainer, of so many leases at once."""
        return self.json([self.program("trainer"), workload, batch, examples,
                          self.seconds, self.device, leases,
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
    """Residual networks: one trial, and several at once

    In 32 bits of either kind the opponent is PyTorch as it comes: with TF32
    convolutions.
    """
    rows = []
    batch = 8 if bench.quick else 128
    sizes = batch, (2 if bench.quick else 25) * batch
    for workload in ("cifar-resnet20", "cifar-resnet56"):
        peers = {}
        for precision in bench.precisions:
            ours = precision_flags(precision)
            usual = "bfloat16" if precision == "bfloat16" else "tf32"
            sides = {
                "ours": lambda: bench.ours(workload, *sizes, *ours),
                "at once": lambda: bench.ours(workload, *sizes, *ours,
                                              leases=bench.leases)}
            if usual not in peers:
                theirs = [workload, *sizes, "--precision", usual]
                sides |= {
                    "eager": lambda: bench.theirs("train_network.py", *theirs),
                    "compiled": lambda: bench.theirs("train_network.py",
                                                     *theirs, "--compile")}
            found = bench.in_turn(sides)
            peers.setdefault(usual, found)
            what = f"{workload}, batch {batch}, {precision}"
            rows += [
                bench.against(f"{what}, {bench.leases} at once", "images/s",
                              found["at once"], "one at a time",
                              found["ours"], 3),
                bench.against(what, "images/s", found["ours"],
                              f"PyTorch eager, {usual}", peers[usual]["eager"],
                              2),
                bench.against(what, "images/s", found["ours"],
                              f"torch.compile, {usual}",
                              peers[usual]["compiled"], 1)]
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
            *precision_flags(bench.precisions[0])])
        what = f"{workload} ({found['mib']:.1f} MiB)"
        rows += [
            Row(f"{what}, between two stages of a path", "ms",
                [found["between"]], more_is_better=False, aim=1),
            Row(f"{what}, fork from a checkpoint just left", "ms",
                [found["fork"]], more_is_better=False, aim=5)]
    return Result(rows)


def study_files(bench):
    """Returns the eight studies' paths, in the precision of all parts, and of
    small ones if quick; then those of the pair, whose algorithm does not depend
    on which result comes first.
    """
    numbers = {}
    if bench.quick:
        numbers = {"train": 32, "validation": 32, "max": 3, "trials": 3,
                   "batch_size": 8}
    eight, pair = [], []
    for path in sorted(STUDIES.glob("*.yaml")):
        text = path.read_text()
        if bench.precisions[0] != "float32":
            text = text.replace("  name: cifar-resnet20\n",
                                "  name: cifar-resnet20\n  precision: "
                                f"{bench.precisions[0]}\n")
        for name, number in numbers.items():
            text = re.sub(rf"\b{name}: \d+", f"{name}: {number}", text)
        eight.append(bench.scratch / path.name)
        eight[-1].write_text(text)
        if path.stem in PAIR:
            pair.append(bench.scratch / f"pair-{path.name}")
            pair[-1].write_text(text.replace("{asha:", "{sha:"))
    return eight, pair


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


def results_of(report):
    """What each trial of each study has measured."""
    return {study["name"]: {trial["id"]: trial["results"]
                            for trial in study["trials"]}
            for study in report["studies"]}


def trials_of(report):
    return sum(len(study["trials"]) for study in report["studies"])


def studies(bench):
    """Overlapping studies, merged and at once, against none of that

    Two studies are trained without merging, too, as many leases at once; eight
    without merging and one trial at a time. That would take very long, so that
    opponent trains the trials of one study and is taken to need as many steps
    for each trial of the others, each in the time that its own took. Its start
    counts once.
    """
    paths, pair = study_files(bench)
    both = ("--at-once", bench.leases)
    pair_seconds, pair_merged = run_studies(bench, "pair", pair, *both)
    pair_alone_seconds, pair_alone = run_studies(
        bench, "pair-alone", pair, *both, "--merge", "off")
    if results_of(pair_merged) != results_of(pair_alone):
        raise Failed("failed: merged studies have other results")
    seconds, merged = run_studies(bench, "merged", paths, *both)
    some_seconds, some = run_studies(
        bench, "alone", [x for x in paths if x.stem == MEASURED], "--at-once",
        1, "--merge", "off")
    scale = trials_of(merged) / trials_of(some)
    device_seconds = some["device_seconds"] * scale
    wall_seconds = some_seconds + device_seconds - some["device_seconds"]
    what, alone = f"{len(paths)} studies of ResNet-20, ASHA", "one at a time"
    two = f"{len(pair)} studies of ResNet-20, SHA, {bench.leases} at once"
    rows = [
        Row(f"{two}: time", "s", [pair_seconds], "not merged",
            [pair_alone_seconds], more_is_better=False, aim=1 / 0.6,
            aim_of_ratio=True),
        Row(f"{two}: epochs trained", "", [pair_merged["trained_steps"]],
            "not merged", [pair_alone["trained_steps"]],
            more_is_better=False),
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
