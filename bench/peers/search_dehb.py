"""DEHB of its authors on a function, one job at a time: the regrets at the
marks for each seed, as JSON.

Each job costs all of its steps, since the package trains it from the start.
"""

import argparse
import json
import tempfile

from dehb import DEHB

from functions import STEPS, Course, Function


def search(args, seed, folder):
    course = Course(args.marks)
    with Function(args.program, args.function, seed) as function:
        tuner = DEHB(dimensions=function.ranges + function.choices,
                     min_fidelity=1, max_fidelity=STEPS, eta=3, n_workers=1,
                     seed=seed, output_path=folder, log_level="ERROR",
                     save_freq="end")
        while not course.over():
            job = tuner.ask()
            step = round(float(job["fidelity"]))
            place = [float(x) for x in job["config"]]
            values = place[:function.ranges] + [
                float(x >= 0.5) for x in place[function.ranges:]]
            value, regret = function.measure(values, step)
            course.told(value, regret, step, step)
            tuner.tell(job, {"fitness": value, "cost": step})
    return course.regrets


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("function")
    parser.add_argument("seeds", type=int)
    parser.add_argument("marks", type=int, nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"regret": [search(args, seed, folder)
                                     for seed in range(args.seeds)]}))


main()
