"""Answers of the service, as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, TypeVar

from ._renamed import warn as warn_renamed

T = TypeVar("T")


class HasEnded:
    """What follows from the state of a study."""

    state: str

    @property
    def ended(self) -> bool:
        """Whether the study has ended."""
        return self.state in ("COMPLETE", "FAILED", "CANCELLED")

    def __call__(self: T) -> T:
        """What `Study.info` was called for when it was a method."""
        warn_renamed("Study.info()", "Study.info")
        return self


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
        delivered_steps: the step to which it has been trained.
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
        spread: the standard deviation of that best value over the seeds of the
            trial; none with one seed. New in 0.2. None if there is none.
    """

    number: int = 0
    state: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    value: float | None = None
    step: int | None = None
    asked_steps: int = 0
    delivered_steps: int = 0
    shared_steps: int = 0
    failure: str = ""
    chosen: str = ""
    predicted: float | None = None
    untrained: int | None = None
    spread: float | None = None

    @property
    def steps(self) -> int:
        """The former name of `delivered_steps`."""
        warn_renamed("steps", "delivered_steps")
        return self.delivered_steps


def trial_info_of(message: Any) -> TrialInfo:
    return TrialInfo(
        number=message.trial,
        state=message.state,
        params=values_of(message.params),
        value=given(message.best, lambda x: x.value),
        step=given(message.best, lambda x: x.step),
        asked_steps=message.askedSteps,
        delivered_steps=message.deliveredSteps,
        shared_steps=message.sharedSteps,
        failure=message.failure,
        chosen=message.chosen,
        predicted=given(message.predicted),
        untrained=given(message.untrained),
        spread=given(message.spread))


@dataclass(frozen=True)
class FrontPoint:
    """A measurement that no other one of its study dominates.

    Attributes:
        trial: the number of its trial.
        step: its step.
        values: all metrics of the measurement, by name.
    """

    trial: int = 0
    step: int = 0
    values: dict[str, float] = field(default_factory=dict)


def front_point_of(message: Any) -> FrontPoint:
    return FrontPoint(
        trial=message.trial,
        step=message.step,
        values={x.name: x.value for x in message.values})


@dataclass(frozen=True)
class Front:
    """The Pareto front of a study of several metrics or constraints, at the
    time of the request.

    Attributes:
        goals: each metric of the objective and its direction, in the order of
            the study file.
        constraints: the constraints, such as "ms <= 5"; all points satisfy
            them.
        points: the measurements of the front, by trial and step.
        hypervolume: the volume that the points dominate up to `reference`;
            none before the first result. It never falls. None if there is
            none.
        reference: for each metric the worst of the trials' first measurements;
            none before the first result. None if there is none.
    """

    goals: dict[str, str] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    points: tuple[FrontPoint, ...] = ()
    hypervolume: float | None = None
    reference: dict[str, float] | None = None


def front_of(message: Any) -> Front:
    return Front(
        goals={x.metric: "maximize" if x.maximize else "minimize"
           for x in message.goals},
        constraints=tuple(str(x) for x in message.constraints),
        points=tuple(front_point_of(x) for x in message.points),
        hypervolume=given(message.hypervolume),
        reference={x.name: x.value for x in message.reference} or None)


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
        initial_state: the state that its training begins from, as `from` of
            its workload names it, such as "/models/base" or "trial 12 of study
            pretrain at step 9000"; none if its code makes the first state. New
            in 0.2. Empty if there is none.
        note: words of people about it; none if there are none. New in 0.2.
            Empty if there is none.
        tags: words by which people group studies, sorted. New in 0.2.
        removed: whether it is hidden: neither listed nor found by its name.
            New in 0.2.
        seeds: the number of seeds that each trial is trained with. Steps are
            counted for each of them, results are a summary of all. New in 0.2.
        front: its goals and its Pareto front, if it has several metrics or
            constraints. None if there is none.
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
    initial_state: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    removed: bool = False
    seeds: int = 0
    front: Front | None = None

    @property
    def left_seconds(self) -> float | None:
        """The former name of `seconds_left`."""
        warn_renamed("left_seconds", "seconds_left")
        return self.seconds_left

    @property
    def deadline_left(self) -> float | None:
        """The former name of `deadline_seconds_left`."""
        warn_renamed("deadline_left", "deadline_seconds_left")
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
        initial_state=message.initialState,
        note=message.note,
        tags=tuple(str(x) for x in message.tags),
        removed=message.removed,
        seeds=message.seeds,
        front=given(message.front, front_of_several))


