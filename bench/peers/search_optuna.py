"""Optuna's TPE or Gaussian process on a function, each trial trained in full,
one at a time: the regrets at the marks for each seed, as JSON.
"""

import argparse
import json
import warnings

import optuna

from functions import STEPS, Course, Function

SAMPLERS = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}


def search(args, seed):
    course = Course(args.marks)
    study = optuna.create_study(direction="minimize",
                                sampler=SAMPLERS[args.sampler](seed=seed))
    with Function(args.program, args.function, seed) as function:
        while not course.over():
            trial = study.ask()
            values = [trial.suggest_float(f"x{i}", 0, 1)
                      for i in range(function.ranges)]
            values += [trial.suggest_categorical(f"c{i}", [0, 1])
                       for i in range(function.choices)]
            value, regret = function.measure(values, STEPS)
            course.told(value, regret, STEPS, STEPS)
            study.tell(trial, value)
    return course.regrets


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("sampler", choices=SAMPLERS)
    parser.add_argument("function")
    parser.add_argument("seeds", type=int)
    parser.add_argument("marks", type=int, nargs="+")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    print(json.dumps({"regret": [search(args, seed)
                                 for seed in range(args.seeds)]}))


main()
