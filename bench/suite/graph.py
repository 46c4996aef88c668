"""Batches of graphs, prepared in advance, and GraphSAGE against PyTorch

A stochastic block model of 20,000 nodes. In advance: the time of epochs with a
thread that prepares batches, by the sum of the times to prepare and to train
them, with hidden layers of 16, where both are about equal. Training: iterations
with hidden layers of 128 per second of processor time, of drawn neighbours and
of all, where PyTorch multiplies by sparse matrices.
"""

from harness import KEEPING_MEMORY, Result, Row

OPTIONS = {"data.nodes": 20000, "data.classes": 32, "data.within": 0.02,
           "data.between": 0.0002, "hidden": 128}
# Fanouts, and nodes of a batch; all: the whole graph is one batch.
TRAINING = [("15,10", 10000, 512), ("all", 19000, 19000)]


def run(bench):
    found = bench.json([bench.program("graph"),
                        *(["1", "1"] if bench.quick else []),
                        "--option", "hidden=16"])
    both = found["prepare_seconds"] + found["train_seconds"]
    rows = [Row("epochs with batches in advance", "s", [found["seconds"]],
                "one after the other", [both], more_is_better=False,
                aim=1 / 0.75, aim_of_ratio=True)]
    seconds = 0.5 if bench.quick else 3
    changes = [y for pair in OPTIONS.items() for y in
               ("--option", "{}={}".format(*pair))]
    for fanouts, nodes, batch in TRAINING:
        drawn = [] if fanouts == "all" else ["--fanouts", *fanouts.split(",")]
        measured = bench.in_turn({
            "": lambda: bench.json(
                [bench.program("trainer"), "graph-sage", batch, nodes, seconds,
                 *changes, "--set", f"fanouts={fanouts}"])[
                     "iterations_per_processor_second"],
            "PyTorch": lambda: bench.peer(
                "graph_sage.py", "--train", str(nodes), "--batch-size",
                str(batch), "--seconds", str(seconds), *drawn,
                **KEEPING_MEMORY)["iterations_per_processor_second"]},
            min(bench.rounds, 3))
        rows.append(Row(f"GraphSAGE, fanouts {fanouts}, batch {batch}",
                        "iterations per second of processor time",
                        measured[""], "PyTorch", measured["PyTorch"], aim=1,
                        aim_of_ratio=True))
    return Result(rows)