@dataclass(frozen=True)
class LeaseInfo:
    """The present work of a trainer. Of several lanes `values`, `step` and
    `to_step` are those of the lane that is behind the others.

    Attributes:
        values: the values in training of the hyper-parameters in which trials
            differ.
        step: the present step.
        to_step: the last step of the lease.
        steps_per_second: the speed of all its lanes together; 0 before its
            first report.
        lanes: the number of lanes in training; 0 if it is unknown.
        studies: the names of the studies that it trains for.
        study_ids: their numbers. New in 0.2.
        members: the number of trainers that train it together, as a gang. New
            in 0.2.
    """

    values: str = ""
    step: int = 0
    to_step: int = 0
    steps_per_second: float = 0
    lanes: int = 0
    studies: tuple[str, ...] = ()
    study_ids: tuple[int, ...] = ()
    members: int = 1

    @property
    def what(self) -> str:
        """The former name of `values`."""
        warn_renamed("what", "values")
        return self.values

    @property
    def at(self) -> int:
        """The former name of `step`."""
        warn_renamed("at", "step")
        return self.step

    @property
    def to(self) -> int:
        """The former name of `to_step`."""
        warn_renamed("to", "to_step")
        return self.to_step


def lease_info_of(message: Any) -> LeaseInfo:
    return LeaseInfo(
        values=message.values,
        step=message.step,
        to_step=message.toStep,
        steps_per_second=message.stepsPerSecond,
        lanes=message.lanes,
        studies=tuple(str(x) for x in message.studies),
        study_ids=tuple(int(x) for x in message.studyIds),
        members=message.members)


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
        failure: the message of the last failure. Empty if there is none.
        held_up: the reason why it gets no work though it is not sick, such as
            "does not return since 40 s". Empty if there is none.
        seconds_left: the time until it begins to leave by its time limit; none
            without one. In seconds. New in 0.2. None if there is none.
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
    failure: str = ""
    held_up: str = ""
    seconds_left: float | None = None

    @property
    def failed(self) -> str:
        """The former name of `failure`."""
        warn_renamed("failed", "failure")
        return self.failure


def trainer_info_of(message: Any) -> TrainerInfo:
    return TrainerInfo(
        number=message.trainer,
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
        failure=message.failure,
        held_up=message.heldUp,
        seconds_left=given(message.secondsLeft))


@dataclass(frozen=True)
class WorkDemand:
    """The trainers that studies of one workload could use now.

    Attributes:
        workload: the workload key.
        kinds: the device kinds that can train it, as their trees were begun on
            them; empty if any can.
        unfit: the device kinds on which it was found that it cannot be
            trained.
        working: the trainers that train it now.
        waiting: the trainers that it could use beside them, at once.
        seconds: estimate of the time for which there is work, with all these
            trainers. In seconds. None if there is none.
        deadline_seconds: the time until the first deadline of its studies,
            negative after it; none without one. In seconds. None if there is
            none.
        stuck: the reason why no connected trainer can train it; it then asks
            for those of one trial at most, unless none is connected. Empty if
            there is none.
        ranks: the processes of its trials that each of these trainers holds.
    """

    workload: str = ""
    kinds: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()
    working: int = 0
    waiting: int = 0
    seconds: float | None = None
    deadline_seconds: float | None = None
    stuck: str = ""
    ranks: int = 0


def work_demand_of(message: Any) -> WorkDemand:
    return WorkDemand(
        workload=message.workload,
        kinds=tuple(str(x) for x in message.kinds),
        unfit=tuple(str(x) for x in message.unfit),
        working=message.working,
        waiting=message.waiting,
        seconds=given(message.seconds),
        deadline_seconds=given(message.deadlineSeconds),
        stuck=message.stuck,
        ranks=message.ranks)


