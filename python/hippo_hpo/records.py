"""Answers of the service, as plain values."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FrontPoint:
    """A measurement that no other one of its study dominates.

    Attributes:
        trial: number of its trial.
        step: its step.
        values: all metrics of the measurement, by name.
    """

    trial: int
    step: int
    values: dict[str, float]


@dataclass(frozen=True)
class Front:
    """The Pareto front of a study of several metrics, at the time of the
    request.

    Attributes:
        goals: ``"maximize"`` or ``"minimize"`` for each metric, in the order
            of the study file.
        constraints: such as ``"ms <= 5"``; all points satisfy them.
        points: by trial and step.
        hypervolume: the volume that the points dominate up to `reference`; None
            before the first result. It never falls.
        reference: for each metric the worst of the trials' first measurements;
            None before the first result.
    """

    goals: dict[str, str]
    constraints: tuple[str, ...]
    points: tuple[FrontPoint, ...]
    hypervolume: float | None
    reference: dict[str, float] | None


class HasEnded:
    """What follows from the state of a study."""

    state: str

    @property
    def ended(self) -> bool:
        """Whether the study has ended."""
        return self.state in ("COMPLETE", "FAILED", "CANCELLED")


# Between these marks schemas/generate_views.py --write writes.

# -- views begins --

@dataclass(frozen=True)
class TrialInfo:
    """A trial at the time of the request.

    Attributes:
        number: its number in the study, from 0, in the order in which trials
            are made.
        state: PENDING, RUNNING, PAUSED, COMPLETE, PRUNED, FAILED or CANCELLED.
        params: A value, or the form of a sequence, for each hyper-parameter.
        value: its best objective value so far; none before the first one, and
            of a failed trial, whose measurements are among the events.
        step: the step of that value.
        asked_steps: the step to which it is to be trained.
        steps: the step to which it has been trained.
        shared_steps: of these, the steps that another trial had been given
            before.
        failure: the reason of its failure. Empty if there is none.
        chosen: the way in which a sampler that learns chose its values:
            "startup", "model" or "cross of A, B, C"; none for other samplers.
            Empty if there is none.
        predicted: the objective after the last step that the model predicted.
            None if there is none.
        untrained: of its steps to its first goal, those that no trial of the
            study had been asked for when its values were chosen. None if there
            is none.
    """

    number: int = 0
    state: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    value: float | None = None
    step: int | None = None
    asked_steps: int = 0
    steps: int = 0
    shared_steps: int = 0
    failure: str = ""
    chosen: str = ""
    predicted: float | None = None
    untrained: int | None = None


def trial_info_of(message: Any) -> TrialInfo:
    return TrialInfo(
        number=message.trial,
        state=message.state,
        params=values_of(message.params),
        value=given(message.best, lambda x: x.value),
        step=given(message.best, lambda x: x.step),
        asked_steps=message.askedSteps,
        steps=message.steps,
        shared_steps=message.sharedSteps,
        failure=message.failure,
        chosen=message.chosen,
        predicted=given(message.predicted),
        untrained=given(message.untrained))


@dataclass(frozen=True)
class StudyInfo(HasEnded):
    """A study at the time of the request.

    Attributes:
        id: its number in the service, from 1, in the order of submission.
        uid: its identity outside of the service: a random number that is made
            once and kept in copies of the state. None if only an older program
            has written the state. Empty if there is none.
        name: its name in the study file. Several studies may have the same.
        state: RUNNING, PAUSED, STOPPING, COMPLETE, FAILED or CANCELLED.
        reason: the reason why it ended early, or paused by itself. Empty if
            there is none.
        metric: the metric of its objective, the first one of several.
        direction: the direction of its objective: "maximize" or "minimize".
        weight: its share of the trainers, relative to the weights of other
            studies.
        algorithm: the algorithm that makes its trials, such as "asha".
        workload: its workload key. Studies with equal keys share training.
        trials: the number of its trials so far.
        finished: the number of trials that have ended.
        failed: the number of trials that have failed.
        trials_by_state: the number of its trials in each state. New in 0.2.
        asked_steps: the steps that its trials asked for, added up.
        delivered_steps: the steps that its trials were given, added up.
        shared_steps: of these, the steps that another trial had been given
            before.
        best_trial: its best trial so far; none before the first result, and
            with several metrics. None if there is none.
        improved: the time of its best value. In seconds since 1970. New in
            0.2. None if there is none.
        active_seconds: the time during which it was running. In seconds.
        step_seconds: the mean device time of a step of its workload,
            evaluation and the rest included; 0 before the first one. In
            seconds. New in 0.2.
        cost_seconds: estimate of the device time that was spent on it: the
            steps that were trained for it times the mean time of a step. In
            seconds.
        saved_seconds: estimate of the device time that merging has saved:
            shared steps times the time of a step alone. In seconds.
        stopped_seconds: estimate of the device time that stopping trials early
            has saved. In seconds.
        seconds_left: estimate of the remaining time. In seconds. None if there
            is none.
        cost: the cost of trainers for it, as far as prices were known.
        cost_max: the limit of its budget for that cost. None if there is none.
        deadline_seconds_left: the time until its deadline, negative after it;
            none without a deadline, or if the study has ended. In seconds.
            None if there is none.
        needed: estimate of the machines that it needs to meet its deadline,
            such as "3 more a100"; none if no machines are needed, or none
            would help. Empty if there is none.
        waiting: the reason why nothing of it can be trained now, and the
            remedy. Empty if there is none.
        front: its goals and its Pareto front, if it has several metrics or
            constraints.
    """

    id: int = 0
    uid: str = ""
    name: str = ""
    state: str = ""
    reason: str = ""
    metric: str = ""
    direction: str = "minimize"
    weight: float = 0
    algorithm: str = ""
    workload: str = ""
    trials: int = 0
    finished: int = 0
    failed: int = 0
    trials_by_state: dict[str, int] = field(default_factory=dict)
    asked_steps: int = 0
    delivered_steps: int = 0
    shared_steps: int = 0
    best_trial: TrialInfo | None = None
    improved: float | None = None
    active_seconds: float = 0
    step_seconds: float = 0
    cost_seconds: float = 0
    saved_seconds: float = 0
    stopped_seconds: float = 0
    seconds_left: float | None = None
    cost: float = 0
    cost_max: float | None = None
    deadline_seconds_left: float | None = None
    needed: str = ""
    waiting: str = ""
    front: Front | None = None

    @property
    def left_seconds(self) -> float | None:
        """The former name of `seconds_left`."""
        renamed("left_seconds", "seconds_left")
        return self.seconds_left

    @property
    def deadline_left(self) -> float | None:
        """The former name of `deadline_seconds_left`."""
        renamed("deadline_left", "deadline_seconds_left")
        return self.deadline_seconds_left


def study_info_of(message: Any) -> StudyInfo:
    return StudyInfo(
        id=message.id,
        uid=message.uid,
        name=message.name,
        state=message.state,
        reason=message.reason,
        metric=message.metric,
        direction="maximize" if message.maximize else "minimize",
        weight=message.weight,
        algorithm=message.algorithm,
        workload=message.workload,
        trials=message.trials,
        finished=message.finished,
        failed=message.failed,
        trials_by_state={x.state: x.count for x in message.trialsByState},
        asked_steps=message.askedSteps,
        delivered_steps=message.deliveredSteps,
        shared_steps=message.sharedSteps,
        best_trial=given(message.best, trial_info_of),
        improved=given(message.improved),
        active_seconds=message.activeSeconds,
        step_seconds=message.stepSeconds,
        cost_seconds=message.costSeconds,
        saved_seconds=message.savedSeconds,
        stopped_seconds=message.stoppedSeconds,
        seconds_left=given(message.secondsLeft),
        cost=message.cost,
        cost_max=message.costMax or None,
        deadline_seconds_left=given(message.deadlineSecondsLeft),
        needed=message.needed,
        waiting=message.waiting,
        front=front_of(message.front))


@dataclass(frozen=True)
class LeaseInfo:
    """The present work of a trainer. Of several lanes `what`, `at` and `to`
    are those of the lane that is behind the others.

    Attributes:
        what: the values in training of the hyper-parameters in which trials
            differ.
        at: the present step.
        to: the last step of the lease.
        steps_per_second: the speed of all its lanes together; 0 before its
            first report.
        lanes: the number of lanes in training; 0 if it is unknown.
        studies: the names of the studies that it trains for.
        study_ids: their numbers. New in 0.2.
    """

    what: str = ""
    at: int = 0
    to: int = 0
    steps_per_second: float = 0
    lanes: int = 0
    studies: tuple[str, ...] = ()
    study_ids: tuple[int, ...] = ()


def lease_info_of(message: Any) -> LeaseInfo:
    return LeaseInfo(
        what=message.what,
        at=message.at,
        to=message.to,
        steps_per_second=message.stepsPerSecond,
        lanes=message.lanes,
        studies=tuple(str(x) for x in message.studies),
        study_ids=tuple(int(x) for x in message.studyIds))


@dataclass(frozen=True)
class TrainerInfo:
    """A trainer that is or was connected.

    Attributes:
        number: its number in the service, in the order of connection.
        name: its host and process.
        device: its device kind, which decides the bits of results.
        lost: the reason why it left; none if it is connected. Empty if there
            is none.
        lease: its present work; none if it is idle. None if there is none.
        memory_bytes: the memory of its device; 0 if it is unknown. In bytes.
        driver: the newest CUDA that the driver of its GPU can run, as "13.0";
            none if it is unknown, or without a GPU. Empty if there is none.
        compute_capability: the compute capability of its GPU, as "9.0"; none
            likewise. Empty if there is none.
        sick: the failed work that other trainers could do, for which it gets a
            pause. Empty if there is none.
        machine: its machine type in the list of machines; none without a list,
            or if it is unknown: see `unpriced`. Empty if there is none.
        unpriced: the reason why its price is unknown. Empty if there is none.
        price: the price of the trainer for an hour.
        work_cost: the cost of its time with work.
        idle_cost: the cost of the rest of its connected time.
        notice_seconds: the warning before its machine is taken away; 0 if it
            is unknown, or none. In seconds.
        failures: the number of times that training has failed on it, for any
            reason but divergence.
        failed: the message of the last failure. Empty if there is none.
        held_up: the reason why it gets no work though it is not sick, such as
            "does not return since 40 s". Empty if there is none.
    """

    number: int = 0
    name: str = ""
    device: str = ""
    lost: str = ""
    lease: LeaseInfo | None = None
    memory_bytes: int = 0
    driver: str = ""
    compute_capability: str = ""
    sick: str = ""
    machine: str = ""
    unpriced: str = ""
    price: float = 0
    work_cost: float = 0
    idle_cost: float = 0
    notice_seconds: float = 0
    failures: int = 0
    failed: str = ""
    held_up: str = ""


def trainer_info_of(message: Any) -> TrainerInfo:
    return TrainerInfo(
        number=message.number,
        name=message.name,
        device=message.device,
        lost=message.lost,
        lease=given(message.lease, lease_info_of),
        memory_bytes=message.memoryBytes,
        driver=message.driver,
        compute_capability=message.computeCapability,
        sick=message.sick,
        machine=message.machine,
        unpriced=message.unpriced,
        price=message.price,
        work_cost=message.workCost,
        idle_cost=message.idleCost,
        notice_seconds=message.noticeSeconds,
        failures=message.failures,
        failed=message.failed,
        held_up=message.heldUp)


# -- views ends --


@dataclass(frozen=True)
class Event:
    """An event of a study. Exactly one of `metrics`, `failure`, `command` and
    `chosen` is not None.

    Attributes:
        id: increases, with gaps.
        time: when it was stored, in seconds since 1970.
        trial: number of its trial.
        step: its step.
        metrics: the metrics of a measurement, by name; a value may be NaN.
        failure: the reason of a trial's failure.
        command: a command for the study: a verb such as ``"pause"``, and its
            argument.
        chosen: how a sampler that learns chose the trial's values:
            ``"startup"``, ``"model"`` or ``"cross of A, B, C"``.
    """

    id: int
    time: float
    trial: int
    step: int
    metrics: dict[str, float] | None
    failure: str | None
    command: tuple[str, str] | None
    chosen: str | None = None


@dataclass(frozen=True)
class ServiceInfo:
    """The service that a client is connected to.

    Attributes:
        protocol: version of the interface.
        version: of the release, such as ``"0.1.0"``.
        state: path of its state folder, on its machine.
    """

    protocol: int
    version: str
    state: str


# The length of a trial, among its values, where a study has several.
LENGTH = "steps.max"


def has_result(state: str) -> bool:
    """Whether a trial of this state can be the best, and has a rank. The
    measurements of a failed trial are not results."""
    return state != "FAILED"


# Readers of messages are used inside these functions only, so that none
# outlives its message.


def params_of(text: str) -> dict[str, Any]:
    """Reads the JSON of a trial's values."""
    result: dict[str, Any] = json.loads(text) if text else {}
    return result


