"""Optuna's NSGA-II or TPE on a function of two values, each trial trained in
full, since Optuna prunes none of several values: what was measured by each
mark for each seed, as JSON.
"""

import argparse
import json
import warnings

import optuna

import zdt

SAMPLERS = {"nsga2": optuna.samplers.NSGAIISampler,
            "tpe": optuna.samplers.TPESampler}


def search(args, seed):
    course = zdt.Course(args.marks)
    study = optuna.create_study(directions=["minimize", "minimize"],
                                sampler=SAMPLERS[args.sampler](seed=seed))
    while not course.over():
        trial = study.ask()
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(zdt.VARIABLES)]
        course.spend(zdt.STEPS)
        values = zdt.measured(args.function, x, zdt.STEPS)
        course.found(values)
        study.tell(trial, values)
    return course.at_marks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sampler", choices=SAMPLERS)
    parser.add_argument("function")
    parser.add_argument("seeds", type=int)
    parser.add_argument("marks", type=int, nargs="+")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    print(json.dumps({"points": [search(args, seed)
                                 for seed in range(args.seeds)]}))


main()