@dataclass(frozen=True)
class ConnectedTrainer:
    """A connected trainer.

    Attributes:
        trainer: its number in the service.
        name: its host, or the name that it was given, and its process.
        device: its device kind.
        memory_bytes: the memory of its device; 0 if it is unknown. In bytes.
        idle_seconds: the time since it had work; none while it has some. In
            seconds. None if there is none.
        seconds_left: the time until it begins to leave by its time limit; none
            without one. In seconds. None if there is none.
        ranks: the processes of each trial that it trains.
    """

    trainer: int = 0
    name: str = ""
    device: str = ""
    memory_bytes: int = 0
    idle_seconds: float | None = None
    seconds_left: float | None = None
    ranks: int = 0


def connected_trainer_of(message: Any) -> ConnectedTrainer:
    return ConnectedTrainer(
        trainer=message.trainer,
        name=message.name,
        device=message.device,
        memory_bytes=message.memoryBytes,
        idle_seconds=given(message.idleSeconds),
        seconds_left=given(message.secondsLeft),
        ranks=message.ranks)


@dataclass(frozen=True)
class RefusedTrainer:
    """A trainer that was not let in.

    Attributes:
        name: its host, or the name that it was given, and its process.
        reason: the reason, and the remedy.
    """

    name: str = ""
    reason: str = ""


def refused_trainer_of(message: Any) -> RefusedTrainer:
    return RefusedTrainer(
        name=message.name,
        reason=message.reason)


@dataclass(frozen=True)
class Demand:
    """The trainers that could be used now, and those that are connected.

    Attributes:
        trainers: the trainers that could be used now: those with work, and
            those that could start at once.
        work: the same by workload, without those that need none.
        connected: the connected trainers by number.
        refused: the last trainers that were refused, at most 64, the newest
            last.
    """

    trainers: int = 0
    work: tuple[WorkDemand, ...] = ()
    connected: tuple[ConnectedTrainer, ...] = ()
    refused: tuple[RefusedTrainer, ...] = ()


def demand_of(message: Any) -> Demand:
    return Demand(
        trainers=message.trainers,
        work=tuple(work_demand_of(x) for x in message.work),
        connected=tuple(connected_trainer_of(x) for x in message.connected),
        refused=tuple(refused_trainer_of(x) for x in message.refused))


class Command(NamedTuple):
    """A command for a study.

    Attributes:
        verb: the command: ask, train, tell, close, pause, resume, stop,
            cancel, weight, widen, retry, extend, enqueue, tell_past, note,
            remove, restore, set_space or finish.
        text: its argument.
    """

    verb: str = ""
    text: str = ""


def command_of(message: Any) -> Command:
    return Command(
        verb=message.verb,
        text=message.text)


@dataclass(frozen=True)
class Event:
    """An event of a study: a measurement, a failure, a command, or a choice of
    its sampler.

    Attributes:
        id: its number; grows, with gaps.
        time: the time at which it was stored. In seconds since 1970.
        trial: the number of its trial.
        step: its step.
        metrics: the metrics of a measurement, by name; a value may be NaN.
            None if there is none.
        failure: the reason of a trial's failure. None if there is none.
        command: A command for the study, and its argument. None if there is
            none.
        chosen: the way in which a sampler that learns chose the trial's
            values: as of a trial. None if there is none.
    """

    id: int = 0
    time: float = 0
    trial: int = 0
    step: int = 0
    metrics: dict[str, float] | None = None
    failure: str | None = None
    command: Command | None = None
    chosen: str | None = None

    @property
    def failed(self) -> str | None:
        """The former name of `failure`."""
        warn_renamed("failed", "failure")
        return self.failure


def event_of(message: Any) -> Event:
    return Event(
        id=message.id,
        time=message.time,
        trial=message.trial,
        step=message.step,
        metrics={x.name: x.value
           for x in message.measured}
           if message.which() == "measured" else None,
        failure=message.failure if message.which() == "failure" else None,
        command=command_of(message.command)
           if message.which() == "command" else None,
        chosen=message.chosen if message.which() == "chosen" else None)


