"""No-op trials per second of Syne Tune's local backend with two workers."""

import contextlib
import logging
import os
import pathlib
import sys
import tempfile
import time

import noop


def main():
    parser = noop.parser(__doc__)
    parser.add_argument("--poll", type=float, default=5,
                        help="seconds between two looks at the workers "
                        "(default: 5, as Syne Tune's)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNETUNE_FOLDER"] = folder
        # It prints its progress and what it has found.
        with contextlib.redirect_stdout(sys.stderr):
            seconds = tune(args.trials, args.poll, pathlib.Path(folder))
    noop.tell(args.trials, seconds)


def tune(trials, poll, folder):
    """Returns the seconds that the trials take."""
    from syne_tune import StoppingCriterion, Tuner, config_space
    from syne_tune.backend import LocalBackend
    from syne_tune.optimizer.baselines import RandomSearch

    logging.getLogger().setLevel(logging.ERROR)
    script = folder / "trial.py"
    script.write_text(
        "import argparse\n"
        "from syne_tune import Reporter\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--x', type=float)\n"
        "Reporter()(value=parser.parse_known_args()[0].x)\n")
    tuner = Tuner(
        trial_backend=LocalBackend(entry_point=str(script)),
        scheduler=RandomSearch({"x": config_space.uniform(0, 1)},
                               metrics=["value"], do_minimize=False),
        stop_criterion=StoppingCriterion(max_num_trials_finished=trials),
        n_workers=2, sleep_time=poll, results_update_interval=poll,
        save_tuner=False, suffix_tuner_name=False, tuner_name="noop")
    begin = time.perf_counter()
    tuner.run()
    return time.perf_counter() - begin


main()