def _without_constant(x: Any) -> Any:
    """The value of what never changes, which a study file may write as a
    sequence."""
    return x["constant"] if isinstance(x, dict) and x.keys() == {"constant"} \
        else x


def metrics_of(message: Any) -> dict[str, float]:
    return {x.name: x.value for x in message}


def values_of(text: str) -> dict[str, Any]:
    """Reads a trial's values."""
    return {name: _without_constant(x) for name, x in params_of(text).items()}


def given(union: Any, read: Callable[[Any], Any] = lambda x: x) -> Any:
    """Reads a value that may be missing; None if it is."""
    return read(union.value) if union.which() == "value" else None


def renamed(former: str, name: str) -> None:
    """Warns of a field's former name."""
    warnings.warn(f"'{former}' is '{name}' now", DeprecationWarning,
                  stacklevel=3)


def front_of(text: str) -> Front | None:
    """Reads what is told of a front; None if it is of one metric."""
    told = params_of(text)
    if len(told.get("goals", [])) < 2:
        return None

    def numbers(x: dict[str, float | None]) -> dict[str, float]:
        return {name: math.nan if value is None else value
                for name, value in x.items()}

    reference = told["reference"]
    return Front(
        goals={x["metric"]: x["direction"] for x in told["goals"]},
        constraints=tuple(told["constraints"]),
        points=tuple(FrontPoint(x["trial"], x["step"], numbers(x["values"]))
                     for x in told["points"]),
        hypervolume=told["hypervolume"],
        reference=None if reference is None else numbers(reference))


def event_of(message: Any) -> Event:
    kind = str(message.which())
    return Event(
        id=message.id, time=message.time, trial=message.trial,
        step=message.step,
        metrics=metrics_of(message.measured) if kind == "measured" else None,
        failure=message.failed if kind == "failed" else None,
        command=((message.command.verb, message.command.text)
                 if kind == "command" else None),
        chosen=message.chosen if kind == "chosen" else None)


def service_info_of(message: Any) -> ServiceInfo:
    return ServiceInfo(protocol=message.protocol, version=message.version,
                       state=message.state)