class ParameterChange(NamedTuple):
    """A hyper-parameter whose values are others in a study's new space.

    Attributes:
        name: its name.
        before: its values in the former space, as a study file in JSON has
            them. Empty if there is none.
        after: the same in the new space. Empty if there is none.
    """

    name: str = ""
    before: str = ""
    after: str = ""


def parameter_change_of(message: Any) -> ParameterChange:
    return ParameterChange(
        name=message.name,
        before=message.before,
        after=message.after)


@dataclass(frozen=True)
class SpaceChange:
    """The effects of a new space on a study.

    Attributes:
        changes: the hyper-parameters whose values are others, by name.
        replaced: the number of its trials that have not begun, in whose place
            others come, with values of the new space.
        learned: the number of its trials that have begun and lie in the new
            space: its sampler learns from them.
        outside: the number of those that do not: they stay, and its sampler
            learns no more from them.
        imported: the number of results from elsewhere that lie in the new
            space.
        trials: the number of its trials by then.
    """

    changes: tuple[ParameterChange, ...] = ()
    replaced: int = 0
    learned: int = 0
    outside: int = 0
    imported: int = 0
    trials: int = 0


def space_change_of(message: Any) -> SpaceChange:
    return SpaceChange(
        changes=tuple(parameter_change_of(x) for x in message.changes),
        replaced=message.replaced,
        learned=message.learned,
        outside=message.outside,
        imported=message.imported,
        trials=message.trials)


@dataclass(frozen=True)
class ParameterImportance:
    """The importance of a hyper-parameter.

    Attributes:
        parameter: its name, or that of a part of its schedule such as
            `lr.cosine.horizon`.
        importance: the distance of its values in the best tenth of the trials
            from those in all.
        share: the same as a share of the sum.
        trials: the number of trials that have it.
    """

    parameter: str = ""
    importance: float = 0
    share: float = 0
    trials: int = 0


def parameter_importance_of(message: Any) -> ParameterImportance:
    return ParameterImportance(
        parameter=message.parameter,
        importance=message.importance,
        share=message.share,
        trials=message.trials)


@dataclass(frozen=True)
class Importance:
    """The importance of a study's hyper-parameters.

    Attributes:
        study: the name of the study.
        metric: the metric by which trials are the best.
        direction: its direction: "maximize" or "minimize".
        step: the step at which trials are compared.
        trials: the number of trials measured there.
        best: the number of the best of them.
        importance: each hyper-parameter, the most important one first.
        constant: the hyper-parameters that do not vary.
        left_out: those with too many different words for a statement.
    """

    study: str = ""
    metric: str = ""
    direction: str = "minimize"
    step: int = 0
    trials: int = 0
    best: int = 0
    importance: tuple[ParameterImportance, ...] = ()
    constant: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def importance_of(message: Any) -> Importance:
    return Importance(
        study=message.study,
        metric=message.metric,
        direction="maximize" if message.maximize else "minimize",
        step=message.step,
        trials=message.trials,
        best=message.best,
        importance=tuple(parameter_importance_of(x)
           for x in message.importance),
        constant=tuple(str(x) for x in message.constant),
        left_out=tuple(str(x) for x in message.leftOut))


@dataclass(frozen=True)
class Timeline:
    """The work of trainers in the last hour, by columns: a row for each lease.

    Attributes:
        trainer: the trainer's number.
        begin: its begin, relative to now: below 0. In seconds.
        end: its end, likewise. In seconds.
        from_step: the step from which it was trained.
        to_step: the step to which it was trained.
        train: the part of its time in which steps were trained. In seconds.
        node: its stage of the tree.
        workload: the workload key.
    """

    trainer: tuple[int, ...] = ()
    begin: tuple[float, ...] = ()
    end: tuple[float, ...] = ()
    from_step: tuple[int, ...] = ()
    to_step: tuple[int, ...] = ()
    train: tuple[float, ...] = ()
    node: tuple[int, ...] = ()
    workload: tuple[str, ...] = ()

    @property
    def to(self) -> tuple[int, ...]:
        """The former name of `to_step`."""
        warn_renamed("to", "to_step")
        return self.to_step


