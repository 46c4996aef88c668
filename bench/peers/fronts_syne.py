"""Syne Tune's MOASHA on a function of two values, one trial at a time, with its
default sorting (non-dominated, epsilon-net): what was measured by each mark for
each seed, as JSON.
"""

import argparse
import datetime
import json
import logging
import random

import numpy
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import uniform
from syne_tune.optimizer.scheduler import SchedulerDecision
from syne_tune.optimizer.schedulers.multiobjective.moasha import MOASHA

import zdt

RUNGS = [1, 3, 9, 27]


def search(args, seed):
    random.seed(seed)
    numpy.random.seed(seed)
    course = zdt.Course(args.marks)
    space = {f"x{i}": uniform(0, 1) for i in range(zdt.VARIABLES)}
    scheduler = MOASHA(space, metrics=["f", "g"], time_attr="step",
                       max_t=zdt.STEPS, grace_period=1, reduction_factor=3,
                       random_seed=seed)
    number = 0
    while not course.over():
        config = scheduler.suggest().config
        trial = Trial(number, config, datetime.datetime(2026, 1, 1))
        number += 1
        scheduler.on_trial_add(trial)
        x = [config[f"x{i}"] for i in range(zdt.VARIABLES)]
        before = 0
        for step in RUNGS:
            course.spend(step - before)
            before = step
            f, g = zdt.measured(args.function, x, step)
            result = {"f": f, "g": g, "step": step}
            if step == zdt.STEPS:
                course.found((f, g))
                scheduler.on_trial_complete(trial, result)
            elif scheduler.on_trial_result(trial, result) \
                    == SchedulerDecision.STOP:
                break
    return course.at_marks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("function")
    parser.add_argument("seeds", type=int)
    parser.add_argument("marks", type=int, nargs="+")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(json.dumps({"points": [search(args, seed)
                                 for seed in range(args.seeds)]}))


main()
