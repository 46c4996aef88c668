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
    study = [studies.for_peers(bench, paths[0], ours.report["studies"][0])]

    def measure(name, function, *args, **environment):
        bench.say(name)
        return function(bench, *args, **environment)

    ray = measure("Ray Tune", studies.peer, "study_ray.py", study,
                  "--reuse-actors", **studies.BEST)
    unmerged = measure("Hippo, merging off", studies.hippo, paths,
                       "--merge", "off")
    optuna = measure("Optuna", studies.peer, "study_optuna.py", study,
                     **studies.BEST)
    others = {
        "Ray Tune, a process a trial": measure(
            "Ray Tune, a process a trial", studies.peer, "study_ray.py", study,
            **studies.BEST),
        "Ray Tune, plain PyTorch": measure(
            "Ray Tune, plain PyTorch", studies.peer, "study_ray.py", study,
            "--reuse-actors", "--layout", "plain", **studies.PLAIN)}
    p = ours.report["merge_rate"]
    table = studies.rows("Ray Tune", ours, ray, aim=1.25 * p)
    table.append(studies.epoch_row("Ray Tune", unmerged, ray, aim=1))
    table += studies.rows("Optuna", ours, optuna)
    table.append(studies.epoch_row("Optuna", unmerged, optuna))
    for name, other in others.items():
        table += studies.rows(name, ours, other)[:2]
    return Result(table, notes=[
        f"p was {p:.2f}: Hippo's trials asked for "
        f"{ours.report['asked_steps']} epochs. With merging off it took "
        f"{unmerged.wall_seconds:.1f} s and {unmerged.core_seconds:.1f} "
        f"core-seconds for {unmerged.epochs} epochs. One round."])
