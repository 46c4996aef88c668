"""Syne Tune's searches on a table of bench/data, in the virtual time of its own
simulator: how the best got better, for each seed, as JSON.
"""

import argparse
import contextlib
import json
import logging
import os
import sys
import tempfile
import time

import numpy as np

from table import EPOCH, Course, Table

METHODS = ["ASHA", "BOHB", "ASHABORE", "ASHACQR", "BORE", "CQR"]


def make_scheduler(method, space, epochs, seed):
    from syne_tune.optimizer import baselines
    options = {"metric": "value", "do_minimize": False, "random_seed": seed}
    if method in ("BORE", "CQR"): # every trial in full
        return getattr(baselines, method)(space, **options)
    return getattr(baselines, method)(space, time_attr="epoch", max_t=epochs,
                                      grace_period=1, reduction_factor=3,
                                      **options)


def search(table, method, workers, horizon, seed, limit):
    """Returns the gains, and up to when it was searched."""
    from syne_tune import Tuner, config_space
    from syne_tune.backend.simulator_backend.simulator_backend import (
        SimulatorConfig)
    from syne_tune.backend.simulator_backend.simulator_callback import (
        SimulatorCallback)
    from syne_tune.blackbox_repository.blackbox import Blackbox
    from syne_tune.blackbox_repository.simulated_tabular_backend import (
        UserBlackboxBackend)
    from syne_tune.constants import ST_TUNER_TIME
    from syne_tune.tuner_callback import TunerCallback

    names = {leaf: f"x{i}" for i, leaf in enumerate(table.space.leaves)}
    space = {names[leaf]: config_space.randint(0, count - 1) if in_order
             else config_space.choice(list(range(count)))
             for leaf, (count, in_order) in table.space.leaves.items()}

    class Played(Blackbox):
        @property
        def fidelity_values(self):
            return np.arange(1, table.epochs + 1)

        def _objective_function(self, configuration, fidelity=None, seed=None):
            values = table.play(table.space.decide(
                lambda leaf: int(configuration[names[leaf]])))
            return np.array([[x, EPOCH * (i + 1)]
                             for i, x in enumerate(values)])

    begin = time.monotonic()
    course = Course()
    until = [0.0]

    class Watch(TunerCallback):
        def on_trial_result(self, trial, status, result, decision):
            until[0] = max(until[0], result[ST_TUNER_TIME])
            course.told(result[ST_TUNER_TIME], result["value"])

    def over(status):
        return until[0] >= horizon or time.monotonic() - begin > limit

    np.random.seed(seed)
    backend = UserBlackboxBackend(
        Played(space, {"epoch": config_space.randint(1, table.epochs)},
               ["value", "elapsed"]),
        elapsed_time_attr="elapsed", tuner_sleep_time=EPOCH / 10,
        simulator_config=SimulatorConfig(0, 0, 0, 0, 0))
    backend.set_path(results_root=os.environ["SYNETUNE_FOLDER"])
    Tuner(trial_backend=backend,
          scheduler=make_scheduler(method, space, table.epochs, seed),
          stop_criterion=over,
          n_workers=workers, sleep_time=0, save_tuner=False,
          print_update_interval=1e9, results_update_interval=1e9,
          suffix_tuner_name=False, tuner_name="table",
          callbacks=[SimulatorCallback(), Watch()]).run()
    return course.gains, until[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("study")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("workers", type=int)
    parser.add_argument("horizon", type=float, help="virtual seconds")
    parser.add_argument("limit", type=float,
                        help="seconds after which a search is given up")
    parser.add_argument("seeds", type=int)
    args = parser.parse_args()
    table = Table(args.table, args.study)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNETUNE_FOLDER"] = folder
        with contextlib.redirect_stdout(sys.stderr):
            import syne_tune # noqa: F401, sets its logging up
            logging.disable(logging.WARNING)
            for seed in range(args.seeds):
                gains, until = search(table, args.method, args.workers,
                                      args.horizon, seed, args.limit)
                found.append({"gains": gains, "until": until})
    print(json.dumps(found))


main()