def timeline_of(message: Any) -> Timeline:
    return Timeline(
        trainer=tuple(int(x) for x in message.trainer),
        begin=tuple(float(x) for x in message.begin),
        end=tuple(float(x) for x in message.end),
        from_step=tuple(int(x) for x in message.fromStep),
        to_step=tuple(int(x) for x in message.toStep),
        train=tuple(float(x) for x in message.train),
        node=tuple(int(x) for x in message.node),
        workload=tuple(str(x) for x in message.workload))


@dataclass(frozen=True)
class StepFigures:
    """The steps that a set of trials would train.

    Attributes:
        asked_steps: the steps that the trials ask for.
        delivered_steps: of these, the steps that the trials would get.
        unique_steps: the delivered steps after merging.
        merge_rate: p: delivered over unique steps.
        k_wise_merge_rate: q; 1 for a study by itself.
        known_steps: of the unique steps, those that are trained already, where
            that is known. None if there is none.
        new_steps: the others of them. None if there is none.
    """

    asked_steps: int = 0
    delivered_steps: int = 0
    unique_steps: int = 0
    merge_rate: float = 1
    k_wise_merge_rate: float = 1
    known_steps: int | None = None
    new_steps: int | None = None


def step_figures_of(message: Any) -> StepFigures:
    return StepFigures(
        asked_steps=message.askedSteps,
        delivered_steps=message.deliveredSteps,
        unique_steps=message.uniqueSteps,
        merge_rate=message.mergeRate,
        k_wise_merge_rate=message.kWiseMergeRate,
        known_steps=given(message.knownSteps),
        new_steps=given(message.newSteps))


@dataclass(frozen=True)
class StudyPreview:
    """The training of one study by itself.

    Attributes:
        name: its name.
        trials: the number of its trials.
        asked_steps: the steps that the trials ask for.
        delivered_steps: of these, the steps that the trials would get.
        unique_steps: the delivered steps after merging.
        merge_rate: p: delivered over unique steps.
        k_wise_merge_rate: q; 1 for a study by itself.
        known_steps: of the unique steps, those that are trained already, where
            that is known. None if there is none.
        new_steps: the others of them. None if there is none.
        estimate: the likely steps, for algorithms that stop early. None if
            there is none.
    """

    name: str = ""
    trials: int = 0
    asked_steps: int = 0
    delivered_steps: int = 0
    unique_steps: int = 0
    merge_rate: float = 1
    k_wise_merge_rate: float = 1
    known_steps: int | None = None
    new_steps: int | None = None
    estimate: StepFigures | None = None


def study_preview_of(message: Any) -> StudyPreview:
    return StudyPreview(
        name=message.name,
        trials=message.trials,
        asked_steps=message.full.askedSteps,
        delivered_steps=message.full.deliveredSteps,
        unique_steps=message.full.uniqueSteps,
        merge_rate=message.full.mergeRate,
        k_wise_merge_rate=message.full.kWiseMergeRate,
        known_steps=given(message.full.knownSteps),
        new_steps=given(message.full.newSteps),
        estimate=given(message.estimate, step_figures_of))


@dataclass(frozen=True)
class TimeFigures:
    """The mean duration of simulated runs, in virtual time.

    Attributes:
        wall_seconds: the wall time. In seconds.
        device_seconds: the device time. In seconds.
        lower_bound_seconds: A lower bound of the wall time. In seconds. None
            if there is none.
        wall_low: the least wall time of a run. In seconds.
        wall_high: the greatest. In seconds.
    """

    wall_seconds: float = 0
    device_seconds: float = 0
    lower_bound_seconds: float | None = None
    wall_low: float = 0
    wall_high: float = 0


def time_figures_of(message: Any) -> TimeFigures:
    return TimeFigures(
        wall_seconds=message.wallSeconds,
        device_seconds=message.deviceSeconds,
        lower_bound_seconds=message.lowerBoundSeconds or None,
        wall_low=message.wallLow,
        wall_high=message.wallHigh)


@dataclass(frozen=True)
class TimePreview:
    """The duration of studies together on equal trainers.

    Attributes:
        trainers: the number of trainers.
        simulations: the number of simulated runs.
        merged: the times with merging.
        alone: the times without.
    """

    trainers: int = 1
    simulations: int = 1
    merged: TimeFigures = TimeFigures()
    alone: TimeFigures = TimeFigures()


