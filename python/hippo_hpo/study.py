"""Studies and trials of a service."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ._document import read_document
from ._packing import code_of, study_of
from ._states import load_state
from .errors import InvalidArgument, Timeout, TrialFailed
from .mlflow_runs import write_runs
from .notebook import LiveCard, card_of
from .plots import Figure, figure_of
from .progress import Progress, shown
from .records import (Event, Front, StudyInfo, TrialInfo, event_of,
                      metrics_of, params_of, study_info_of, trial_info_of)
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
    """A study of a service. `Client.submit` and `Client.study` give it.

    It stays usable for as long as its client is not closed, whatever becomes
    of the study. Several threads may use it.

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
        return card_of(self.info())

    def _call(self, what: str, op: Callable[[Any], Any],
              read: Callable[[Any], T], *, repeatable: bool = True) -> T:
        """Calls `op` of the study's capability; `read` makes a plain value of
        the answer."""
        async def both(session: Session) -> T:
            return read(await op(await session.study(self.id)))
        return self._client._line.call(f"{what} study {self.id}", both,
                                       repeatable=repeatable)

    # -- what there is

    def info(self) -> StudyInfo:
        """Returns how the study is now."""
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
        """Returns the study file as an object, with the code that it brings:
        `Client.submit` takes it again."""
        text = self._whole_text()
        found = StudyFile.from_yaml(study_of(text))
        found.code = code_of(text)
        return found

    def to_yaml(self) -> str:
        """Returns the study file as `StudyFile` writes it."""
        return self.file().to_yaml()

    @property
    def name(self) -> str:
        """What the study file calls it."""
        return self.info().name

    @property
    def uid(self) -> str:
        """Identifies the study outside of its service, as other programs know
        it: see `StudyInfo`.

        Raises:
            InvalidArgument: it has none yet.
        """
        info = self.info()
        if not info.uid:
            raise InvalidArgument(
                f"study {self.id} ({info.name}) has no uid, by which others "
                "could know it: only an older program has written its state; "
                "run a service on it once, which makes one")
        return info.uid

    @property
    def state(self) -> str:
        """How it is now; see `StudyInfo`."""
        return self.info().state

    @property
    def trials(self) -> list[TrialInfo]:
        """All trials that there are by now, by number."""
        return self._trials_from(0)

    def _trials_from(self, first: int, most: int = 0) -> list[TrialInfo]:
        """The trials by number, from `first` on; `most` 0: all of them."""
        result: list[TrialInfo] = []
        while True:
            begin = first + len(result)
            page = self._call(
                "list the trials of",
                lambda x: x.trials(first=begin, most=most or PAGE_MAX),
                lambda x: [trial_info_of(y) for y in x.trials])
            result += page
            if not page or most:
                return result

    def _cost_seconds(self) -> float:
        """The device time that was spent on it."""
        return self._call("describe", lambda x: x.describe(),
                          lambda x: float(x.info.costSeconds))

    def _columns(self, what: str, after: int = 0) -> dict[str, Any]:
        """What the page shows of it: docs/http.md#columns."""
        return self._call(f"{what} of",
                          lambda x: x.columns(what=what, after=after),
                          lambda x: params_of(x.json))

    @property
    def best_trial(self) -> TrialInfo:
        """The trial with the best value so far.

        Raises:
            InvalidArgument: there is no result yet, or the study has several
                metrics: look at `best_trials`.
        """
        return self._call("find the best trial of", lambda x: x.best(),
                          lambda x: trial_info_of(x.trial))

    @property
    def front(self) -> Front:
        """The best of a study of several metrics: measurements that no other
        one dominates.

        Raises:
            InvalidArgument: the study has one metric: look at `best_trial`.
        """
        found = self.info().front
        if found is None:
            raise InvalidArgument(f"study {self.id} has one metric, and so no "
                                  "front: look at best_trial")
        return found

    @property
    def best_trials(self) -> list[TrialInfo]:
        """The trials that have a part in the front, by number, as Optuna calls
        them; of one metric the best one, if there is one."""
        info = self.info()
        if info.front is None:
            return [] if info.best_trial is None else [info.best_trial]
        known = self.trials
        return [known[x] for x in sorted({y.trial for y in info.front.points})]

    @property
    def best(self) -> TrialInfo:
        """The same in one word."""
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
        """Returns the state that the best trial had where it was best; see
        `load`. Raises as `best_trial`.

            model.load_state_dict(study.best_state()["model"])
        """
        best = self.best_trial
        return self.load(best.number, best.step)

    def load(self, trial: Trial | TrialInfo | int, step: int | None = None, *,
             device: str = "cpu", threads: int = 1) -> Any:
        """Returns the state that a trial had.

        Of a training function that is a map of what `ctx.steps` names: what
        ``state_dict()`` gives of what has one, else the value, or the map of an
        object's attributes. Of a class it is what its ``state_dict()`` returns.
        Tensors are on the CPU. What was not kept is trained again, here. The
        state is unpickled, so that whoever has written it could run anything.

        Args:
            trial: or its number.
            step: at which it was measured; None: the last.
            device: where it is trained again: of the kind that has trained it.
            threads: likewise.

        Raises:
            InvalidArgument: there is no such trial, it was not measured there,
                or it keeps no state.
        """
        return load_state(self, _number(trial), step, device, threads)

    def trials_dataframe(self) -> pandas.DataFrame:
        """Returns the trials as a table: a row for each, with the fields of
        `TrialInfo`, and a column ``params_NAME`` for each hyper-parameter.

        Needs pandas: ``pip install 'hippo-hpo[pandas]'``.
        """
        import pandas

        rows = []
        for x in self.trials:
            row = {"number": x.number, "value": x.value, "step": x.step,
                   "state": x.state}
            row.update((f"params_{name}", y) for name, y in x.params.items())
            row.update(asked_steps=x.asked_steps, steps=x.steps,
                       shared_steps=x.shared_steps, failure=x.failure,
                       chosen=x.chosen, predicted=x.predicted,
                       untrained=x.untrained)
            rows.append(row)
        return pandas.DataFrame(rows)

    def results_dataframe(self) -> pandas.DataFrame:
        """Returns all that was measured as a table: a row for each trial and
        step, with a column for each metric. Needs pandas.

        Raises:
            ResourceExhausted: there are more than 200,000 results.
        """
        import pandas

        rows = [{"number": trial["id"], "step": x["step"], **x["metrics"]}
                for trial in self.export()["trials"] for x in trial["results"]]
        return pandas.DataFrame(rows)

    def events(self, follow: bool = False, after: int = 0) -> Iterator[Event]:
        """Yields what the study has heard, in its order.

        Args:
            follow: go on with what comes, until the study has ended.
            after: `id` of the last event that is known already; 0: from the
                first.
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
            progress: whether to show it: as a card in a notebook; else on
                stderr, as a line in place on a terminal, or as a line whenever
                trials have finished. A callable gets the study's state about
                once a second instead.
            timeout: seconds to wait at most; None: no limit.

        Returns:
            How the study is then. That it failed or was cancelled is no
            exception: look at `state` and `reason`.

        Raises:
            Timeout: the study goes on, but `timeout` seconds are over.
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
            info = self.info()
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
        """Returns all that is known of the study, as `report.json` has it."""
        return self._call("export", lambda x: x.export(),
                          lambda x: params_of(x.json))

    def importance(self, at: int = 0, metric: str = "") -> dict[str, Any]:
        """Compares the best tenth of the trials with all of them, by
        conditional PED-ANOVA (arXiv 2304.10255, 2601.20800): in which
        hyper-parameters they differ. Not what a value does.

        Args:
            at: step at which the trials are compared; 0: the last one at which
                nine tenths of them were measured.
            metric: of the study's goals, by which trials are the best; empty:
                the first one.

        Returns:
            What ``/api/studies/STUDY/importance`` answers: docs/http.md.
            ``importance`` has, the greatest first, each ``parameter`` with its
            ``importance`` and ``share``.

        Raises:
            InvalidArgument: fewer than 10 trials were measured there, or
                `metric` is no goal.
        """
        return self._call("importance of",
                          lambda x: x.importance(step=at, metric=metric),
                          lambda x: params_of(x.json))

    # -- figures, drawn by the page's own code; a notebook shows what they
    # return

    def plot_history(self) -> Figure:
        """The best value over time, trials or device time."""
        return figure_of(self, "history")

    def plot_curves(self) -> Figure:
        """Learning curves, of the first 200,000 results."""
        return figure_of(self, "curves")

    def plot_parallel(self) -> Figure:
        """Trials as lines from hyper-parameter to hyper-parameter."""
        return figure_of(self, "parallel")

    def plot_importance(self, at: int = 0, metric: str = "") -> Figure:
        """What the best trials have in common; raises as `importance`."""
        return figure_of(self, "importance", at, metric)

    def plot_tree(self) -> Figure:
        """The stage tree: what was trained once for how many trials."""
        return figure_of(self, "tree")

    def plot_schedules(self) -> Figure:
        """How a hyper-parameter goes while trials train.

        Raises:
            InvalidArgument: none changes while a trial trains.
        """
        return figure_of(self, "schedules")

    def plot_timeline(self) -> Figure:
        """What trainers did in the last hour for the study's workload, which
        other studies may share. Nothing of it is known ten minutes after the
        last of them has ended."""
        return figure_of(self, "timeline")

    def plot_front(self) -> Figure:
        """Metrics against each other, and the trials that none beats in both.

        Raises:
            InvalidArgument: there is only one metric.
        """
        return figure_of(self, "front")

    # -- for other programs

    def to_mlflow(self, uri: str, best: int | None = None) -> int:
        """Writes trials that have ended as runs into MLflow, in an experiment
        that is called like the study: values, all metrics with their steps and
        times, and tags ``hippo.*``. Schedules are taken apart, as into
        ``lr.cosine.horizon``. Trials that are there already are left alone.

        Needs MLflow: ``pip install 'hippo-hpo[mlflow]'``.

        Args:
            uri: of MLflow's tracking server, such as
                ``"http://127.0.0.1:5000"``.
            best: so many trials, those with the best values, of several
                metrics first those in the front, none that has failed; None:
                all.

        Returns:
            How many runs were written.

        Raises:
            InvalidArgument: MLflow is not installed, `best` is below 1, or the
                study has no `uid`.
            mlflow.exceptions.MlflowException: the server does not take them.
        """
        return write_runs(self, uri, best)

    # -- what may be done with it

    def pause(self) -> None:
        """Lets nothing new start; what runs goes on."""
        self._call("pause", lambda x: x.pause(), _nothing)

    def resume(self) -> None:
        """Ends a pause."""
        self._call("resume", lambda x: x.resume(), _nothing)

    def retry(self, trials: Iterable[Trial | int] = (),
              all: bool = False) -> int:
        """Tries trials again that have failed. A study that has ended goes on.

        Args:
            trials: or their numbers; none: all that have failed.
            all: also those whose failures do not pass: what diverged, and what
                three trainers said alike.

        Returns:
            How many are tried again.

        Raises:
            InvalidArgument: none is; the text says why.
        """
        numbers = [_number(x) for x in trials]
        return self._call("retry", lambda x: x.retry(trials=numbers, all=all),
                          lambda x: int(x.trials), repeatable=False)

    def stop(self) -> None:
        """Lets what runs finish; then the study ends."""
        self._call("stop", lambda x: x.stop(), _nothing)

    def cancel(self, reason: str = "") -> None:
        """Ends the study now."""
        self._call("cancel", lambda x: x.cancel(reason=reason), _nothing)

    def set_weight(self, weight: float) -> None:
        """Changes the study's share of the trainers, which is relative to that
        of others.

        Args:
            weight: above 0.
        """
        self._call("weigh", lambda x: x.setWeight(weight=weight), _nothing)

    # -- studies with `algorithm: client`

    def ask(self, params: Mapping[str, Any] | None = None) -> Trial:
        """Makes one more trial, of a study with ``algorithm: client``.

        Args:
            params: its values, as a study file would have them: a value or a
                sequence for each hyper-parameter. None: the study's sampler
                draws them.

        Raises:
            InvalidArgument: the study asks for no such values, wants no more
                trials, or has an algorithm of its own.
            Disconnected: the connection was lost; the trial may be there.
        """
        text = "" if params is None else json_of("params", params)
        number, values = self._call(
            "ask for a trial of", lambda x: x.ask(params=text),
            lambda x: (int(x.trial), params_of(x.params)), repeatable=False)
        return Trial(self, number, values)

    def train_async(self, trial: Trial | int, until: int
                    ) -> concurrent.futures.Future[dict[str, float]]:
        """Trains a trial, as `Trial.train`, and returns at once.

        Returns:
            A future of the metrics. Cancelling it gives up waiting, not the
            training. Its callbacks must not wait for the service.
        """
        number = _number(trial)
        if until < 0:
            raise InvalidArgument(f"until step {until}: 0 or more is asked for")

        async def train(session: Session) -> dict[str, float]:
            study = await session.study(self.id)
            answer = await study.train(trial=number, untilStep=until)
            progress = answer.progress
            if progress.step >= until:
                return metrics_of(progress.metrics)
            raise TrialFailed(
                progress.failure or f"trial {number} ended at step "
                f"{progress.step}, before step {until}: it is "
                f"{progress.state}", number, progress.state, progress.step)
        return self._client._line.train(
            f"train trial {number} of study {self.id}", train)

    def train_many(self, trains: Iterable[tuple[Trial | int, int]]
                   ) -> list[dict[str, float] | TrialFailed]:
        """Trains several trials at once.

        Args:
            trains: trials, and up to which step each is to be trained.

        Returns:
            The metrics of each, in the order of `trains`; for one that failed
            the exception, which is not raised.
        """
        futures = [self.train_async(trial, until) for trial, until in trains]
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
            trial: or its number.
            value: an objective value that was measured here; None: what the
                service has measured stands.
            state: ``COMPLETE``, ``PRUNED`` or ``FAILED``.
            step: at which `value` was measured; None: the study's last.

        Raises:
            InvalidArgument: there is nothing to tell of such a trial.
            Disconnected: the connection was lost; the trial may have ended.
        """
        if state not in _TOLD_STATES:
            raise InvalidArgument(f"state {state!r}: one of "
                                  f"{', '.join(_TOLD_STATES)} is asked for")
        outcome: dict[str, Any] = {"state": state, "step": step or 0}
        if value is not None:
            outcome["value"] = {"measured": float(value)}
        number = _number(trial)
        self._call(f"tell of trial {number} of",
                   lambda x: x.tell(trial=number, outcome=outcome), _nothing,
                   repeatable=False)

    def output(self, trial: Trial | int) -> str:
        """Returns what the training code has printed for a trial, shared
        training included, as far as the trial has been measured.

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
                lambda x: x.output(trial=number, firstStep=step), take)
            text += part
            if first == step:
                return text

    def close(self) -> None:
        """Says that no more trials will be asked for. The study ends when its
        trials have."""
        self._call("close", lambda x: x.close(), _nothing)


class Trial:
    """A trial that `Study.ask` has made.

    Attributes:
        study: to which it belongs.
        number: in the study, from 0.
        params: its values.
    """

    def __init__(self, study: Study, number: int,
                 params: dict[str, Any]) -> None:
        self.study = study
        self.number = number
        self.params = params

    def __repr__(self) -> str:
        return f"<hippo.Trial {self.number} of study {self.study.id}>"

    def train(self, until: int) -> dict[str, float]:
        """Trains the trial up to a step, and waits for it. What anybody has
        trained before is not trained again, and asking again is harmless.

        Args:
            until: a step at which something is measured; see `objective.every`
                and the rungs of the study.

        Returns:
            What was measured there, by name; a value may be NaN.

        Raises:
            TrialFailed: the trial ended before; its text is the trainer's.
            InvalidArgument: it cannot be trained to that step.
        """
        return self.study._client._line._result(self.train_async(until))

    def train_async(self, until: int
                    ) -> concurrent.futures.Future[dict[str, float]]:
        """Starts to train the trial; see `Study.train_async`."""
        return self.study.train_async(self, until)


def _number(trial: Trial | TrialInfo | int) -> int:
    return trial.number if isinstance(trial, (Trial, TrialInfo)) else trial


def _nothing(answer: object) -> None:
    """Reads an answer that says nothing but that it was done."""
