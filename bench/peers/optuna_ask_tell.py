"""Milliseconds that one process takes to ask Optuna for a random trial, and to
tell it the result: the medians.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time

import optuna

import storages

SPACE = {"x": optuna.distributions.FloatDistribution(0, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storage", choices=storages.KINDS, default="memory")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where the storage's files go")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ask, tell = [], []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        study = optuna.create_study(
            storage=storages.make(args.storage, folder),
            direction="maximize", sampler=optuna.samplers.RandomSampler(1))
        for _ in range(args.trials):
            begin = time.perf_counter()
            trial = study.ask(SPACE)
            asked = time.perf_counter()
            study.tell(trial, trial.params["x"])
            ask.append(1000 * (asked - begin))
            tell.append(1000 * (time.perf_counter() - asked))
    print(json.dumps({"ask_ms": statistics.median(ask),
                      "tell_ms": statistics.median(tell)}))


main()