def time_preview_of(message: Any) -> TimePreview:
    return TimePreview(
        trainers=message.trainers,
        simulations=message.simulations,
        merged=time_figures_of(message.merged),
        alone=time_figures_of(message.alone))


@dataclass(frozen=True)
class PlannedTree:
    """The stages that studies would make, each trial trained to its end, by
    columns; parents come first.

    Attributes:
        all_nodes: the number of all stages, of which the first are here.
        id: the stage's number, from 1.
        parent: that of the stage before it; 0: none.
        begin: the step at which it begins.
        end: the step at which it ends.
        known_to: the step up to which it is trained already.
        others: the number of trials of other studies that pass it.
        trials: the number of the studies' own trials that pass it.
        label: the values that change in it.
    """

    all_nodes: int = 0
    id: tuple[int, ...] = ()
    parent: tuple[int, ...] = ()
    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    known_to: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    trials: tuple[int, ...] = ()
    label: tuple[str, ...] = ()


def planned_tree_of(message: Any) -> PlannedTree:
    return PlannedTree(
        all_nodes=message.allNodes,
        id=tuple(int(x) for x in message.id),
        parent=tuple(int(x) for x in message.parent),
        begin=tuple(int(x) for x in message.begin),
        end=tuple(int(x) for x in message.end),
        known_to=tuple(int(x) for x in message.knownTo),
        others=tuple(int(x) for x in message.others),
        trials=tuple(int(x) for x in message.trials),
        label=tuple(str(x) for x in message.label))


@dataclass(frozen=True)
class Preview:
    """The training of studies, before anything is spent.

    Attributes:
        trials: the number of trials.
        asked_steps: the steps that the trials ask for.
        delivered_steps: of these, the steps that the trials would get.
        unique_steps: the delivered steps after merging.
        merge_rate: p: delivered over unique steps.
        k_wise_merge_rate: q; 1 for a study by itself.
        known_steps: of the unique steps, those that are trained already, where
            that is known. None if there is none.
        new_steps: the others of them. None if there is none.
        estimate: the likely steps, if any study has an estimate; the others
            count in full. None if there is none.
        studies: each study by itself.
        times: simulated times, where they were asked for. None if there is
            none.
        tree: the stages, where they were asked for. None if there is none.
    """

    trials: int = 0
    asked_steps: int = 0
    delivered_steps: int = 0
    unique_steps: int = 0
    merge_rate: float = 1
    k_wise_merge_rate: float = 1
    known_steps: int | None = None
    new_steps: int | None = None
    estimate: StepFigures | None = None
    studies: tuple[StudyPreview, ...] = ()
    times: TimePreview | None = None
    tree: PlannedTree | None = None


def preview_of(message: Any) -> Preview:
    return Preview(
        trials=message.trials,
        asked_steps=message.full.askedSteps,
        delivered_steps=message.full.deliveredSteps,
        unique_steps=message.full.uniqueSteps,
        merge_rate=message.full.mergeRate,
        k_wise_merge_rate=message.full.kWiseMergeRate,
        known_steps=given(message.full.knownSteps),
        new_steps=given(message.full.newSteps),
        estimate=given(message.estimate, step_figures_of),
        studies=tuple(study_preview_of(x) for x in message.studies),
        times=given(message.times, time_preview_of),
        tree=given(message.tree, planned_tree_of))


# -- views ends --


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


def front_of_several(message: Any) -> Front | None:
    """Reads a front; None if it is of one metric."""
    return front_of(message) if len(message.goals) > 1 else None


def plain(record: Any) -> Any:
    """Returns a record as JSON has it: dicts and lists. What is missing is left
    out."""
    if isinstance(record, (list, tuple)):
        return [plain(x) for x in record]
    if not is_dataclass(record):
        return record
    values = ((x.name, getattr(record, x.name)) for x in fields(record))
    return {name: plain(x) for name, x in values if x is not None}


def service_info_of(message: Any) -> ServiceInfo:
    return ServiceInfo(protocol=message.protocol, version=message.version,
                       state=message.state)
