"""Optuna's storages by a word."""

import pathlib
import warnings

import optuna
from optuna.storages import journal

KINDS = ["memory", "sqlite", "journal"]


def make(kind, folder):
    """Returns a storage of that kind, with its files in the folder."""
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    folder = pathlib.Path(folder)
    if kind == "sqlite":
        return optuna.storages.RDBStorage(f"sqlite:///{folder / 'optuna.db'}")
    if kind == "journal":
        return optuna.storages.JournalStorage(
            journal.JournalFileBackend(str(folder / "optuna.log")))
    return optuna.storages.InMemoryStorage()
