"""Answers of the service, as plain values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrialInfo:
    """A trial at the time of the request.

    Attributes:
        number: from 0, in the order in which the study made its trials.
        state: ``PENDING``, ``RUNNING``, ``PAUSED``, ``COMPLETE``, ``PRUNED``,
            ``FAILED`` or ``CANCELLED``.
        params: a value, or the form of a sequence, for each hyper-parameter.
        value: its best objective value so far; None before the first one, and
            if it has failed: its measurements are among the events.
        step: the step of that value; None before the first one.
        asked_steps: the step to which it is to be trained.
        steps: the step to which it has been trained.
        shared_steps: the steps that another trial had been given before.
        failure: the reason of its failure; empty if it has not failed.
        chosen: how a sampler that learns chose its values: ``"startup"``,
            ``"model"`` or ``"cross of A, B, C"``; empty for other samplers.
        predicted: the objective after the last step that the model predicted;
            None without a prediction.
        untrained: of its steps to its first goal, those that no trial of the
            study had been asked for when its values were chosen; None if they
            were not counted.
    """

    number: int
    state: str
    params: dict[str, Any]
    value: float | None
    step: int | None
    asked_steps: int
    steps: int
    shared_steps: int
    failure: str
    chosen: str = ""
    predicted: float | None = None
    untrained: int | None = None


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


@dataclass(frozen=True)
class StudyInfo:
    """A study at the time of the request.

    Attributes:
        id: from 1, in the order of submission.
        name: its name in the study file.
        state: ``RUNNING``, ``PAUSED``, ``STOPPING``, ``COMPLETE``, ``FAILED``
            or ``CANCELLED``.
        reason: why it ended early; empty if it did not.
        metric: the metric of its objective, the first of several.
        direction: ``"maximize"`` or ``"minimize"``.
        weight: its share of the trainers, relative to other studies'.
        algorithm: such as ``"asha"``.
        workload: its workload key; studies with equal keys share training.
        trials: the number of its trials so far.
        finished: the number of trials that have ended.
        asked_steps: the steps that its trials asked for, added up.
        delivered_steps: the steps that its trials were given, added up.
        shared_steps: of these, the steps that another trial had been given
            before.
        best_trial: None before the first result, and with several metrics.
        active_seconds: the time during which it was running.
        saved_seconds: estimate of the device time that merging has saved:
            shared steps times the mean time of a step of its workload.
        waiting: why it cannot be trained now, with a remedy; else empty.
        front: its Pareto front; None with one metric.
        cost: the cost of trainers for it, as far as prices were known.
        cost_max: the limit of its budget for that; None without one.
        deadline_left: seconds until its deadline, negative after it; None
            without a deadline, or if it has ended.
        needed: estimate of the machines needed to meet the deadline, such as
            ``"3 more a100"``; empty if none are needed, or none would help.
        uid: identifies it outside of its service: a random number that is made
            once and kept in copies of the state. Empty if only an older
            program has written the state.
        failed: the number of ended trials that have failed.
        left_seconds: estimate of the remaining time; None if unknown.
    """

    id: int
    name: str
    state: str
    reason: str
    metric: str
    direction: str
    weight: float
    algorithm: str
    workload: str
    trials: int
    finished: int
    asked_steps: int
    delivered_steps: int
    shared_steps: int
    best_trial: TrialInfo | None
    active_seconds: float
    saved_seconds: float
    waiting: str = ""
    front: Front | None = None
    cost: float = 0
    cost_max: float | None = None
    deadline_left: float | None = None
    needed: str = ""
    uid: str = ""
    failed: int = 0
    left_seconds: float | None = None

    @property
    def ended(self) -> bool:
        """Whether the study has ended."""
        return self.state in ("COMPLETE", "FAILED", "CANCELLED")


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
class LeaseInfo:
    """The present work of a trainer.

    Attributes:
        what: the values in training of the hyper-parameters in which trials
            differ.
        at: the present step.
        to: the last step of its lease.
        steps_per_second: of all its lanes together; 0 before its first report.
        lanes: the number of lanes in training; `what`, `at` and `to` are those
            of the lane that is behind the others.
        studies: names of the studies that it trains for.
    """

    what: str
    at: int
    to: int
    steps_per_second: float
    lanes: int = 0
    studies: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainerInfo:
    """A trainer that is or was connected.

    Attributes:
        number: in the order of connection.
        name: host and process.
        device: its kind of device, which decides the bits of results.
        lost: why it left; empty if it is connected.
        lease: its present work; None if it is idle.
        memory_bytes: memory of its device; 0 if unknown.
        driver: the newest CUDA that the driver of its GPU can run, e.g. "13.0";
            empty if unknown, or without a GPU.
        compute_capability: of its GPU, e.g. "9.0"; empty likewise.
        sick: the failed work that other trainers could do, for which it gets a
            pause; empty if there is none.
        machine: its machine type in the service's list; empty if there is no
            list, or if it is unknown (see `unpriced`).
        unpriced: why its price is unknown; empty likewise.
        price: price of the trainer for an hour; 0 if unknown.
        work_cost: cost of the time with work.
        idle_cost: cost of the rest of its connected time.
        notice_seconds: warning before its machine is taken away; 0 if unknown,
            or none.
        failures: how often training has failed on it.
        failed: the last failure's message; empty without a failure.
        held_up: why it gets no work though it is not sick, such as "does not
            return since 40 s"; empty if it gets work.
    """

    number: int
    name: str
    device: str
    lost: str
    lease: LeaseInfo | None
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


def trial_info_of(message: Any) -> TrialInfo:
    measured = message.best.which() == "value"
    return TrialInfo(
        number=message.trial, state=message.state,
        params={name: _without_constant(x)
                for name, x in params_of(message.params).items()},
        value=message.best.value.value if measured else None,
        step=message.best.value.step if measured else None,
        asked_steps=message.askedSteps, steps=message.steps,
        shared_steps=message.sharedSteps, failure=message.failure,
        chosen=message.chosen,
        predicted=(message.predicted.value
                   if message.predicted.which() == "value" else None),
        untrained=(message.untrained.steps
                   if message.untrained.which() == "steps" else None))


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


def study_info_of(message: Any) -> StudyInfo:
    has_best = message.best.which() == "trial"
    return StudyInfo(
        id=message.id, name=message.name, state=message.state,
        reason=message.reason, metric=message.metric,
        direction="maximize" if message.maximize else "minimize",
        weight=message.weight, algorithm=message.algorithm,
        workload=message.workload, trials=message.trials,
        finished=message.finished, asked_steps=message.askedSteps,
        delivered_steps=message.deliveredSteps,
        shared_steps=message.sharedSteps,
        best_trial=trial_info_of(message.best.trial) if has_best else None,
        active_seconds=message.activeSeconds,
        saved_seconds=message.savedSeconds, waiting=message.waiting,
        front=front_of(message.front), cost=message.cost,
        cost_max=message.costMax or None,
        deadline_left=(message.deadline.seconds
                       if message.deadline.which() == "seconds" else None),
        needed=message.needed, uid=message.uid, failed=message.failed,
        left_seconds=(message.left.seconds
                      if message.left.which() == "seconds" else None))


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


def trainer_info_of(message: Any) -> TrainerInfo:
    lease = None
    if message.lease.which() == "running":
        running = message.lease.running
        lease = LeaseInfo(what=running.what, at=running.at, to=running.to,
                          steps_per_second=running.stepsPerSecond,
                          lanes=running.lanes,
                          studies=tuple(str(x) for x in running.studies))
    return TrainerInfo(number=message.number, name=message.name,
                       device=message.device, lost=message.lost, lease=lease,
                       memory_bytes=message.memoryBytes, driver=message.driver,
                       compute_capability=message.computeCapability,
                       sick=message.sick, machine=message.machine,
                       unpriced=message.unpriced, price=message.price,
                       work_cost=message.workCost, idle_cost=message.idleCost,
                       notice_seconds=message.notice,
                       failures=message.failures, failed=message.failed,
                       held_up=message.heldUp)


def service_info_of(message: Any) -> ServiceInfo:
    return ServiceInfo(protocol=message.protocol, version=message.version,
                       state=message.state)
