"""No-op trials per second of Optuna: two processes that share a storage, or
one with the storage in its memory.
"""

import multiprocessing
import pathlib
import tempfile
import time

import optuna

import noop
import storages


def work(kind, folder, barrier, trials):
    """Does its share of the trials once all processes are ready."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="noop",
                              storage=storages.make(kind, folder),
                              sampler=optuna.samplers.RandomSampler())
    barrier.wait()
    study.optimize(objective, n_trials=trials)


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.report(x, step=1)
    return x


def shared(kind, folder, trials):
    """Returns the seconds that two processes take."""
    create(kind, folder)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=work, args=(kind, folder, barrier, n))
               for n in (trials // 2, trials - trials // 2)]
    for worker in workers:
        worker.start()
    barrier.wait()
    begin = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begin
    assert all(worker.exitcode == 0 for worker in workers)
    return seconds


def alone(folder, trials):
    study = create("memory", folder)
    begin = time.perf_counter()
    study.optimize(objective, n_trials=trials)
    return time.perf_counter() - begin


def create(kind, folder):
    return optuna.create_study(
        study_name="noop", storage=storages.make(kind, folder),
        direction="maximize", sampler=optuna.samplers.RandomSampler())


def main():
    parser = noop.parser(__doc__)
    parser.add_argument("--storage", choices=storages.KINDS, default="sqlite")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="where the storage's files go")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        if args.storage == "memory":
            seconds = alone(folder, args.trials)
        else:
            seconds = shared(args.storage, folder, args.trials)
    noop.tell(args.trials, seconds)


if __name__ == "__main__":
    main()
