#!/usr/bin/env python3
"""Measures beliefs (`prior`) of experts on Hartmann's function in 6 dimensions:
the trainings until the best value is as good as an aim, with a belief near the
best values, with a misleading one, and without, in one run.

    bench/priors.py BUILD/bench/search [--sampler gp|tpe] [--seeds N]

Of each belief there are five, drawn around the best values (standard deviation
.1 of each range) or around their mirror image, each for a fifth of the seeds;
their strength is 2. Prints the mean number of trainings to the aim, at most
100, and the ratios to the mean without a belief.
"""

import argparse
import json
import random
import subprocess

BEST = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
BELIEFS = 5
MOST = 100
AIM = 0.5  # regret; of random values it is about 3


def belief(kind, number):
    draws = random.Random(f"{kind} {number}")
    places = [x if kind == "good" else 1 - x for x in BEST]
    modes = [min(1, max(0, round(x + draws.gauss(0, .1), 4))) for x in places]
    return "\nprior: {" + ", ".join(
        f"x{i}: {{mode: {x}}}" for i, x in enumerate(modes)) + "}"


def trainings(program, algorithm, seeds):
    """The trainings of each seed until the regret is at most `AIM`."""
    marks = [str(x) for x in range(1, MOST + 1)]
    done = subprocess.run(
        [program, "run", "hartmann6", algorithm, str(seeds), *marks],
        check=True, stdout=subprocess.PIPE, text=True)
    regrets = json.loads(done.stdout)["regret"]
    return [next((i + 1 for i, x in enumerate(one)
                  if x is not None and x <= AIM), MOST) for one in regrets]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("search", help="the program bench/search")
    options.add_argument("--sampler", default="gp", choices=["gp", "tpe"])
    options.add_argument("--seeds", type=int, default=50)
    given = options.parse_args()
    means = {}
    for kind in "none", "good", "misleading":
        counts = []
        for number in range(BELIEFS):
            prior = "" if kind == "none" else belief(kind, number)
            counts += trainings(given.search, given.sampler + prior,
                                given.seeds // BELIEFS)
            if kind == "none":
                counts = trainings(given.search, given.sampler, given.seeds)
                break
        means[kind] = sum(counts) / len(counts)
        print(f"{given.sampler:4} {kind:10} {means[kind]:6.1f} trainings to a"
              f" regret of {AIM}, {means[kind] / means['none']:.2f} of those"
              " without a belief", flush=True)


if __name__ == "__main__":
    main()
