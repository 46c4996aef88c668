#!/usr/bin/env python3
"""Records Optuna's ranks, hypervolumes and greedy subsets of random points.

  record_optuna.py optuna.json          writes the recording
  record_optuna.py --check optuna.json  says whether Optuna still says the same
"""
import json
import math
import random
import sys

SETS = 40


def points(seed):
    draw = random.Random(seed)
    goals = 1 + seed % 4
    count = draw.choice([1, 2, 3, 10, 30] if goals == 4 else
                        [1, 2, 5, 30, 80])
    # Of some sets many points are equal in a value, or in all.
    digits = draw.choice([1, 2, 12])
    return [[round(draw.uniform(-1, 1), digits) for _ in range(goals)]
            for _ in range(count)]


def record(seed):
    import numpy as np
    from optuna._hypervolume import _solve_hssp, compute_hypervolume
    from optuna.study._multi_objective import _fast_non_domination_rank
    draw = random.Random(-1 - seed)
    values = points(seed)
    array = np.array(values)
    reference = [round(draw.uniform(.6, 1.2), 3) for _ in values[0]]
    inside = array[(array < np.array(reference)).all(axis=1)]
    penalty = [max(0, round(draw.uniform(-1, 1), 1)) for _ in values]
    ranks = _fast_non_domination_rank(array)
    first = array[ranks == 0]
    beyond = first.max(axis=0)
    beyond = np.maximum(1.1 * beyond, .9 * beyond)
    beyond[beyond == 0] = 1e-12
    count = min(len(np.unique(first, axis=0)), draw.randint(1, 8))
    chosen = _solve_hssp(first, np.arange(len(first)), count, beyond)
    return {
        "points": values, "reference": reference, "penalty": penalty,
        "ranks": [int(x) for x in ranks],
        "constrained": [int(x) for x in _fast_non_domination_rank(
            array, penalty=np.array(penalty))],
        "volume": float(compute_hypervolume(inside, np.array(reference)))
                  if len(inside) else 0.0,
        "count": count,
        "chosen_volume": float(compute_hypervolume(
            first[np.unique(chosen)], beyond))}


def alike(left, right):
    """Whether two recordings are equal but for the order in which a CPU adds
    up."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(alike, left, right))
    return left == right


def main():
    check = sys.argv[1] == "--check"
    path = sys.argv[-1]
    try:
        import optuna
    except ImportError:
        print("Optuna is not installed")
        return 77
    said = {"optuna": optuna.__version__,
            "sets": [record(seed) for seed in range(SETS)]}
    if not check:
        with open(path, "w") as out:
            out.write('{"optuna": "%s", "sets": [\n' % said["optuna"])
            out.write(",\n".join(json.dumps(x) for x in said["sets"]))
            out.write("\n]}\n")
        return 0
    with open(path) as recorded:
        known = json.load(recorded)
    if optuna.__version__ != known["optuna"]:
        print("recorded with Optuna", known["optuna"])
        return 77
    if not alike(json.loads(json.dumps(said)), known):
        print("Optuna says otherwise now: record it again")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
