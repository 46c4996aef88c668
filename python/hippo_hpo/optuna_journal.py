"""Studies in a journal file of Optuna, for optuna-dashboard and whatever else
reads one. Needs Optuna: ``pip install 'hippo-hpo[optuna]'``.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._flat import Domain, Flattener
from .errors import InvalidArgument
from .records import TrialInfo
from .study import Study

if TYPE_CHECKING:
    import optuna

# How often a running study is asked what is new.
INTERVAL_SECONDS = 1.0


def mirror(study: Study, file: str | os.PathLike[str],
           follow: bool = True) -> int:
    """Writes a study into an Optuna journal file, and follows it until it has
    ended: `optuna-dashboard FILE` shows it meanwhile.

    The call may be interrupted at any time; a further call continues the file.
    Values are exact. Each parameter of a schedule is a value of its own, such
    as ``lr.cosine.horizon``.

    Args:
        study: a study of a service.
        file: the journal; it may have other studies too.
        follow: False: write the present trials, and return.

    Returns:
        The number of the study's trials in the file.

    Raises:
        InvalidArgument: the file has another study of this name, of this or
            of another service, the study has no `uid`, or Optuna is not
            installed.
        OSError: the file cannot be written.
    """
    journal = _Journal(study, file)
    while True:
        ended = journal.refresh()
        if ended or not follow:
            return journal.trials
        time.sleep(INTERVAL_SECONDS)


class _Journal:
    """A study in a file, as far as it is written."""

    def __init__(self, study: Study, file: str | os.PathLike[str]) -> None:
        try:
            import optuna
        except ImportError as why:
            raise InvalidArgument(
                f"Optuna is needed for this: {why}. Install it with pip "
                "install 'hippo-hpo[optuna]'") from why
        self._optuna = optuna
        self._study = study
        info = study.info
        self._metric = info.metric
        self._goals: dict[str, str] = (
            info.front.goals if info.front else
            {info.metric: info.direction})
        self._limits = [_limit_of(x) for x in (
            info.front.constraints if info.front else ())]
        # Of several metrics, which Optuna takes at a trial's end alone: what
        # was measured, by trial and step.
        self._measured: dict[int, dict[int, dict[str, float]]] = {}
        self._storage: Any = None
        self._flat = Flattener(study._space())
        self._event = 0
        self._version = 0
        # By number of ours: Optuna's trial, while it has not ended there.
        self._open: dict[int, optuna.trial.Trial] = {}
        self._ended: dict[int, optuna.trial.FrozenTrial] = {}
        self._seen: dict[int, set[int]] = {}  # steps that were written
        self._waiting: set[int] = set()
        known = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            self._to = self._create(info.name, os.fspath(file))
        finally:
            optuna.logging.set_verbosity(known)
        self._take_up()

    @property
    def trials(self) -> int:
        return len(self._open) + len(self._ended)

    @property
    def _has_several(self) -> bool:
        return len(self._goals) > 1

    def _create(self, name: str, file: str) -> optuna.study.Study:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        # An open journal makes the file, but says nothing of a bad path.
        with open(file, "ab"):
            pass
        storage = self._storage = JournalStorage(JournalFileBackend(file))
        if name in self._optuna.get_all_study_names(storage):
            to = self._optuna.load_study(study_name=name, storage=storage)
        else:
            directions: list[Any] = list(self._goals.values())
            to = self._optuna.create_study(
                study_name=name, storage=storage, directions=directions)
        mine = {"uid": self._study.uid}
        known = to.user_attrs.get("hippo")
        if known is None and not to.get_trials(deepcopy=False):
            to.set_user_attr("hippo", mine)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it may change, says Optuna
                to.set_metric_names(list(self._goals))
        elif known != mine:
            raise InvalidArgument(
                f"{file} has another study that is called {name}"
                + (", or the same one as an earlier version wrote it"
                   if known and "uid" not in known else "")
                + ": give a new file")
        return to

    def _take_up(self) -> None:
        """Learns what the file has already."""
        for x in self._to.get_trials(deepcopy=False):
            number = x.user_attrs["hippo_trial"]
            self._seen[number] = set(x.intermediate_values)
            if x.state == self._optuna.trial.TrialState.WAITING:
                self._waiting.add(number)
            self._keep(number, x)

    def _keep(self, number: int, x: optuna.trial.FrozenTrial) -> None:
        if x.state.is_finished():
            self._open.pop(number, None)
            self._ended[number] = x
        else:
            self._ended.pop(number, None)
            self._open[number] = self._optuna.trial.Trial(
                self._to, x._trial_id)

    def refresh(self) -> bool:
        """Writes what is new. Returns whether the study has ended."""
        # In this order: states are of trials whose values have come.
        ended = self._study.info.ended
        states = self._states()
        values: dict[int, dict[int, float]] = {}
        failures: dict[int, str] = {}
        times: dict[int, list[float]] = {}
        for event in self._study.events(after=self._event):
            self._event = event.id
            if event.metrics is not None and self._has_several:
                self._measured.setdefault(event.trial, {})[
                    event.step] = event.metrics
            elif event.metrics is not None:
                value = event.metrics.get(self._metric, math.nan)
                values.setdefault(event.trial, {})[event.step] = value
            elif event.failure is not None:
                failures[event.trial] = event.failure
            else:
                continue
            times.setdefault(event.trial, []).append(event.time)
        self._retry(states)
        known = self._open.keys() | self._ended.keys()
        # Of a study that goes on, trials before the last one may come back.
        first = min([max(known, default=-1) + 1,
                     *(x for x in states if x not in known)])
        new = [x for x in self._study._trials_from(first)
               if x.number not in known]
        for x, flat in zip(new, self._flat.add(y.params for y in new)):
            state = states.get(x.number, "PENDING")
            self._add(x, flat, state, values.pop(x.number, {}),
                      times.get(x.number))
        for number, measured in values.items():
            self._report(number, measured)
        for number, state in states.items():
            if number in self._waiting and state != "PENDING":
                self._waiting.remove(number)
                self._storage.set_trial_state_values(
                    self._open[number]._trial_id,
                    self._optuna.trial.TrialState.RUNNING)
            if number in self._open and _is_over(state):
                self._end(number, state, failures.get(number, ""))
        if ended and self._open:
            self._end_missing()
        return ended

    def _end_missing(self) -> None:
        """Ends trials that were never begun: they are none of a study that has
        ended, and Optuna cannot take one back."""
        there = {x.number for x in self._study.trials}
        to = self._optuna.trial.TrialState
        for number in [x for x in self._open if x not in there]:
            trial = self._open[number]
            if number in self._waiting:
                self._waiting.remove(number)
                self._storage.set_trial_state_values(trial._trial_id,
                                                     to.RUNNING)
            self._keep(number, self._to.tell(trial, None, to.FAIL))

    def _states(self) -> dict[int, str]:
        """The states of trials that have changed since the last time."""
        from ._columns import column

        table = self._study._columns("table", self._version)
        self._version = table["version"]
        return dict(zip(table["trial"], column(table["state"])))

    def _retry(self, states: Mapping[int, str]) -> None:
        """Trials that had failed may be tried again; Optuna's may not."""
        for number, state in states.items():
            before = self._ended.get(number)
            if before is not None and not _is_over(state):
                self._write(number, before.params, before.distributions,
                            "RUNNING", before.intermediate_values, None)

    def _add(self, x: TrialInfo, flat: dict[str, Any], state: str,
             values: dict[int, float], times: list[float] | None) -> None:
        distributions = {name: self._distribution(self._flat.domains[name])
                         for name in flat}
        self._write(x.number, flat, distributions, state, values, x, times)

    def _write(self, number: int, params: dict[str, Any],
               distributions: dict[str, Any], state: str,
               values: dict[int, float], x: TrialInfo | None,
               times: list[float] | None = None) -> None:
        import datetime

        to = self._optuna.trial.TrialState
        attrs: dict[str, Any] = {"hippo_trial": number}
        how = _state_of(to, state)
        best = None
        system: dict[str, Any] = {}
        if x is not None:
            attrs.update(shared_steps=x.shared_steps)
            if x.failure:
                attrs["failure"] = x.failure
            if how == to.COMPLETE:
                best = self._best(x)
                system = self._constraints(x)
        if how == to.COMPLETE and best is None:
            how = to.FAIL
        frozen = self._optuna.trial.create_trial(
            state=how, values=best, params=params,
            distributions=distributions, user_attrs=attrs,
            system_attrs=system, intermediate_values=values)
        if times:
            frozen.datetime_start = datetime.datetime.fromtimestamp(times[0])
            if how.is_finished():
                frozen.datetime_complete = datetime.datetime.fromtimestamp(
                    times[-1])
        if how == to.WAITING:
            self._waiting.add(number)
        self._to.add_trial(frozen)
        self._seen[number] = set(values)
        self._keep(number, self._to.get_trials(deepcopy=False)[-1])

    def _report(self, number: int, values: dict[int, float]) -> None:
        seen = self._seen.setdefault(number, set())
        trial = self._open.get(number)
        for step, value in values.items():
            if trial is not None and step not in seen:
                trial.report(value, step)
                seen.add(step)

    def _end(self, number: int, state: str, failure: str) -> None:
        to = self._optuna.trial.TrialState
        trial = self._open[number]
        how = _state_of(to, state)
        now = self._study._trials_from(number, 1)[0]
        trial.set_user_attr("shared_steps", now.shared_steps)
        if failure or now.failure:
            trial.set_user_attr("failure", failure or now.failure)
        best = self._best(now) if how == to.COMPLETE else None
        if how == to.COMPLETE and best is None:
            how = to.FAIL
        for name, broken in self._constraints(now).items():
            self._storage.set_trial_system_attr(trial._trial_id, name, broken)
        self._keep(number, self._to.tell(trial, best, how))

    def _best(self, x: TrialInfo) -> list[float] | None:
        """A trial's values where its best was measured, one for each goal."""
        if not self._has_several:
            return None if x.value is None else [x.value]
        found = self._outcome(x)
        if any(math.isnan(found.get(name, math.nan)) for name in self._goals):
            return None
        return [found[name] for name in self._goals]

    def _outcome(self, x: TrialInfo) -> dict[str, float]:
        """What a trial has measured at its best, or last if nothing that it
        has keeps the constraints."""
        known = self._measured.get(x.number)
        if not known:
            return {}
        return known[max(known) if x.step is None else x.step]

    def _constraints(self, x: TrialInfo) -> dict[str, list[float]]:
        """How far it is beyond what the study demands, as Optuna has it: above
        0 is not allowed."""
        found = self._outcome(x)
        if not found or not self._limits:
            return {}
        return {"constraints": [
            sign * (found.get(metric, sign * math.inf) - limit)
            for metric, sign, limit in self._limits]}

    def _distribution(self, x: Domain) -> Any:
        to = self._optuna.distributions
        if not x.is_range:
            return to.CategoricalDistribution(x.shown_choices)
        assert x.low is not None and x.high is not None
        if x.whole:
            return to.IntDistribution(int(x.low), int(x.high), log=x.log,
                                      step=int(x.step or 1))
        return to.FloatDistribution(x.low, x.high, log=x.log, step=x.step)


def _limit_of(text: str) -> tuple[str, int, float]:
    """Reads ``ms <= 5``: the metric, 1 (at most) or -1, and the number."""
    metric, sign, limit = text.rsplit(" ", 2)
    return metric, 1 if sign == "<=" else -1, float(limit)


_OVER = ("COMPLETE", "PRUNED", "FAILED", "CANCELLED")


def _is_over(state: str) -> bool:
    return state in _OVER


def _state_of(to: Any, state: str) -> Any:
    return {"COMPLETE": to.COMPLETE, "PRUNED": to.PRUNED, "FAILED": to.FAIL,
            "CANCELLED": to.FAIL, "PENDING": to.WAITING}.get(state, to.RUNNING)
