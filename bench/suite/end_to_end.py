"""A study of real training, from start to end, on two cores

64 trials of a small CNN on Fashion-MNIST under ASHA. Hippo draws the
configurations; the peers get the same ones in the same order.
"""

from harness import Result
from suite import studies


def run(bench):
    paths = studies.files(bench, ["schedules.yaml"])
    bench.say("Hippo")
    ours = studies.hippo(bench, paths)
    given = [studies.for_peers(bench, paths[0], ours.report["studies"][0])]
    others = bench.in_turn({
        "Ray Tune": lambda: studies.peer(bench, "study_ray.py", given,
                                         "--reuse-actors"),
        "Hippo": lambda: studies.hippo(bench, paths, "--merge", "off"),
        "Optuna": lambda: studies.peer(bench, "study_optuna.py", given),
        "Ray Tune, a process a trial":
            lambda: studies.peer(bench, "study_ray.py", given),
        "Ray Tune, memory given back":
            lambda: studies.peer(bench, "study_ray.py", given,
                                 "--reuse-actors", memory={})}, rounds=1)
    others = {name: x for name, (x,) in others.items()}
    unmerged = others.pop("Hippo")
    p = ours.report["merge_rate"]
    table = []
    for name, theirs in others.items():
        aimed = name == "Ray Tune"
        table += studies.rows(name, ours, theirs, 1.25 * p if aimed else None)
        table.append(studies.epoch_row(name, unmerged, theirs,
                                       1 if aimed else None))
    return Result(table, notes=[
        f"p was {p:.2f}: Hippo's trials asked for "
        f"{ours.report['asked_steps']} epochs. With merging off it took "
        f"{unmerged.wall_seconds:.1f} s and {unmerged.core_seconds:.1f} "
        f"core-seconds for {unmerged.epochs} epochs. Measured once."])
