"""Fills a journal of Optuna with trials of ten hyper-parameters.

    fill_optuna.py FILE TRIALS
"""

import json
import sys

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

optuna.logging.disable_default_handler()
study = optuna.create_study(storage=JournalStorage(JournalFileBackend(
    sys.argv[1])), study_name="large", sampler=optuna.samplers.RandomSampler())
study.optimize(lambda trial: sum(trial.suggest_float(f"drawn{i}", 0, 1)
                                 for i in range(10)),
               n_trials=int(sys.argv[2]))
print(json.dumps({"trials": len(study.trials)}))
