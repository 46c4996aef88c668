"""A study in Optuna: given configurations, two processes that share a journal,
asynchronous halving or all of it.
"""

import json
import multiprocessing
import tempfile
import time

import optuna

import fashion
import storages
import training


def work(given):
    """Runs trials while any are left. Returns (time, accuracy) of epochs."""
    folder, study = given
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    data = fashion.read_data(study["train"], study["validation"])
    configurations = study["configurations"]
    history = []

    def objective(trial):
        if trial.number >= len(configurations):  # none is left in the queue
            trial.study.stop()
            raise optuna.TrialPruned
        index = trial.suggest_int("index", 0, len(configurations) - 1)
        model = training.Trial(configurations[index], data)
        for epoch in range(1, study["epochs"] + 1):
            accuracy = model.train()
            history.append((time.time(), accuracy))
            trial.report(accuracy, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return accuracy

    load(folder, study).optimize(objective)
    return history


def load(folder, study):
    pruner = optuna.pruners.NopPruner()
    if study["asha"]:
        pruner = optuna.pruners.SuccessiveHalvingPruner(
            min_resource=study["asha"]["min"],
            reduction_factor=study["asha"]["eta"])
    return optuna.create_study(
        study_name="study", storage=storages.make("journal", folder),
        direction="maximize", load_if_exists=True,
        sampler=optuna.samplers.RandomSampler(), pruner=pruner)


def main():
    args = training.parser(__doc__).parse_args()
    study = json.loads(args.study.read_text())
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, training.Cost() as cost:
        queue = load(folder, study)
        for index in range(len(study["configurations"])):
            queue.enqueue_trial({"index": index})
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            histories = pool.map(work, [(folder, study)] * 2, chunksize=1)
    training.tell(cost, sum(histories, []))


if __name__ == "__main__":
    main()
