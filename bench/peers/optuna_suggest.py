"""Milliseconds that a sampler of Optuna takes to suggest a trial's six values,
given a history of so many trials in memory: the median.
"""

import argparse
import json
import random
import statistics
import time

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

SAMPLERS = {"tpe": optuna.samplers.TPESampler,
            "gp": optuna.samplers.GPSampler}

SPACE = {
    "lr": FloatDistribution(1e-4, 1, log=True),
    "weight_decay": FloatDistribution(1e-6, 1e-2, log=True),
    "momentum": FloatDistribution(0.5, 1),
    "dropout": FloatDistribution(0, 0.5),
    "activation": CategoricalDistribution(list("abcde")),
    "schedule": CategoricalDistribution(list("vwxyz")),
}


def history(size, numbers):
    """Returns complete trials of random values."""

    def draw(x):
        if isinstance(x, CategoricalDistribution):
            return numbers.choice(x.choices)
        if x.log:
            return min(max(x.low * (x.high / x.low) ** numbers.random(),
                           x.low), x.high)
        return numbers.uniform(x.low, x.high)

    return [create_trial(state=TrialState.COMPLETE, value=numbers.random(),
                         params={k: draw(x) for k, x in SPACE.items()},
                         distributions=SPACE)
            for _ in range(size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, required=True,
                        help="size of the history")
    parser.add_argument("--sampler", choices=SAMPLERS, default="tpe")
    parser.add_argument("--suggestions", type=int, default=20)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    numbers = random.Random(1)
    study = optuna.create_study(direction="maximize",
                                sampler=SAMPLERS[args.sampler](seed=1))
    study.add_trials(history(args.trials, numbers))
    spent = []
    for _ in range(args.suggestions):
        begin = time.perf_counter()
        trial = study.ask(SPACE)
        spent.append(1000 * (time.perf_counter() - begin))
        study.tell(trial, numbers.random())
    print(json.dumps({"milliseconds_per_suggestion":
                      statistics.median(spent)}))


main()
