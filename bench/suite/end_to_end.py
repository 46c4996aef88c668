"""A study of real training, from start to end, on two cores

64 trials of a small CNN on Fashion-MNIST under ASHA. Hippo draws the
configurations; the peers get the same ones in the same order.
"""

from harness import Result
from suite import studies

# By default Hippo's ASHA begins all trials as soon as there is room; the peers
# have two at a time.
CONCURRENT = 4


def few_at_a_time(bench, path):
    """Returns a copy of a study in which few trials are under way at once."""
    text = path.read_text()
    copy = bench.scratch / f"concurrent-{path.name}"
    copy.write_text(text.replace(
        "asha: {eta: 3, min: 1}",
        f"asha: {{eta: 3, min: 1, concurrent: {CONCURRENT}}}"))
    assert copy.read_text() != text
    return copy


def run(bench):
    paths = studies.files(bench, ["schedules.yaml"])
    bench.say("Hippo")
    ours = studies.hippo(bench, paths)
    few = studies.hippo(bench, [few_at_a_time(bench, paths[0])])
    given = [studies.for_peers(bench, paths[0], ours.report["studies"][0])]
    others = bench.in_turn({
        "Ray Tune": lambda: studies.peer(bench, "study_ray.py", given,
                                         "--reuse-actors"),
        "Hippo": lambda: studies.hippo(bench, paths, "--merge", "off"),
        "Optuna": lambda: studies.peer(bench, "study_optuna.py", given),
        "Ray Tune, a process a trial":
            lambda: studies.peer(bench, "study_ray.py", given)}, rounds=1)
    others = {name: x for name, (x,) in others.items()}
    unmerged = others.pop("Hippo")
    p = ours.report["merge_rate"]
    table = []
    for name, theirs in others.items():
        aimed = name == "Ray Tune"
        table += studies.rows(name, ours, theirs, 1.25 * p if aimed else None)
        table.append(studies.epoch_row(name, unmerged, theirs,
                                       1 if aimed else None))
    table += studies.rows("Ray Tune", few, others["Ray Tune"],
                          1.25 * few.report["merge_rate"],
                          f"concurrent: {CONCURRENT}, ")
    return Result(table, notes=[
        f"p was {p:.2f}: Hippo's trials asked for "
        f"{ours.report['asked_steps']} epochs. With merging off it took "
        f"{unmerged.wall_seconds:.1f} s and {unmerged.core_seconds:.1f} "
        f"core-seconds for {unmerged.epochs} epochs. With "
        f"`concurrent: {CONCURRENT}`, p was {few.report['merge_rate']:.2f} of "
        f"{few.report['asked_steps']} epochs. Measured once."])
