"""Plays searches of a public task in virtual time: for each seed how its
best got better with the trainings spent, as JSON.

A training is the task's steps; a step takes the same time for all values. A
peer that cannot go on with a trial pays for it from 0 each time. The best of a
search is the best value measured so far, at whatever step: its state is there
to be used.
"""

import argparse
import heapq
import json
import pathlib
import warnings

from public_peers import method_of


def kind_of(scenario):
    """The class of a scenario's tasks."""
    if scenario.startswith("bbob"):
        from bbob import Function
        return Function
    from surrogates import Task
    return Task


def play(task, method, workers, trainings):
    """The gains of a search: (budget, value) whenever its best got better; the
    budget in trainings, or as many of these as `task.unit` says.
    """
    best, gains = None, []
    whole = task.steps * task.unit
    end = trainings * whole // workers
    free = list(range(workers))
    running = []  # (time, number, worker, work)
    now = number = 0
    while now <= end:
        waiting = []
        for worker in free:
            work = method.next(worker)
            if work is None:
                waiting.append(worker)
                continue
            _, begin, to, _ = work
            heapq.heappush(running, (now + to - begin, number, worker, work))
            number += 1
        if not running:
            break  # the search is over
        now, _, worker, work = heapq.heappop(running)
        if now > end:
            break
        value = task.measure(work[3], work[2])
        if best is None or task.sign * value > task.sign * best:
            best = value
            gains.append((now * workers / whole, task.sign * value))
        method.told(worker, work, value)
        free = [*waiting, worker]
    return gains


def searches(task, args):
    """The gains of all seeds; of values more is better."""
    courses = []
    for seed in range(args.first_seed, args.seeds):
        method = method_of(task, seed, args)
        courses.append(play(task, method, args.workers, args.trainings))
        method.close()
    return courses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("scenario")
    parser.add_argument("--list", action="store_true",
                        help="the names of the open tasks")
    parser.add_argument("--task", help="its search; without --method, of it or "
                        "of all: the values of the median configuration and of "
                        "the best one known, by task")
    parser.add_argument("--method", help="a peer, such as 'optuna tpe', or an "
                        "algorithm of ours as a study file writes it")
    parser.add_argument("--fold", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--trainings", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--program", help="our program `hippo`")
    parser.add_argument("--budget", default="{trials: 10000}",
                        help="of a study of ours")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kind = kind_of(args.scenario)
    open_tasks = kind.instances(args.data, args.scenario)
    if args.list:
        result = open_tasks
    elif args.method:
        result = searches(
            kind(args.data, args.scenario, args.task, args.fold), args)
    else:
        result = {x: kind(args.data, args.scenario, x).bounds()
                  for x in ([args.task] if args.task else open_tasks)}
    print(json.dumps(result))


main()
