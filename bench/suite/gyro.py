"""Gyro dropout against ordinary dropout and against PyTorch

256 subnetworks, 16 at once, half of the features dropped. Products by blocks: a
linear layer of 1024 x 1024 after dropout, forward and backward, 256 examples,
against one product of all features. Training: whole iterations on one thread,
where LibTorch in eager mode has the masks in memory and multiplies by them.
Accuracy: five seeds, with ordinary dropout as the opponent.
"""

import json

from harness import Result, Row

GYRO = {"dropout": 0.5, "subnetworks": 256}
# Workload, hidden layers, features of each, batch size, images, features of a
# block.
TRAINING = [("fashion-mlp", 2, 128, 64, 8192, 1),
            ("fashion-mlp", 2, 128, 256, 8192, 1),
            ("fashion-mlp-wide", 4, 1024, 256, 2048, 1),
            ("fashion-mlp-wide", 4, 1024, 256, 2048, 128)]


def run(bench):
    rounds = "5" if bench.quick else "25"
    lines = bench.output([bench.program("gyro"), "products", rounds])
    rows = []
    for x in map(json.loads, lines.splitlines()):
        rows.append(Row(f"1024 x 1024, blocks of {x['block']}", "ms",
                        [x["blocks_ms"]], "all features", [x["dense_ms"]],
                        more_is_better=False, aim_of_ratio=True,
                        aim=1.2 if x["block"] == 128 else None))
    seconds = 0.5 if bench.quick else 2
    for name, hidden, width, batch, images, block in TRAINING:
        values = {**GYRO, "dropout_block": block}
        changes = [y for pair in values.items() for y in
                   ("--set", "{}={}".format(*pair))]
        measured = bench.in_turn({
            "": lambda: bench.json(
                [bench.program("trainer"), name, batch, images, seconds,
                 *changes])["iterations_per_second"],
            "eager": lambda: bench.json(
                [bench.program("gyro"), "eager", hidden, width, batch, images,
                 seconds, block])["iterations_per_second"]},
            min(bench.rounds, 3))
        rows.append(Row(f"{name}, batch {batch}, blocks of {block}",
                        "iterations/s", measured[""], "LibTorch eager",
                        measured["eager"], aim=1, aim_of_ratio=True))
    found = bench.json([bench.program("gyro"), "accuracy",
                        *(["2", "2"] if bench.quick else [])])
    rows.append(Row("accuracy of fashion-mlp", "", found["gyro"],
                    "ordinary dropout", found["ordinary"]))
    return Result(rows)
