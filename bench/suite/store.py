"""The state folder: results made durable, and read again

In process, against appending as many bytes to a file and syncing it.
"""

from harness import Result, Row

SIZES = [1_000, 10_000, 100_000]
AIMS = {1: 2_000, 100: 20_000}


def run(bench):
    sizes = SIZES[:2] if bench.quick else SIZES
    runs = {size: [bench.json([bench.program("store"), size, bench.scratch])
                   for _ in range(min(bench.rounds, 3))] for size in sizes}
    rows = []
    for i, group in enumerate((1, 10, 100, 1000)):
        pairs = [x["groups"][i] for x in runs[sizes[-1]]]
        rows.append(Row(f"results in groups of {group}", "results/s",
                        [x["results_per_second"] for x in pairs],
                        "a synced file",
                        [x["file_results_per_second"] for x in pairs],
                        aim=AIMS.get(group)))
    rows += [Row(what, "results/s", [x[key] for x in runs[sizes[-1]]])
             for what, key in (("plan loaded", "plan_results_per_second"),
                               ("events read", "events_per_second"))]
    rows.append(Row("database", "bytes/result",
                    [x["bytes"] for x in runs[sizes[-1]]],
                    more_is_better=False))

    def curve(get):
        return [(size, sorted(map(get, runs[size]))[len(runs[size]) // 2])
                for size in sizes]

    return Result(rows, {
        "written, groups of 1000":
            curve(lambda x: x["groups"][3]["results_per_second"]),
        "plan loaded": curve(lambda x: x["plan_results_per_second"]),
        "events read": curve(lambda x: x["events_per_second"])},
        ("results in the store", "results/s"))
