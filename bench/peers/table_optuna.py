"""Optuna's TPE or Gaussian process with Hyperband's pruning on a table of
bench/data: workers in virtual time, in which only training takes any. How the
best got better, for each seed, as JSON.
"""

import argparse
import heapq
import json
import time
import warnings

import optuna

from table import EPOCH, Course, Table

SAMPLERS = {
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed,
                                                   constant_liar=True),
    "gp": lambda seed: optuna.samplers.GPSampler(seed=seed)}


def search(table, sampler, workers, horizon, seed, limit):
    """Returns the gains, and up to when it was searched."""
    study = optuna.create_study(
        direction="maximize", sampler=SAMPLERS[sampler](seed),
        pruner=optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=table.epochs, reduction_factor=3))
    course = Course()
    begin = time.monotonic()

    def start():
        trial = study.ask()
        return trial, table.play(table.space.suggest(trial))

    # Each worker's trial, and when its present epoch, from 1, ends.
    ends = []
    for worker in range(workers):
        heapq.heappush(ends, (EPOCH, worker, 1, start()))
    while ends[0][0] <= horizon and time.monotonic() - begin < limit:
        now, worker, epoch, (trial, values) = heapq.heappop(ends)
        value = values[epoch - 1]
        course.told(now, value)
        trial.report(value, epoch)
        if epoch == table.epochs:
            study.tell(trial, value)
        elif trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            heapq.heappush(ends, (now + EPOCH, worker, epoch + 1,
                                  (trial, values)))
            continue
        heapq.heappush(ends, (now + EPOCH, worker, 1, start()))
    return course.gains, min(ends[0][0], horizon)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("study")
    parser.add_argument("method", choices=SAMPLERS)
    parser.add_argument("workers", type=int)
    parser.add_argument("horizon", type=float, help="virtual seconds")
    parser.add_argument("limit", type=float,
                        help="seconds after which a search is given up")
    parser.add_argument("seeds", type=int)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    table = Table(args.table, args.study)
    found = []
    for seed in range(args.seeds):
        gains, until = search(table, args.method, args.workers, args.horizon,
                              seed, args.limit)
        found.append({"gains": gains, "until": until})
    print(json.dumps(found))


main()
