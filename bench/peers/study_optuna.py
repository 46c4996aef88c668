"""A study in Optuna: given configurations, or those that its TPE suggests; two
processes that share a journal, asynchronous halving or all of it.
"""

import json
import multiprocessing
import tempfile
import time

import optuna

import fashion
import storages
import studies
import training
from space import Space


def work(given):
    """Runs trials while any are left. Returns (time, accuracy) of epochs."""
    folder, study, suggests = given
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    data = fashion.read_data(study["train"], study["validation"])
    configurations = study["configurations"]
    configuration_of = space_of(study).suggest if suggests else (
        lambda trial: configurations[trial.suggest_int(
            "index", 0, len(configurations) - 1)])
    history = []

    def objective(trial):
        if trial.number >= len(configurations):
            trial.study.stop()
            raise optuna.TrialPruned
        model = training.Trial(configuration_of(trial), data)
        for epoch in range(1, study["epochs"] + 1):
            accuracy = model.train()
            history.append((time.time(), accuracy))
            trial.report(accuracy, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return accuracy

    load(folder, study, suggests).optimize(objective)
    return history


def space_of(study):
    space = studies.space_of(study["file"])
    return Space({name: space[name] for name in study["configurations"][0]})


def load(folder, study, suggests):
    pruner = optuna.pruners.NopPruner()
    if study["asha"]:
        pruner = optuna.pruners.SuccessiveHalvingPruner(
            min_resource=study["asha"]["min"],
            reduction_factor=study["asha"]["eta"])
    return optuna.create_study(
        study_name="study", storage=storages.make("journal", folder),
        direction="maximize", load_if_exists=True,
        sampler=optuna.samplers.TPESampler(constant_liar=True) if suggests
        else optuna.samplers.RandomSampler(), pruner=pruner)


def main():
    parser = training.parser(__doc__)
    parser.add_argument("--tpe", action="store_true",
                        help="as many configurations of its own")
    args = parser.parse_args()
    study = json.loads(args.study.read_text())
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, training.Cost() as cost:
        queue = load(folder, study, args.tpe)
        if not args.tpe:
            for index in range(len(study["configurations"])):
                queue.enqueue_trial({"index": index})
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            histories = pool.map(work, [(folder, study, args.tpe)] * 2,
                                 chunksize=1)
    training.tell(cost, sum(histories, []))


if __name__ == "__main__":
    main()
