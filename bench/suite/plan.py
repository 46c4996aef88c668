"""The search plan: inserting trials and choosing what to train next

In process. 200 combinations of schedules, and trials of which every one has a
weight decay of its own from step 60 on.
"""

from harness import Result, Row

SIZES = [1_000, 10_000, 100_000, 1_000_000]


def run(bench):
    sizes = SIZES[:2] if bench.quick else SIZES
    curves = {"insert": [], "decision, median": [], "decision, p99": []}
    rows = []

    def measured(trials, combinations):
        return [bench.json([bench.program("plan"), trials, combinations])
                for _ in range(bench.rounds)]

    def rates(runs):
        return [1e6 / x["insert_us"] for x in runs]

    few = measured(sizes[-1], 200)
    rows += [Row(f"insert {sizes[-1]:,} trials, 200 combinations", "trials/s",
                 rates(few), aim=200_000),
             Row("memory of the plan, 200 combinations", "bytes/trial",
                 [x["plan_bytes"] for x in few], more_is_better=False,
                 aim=500)]
    for size in sizes:
        runs = measured(size, size)
        for label, key in (("insert", "insert_us"),
                           ("decision, median", "decision_p50_us"),
                           ("decision, p99", "decision_p99_us")):
            values = sorted(x[key] for x in runs)
            curves[label].append((size, values[len(values) // 2]))
        if size == sizes[-1]:
            rows += [Row(f"insert {size:,} trials, all different", "trials/s",
                         rates(runs), aim=200_000),
                     Row("memory of plan and stage tree, all different",
                         "bytes/trial", [x["bytes"] for x in runs],
                         more_is_better=False, aim=500)]
        if size == 100_000 or bench.quick:
            rows += [Row(f"decision among {size:,} stages, {name}", "µs",
                         [x[f"decision_{name}_us"] for x in runs],
                         more_is_better=False, aim=aim)
                     for name, aim in (("p50", 20), ("p99", 1000))]
    return Result(rows, curves, ("trials, all different", "µs"))
