"""Hydra: sweeps of an unchanged application by a study.

    python app.py -m hydra/sweeper=hippo 'lr=tag(log,interval(1e-4,1e-1))'

An application that trains by steps calls `report` after each of them, so that
algorithms such as ``asha`` can end a trial early:

    from hippo_hpo.hydra import report

    for epoch in range(cfg.epochs):
        ...
        report(epoch + 1, accuracy)

docs/hydra.md describes the sweeper. Needs Hydra: ``pip install
'hippo-hpo[hydra]'``.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from collections.abc import Mapping
from typing import Any

__all__ = ["Pruned", "report"]

# What a job of a sweep is to do, as JSON.
JOB = "HIPPO_HYDRA_JOB"


class Pruned(SystemExit):
    """The trial is not trained any further for now: its process ends. `report`
    raises it; code that catches `Exception` does not."""


def report(step: int, metric: float | Mapping[str, float]) -> None:
    """Reports a measurement of the running job. It returns once the study
    wants the trial to go on, which may take a while. Outside of a sweep by the
    sweeper `hippo` it does nothing.

    Args:
        step: the number of steps that are trained, from 1; it increases from
            one call to the next.
        metric: the metric that the sweep optimises, or several by name.

    Raises:
        Pruned: the trial is not to go on now.
        ValueError: the step does not increase, or a metric is not a number.
    """
    if (job := _running()) is not None:
        job.report(step, metric)


class Job:
    """The line of a job to the trainer that has started it: a JSON text a
    line. The trainer says up to which step to train, the job reports."""

    def __init__(self, number: int) -> None:
        self._stream = socket.socket(fileno=number)
        self._lines = self._stream.makefile("r", encoding="utf-8")
        self._step = 0
        self._until = 0
        self._is_last = False
        self._is_over = False
        self._changed = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._lines:
            with self._changed:
                told = json.loads(line)
                self._until, self._is_last = told["until"], told["last"]
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def report(self, step: int, metric: float | Mapping[str, float]) -> None:
        if isinstance(step, bool) or int(step) != step or step <= self._step:
            raise ValueError(
                f"report: step {step!r}: must be a whole number of steps above "
                f"the last one reported, {self._step}")
        self._step = int(step)
        metrics = {str(name): float(x) for name, x in metric.items()} \
            if isinstance(metric, Mapping) else float(metric)
        self.tell({"step": self._step, "metrics": metrics})
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or self._is_last
                or self._until > self._step)
            # After its last step the application does what it does at its end.
            if self._is_over or self._step > self._until:
                raise Pruned(0)

    def tell(self, what: Mapping[str, Any]) -> None:
        try:
            self._stream.sendall(json.dumps(what).encode() + b"\n")
        except OSError:
            raise Pruned(0) from None


_job: Job | None = None
_job_of: int | None = None


def _running() -> Job | None:
    """The line of this process; None outside of a sweep, and in processes that
    a job has started itself."""
    global _job, _job_of
    if _job_of != os.getpid():
        _job, _job_of = None, os.getpid()
        told = os.environ.get(JOB)
        number = json.loads(told)["socket"] if told else -1
        if told and json.loads(told)["parent"] == os.getppid() \
                and _is_socket(number):
            _job = Job(number)
    return _job


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
