"""Four overlapping studies of real training at once, on two cores

Four people search over one network. Hippo runs their studies at the same time
and trains once what several of them need; Ray Tune runs one after the other,
each with both cores.
"""

from harness import Result
from suite import studies

NAMES = ["decay.yaml", "growth.yaml", "momentum.yaml", "grid.yaml"]


def run(bench):
    paths = studies.files(bench, NAMES)
    bench.say("Hippo")
    ours = studies.hippo(bench, paths)
    report = ours.report
    given = [studies.for_peers(bench, *pair)
             for pair in zip(paths, report["studies"])]
    bench.say("Ray Tune")
    ray = studies.peer(bench, "study_ray.py", given, "--reuse-actors")
    p = report["merge_rate"]
    return Result(
        studies.rows("Ray Tune", ours, ray, aim=1.25 * p),
        notes=[f"p was {p:.2f} and q {report['k_wise_merge_rate']:.2f}: the "
               f"trials asked for {report['asked_steps']} epochs. Measured "
               "once."])
