"""The tools of `hippo_hpo.mcp`, without the protocol: a method is a tool, its
docstring the description that a model reads. Answers are maps of bounded size.
"""

from __future__ import annotations

import concurrent.futures
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ._columns import column
from ._document import read_document
from ._mcp_answers import (ROWS_MAX, cut_text, page, part, row, rows_of, thin,
                           tree_in_short)
from ._mcp_budget import (KNOWN_HOURS, Budget, declared_hours, with_hours,
                          with_mark)
from ._initial import initial_path
from ._packing import pack, study_of
from .client import Client, connect
from .errors import InvalidArgument, InvalidStudy, NotAllowed
from .records import StudyInfo, TrialInfo
from .study import Study

# A study: its number or its name.
StudyName = int | str

# How long a tool waits for news, in seconds.
WAIT_SECONDS_MAX = 60.0

CURVES_MAX = 10
POINTS_MAX = 200
BEST_MAX = 20
IMPORTANCES_MAX = 40
STAGES_MAX = 20

# The most measurements that are read for curves of a further metric, and the
# largest table that is sorted for the best trials.
READ_MAX = 200_000

_VERBS = ("pause", "resume", "stop", "cancel", "retry", "set_weight", "remove",
          "restore")


class Tools:
    """What a server does for its client.

    Args:
        server: address of the service, as for `connect`.
        credentials: as for `connect`.
        folder: study files and their code are read from it.
        budget: None: nothing may be changed.
    """

    def __init__(self, server: str | None, credentials: str | None,
                 folder: str, budget: Budget | None) -> None:
        self._server = server
        self._credentials = credentials
        self._folder = os.path.realpath(folder)
        self._budget = budget
        self._client: Client | None = None
        self._connecting = threading.Lock()
        # Two studies must not both be given what is left.
        self._submitting = threading.Lock()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    # -- reading

    def service(self) -> dict[str, Any]:
        """Version of the service, its trainers, the number of studies in each
        state, and the permissions and device hours of this server."""
        client = self._connect()
        states: dict[str, int] = {}
        for x in client.studies():
            states[x.state] = states.get(x.state, 0) + 1
        devices: dict[str, dict[str, int]] = {}
        for y in client.trainers():
            if not y.lost:
                at = devices.setdefault(cut_text(y.device, 100),
                                        {"trainers": 0, "busy": 0})
                at["trainers"] += 1
                at["busy"] += y.lease is not None
        return {"version": client.service.version, "studies": states,
                "devices": [row({"device": name, **count}, 400)
                            for name, count in sorted(devices.items())[:20]],
                "may_submit": self._budget is not None,
                **self._budget_summary(client)}

    def list_studies(self, cursor: int = 0, most: int = 20) -> dict[str, Any]:
        """Lists studies, the newest first, a page at a time: `next` is the
        cursor of the next page, null on the last one."""
        client = self._connect()
        infos = client.studies()[::-1]
        rows = [_short_study(x) for x in infos[cursor:cursor + ROWS_MAX]]
        return page(rows, cursor, most, cursor + ROWS_MAX >= len(infos))

    def study(self, study: StudyName) -> dict[str, Any]:
        """Describes a study: state, best trial, progress, cost and the reason
        why it waits or has ended."""
        client = self._connect()
        found = _find(client, study)
        info = found.info
        return {**row(_whole_study(info), 8_000),
                "submitted_here": self._budget is not None
                and self._budget.bound_of(client, info) is not None}

    def study_file(self, study: StudyName, cursor: int = 0) -> dict[str, Any]:
        """Returns the study file of a study, a part at a time: `next` is the
        cursor of the next part. Files that it brings are left out."""
        return part(_find(self._connect(), study).text, cursor)

    def best(self, study: StudyName, most: int = 1) -> dict[str, Any]:
        """Returns the best trials of a study, the best one first; of a study
        of several metrics the points of its Pareto front."""
        found = _find(self._connect(), study)
        info = found.info
        most = min(max(most, 1), BEST_MAX)
        if info.front is not None:
            points = [{"trial": x.trial, "step": x.step, "values": x.values}
                      for x in info.front.points]
            return {"metrics": info.front.goals,
                    **page(points, 0, most, True)}
        goal = {"metric": info.metric, "direction": info.direction}
        if most == 1:
            return {**goal, "rows": [row(_trial(found.best_trial))]}
        if info.trials > READ_MAX:
            raise InvalidArgument(
                f"study {info.id} has {info.trials} trials, which are too many "
                f"to be sorted ({READ_MAX} at most): ask for one")
        table = found._columns("table")
        numbers, values = table["trial"], column(table["value"])
        known = sorted(
            (x for x in zip(values, numbers) if x[0] is not None),
            key=lambda x: (-x[0] if info.direction == "maximize" else x[0],
                           x[1]))
        rows = [_trial(found._trials_from(number, 1)[0])
                for _, number in known[:most]]
        return {**goal, **page(rows, 0, most, True)}

    def trials(self, study: StudyName, cursor: int = 0, most: int = 50
               ) -> dict[str, Any]:
        """Lists the trials of a study by number, at most 100 a page: `next` is
        the cursor of the next page, null on the last one."""
        found = _find(self._connect(), study)
        most = min(max(most, 1), ROWS_MAX)
        # The service may answer with fewer than it was asked for, and numbers
        # may be missing: trials that were never begun.
        rows = [_trial(x) for x in found._trials_from(cursor, most)]
        result = page(rows, cursor, most, not rows or not found._trials_from(
            rows[-1]["trial"] + 1, 1))
        if result["next"] is not None:
            result["next"] = result["rows"][-1]["trial"] + 1
        return result

    def curves(self, study: StudyName, trials: list[int], metric: str = "",
               points: int = 50) -> dict[str, Any]:
        """Returns learning curves of at most 10 trials, as lists of steps and
        values. Longer curves are thinned to `points` points, at most 200.

        Args:
            metric: empty: the metric of the objective.
        """
        found = _find(self._connect(), study)
        wanted = list(dict.fromkeys(trials))
        if not 1 <= len(wanted) <= CURVES_MAX:
            raise InvalidArgument(f"trials: 1 to {CURVES_MAX} numbers, found "
                                  f"{len(wanted)}")
        info = found.info
        if unknown := [x for x in wanted if not 0 <= x < info.trials]:
            raise InvalidArgument(f"study {info.id} has no trial {unknown[0]}: "
                                  f"its trials are 0 to {info.trials - 1}")
        is_objective = metric in ("", info.metric)
        measured, is_whole = _objective_curves(found, wanted) if is_objective \
            else _metric_curves(found, wanted, metric)
        if not is_objective and not any(measured.values()):
            raise InvalidArgument(f"trials {wanted} of study {info.id} have no "
                                  f"measurement of {metric!r}")
        most = min(max(points, 2), POINTS_MAX) if len(wanted) < 4 \
            else min(max(points, 2), POINTS_MAX // 4)
        curves = []
        for number in wanted:
            kept = thin(measured[number], most)
            curves.append({"trial": number,
                           "measurements": len(measured[number]),
                           "step": [x[0] for x in kept],
                           "value": [x[1] for x in kept]})
        return {"metric": metric or info.metric, "curves": curves,
                "whole": is_whole}

    def tree(self, study: StudyName, most: int = 10) -> dict[str, Any]:
        """Returns the stage tree of a study in short: its size, the steps at
        which it branches, and the stages that the most trials share."""
        found = _find(self._connect(), study)
        info = found.info
        tree = found._columns("tree")
        columns = {name: column(x) if isinstance(x, (list, dict)) else x
                   for name, x in tree.items() if name != "at"}
        return {"trials": info.trials, "asked_steps": info.asked_steps,
                "delivered_steps": info.delivered_steps,
                "shared_steps": info.shared_steps,
                **tree_in_short(columns, min(max(most, 1), STAGES_MAX))}

    def cost(self, study: StudyName) -> dict[str, Any]:
        """Returns the cost of a study: device time that it has used and that
        merging has saved, its price where trainers have one, its steps, and
        the device hours that are left to this server."""
        client = self._connect()
        found = _find(client, study)
        info = found.info
        trained = info.delivered_steps - info.shared_steps
        return {
            "device_hours": info.cost_seconds / 3600,
            "saved_device_hours": info.saved_seconds / 3600,
            "asked_steps": info.asked_steps,
            "delivered_steps": info.delivered_steps,
            "trained_steps": trained,
            "merge_rate": info.delivered_steps / trained if trained else None,
            "price": info.cost, "price_max": info.cost_max,
            "seconds_left": info.seconds_left,
            "bound_device_hours": declared_hours(found.text),
            **self._budget_summary(client)}

    def importance(self, study: StudyName, metric: str = "", at: int = 0
                   ) -> dict[str, Any]:
        """Ranks the hyper-parameters of a study by importance (PED-ANOVA); it
        needs 10 measured trials.

        Args:
            metric: empty: the first metric of the objective.
            at: the step at which trials are compared; 0: the last one at which
                nine tenths of them were measured.
        """
        answer = _find(self._connect(), study).importance(at, metric)
        ranked = answer.pop("importance")
        return {**row(answer), **page(ranked, 0, IMPORTANCES_MAX, True)}

    def wait(self, study: StudyName, seconds: float = 30) -> dict[str, Any]:
        """Waits until a study has ended, at most 60 seconds, and describes
        it. Call it again while `ended` is false."""
        found = _find(self._connect(), study)
        info = found._call(
            "wait for", lambda x: x.wait(
                waitMillis=round(1000 * _seconds(seconds))), _info_of)
        return {"ended": info.ended, **row(_whole_study(info), 8_000)}

    def preview(self, text: str = "", file: str = "") -> dict[str, Any]:
        """Computes the training of a study, without running it, given all that
        the service has ever trained: `new_steps` are left to be trained. With
        0 new steps the study costs nothing.

        Args:
            text: the text of a study file (YAML).
            file: or its path, in the server's folder.
        """
        client = self._connect()
        packed, name = self._source(text, file)
        if _is_by_hand(packed):
            return {"meaning": "a client decides what is trained: known steps "
                               "cost nothing, all others are unknown",
                    "bound_device_hours": declared_hours(packed),
                    **self._budget_summary(client)}
        found = client.preview(packed, name)
        known = {key: found[key] for key in _PREVIEW if key in found}
        return {**row(known), **_price(found),
                "bound_device_hours": declared_hours(packed),
                **self._budget_summary(client)}

    # -- changing something

    def submit(self, text: str = "", file: str = "",
               device_hours: float | None = None) -> dict[str, Any]:
        """Submits a study and returns its number; `wait` and `study` follow
        it. The study needs a bound: `budget: {device_hours: 0.5}` in the file,
        or `device_hours`; the smaller one counts. The bounds of all studies
        that have not ended, and the time used by the others, are within the
        server's budget. A study whose steps are all known costs nothing and is
        always accepted.

        Args:
            text: the text of a study file (YAML).
            file: or its path, in the server's folder.
            device_hours: the most working time of trainers for it.
        """
        budget = self._need_budget("submit a study")
        client = self._connect()
        packed, name = self._source(text, file)
        if device_hours is not None and not device_hours > 0:
            raise InvalidArgument(f"device_hours: {device_hours}: must be "
                                  "above 0")
        declared = declared_hours(packed)
        is_known = not _is_by_hand(packed) \
            and client.preview(packed, name).get("new_steps") == 0
        bounds = [x for x in (declared, device_hours) if x is not None]
        if not bounds and not is_known:
            raise InvalidStudy(
                f"{name}: has no bound: give budget: {{device_hours: 0.5}} in "
                "the study file, or device_hours to submit")
        with self._submitting:
            entries = budget.entries(client)
            left = budget.left(entries)
            hours = min(bounds, default=KNOWN_HOURS)
            if is_known and hours > left:
                hours = KNOWN_HOURS
            else:
                budget.refuse_beyond(entries, hours, name)
            if hours != declared:
                packed = with_hours(packed, hours)
            made, warnings, notes = client._submit(
                with_mark(packed, budget.name, hours), name)
            self._refuse_late(budget, client, made, hours, is_known)
        info = made.info
        return {"id": made.id, "name": info.name, "state": info.state,
                "bound_device_hours": hours,
                "warnings": [cut_text(x, 400) for x in warnings[:10]],
                "notes": [cut_text(x, 400) for x in notes[:10]],
                **budget.summary(budget.entries(client))}

    def steer(self, study: StudyName, verb: str, reason: str = "",
              weight: float | None = None, trials: list[int] | None = None,
              all: bool = False) -> dict[str, Any]:
        """Steers a study that was submitted through this server.

        Args:
            verb: pause (nothing new starts), resume, stop (the training in
                progress ends first), cancel (now, with `reason`), retry
                (failed `trials`, or all that have failed; `all`: those of
                permanent failures too), set_weight (the share of trainers,
                relative to other studies: `weight`), remove (hides `trials`
                that have ended, or a study that has) or restore (shows them
                again).
        """
        budget = self._need_budget(f"{verb} a study")
        client = self._connect()
        found, info = self._own(client, study)
        answer: dict[str, Any] = {"id": info.id, "done": verb}
        if verb == "set_weight":
            if weight is None:
                raise InvalidArgument("set_weight: 'weight' is missing")
            found.set_weight(weight)
        elif verb == "cancel":
            found.cancel(reason)
        elif verb == "retry":
            answer["retried"] = self._go_on(
                client, budget, info, lambda: found.retry(trials or [], all))
        elif verb in ("remove", "restore"):
            getattr(found, verb)(*trials or [])
        elif verb in _VERBS:
            getattr(found, verb)()
        else:
            raise InvalidArgument(f"verb {cut_text(verb, 40)!r}: one of "
                                  f"{', '.join(_VERBS)} is asked for")
        return {**answer, "state": found.info.state}

    def extend(self, study: StudyName, trials: int = 0, seconds: float = 0.0,
               steps: int = 0) -> dict[str, Any]:
        """Raises the number or the length of trials, or the time, of a study
        that was submitted through this server. One that has ended continues.
        Its bound in device hours stays.

        Args:
            trials: number of further trials.
            seconds: time to add to `budget.seconds`.
            steps: the length of trials from now on, greater than before.
        """
        if trials == 0 and seconds == 0 and steps == 0:
            raise InvalidArgument("extend: give 'trials', 'seconds' or 'steps'")
        return self._add("extend a study", study,
                         lambda x: x.extend(trials=trials, seconds=seconds,
                                            steps=steps))

    def enqueue(self, study: StudyName, params: list[dict[str, Any]],
                outside: bool = False) -> dict[str, Any]:
        """Adds trials with values of your choice to a study that was submitted
        through this server. They come next; samplers learn from them. A study
        that has ended continues.

        Args:
            params: for each trial a value for every hyper-parameter, as in a
                study file.
            outside: whether values need not be of the space.
        """
        return self._add("add a trial", study,
                         lambda x: x.enqueue(*params, outside=outside))

    def fork(self, study: StudyName, trial: int, at: int,
             params: dict[str, Any]) -> dict[str, Any]:
        """Adds a trial that continues from a step of another one with other
        values: the steps before it are not trained again. A study that has
        ended continues.

        Args:
            trial: number of the other trial.
            at: the last step that both have, from 1 on.
            params: the hyper-parameters that change. Others stay.
        """
        return self._add("add a trial", study,
                         lambda x: x.fork(trial, at, params))

    def set_space(self, study: StudyName, space: dict[str, Any],
                  dry_run: bool = True) -> dict[str, Any]:
        """Gives a study that was submitted through this server another space
        for trials that have not begun. Trials that have begun stay. Its bound
        in device hours stays.

        Args:
            space: a value, a choice or a range for each hyper-parameter, as in
                a study file.
            dry_run: whether to tell the effects only, and change nothing.
        """
        self._need_budget("change a space")
        found, info = self._own(self._connect(), study)
        change = found.set_space(space, dry_run=True)
        effects = {"changes": [x._asdict() for x in change.changes],
                   "replaced": change.replaced, "learned": change.learned,
                   "outside": change.outside}
        if dry_run:
            return {"id": info.id, "trials": change.trials, **effects}
        return {**effects,
                **self._add("change a space", study,
                            lambda x: x.set_space(space).trials)}

    def note(self, study: StudyName, text: str, tags: list[str] | None = None
             ) -> dict[str, Any]:
        """Sets the note of a study that was submitted through this server, for
        people who read its results, and adds tags."""
        self._need_budget("write a note")
        found, info = self._own(self._connect(), study)
        found.set_note(text)
        if tags:
            found.add_tags(*tags)
        info = found.info
        return {"id": info.id, **row({"note": info.note, "tags": list(info.tags)})}

    def ask(self, study: StudyName, params: dict[str, Any] | None = None
            ) -> dict[str, Any]:
        """Creates a trial of a study with `algorithm: client`.

        Args:
            params: its values as in a study file; null: the study's sampler
                draws them.
        """
        self._need_budget("create a trial")
        found, _ = self._own(self._connect(), study)
        trial = found.ask(params)
        return row({"trial": trial.number, "params": trial.params})

    def train(self, study: StudyName, trial: int, until: int,
              seconds: float = 30) -> dict[str, Any]:
        """Trains a trial of a study with `algorithm: client` up to a step, and
        returns its metrics. After `seconds` (at most 60) without a result
        `done` is false: call it again, the training goes on. Known steps are
        not trained again.

        Args:
            until: a step with a measurement.
        """
        self._need_budget("train a trial")
        found, _ = self._own(self._connect(), study)
        future = found.train_async(trial, until)
        try:
            metrics = future.result(_seconds(seconds))
        except concurrent.futures.TimeoutError:
            future.cancel()
            return {"done": False}
        return {"done": True, **row({"step": until, "metrics": metrics})}

    def tell(self, study: StudyName, trial: int, state: str = "COMPLETE",
             value: float | None = None, step: int | None = None
             ) -> dict[str, Any]:
        """Ends a trial of a study with `algorithm: client`: COMPLETE, PRUNED
        or FAILED, with a value of your own if there is one."""
        self._need_budget("end a trial")
        found, _ = self._own(self._connect(), study)
        found.tell(trial, value, state, step)
        return {"trial": trial, "state": state}

    def close_study(self, study: StudyName) -> dict[str, Any]:
        """Says that a study with `algorithm: client` gets no more trials: it
        ends with its last trial."""
        self._need_budget("close a study")
        found, info = self._own(self._connect(), study)
        found.close()
        return {"id": info.id, "state": found.info.state}

    # -- inside

    def _connect(self) -> Client:
        with self._connecting:
            if self._client is None:
                self._client = connect(self._server,
                                       credentials=self._credentials)
            return self._client

    def _budget_summary(self, client: Client) -> dict[str, Any]:
        if self._budget is None:
            return {}
        return self._budget.summary(self._budget.entries(client))

    def _need_budget(self, what: str) -> Budget:
        if self._budget is None:
            raise NotAllowed(
                f"this server may not {cut_text(what, 60)}: it was started to "
                "read only. The person who starts it can allow it with "
                "--allow-submit and --budget-device-hours")
        return self._budget

    def _own(self, client: Client, study: StudyName
             ) -> tuple[Study, StudyInfo]:
        """A study that was submitted through this server."""
        assert self._budget is not None
        found = _find(client, study)
        info = found.info
        if self._budget.bound_of(client, info) is None:
            raise NotAllowed(
                f"study {info.id} ({info.name}) was not submitted through this "
                f"server ({self._budget.name}), which changes its own studies "
                "only")
        return found, info

    def _source(self, text: str, file: str) -> tuple[str, str]:
        """A study with its code, and what messages call it."""
        if bool(text) == bool(file):
            raise InvalidArgument("give either the 'text' of a study file, or "
                                  "the path of a 'file'")
        folder, name = self._folder, "study"
        if file:
            path = os.path.realpath(os.path.join(self._folder, file))
            if os.path.commonpath([path, self._folder]) != self._folder:
                raise NotAllowed(f"file {cut_text(file, 200)!r} is not in the "
                                 "server's folder")
            folder, name = os.path.dirname(path), cut_text(file, 200)
            try:
                with open(path, encoding="utf-8") as opened:
                    text = opened.read()
            except (OSError, UnicodeDecodeError) as why:
                raise InvalidArgument(
                    f"file {name!r} cannot be read: "
                    f"{getattr(why, 'strerror', None) or why}") from None
        workload = read_document(study_of(text)).get("workload")
        if isinstance(workload, Mapping) and workload.get(
                "python_executable", sys.executable) != sys.executable:
            # Packing asks it for versions: it would run here.
            raise NotAllowed(f"{name}: workload.python_executable: another "
                             "interpreter is not run by this server: leave it "
                             "out")
        packed = pack(text, name, folder)
        initial = initial_path(packed)
        if initial and os.path.commonpath(
                [os.path.realpath(initial), self._folder]) != self._folder:
            raise NotAllowed(f"{name}: workload.from: {cut_text(initial, 200)!r} "
                             "is not in the server's folder")
        return packed, name

    def _refuse_late(self, budget: Budget, client: Client, made: Study,
                     hours: float, is_known: bool) -> None:
        """Cancels a study that, by the studies before it, is beyond the
        budget: another server of the name has submitted at the same time."""
        before = [x for x in budget.entries(client) if x.id < made.id]
        try:
            if not is_known:
                budget.refuse_beyond(before, hours, f"study {made.id}")
        except InvalidArgument as why:
            made.cancel("beyond the budget of hippo-mcp")
            raise InvalidArgument(f"{why}. Study {made.id} was cancelled") \
                from None

    def _add(self, what: str, study: StudyName,
             change: Callable[[Study], int]) -> dict[str, Any]:
        """Adds something to a study of this server that is then trained."""
        budget = self._need_budget(what)
        client = self._connect()
        found, info = self._own(client, study)
        trials = self._go_on(client, budget, info, lambda: change(found))
        return {"id": info.id, "trials": trials, "state": found.info.state,
                **self._budget_summary(client)}

    def _go_on(self, client: Client, budget: Budget, info: StudyInfo,
               change: Callable[[], int]) -> int:
        """Does what lets a study continue. One that had ended may then use the
        rest of its bound."""
        with self._submitting:
            entries = budget.entries(client)
            own = next(x for x in entries if x.id == info.id)
            if own.is_over:
                others = [x for x in entries if x.id != info.id]
                budget.refuse_beyond(others, max(own.bound, own.used),
                                     f"study {info.id} ({info.name})")
            return change()


# -- what tools tell

_PREVIEW = ("trials", "asked_steps", "delivered_steps", "unique_steps",
            "merge_rate", "known_steps", "new_steps", "estimate")


def _find(client: Client, study: StudyName) -> Study:
    return client.study(study)


def _info_of(answer: Any) -> StudyInfo:
    from .records import study_info_of

    return study_info_of(answer.info)


def _seconds(x: float) -> float:
    return min(max(x, 0.0), WAIT_SECONDS_MAX)


def _is_by_hand(text: str) -> bool:
    """Whether a client decides for a study: nobody knows what it trains."""
    algorithm = read_document(study_of(text)).get("algorithm")
    return algorithm == "client" or (isinstance(algorithm, Mapping)
                                     and "client" in algorithm)


def _price(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What a preview comes to, as a sentence."""
    new = figures.get("new_steps")
    if new is None:
        return {}
    if new == 0:
        return {"costs_nothing": True,
                "meaning": f"costs nothing: all {figures['unique_steps']} "
                           "steps of it are trained already"}
    return {"costs_nothing": False,
            "meaning": f"trains at most {new} new steps; "
                       f"{figures.get('known_steps', 0)} are known"}


def _short_study(x: StudyInfo) -> dict[str, Any]:
    return {"id": x.id, "name": x.name, "state": x.state,
            "algorithm": x.algorithm, "metric": x.metric,
            "direction": x.direction, "finished": x.finished,
            "trials": x.trials,
            "best_value": x.best_trial.value if x.best_trial else None,
            **({"waiting": x.waiting} if x.waiting else {})}


def _whole_study(x: StudyInfo) -> dict[str, Any]:
    front = None if x.front is None else {
        "goals": x.front.goals, "points": len(x.front.points),
        "hypervolume": x.front.hypervolume}
    return {**_short_study(x), "reason": x.reason, "failed": x.failed,
            "weight": x.weight,
            **({"note": x.note} if x.note else {}),
            **({"tags": list(x.tags)} if x.tags else {}),
            "asked_steps": x.asked_steps,
            "delivered_steps": x.delivered_steps,
            "shared_steps": x.shared_steps,
            "active_seconds": x.active_seconds,
            "seconds_left": x.seconds_left,
            "best": _trial(x.best_trial) if x.best_trial else None,
            **({"front": front} if front else {})}


def _trial(x: TrialInfo) -> dict[str, Any]:
    return {"trial": x.number, "state": x.state, "value": x.value,
            "step": x.step, "delivered_steps": x.delivered_steps, "asked_steps": x.asked_steps,
            "shared_steps": x.shared_steps,
            **({"failure": x.failure} if x.failure else {}),
            "params": x.params}


_Curves = dict[int, list[tuple[int, float | None]]]


def _objective_curves(study: Study, trials: list[int]
                      ) -> tuple[_Curves, bool]:
    """Steps and values of trials, and whether these are all."""
    found: _Curves = {x: [] for x in trials}
    after = 0
    while True:
        answer = study._columns("curves", after)
        for x in rows_of({name: column(answer[name])
                          for name in ("trial", "step", "value")}):
            if x["trial"] in found:
                found[x["trial"]].append((x["step"], x["value"]))
        if answer["whole"]:
            return found, True
        after = answer["next"]


def _metric_curves(study: Study, trials: list[int], metric: str
                   ) -> tuple[_Curves, bool]:
    """The same of any metric, from the study's events."""
    found: _Curves = {x: [] for x in trials}
    for count, event in enumerate(study.events()):
        if count == READ_MAX:
            return found, False
        if event.metrics is not None and event.trial in found \
                and metric in event.metrics:
            found[event.trial].append((event.step, event.metrics[metric]))
    return found, True



