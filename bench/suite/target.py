"""How soon real training gets to a target, on two cores

Studies like that of `end-to-end`, one a round, each with another seed and so
with other configurations; the peers with given ones get Hippo's, in its order.
"""

from harness import Result, Row
from suite import studies

# The accuracy to come to: of the best of all sides in a round, this share.
SHARE = 0.995

GP = "{asha: {eta: 3, min: 1, sampler: gp}}"

# How many times sooner than each peer ours are to be there: by merging alone,
# and by a Gaussian process with its prices as well.
GATES = {"Hippo, asha": 1, "Hippo, gp": 3}


def study_files(bench, seed):
    """The study with random values and with learned ones."""
    (path,) = studies.files(bench, ["schedules.yaml"])
    random = f"{path.read_text()}seed: {seed}\n"
    texts = {"random": random,
             "gp": random.replace("{asha: {eta: 3, min: 1}}", GP)}
    assert texts["gp"] != random
    paths = []
    for name, text in texts.items():
        paths.append(bench.scratch / f"{name}-{seed}.yaml")
        paths[-1].write_text(text)
    return paths


def one_round(bench, seed):
    """The outcome of each side, by name."""
    random, gp = study_files(bench, seed)
    result = {}
    result["Hippo, asha"] = studies.hippo(bench, [random])
    report = result["Hippo, asha"].report["studies"][0]
    given = [studies.for_peers(bench, random, report)]
    result["Ray Tune, ASHA"] = studies.peer(bench, "study_ray.py", given,
                                            "--reuse-actors")
    result["Hippo, gp"] = studies.hippo(bench, [gp])
    result["Optuna, SHA"] = studies.peer(bench, "study_optuna.py", given)
    result["Optuna, TPE and SHA"] = studies.peer(bench, "study_optuna.py",
                                                 given, "--tpe")
    return result


def seconds_to(outcome, accuracy):
    """The seconds to an accuracy; all that it took if it was never there."""
    if outcome.best() < accuracy:
        return outcome.wall_seconds
    return outcome.seconds_to(accuracy)


def listed(rounds, text_of):
    return "; ".join(who + " " + ", ".join(text_of(sides[who], target)
                                           for sides, target in rounds)
                     for who in rounds[0][0])


def run(bench):
    rounds = []
    for number in range(bench.rounds):
        bench.say(f"round {number + 1}")
        sides = one_round(bench, number + 1)
        rounds.append((sides, SHARE * max(x.best() for x in sides.values())))
    to_target = {who: [seconds_to(sides[who], target)
                       for sides, target in rounds]
                 for who in rounds[0][0]}
    rows = [Row(f"{ours}: time to the target", "s", to_target[ours], peer,
                to_target[peer], more_is_better=False, aim=aim,
                aim_of_ratio=True)
            for ours, aim in GATES.items()
            for peer in to_target if peer not in GATES]
    seconds = listed(rounds, lambda x, target:
                     f"{seconds_to(x, target):.1f}"
                     + (" (never)" if x.best() < target else ""))
    best = listed(rounds, lambda x, _: f"{x.best():.4f}")
    whole = listed(rounds, lambda x, _: f"{x.wall_seconds:.1f}")
    return Result(rows, notes=[
        f"The target is {SHARE} of the best of the round. Both workers are "
        "always busy, so device time is twice as much for each search.",
        f"Seconds to the target, round by round: {seconds}. A search that "
        "never reached the target counts with its whole time.",
        f"Best accuracy: {best}.", f"Seconds to the end: {whole}."],
        data={"targets": [target for _, target in rounds],
              "improvements": {who: [sides[who].improvements
                                     for sides, _ in rounds]
                               for who in rounds[0][0]}})
