#!/usr/bin/env python3
"""Records what the schedulers of Ray Tune 2.60.0 decide.

    record_ray.py ray.json           writes the recording
    record_ray.py --check ray.json   records again and compares

The schedulers are fed directly, with stand-ins for trials and for the
controller, and with pseudo-random results; so the streams are ours and the
decisions are Ray's. ray_test.cpp compares our decisions on the same streams.
Values are multiples of 1/1024: sums of them are exact, whatever the order.

Exits with 77 where Ray Tune 2.60.0 is not installed.
"""

import json
import random
import sys

VERSION = "2.60.0"

try:
    import ray
    from ray.tune.experiment import Trial
    from ray.tune.schedulers import (AsyncHyperBandScheduler,
                                     HyperBandScheduler, MedianStoppingRule,
                                     TrialScheduler)
except ImportError as why:
    print(f"skipped: Ray Tune cannot be imported: {why}")
    sys.exit(77)


class FakeTrial:
    """What a scheduler looks at in a trial."""

    def __init__(self, number):
        self.trial_id = str(number)
        self.number = number
        self.status = Trial.PENDING
        self.is_saving = False


class FakeController:
    """What a scheduler asks of the controller."""

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.stopped = []

    def get_live_trials(self):
        return []  # so that nobody yields to others

    def stop_trial(self, trial):
        trial.status = Trial.TERMINATED
        self.stopped.append(trial.number)
        self.scheduler.on_trial_remove(self, trial)


def values_of(rng, trials, steps):
    """The value of each trial at each step: a level of its own, and noise."""
    level = [int(rng.random() * 2**20) for _ in range(trials)]
    return [[(level[i] + int(rng.random() * 2**19)) / 1024
             for _ in range(steps)] for i in range(trials)]


def stream(rng, scheduler, trials, values, steps):
    """Feeds results in random order; returns [trial, step, value, stops]."""
    controller = FakeController(scheduler)
    live = [FakeTrial(i) for i in range(trials)]
    for trial in live:
        scheduler.on_trial_add(controller, trial)
    at = dict.fromkeys(live, 0)
    events = []
    while live:
        trial = live[int(rng.random() * len(live))]
        step = steps[at[trial]]
        at[trial] += 1
        value = values[trial.number][step - 1]
        result = {"step": step, "value": value}
        if step == steps[-1]:
            scheduler.on_trial_complete(controller, trial, result)
            stops = False
            live.remove(trial)
        else:
            decision = scheduler.on_trial_result(controller, trial, result)
            stops = decision == TrialScheduler.STOP
            if stops:
                live.remove(trial)
        events.append([trial.number, step, value, int(stops)])
    return events


def record_asha():
    result = []
    for seed, (low, high, eta, mode) in enumerate([
            (1, 27, 3, "max"), (1, 16, 4, "min"), (2, 16, 2, "max"),
            (15, 120, 4, "min"), (1, 10, 3, "max")]):
        rng = random.Random(seed)
        trials = 40
        scheduler = AsyncHyperBandScheduler(
            time_attr="step", metric="value", mode=mode, grace_period=low,
            max_t=high, reduction_factor=eta, brackets=1)
        rungs = [low]
        while rungs[-1] * eta < high:
            rungs.append(rungs[-1] * eta)
        events = stream(rng, scheduler, trials,
                        values_of(rng, trials, high), rungs + [high])
        result.append({"min": low, "max": high, "eta": eta, "mode": mode,
                       "trials": trials, "events": events})
    return result


def record_median():
    result = []
    for seed, (first, high, grace, others, mode) in enumerate([
            (1, 8, 1, 3, "max"), (1, 6, 1, 5, "min"), (1, 12, 1, 1, "max"),
            (4, 12, 4, 3, "min"), (1, 10, 5, 3, "max")]):
        rng = random.Random(100 + seed)
        trials = 30
        scheduler = MedianStoppingRule(
            time_attr="step", metric="value", mode=mode, grace_period=grace,
            min_samples_required=others, hard_stop=True)
        events = stream(rng, scheduler, trials,
                        values_of(rng, trials, high),
                        list(range(first, high + 1)))
        result.append({"max": high, "grace": grace, "min_others": others,
                       "mode": mode, "trials": trials, "first": first,
                       "events": events})
    return result


def record_brackets():
    """Trials and first step of each bracket of one round, s = s_max to 0."""
    result = []
    for high, eta in [(81, 3), (243, 3), (27, 3), (16, 4), (120, 4), (60, 4)]:
        scheduler = HyperBandScheduler(max_t=high, reduction_factor=eta)
        count = scheduler._s_max_1
        result.append({"max": high, "eta": eta,
                       "brackets": [[scheduler._get_n0(s),
                                     scheduler._get_r0(s)]
                                    for s in reversed(range(count))]})
    return result


def record_hyperband():
    """How far each trial of one round gets, bracket by bracket."""
    result = []
    for seed, (high, eta, mode) in enumerate([(81, 3, "max"), (16, 4, "min"),
                                              (27, 3, "min")]):
        rng = random.Random(200 + seed)
        scheduler = HyperBandScheduler(
            time_attr="step", metric="value", mode=mode, max_t=high,
            reduction_factor=eta)
        controller = FakeController(scheduler)
        sizes = [scheduler._get_n0(s) for s in range(scheduler._s_max_1)]
        trials = [FakeTrial(i) for i in range(sum(sizes))]
        rungs = [eta**k for k in range(len(sizes))]
        values = values_of(rng, len(trials), len(rungs))
        for trial in trials:
            scheduler.on_trial_add(controller, trial)
        reached = [0] * len(trials)
        while True:
            trial = scheduler.choose_trial_to_run(controller)
            if trial is None:
                break
            trial.status = Trial.RUNNING
            while trial.status == Trial.RUNNING:
                rung = next(k for k, step in enumerate(rungs)
                            if step > reached[trial.number])
                reached[trial.number] = rungs[rung]
                decision = scheduler.on_trial_result(
                    controller, trial,
                    {"step": rungs[rung], "value": values[trial.number][rung]})
                if decision == TrialScheduler.PAUSE:
                    trial.status = Trial.PAUSED
                elif decision == TrialScheduler.STOP:
                    trial.status = Trial.TERMINATED
        first = 0
        brackets = []
        for s, size in enumerate(sizes):
            own = slice(first, first + size)
            brackets.append({"s": s, "values": values[own],
                             "reached": reached[own]})
            first += size
        result.append({"max": high, "eta": eta, "mode": mode,
                       "brackets": brackets})
    return result


def main():
    if ray.__version__ != VERSION:
        print(f"skipped: Ray {ray.__version__} is installed, not {VERSION}")
        return 77
    recording = {"ray": VERSION, "asha": record_asha(),
                 "median": record_median(), "brackets": record_brackets(),
                 "hyperband": record_hyperband()}
    if sys.argv[1] == "--check":
        with open(sys.argv[2], encoding="utf-8") as file:
            if json.load(file) != recording:
                print(f"{sys.argv[2]} is not what Ray {VERSION} decides")
                return 1
        return 0
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(recording, file, separators=(",", ":"))
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
