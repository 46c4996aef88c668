"""Iterations per second of the built-in workloads against PyTorch

One thread, SGD with momentum and weight decay, no augmentation and no dropout,
the same networks. Plain PyTorch is eager mode as one writes it; the best of it
has channels-last tensors, the fused optimiser and memory that is kept.
"""

import statistics

from harness import KEEPING_MEMORY, Result, Row

BATCHES = [32, 128, 512]
AIM = 1.2

# Enough images for some iterations, few enough for some epochs.
IMAGES = {"fashion-mlp": lambda batch: 8192,
          "fashion-cnn": lambda batch: max(16 * batch, 1024),
          "fashion-resnet": lambda batch: 8 * batch}


def run(bench):
    seconds = 0.5 if bench.quick else 2

    def ours(name, batch):
        return bench.json([bench.program("trainer"), name, batch,
                           IMAGES[name](batch),
                           seconds])["iterations_per_second"]

    def theirs(name, batch, *flags, **environment):
        return bench.peer("eager.py", "--workload", name, "--batch-size",
                          str(batch), "--images", str(IMAGES[name](batch)),
                          "--seconds", str(seconds), *flags,
                          **environment)["iterations_per_second"]

    rows, curves = [], {}
    for name in IMAGES:
        for batch in BATCHES[1:2] if bench.quick else BATCHES:
            flags = ["--channels-last", "--fused"]
            values = bench.in_turn({
                "": lambda: ours(name, batch),
                "PyTorch eager": lambda: theirs(name, batch),
                "PyTorch eager, at its best":
                    lambda: theirs(name, batch, *flags, **KEEPING_MEMORY)},
                min(bench.rounds, 3))
            for opponent in ("", "PyTorch eager, at its best"):
                curves.setdefault(
                    f"{name}, {opponent or 'Hippo'}", []).append(
                        (batch, batch * statistics.median(values[opponent])))
            own = values.pop("")
            rows += [Row(f"{name}, batch {batch}", "iterations/s", own,
                         opponent, figures, aim=AIM, aim_of_ratio=True)
                     for opponent, figures in values.items()]
            if batch != 128 or bench.quick:
                continue
            compiled = bench.in_turn(
                {"": lambda: theirs(name, batch, "--compile", *flags,
                                    **KEEPING_MEMORY)}, 1)[""]
            rows.append(Row(f"{name}, batch {batch}", "iterations/s", own[:1],
                            "torch.compile", compiled))
    return Result(rows, curves, ("batch size", "images/s"))
