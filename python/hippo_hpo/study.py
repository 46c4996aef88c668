"""Studies and trials of a service."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ._document import read_document
from ._packing import code_of, study_of
from ._renamed import renamed
from ._states import load_state
from .errors import InvalidArgument, Timeout, TrialFailed
from .mlflow_runs import write_runs
from .notebook import LiveCard, card_of
from .plots import Figure, figure_of
from .progress import Progress, shown
from .records import (LENGTH, Event, Front, SpaceChange, StudyInfo, TrialInfo,
                      event_of, importance_of, metrics_of, params_of, plain,
                      space_change_of, study_info_of, trial_info_of)
from .study_file import StudyFile
from .study_text import json_of

if TYPE_CHECKING:
    import pandas

    from ._line import Session
    from .client import Client

T = TypeVar("T")

# What one answer holds at most.
PAGE_MAX = 1000

# How long one question waits for news; the next one follows.
POLL_SECONDS_MAX = 20.0

# How often a progress line is redrawn.
REDRAW_SECONDS = 1.0

_TOLD_STATES = ("COMPLETE", "PRUNED", "FAILED")


class Study:
    """A study of a service, from `Client.submit` or `Client.study`.

    It can be used until its client is closed, also after the study has ended.
    Several threads may use it.

    Attributes:
        id: its number, from 1.
    """

    def __init__(self, client: Client, id: int) -> None:
        self._client = client
        self.id = id

    def __repr__(self) -> str:
        return f"<hippo.Study {self.id} at {self._client.address}>"

    def _repr_html_(self) -> str:
        """How the study is now, as a notebook shows it."""
        return card_of(self.info)

    def _call(self, what: str, op: Callable[[Any], Any],
              read: Callable[[Any], T], *, repeatable: bool = True) -> T:
        """Calls `op` of the study's capability; `read` makes a plain value of
        the answer."""
        async def both(session: Session) -> T:
            return read(await op(await session.study(self.id)))
        return self._client._line.call(f"{what} study {self.id}", both,
                                       repeatable=repeatable)

    # -- what there is

    @property
    def info(self) -> StudyInfo:
        """The present state of the study, asked for anew each time."""
        return self._call("describe", lambda x: x.describe(),
                          lambda x: study_info_of(x.info))

    @property
    def text(self) -> str:
        """The study file."""
        return study_of(self._whole_text())

    def _whole_text(self) -> str:
        """The study file with the code that came with it."""
        return self._call("describe", lambda x: x.describe(),
                          lambda x: str(x.text))

    def _space(self) -> dict[str, Any]:
        """The `space` of the study file, as maps and lists."""
        return read_document(self.text).get("space") or {}

    def file(self) -> StudyFile:
        """Returns the study file as an object, with the code that it brings.
        `Client.submit` accepts it."""
        text = self._whole_text()
        found = StudyFile.from_yaml(study_of(text))
        found.code = code_of(text)
        return found

    def to_yaml(self) -> str:
        """Returns the text of the study file, written by `StudyFile`."""
        return self.file().to_yaml()

    @property
    def name(self) -> str:
        """The study's name in the study file."""
        return self.info.name

    @property
    def uid(self) -> str:
        """Identifies the study outside of its service: see `StudyInfo`.

        Raises:
            InvalidArgument: the study has no uid yet.
        """
        info = self.info
        if not info.uid:
            raise InvalidArgument(
                f"study {self.id} ({info.name}) has no uid, by which others "
                "could know it: only an older program has written its state; "
                "run a service on it once, which makes one")
        return info.uid

    @property
    def state(self) -> str:
        """The present state, such as ``RUNNING``; see `StudyInfo`."""
        return self.info.state

    @property
    def trials(self) -> list[TrialInfo]:
        """All present trials, by number."""
        return self._trials_from(0)

    def _trials_from(self, first: int, most: int = 0) -> list[TrialInfo]:
        """The trials by number, from `first` on; `most` 0: all of them."""
        result: list[TrialInfo] = []
        while True:
            begin = result[-1].number + 1 if result else first
            page = self._call(
                "list the trials of",
                lambda x: x.trials(first=begin, most=most or PAGE_MAX),
                lambda x: [trial_info_of(y) for y in x.trials])
            result += page
            if not page or most:
                return result

    def _columns(self, what: str, after: int = 0) -> dict[str, Any]:
        """What the page shows of it: docs/http.md#columns."""
        return self._call(f"{what} of",
                          lambda x: x.columns(kind=what, after=after),
                          lambda x: params_of(x.json))

    @property
    def best_trial(self) -> TrialInfo:
        """The trial with the best value so far.

        Raises:
            InvalidArgument: there is no result yet, or the study has several
                metrics: use `best_trials`.
        """
        return self._call("find the best trial of", lambda x: x.best(),
                          lambda x: trial_info_of(x.trial))

    @property
    def front(self) -> Front:
        """The Pareto front of a study of several metrics: the measurements
        that no other one dominates.

        Raises:
            InvalidArgument: the study has one metric: use `best_trial`.
        """
        found = self.info.front
        if found is None:
            raise InvalidArgument(f"study {self.id} has one metric, and so no "
                                  "front: look at best_trial")
        return found

    @property
    def best_trials(self) -> list[TrialInfo]:
        """The trials on the Pareto front, by number, as in Optuna; with one
        metric the best trial, if there is one."""
        info = self.info
        if info.front is None:
            return [] if info.best_trial is None else [info.best_trial]
        known = self.trials
        return [known[x] for x in sorted({y.trial for y in info.front.points})]

    @property
    def best_of_each_length(self) -> dict[int, TrialInfo]:
        """The trial with the best value so far for each length, as values of
        trials of different length do not compare; empty for a study whose
        trials have one length."""
        sign = 1 if self.info.direction == "maximize" else -1
        result: dict[int, TrialInfo] = {}
        for x in self.trials:
            length = x.params.get(LENGTH)
            if length is None or x.value is None:
                continue
            known = result.get(length)
            if known is None or known.value is None \
                    or sign * x.value > sign * known.value:
                result[length] = x
        return dict(sorted(result.items()))

    @property
    def best(self) -> TrialInfo:
        """The same as `best_trial`."""
        return self.best_trial

    @property
    def best_value(self) -> float:
        """The best value so far. Raises as `best_trial`."""
        value = self.best_trial.value
        assert value is not None
        return value

    @property
    def best_params(self) -> dict[str, Any]:
        """The values of the best trial so far. Raises as `best_trial`."""
        return self.best_trial.params

    def best_state(self) -> Any:
        """Returns the state of the best trial at its best step; see `load`.
        Raises as `best_trial`.

            model.load_state_dict(study.best_state()["model"])
        """
        best = self.best_trial
        return self.load(best.number, best.step)

    def load(self, trial: Trial | TrialInfo | int, step: int | None = None, *,
             device: str = "cpu", threads: int = 1) -> Any:
        """Returns the state of a trial.

        For a training function the state is a map of the names in `ctx.steps`.
        Each has the result of ``state_dict()`` if the object has that method,
        else the value, or the map of an object's attributes. For a class the
        state is the result of its ``state_dict()``. Tensors are on the CPU.
        Steps whose checkpoints were removed are trained again on this machine.
        Of a trial of several ranks it is a list with the state of each. The
        state is unpickled: load it only if you trust the code that wrote it.

        Args:
            trial: a trial or its number.
            step: a step at which it was measured; None: the last one.
            device: the device for training again, of the same kind as before.
            threads: the number of threads for it, as before.

        Raises:
            InvalidArgument: there is no such trial, it was not measured at that
                step, or it has no state.
        """
        return load_state(self, _number(trial), step, device, threads)

    def trials_dataframe(self) -> pandas.DataFrame:
        """Returns a table with a row for each trial: the fields of `TrialInfo`,
        and a column ``params_NAME`` for each hyper-parameter.

        Needs pandas: ``pip install 'hippo-hpo[pandas]'``.
        """
        import pandas

        rows = []
        for x in self.trials:
            row = {"number": x.number, "value": x.value, "step": x.step,
                   "state": x.state}
            row.update((f"params_{name}", y) for name, y in x.params.items())
            row.update(asked_steps=x.asked_steps,
                       delivered_steps=x.delivered_steps,
                       shared_steps=x.shared_steps, failure=x.failure,
                       chosen=x.chosen, predicted=x.predicted,
                       untrained=x.untrained, spread=x.spread,
                       steps=x.delivered_steps)  # its former name
            rows.append(row)
        return pandas.DataFrame(rows)

    def results_dataframe(self) -> pandas.DataFrame:
        """Returns a table of all measurements: a row for each trial and step,
        a column for each metric. Needs pandas.

        Raises:
            ResourceExhausted: there are more than 200,000 results.
        """
        import pandas

        rows = [{"number": trial["id"], "step": x["step"], **x["metrics"]}
                for trial in self.export()["trials"] for x in trial["results"]]
        return pandas.DataFrame(rows)

    def events(self, follow: bool = False, after: int = 0) -> Iterator[Event]:
        """Yields the events of the study in order: measurements, failures,
        commands and decisions of its sampler.

        Args:
            follow: continue with new events until the study has ended.
            after: `id` of the last known event; 0: begin with the first.
        """
        line = self._client._line
        wait = min(POLL_SECONDS_MAX, line.timeout / 2) if follow else 0.0
        while True:
            events, after, ended = self._call(
                "follow",
                lambda x: x.events(after=after, most=PAGE_MAX,
                                   waitMillis=round(1000 * wait)),
                lambda x: ([event_of(y) for y in x.events], int(x.next),
                           bool(x.ended)))
            yield from events
            if ended or not (follow or events):
                return

    def wait(self, progress: bool | Callable[[StudyInfo], object] = True,
             timeout: float | None = None) -> StudyInfo:
        """Waits until the study has ended.

        Args:
            progress: whether to show progress: in a notebook as a card, on a
                terminal as a line that is updated, otherwise as lines on
                stderr when trials have finished. A callable gets the study's
                state about once a second instead.
            timeout: seconds to wait at most; None: no limit.

        Returns:
            The state of the study at its end. A failed or cancelled study
            raises nothing: see `state` and `reason`.

        Raises:
            Timeout: the study has not ended after `timeout` seconds.
        """
        line = self._client._line
        show: Callable[[StudyInfo], object] = lambda x: None
        own: Progress | LiveCard | None = None
        if callable(progress):
            show = progress
        elif progress:
            show = own = shown()
        poll = min(line.timeout / 2,
                   POLL_SECONDS_MAX if progress is False else REDRAW_SECONDS)
        end = None if timeout is None else time.monotonic() + timeout
        try:
            info = self.info
            while True:
                show(info)
                if info.ended:
                    return info
                seconds = poll
                if end is not None:
                    seconds = min(poll, end - time.monotonic())
                    if seconds <= 0:
                        raise Timeout(f"study {self.id} ({info.name}) is "
                                      f"{info.state} after {timeout:g} s")
                info = self._call(
                    "wait for",
                    lambda x: x.wait(waitMillis=round(1000 * seconds)),
                    lambda x: study_info_of(x.info))
        finally:
            if own is not None:
                own.end()

    def export(self) -> dict[str, Any]:
        """Returns everything about the study, as in `report.json`."""
        parts: list[str] = []
        after = ""
        while True:
            part, after = self._export_part(after)
            parts.append(part)
            if not after:
                return params_of("".join(parts))

    def _export_part(self, after: str) -> tuple[str, str]:
        """A part of the export, and where the next one begins; empty: none."""
        return self._call("export", lambda x: x.export(after=after),
                          lambda x: (str(x.json), str(x.next)))

    @renamed(at="step")
    def importance(self, step: int = 0, metric: str = "") -> dict[str, Any]:
        """Returns the importance of each hyper-parameter, by conditional
        PED-ANOVA (arXiv 2304.10255, 2601.20800): how much its values in the
        best tenth of the trials differ from those in all trials. It does not
        give the effect of a single value.

        Args:
            step: step at which the trials are compared; 0: the last one at
                which nine tenths of them were measured.
            metric: the metric that decides which trials are the best; empty:
                the first one of the objective.

        Returns:
            The answer of ``/api/studies/STUDY/importance``: docs/http.md.
            ``importance`` lists each ``parameter`` with its ``importance`` and
            ``share``, the greatest first.

        Raises:
            InvalidArgument: fewer than 10 trials were measured at that step,
                or `metric` is not part of the objective.
        """
        return self._call("importance of",
                          lambda x: x.importance(step=step, metric=metric),
                          lambda x: plain(importance_of(x.importance)))

    # -- figures, drawn by the page's own code; a notebook shows what they
    # return

    def plot_history(self) -> Figure:
        """The best value over time, trials or device time."""
        return figure_of(self, "history")

    def plot_curves(self) -> Figure:
        """Learning curves, of the first 200,000 results."""
        return figure_of(self, "curves")

    def plot_parallel(self) -> Figure:
        """Parallel coordinates: each trial is a line through the values of its
        hyper-parameters."""
        return figure_of(self, "parallel")

    @renamed(at="step")
    def plot_importance(self, step: int = 0, metric: str = "") -> Figure:
        """The importance of each hyper-parameter. Raises as `importance`."""
        return figure_of(self, "importance", step, metric)

    def plot_tree(self) -> Figure:
        """The stage tree: each stage, and the number of trials that share
        it."""
        return figure_of(self, "tree")

    def plot_schedules(self) -> Figure:
        """The values of hyper-parameters over the steps.

        Raises:
            InvalidArgument: no hyper-parameter changes during training.
        """
        return figure_of(self, "schedules")

    def plot_timeline(self) -> Figure:
        """The work of trainers in the last hour for the study's workload, which
        other studies may share. It is forgotten ten minutes after the last of
        these studies has ended."""
        return figure_of(self, "timeline")

    def plot_front(self) -> Figure:
        """Metrics against each other, with the Pareto front.

        Raises:
            InvalidArgument: there is only one metric.
        """
        return figure_of(self, "front")

    # -- for other programs

    def to_mlflow(self, uri: str, best: int | None = None) -> int:
        """Writes ended trials as runs into an MLflow experiment with the name
        of the study: values, all metrics with their steps and times, and tags
        ``hippo.*``. Each parameter of a schedule is a value of its own, such
        as ``lr.cosine.horizon``. Trials that are already there are left
        unchanged.

        Needs MLflow: ``pip install 'hippo-hpo[mlflow]'``.

        Args:
            uri: address of MLflow's tracking server, such as
                ``"http://127.0.0.1:5000"``.
            best: write only that many trials, those with the best values (with
                several metrics those on the front first), and no failed ones;
                None: all.

        Returns:
            The number of runs written.

        Raises:
            InvalidArgument: MLflow is not installed, `best` is below 1, or the
                study has no `uid`.
            mlflow.exceptions.MlflowException: the server refuses them.
        """
        return write_runs(self, uri, best)

    # -- what may be done with it

    def pause(self) -> None:
        """Starts no further training; training in progress continues."""
        self._call("pause", lambda x: x.pause(), _nothing)

    def resume(self) -> None:
        """Ends a pause."""
        self._call("resume", lambda x: x.resume(), _nothing)

    def retry(self, trials: Iterable[Trial | int] = (),
              all: bool = False) -> int:
        """Trains failed trials again. An ended study continues.

        Args:
            trials: trials or their numbers; empty: all that have failed.
            all: also trials whose failures are permanent: those that diverged,
                and those that three trainers reported alike.

        Returns:
            The number of trials that are trained again.

        Raises:
            InvalidArgument: there are none; the text gives the reason.
        """
        numbers = [_number(x) for x in trials]
        return self._call("retry", lambda x: x.retry(trials=numbers, all=all),
                          lambda x: int(x.trials), repeatable=False)

    def stop(self) -> None:
        """Ends the study after the training in progress."""
        self._call("stop", lambda x: x.stop(), _nothing)

    def cancel(self, reason: str = "") -> None:
        """Ends the study now."""
        self._call("cancel", lambda x: x.cancel(reason=reason), _nothing)

    def set_weight(self, weight: float) -> None:
        """Changes the study's share of the trainers, relative to other studies.

        Args:
            weight: above 0.
        """
        self._call("weigh", lambda x: x.setWeight(weight=weight), _nothing)

    # -- what it is given beyond what it was submitted with

    def extend(self, *, trials: int = 0, seconds: float = 0,
               deadline_seconds: float = 0, device_hours: float = 0,
               cost: float = 0, steps: int = 0, budget_steps: int = 0) -> int:
        """Raises the budget of the study, or the length of its trials. A study
        that has ended because nothing was left to do, or because a budget was
        spent, continues: trials go on from their last states.

        Args:
            trials: number of further trials. The algorithms random, grid, tpe,
                gp, nsga2, asha and median take more.
            seconds: time to add to ``budget.seconds``.
            deadline_seconds: time by which the deadline comes later.
            device_hours: device time to add to ``budget.device_hours``.
            cost: amount to add to ``budget.cost``.
            steps: the length of trials from now on, greater than before, as
                ``max_steps`` of a study file. Trials that had come to their end
                go on from there. The algorithms random, grid, tpe, gp, nsga2,
                asha, median and client take it.
            budget_steps: number of steps to add to ``budget.steps``.

        Returns:
            The number of its trials by then.

        Raises:
            InvalidArgument: the study cannot be extended; the text gives the
                reason.
            Disconnected: the connection was lost; it may have been extended.
        """
        amounts = {"trials": trials, "seconds": seconds,
                   "deadlineSeconds": deadline_seconds,
                   "deviceSeconds": device_hours * 3600, "cost": cost,
                   "steps": steps, "budgetSteps": budget_steps}
        for name, amount in amounts.items():
            if amount < 0:
                raise InvalidArgument(f"{name} {amount}: 0 or more is asked "
                                      "for")
        return self._steer("extend", {"extend": amounts})

    def enqueue(self, *trials: Mapping[str, Any],
                outside: bool = False) -> int:
        """Adds trials with given values, which come next, whatever the sampler
        would choose (Optuna's ``enqueue_trial``). Samplers learn from them. A
        study that has ended continues, as after `extend`.

        Args:
            trials: for each trial a map with a value for every hyper-parameter
                that the study chooses; at most 1000.
            outside: whether values need not be of the space. Samplers learn
                nothing of these trials then.

        Returns:
            The number of its trials by then.

        Raises:
            InvalidArgument: a value is not one of the space, or the study takes
                no more trials; the text gives the place and the reason.
            Disconnected: the connection was lost; the trials may exist.
        """
        if not trials:
            raise InvalidArgument("enqueue: the values of at least one trial "
                                  "are asked for")
        name = "outside" if outside else "trials"
        text = json_of("trials", {name: [dict(x) for x in trials]})
        return self._steer("enqueue", {"enqueue": text})

    def fork(self, trial: int, at: int, params: Mapping[str, Any]) -> int:
        """Adds a trial that continues from a step of another one with other
        values. Both share the steps before it, which are not trained again. A
        study that has ended continues, as after `extend`.

        Args:
            trial: number of the other trial, in whatever state it is.
            at: the last step that both have, from 1 on.
            params: the hyper-parameters that change, with a value or a schedule
                each, which counts the steps of the trial. Others stay.

        Returns:
            The number of the study's trials by then.

        Raises:
            InvalidArgument: there is no such trial or step, a value is wrong,
                or the study takes no more trials; the text gives the reason.
            Disconnected: the connection was lost; the trial may exist.
        """
        text = json_of("params", {"forks": [{
            "trial": trial, "at": at, "params": dict(params)}]})
        return self._steer("fork", {"enqueue": text})

    def tell_past(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Lets the sampler learn from results of training elsewhere (Optuna's
        ``add_trial``). They are no trials of the study: nothing lists them, and
        no trial is answered with them.

        Args:
            results: each a map with ``params`` (as of `enqueue`), ``metrics``
                (a number for each metric of the study) and ``step`` (default:
                the last one). They are sent by 1000.

        Raises:
            InvalidArgument: a result is none of the study's space, or its
                sampler does not learn. The results of earlier thousands are
                known then.
            Disconnected: the connection was lost.
        """
        all_results = [dict(x) for x in results]
        for begin in range(0, len(all_results), PAGE_MAX):
            text = json_of("results",
                           {"results": all_results[begin:begin + PAGE_MAX]})
            self._steer("tell past results to", {"tellPast": text})

    def set_space(self, space: Mapping[str, Any],
                  prior: Mapping[str, Any] | None = None, *,
                  dry_run: bool = False) -> SpaceChange:
        """Gives the study another space. Trials that have not begun are drawn
        anew from it; trials that have begun, and those with given values, stay.
        Samplers that learn use the results that lie in the new space. A study
        that has ended continues if that leaves it trials.

        Args:
            space: as of a study file: a value, a choice or a range for each
                hyper-parameter.
            prior: a belief about it, as of a study file; None: there is none.
            dry_run: whether to return the effects only, and change nothing.

        Returns:
            The hyper-parameters that change, and the numbers of trials.

        Raises:
            InvalidArgument: the space is invalid, or the study's algorithm
                plans all trials at once; the text gives the reason.
            Disconnected: the connection was lost; the space may be set.
        """
        wanted: dict[str, Any] = {"space": dict(space)}
        if prior is not None:
            wanted["prior"] = dict(prior)
        change = {"space": json_of("space", wanted), "dryRun": dry_run}
        return self._call(
            "set the space of", lambda x: x.steer(change={"setSpace": change}),
            lambda x: space_change_of(x.space), repeatable=False)

    # -- words about it, and what is hidden

    def set_note(self, text: str) -> None:
        """Sets the note of the study, which may have ended: words for people,
        at most 10,000 bytes. An empty text removes it.

        Raises:
            InvalidArgument: it is too long.
            Disconnected: the connection was lost; the note may be set.
        """
        self._steer("set the note of", {
            "note": {"setNote": True, "note": text}})

    def add_tags(self, *tags: str) -> None:
        """Adds tags to the study, which may have ended; ``client.studies()``
        and ``hippo ls --tag`` find it by them.

        Raises:
            InvalidArgument: a tag is empty, longer than 64 bytes or has a
                comma, or the study would have more than 32.
            Disconnected: the connection was lost; the tags may be there.
        """
        self._steer("tag", {"note": {"addTags": list(tags)}})

    def remove_tags(self, *tags: str) -> None:
        """Removes tags of the study.

        Raises:
            InvalidArgument: the study does not have one of them.
            Disconnected: the connection was lost; they may be removed.
        """
        self._steer("untag", {"note": {"removeTags": list(tags)}})

    def remove(self, *trials: int) -> None:
        """Hides trials that have ended, or without any the study itself, which
        must have ended. Listings, counts, the best trial, and the samplers tpe
        and gp no longer take them into account. Training that they share with
        others stays, and `restore` shows them again. ``hippo gc`` frees the
        checkpoints that only they needed, and deletes hidden studies.

        Raises:
            InvalidArgument: there is no such trial, or it has not ended.
            Disconnected: the connection was lost; they may be hidden.
        """
        self._steer("remove", {"remove": {"trials": list(trials)}})

    def restore(self, *trials: int) -> None:
        """Shows trials again that `remove` has hidden, or without any the
        study.

        Raises:
            InvalidArgument: they are not hidden.
            Disconnected: the connection was lost; they may be shown again.
        """
        self._steer("restore", {"restore": {"trials": list(trials)}})

    def _steer(self, what: str, change: dict[str, Any]) -> int:
        return self._call(what, lambda x: x.steer(change=change),
                          lambda x: int(x.trials), repeatable=False)

    # -- studies with `algorithm: client`

    def ask(self, params: Mapping[str, Any] | None = None) -> Trial:
        """Creates a trial of a study with ``algorithm: client``.

        Args:
            params: its values as in a study file: a value or a sequence for
                each hyper-parameter. None: the study's sampler draws them.

        Raises:
            InvalidArgument: the values are invalid, the study takes no more
                trials, or it has another algorithm.
            Disconnected: the connection was lost; the trial may exist.
        """
        text = "" if params is None else json_of("params", params)
        number, values = self._call(
            "ask for a trial of", lambda x: x.ask(params=text),
            lambda x: (int(x.trial), params_of(x.params)), repeatable=False)
        return Trial(self, number, values)

    @renamed(until="step")
    def train_async(self, trial: Trial | int, step: int = -1
                    ) -> concurrent.futures.Future[dict[str, float]]:
        """Trains a trial, as `Trial.train`, and returns at once.

        Args:
            trial: a trial or its number.
            step: as of `Trial.train`.

        Returns:
            A future of the metrics. Cancelling it ends the wait, not the
            training. Its callbacks must not call the service.
        """
        number = _number(trial)
        if step < 0:
            raise InvalidArgument(f"step {step}: 0 or more is asked for")

        async def train(session: Session) -> dict[str, float]:
            study = await session.study(self.id)
            answer = await study.train(trial=number, step=step)
            trained = answer.trained
            if trained.step >= step:
                return metrics_of(trained.metrics)
            raise TrialFailed(
                trained.failure or f"trial {number} ended at step "
                f"{trained.step}, before step {step}: it is "
                f"{trained.state}", number, trained.state, trained.step)
        return self._client._line.train(
            f"train trial {number} of study {self.id}", train)

    def train_many(self, trains: Iterable[tuple[Trial | int, int]]
                   ) -> list[dict[str, float] | TrialFailed]:
        """Trains several trials at once.

        Args:
            trains: pairs of a trial and the step to train it to.

        Returns:
            The metrics of each trial, in the order of `trains`; for a failed
            trial the exception, which is not raised.
        """
        futures = [self.train_async(trial, step) for trial, step in trains]
        try:
            results: list[dict[str, float] | TrialFailed] = []
            for future in futures:
                try:
                    results.append(future.result())
                except TrialFailed as e:
                    results.append(e.with_traceback(None))
            return results
        finally:
            for future in futures:
                future.cancel()

    def tell(self, trial: Trial | int, value: float | None = None,
             state: str = "COMPLETE", step: int | None = None) -> None:
        """Ends a trial.

        Args:
            trial: a trial or its number.
            value: an objective value measured by the client; None: keep the
                service's measurements.
            state: ``COMPLETE``, ``PRUNED`` or ``FAILED``.
            step: the step of `value`; None: the study's last one.

        Raises:
            InvalidArgument: the trial does not exist or cannot end so.
            Disconnected: the connection was lost; the trial may have ended.
        """
        if state not in _TOLD_STATES:
            raise InvalidArgument(f"state {state!r}: one of "
                                  f"{', '.join(_TOLD_STATES)} is asked for")
        outcome: dict[str, Any] = {"state": state, "step": step or 0}
        if value is not None:
            outcome["value"] = {"value": float(value)}
        number = _number(trial)
        self._call(f"tell of trial {number} of",
                   lambda x: x.tell(trial=number, outcome=outcome), _nothing,
                   repeatable=False)

    def output(self, trial: Trial | int) -> str:
        """Returns the output of the training code for a trial, including that
        of shared steps, up to the trial's last measurement.

        Raises:
            InvalidArgument: there is no such trial.
        """
        number = _number(trial)
        text, first = "", 0
        while True:
            step = first

            def take(answer: Any) -> tuple[str, int]:
                return str(answer.text), int(answer.nextStep)
            part, first = self._call(
                f"output of trial {number} of",
                lambda x: x.output(trial=number, fromStep=step), take)
            text += part
            if first == step:
                return text

    def close(self) -> None:
        """Announces that there are no more trials. The study ends when its
        trials have ended."""
        self._call("close", lambda x: x.close(), _nothing)


class Trial:
    """A trial created by `Study.ask`.

    Attributes:
        study: its study.
        number: its number in the study, from 0.
        params: its values.
    """

    def __init__(self, study: Study, number: int,
                 params: dict[str, Any]) -> None:
        self.study = study
        self.number = number
        self.params = params

    def __repr__(self) -> str:
        return f"<hippo.Trial {self.number} of study {self.study.id}>"

    @renamed(until="step")
    def train(self, step: int = -1) -> dict[str, float]:
        """Trains the trial up to a step, and waits for it. Steps that were
        already trained, for any trial, are not trained again. The call may be
        repeated.

        Args:
            step: a step with a measurement; see `eval_every` and the
                rungs of the study.

        Returns:
            The metrics at that step, by name; a value may be NaN.

        Raises:
            TrialFailed: the trial ended before; the text is the trainer's.
            InvalidArgument: it cannot be trained to that step.
        """
        return self.study._client._line._result(
            self.train_async(step))

    @renamed(until="step")
    def train_async(self, step: int = -1
                    ) -> concurrent.futures.Future[dict[str, float]]:
        """Starts the training of the trial; see `Study.train_async`."""
        return self.study.train_async(self, step)


def _number(trial: Trial | TrialInfo | int) -> int:
    return trial.number if isinstance(trial, (Trial, TrialInfo)) else trial


def _nothing(answer: object) -> None:
    """Reads an answer that says nothing but that it was done."""
