"""What the service tells, as plain values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrialInfo:
    """A trial, as it was when it was asked about.

    Attributes:
        number: from 0, in the order in which the study made its trials.
        state: ``PENDING``, ``RUNNING``, ``PAUSED``, ``COMPLETE``, ``PRUNED``,
            ``FAILED`` or ``CANCELLED``.
        params: a value, or the form of a sequence, for each hyper-parameter.
        value: its best objective value so far; None before the first, and if
            it has failed: what it measured before is among the events.
        step: at which it was measured; None before the first.
        asked_steps: how far it is to be trained.
        steps: how far it has been trained.
        shared_steps: how many of them another trial had got before.
        failure: why it failed; empty if it did not.
        chosen: how a sampler that learns came to its values: ``"startup"``,
            ``"model"`` or ``"cross of A, B, C"``; empty if none did.
        predicted: what the model expected of the objective after the last
            step; None if it said nothing.
        untrained: of its steps to its first goal, those that no trial of the
            study had been asked for when it was chosen; None if nobody looked.
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
        trial: number of the trial that measured it.
        step: at which it did.
        values: all metrics that it measured there, by name.
    """

    trial: int
    step: int
    values: dict[str, float]


@dataclass(frozen=True)
class Front:
    """The best of a study of several metrics, as it was when it was asked
    about.

    Attributes:
        goals: ``"maximize"`` or ``"minimize"`` for each metric, in the order
            of the study file.
        constraints: such as ``"ms <= 5"``; all points keep them.
        points: by trial and step.
        hypervolume: that the points dominate up to `reference`; None before
            the first result. It never falls.
        reference: for each metric the worst that trials measured first; None
            before the first result.
    """

    goals: dict[str, str]
    constraints: tuple[str, ...]
    points: tuple[FrontPoint, ...]
    hypervolume: float | None
    reference: dict[str, float] | None


@dataclass(frozen=True)
class StudyInfo:
    """A study, as it was when it was asked about.

    Attributes:
        id: from 1, in the order of submission.
        name: what the study file calls it.
        state: ``RUNNING``, ``PAUSED``, ``STOPPING``, ``COMPLETE``, ``FAILED``
            or ``CANCELLED``.
        reason: why it ended early; empty if it did not.
        metric: that of its objective, the first of several.
        direction: ``"maximize"`` or ``"minimize"``.
        weight: its share of the trainers, relative to other studies'.
        algorithm: such as ``"asha"``.
        workload: its workload key; studies of equal ones share training.
        trials: how many there are by now.
        finished: how many of them have ended.
        asked_steps: asked for by all its trials, added up.
        delivered_steps: how far its trials have been trained, added up.
        shared_steps: how many of them another trial had got before.
        best_trial: None before the first result, and of several metrics.
        active_seconds: for how long it has been worked on.
        saved_seconds: device time that sharing has avoided, an estimate by
            the mean step of its workload.
        waiting: why nothing of it can be trained now, and what helps; else
            empty.
        front: what it has of several metrics; None if it has one.
        cost: what trainers have cost for it, as far as prices were known.
        cost_max: what its budget lets it cost; None if it has no such budget.
        deadline_left: seconds until its deadline, less than 0 if it is over;
            None if it has none, or has ended.
        needed: what would bring it to its end by then, an estimate such as
            ``"3 more a100"``; empty if nothing is needed, or would do.
        uid: what stands for it outside of its service: a random number, made
            once, which copies of the state keep. Empty: only an older program
            has written the state.
        failed: how many of those that have ended failed.
        left_seconds: how long it takes yet, an estimate; None if nobody knows.
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
        """Whether nothing comes any more."""
        return self.state in ("COMPLETE", "FAILED", "CANCELLED")


@dataclass(frozen=True)
class Event:
    """Something that a study has heard, or chosen. Exactly one of `metrics`,
    `failure`, `command` and `chosen` is not None.

    Attributes:
        id: grows, with gaps.
        time: when it was stored, in seconds since 1970.
        trial: number of the trial that it is about.
        step: at which it happened.
        metrics: what was measured, by name; a value may be NaN.
        failure: why the trial failed.
        command: what somebody wanted of the study: a verb such as ``"pause"``,
            and what belongs to it.
        chosen: how a sampler that learns came to the trial's values:
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
    """What a trainer is doing.

    Attributes:
        what: the values that it trains, of hyper-parameters in which trials
            differ.
        at: the step where it is.
        to: the step where its lease ends.
        steps_per_second: of all its lanes; 0 until it has reported.
        lanes: how many of its lanes train; what, at and to are told of the one
            that is behind the others.
        studies: names of those that it trains for.
    """

    what: str
    at: int
    to: int
    steps_per_second: float
    lanes: int = 0
    studies: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainerInfo:
    """A trainer that is connected, or was.

    Attributes:
        number: in the order in which they came.
        name: host and process.
        device: its kind of device, which decides the bits of results.
        lost: why it is gone; empty if it is there.
        lease: None if it is idle.
        memory_bytes: of its device; 0 if unknown.
        driver: of its GPU: the newest CUDA that it can run, e.g. "13.0"; empty
            if unknown, or if it is no GPU.
        compute_capability: of its GPU, e.g. "9.0"; empty likewise.
        sick: what it failed at that others could do, for which it rests; empty
            if nothing.
        machine: its kind in the service's list of machines; empty if there is
            no list, or `unpriced` says why it is not known.
        unpriced: why it is not known what it costs; empty likewise.
        price: of the trainer and an hour; 0 if it is not known.
        work_cost: of the time for which it was given work.
        idle_cost: of the rest of the time for which it was there.
        notice_seconds: of warning before it goes; 0 if unknown, or none.
        failures: how often training has failed on it.
        failed: what was said the last time; empty if never.
        held_up: why it can be given no work, beside that it is sick: it "does
            not return since 40 s", say; empty if it can.
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
    """The service at the other end.

    Attributes:
        protocol: version of the interface.
        version: of the release, such as ``"0.1.0"``.
        state: path of its state folder, on its machine.
    """

    protocol: int
    version: str
    state: str


def has_result(state: str) -> bool:
    """Whether a trial of this state can be the best, and has a rank: what one
    measured before it failed is no result of it."""
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
