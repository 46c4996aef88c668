"""Iterations per second of the click model against PyTorch

One thread, 26 tables of 1,000 embeddings of 16, hidden layers of 64, plain SGD.
PyTorch is eager mode after the reference's code (Naumov et al., 2019). Four
parts train by as many impressions as one model does.
"""

from harness import Result, Row

IMPRESSIONS = 20480


def run(bench):
    seconds = 0.5 if bench.quick else 3

    def ours(batch, parts=1, **values):
        changes = [y for name, value in values.items()
                   for y in ("--set", f"{name}={value}")]
        return bench.json(
            [bench.program("trainer"), "clicks-dlrm", batch // parts,
             IMPRESSIONS, seconds, "--option", f"data.step={IMPRESSIONS}",
             "--option", f"parts={parts}", *changes])["examples_per_second"]

    def theirs(batch, gradients):
        return bench.peer("dlrm.py", str(batch), str(IMPRESSIONS),
                          str(seconds), gradients)["examples_per_second"]

    rows = []
    for batch in [128] if bench.quick else [128, 1024]:
        measured = bench.in_turn({
            "": lambda: ours(batch),
            "PyTorch, dense gradients": lambda: theirs(batch, "dense"),
            "PyTorch, sparse gradients": lambda: theirs(batch, "sparse")},
            min(bench.rounds, 3))
        own = measured.pop("")
        rows += [Row(f"batch {batch}", "impressions/s", own, opponent, figures,
                     aim=1, aim_of_ratio=True)
                 for opponent, figures in measured.items()]
    measured = bench.in_turn({
        "one": lambda: ours(128),
        **{sync: lambda sync=sync, lag=lag: ours(
            128, 4, sync=sync, sync_every=30, sync_lag=lag)
           for sync, lag in [("step", 0), ("average", 25), ("elastic", 25),
                             ("bmuf", 25)]}}, min(bench.rounds, 3))
    own = measured.pop("one")
    rows += [Row(f"4 parts of 32, sync {sync}", "impressions/s", figures,
                 "one model, batch 128", own)
             for sync, figures in measured.items()]
    return Result(rows)
