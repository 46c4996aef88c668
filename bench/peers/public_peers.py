"""Peers that search public tables, each as its authors have set it up.

All are asked and told in one event loop, see `public_methods`; none is tuned
here. One without conditions sees hyper-parameters that have no effect.
"""

import dataclasses
import random
import tempfile

from public_methods import Hippo

ETA = 3  # of all that halve


@dataclasses.dataclass
class Job:
    """A trial that is to be trained from the state `at` up to `to`.

    handle: by which the peer knows it
    """

    values: dict
    to: int
    handle: object = None
    at: int = 0
    trial: int | None = None


class Peer:
    """Trains each job step by step, so that whatever it measures on its way
    counts. A subclass has `ask`, which gives a job, and `tell`.
    """

    def __init__(self, task, seed):
        self.task = task
        self.seed = seed
        self._jobs = {}
        self._trials = 0

    def next(self, worker):
        job = self._jobs.get(worker)
        if job is None:
            job = self._jobs[worker] = self.ask()
            if job.trial is None:
                job.trial = self._trials
                self._trials += 1
        return (job.trial, job.at, job.at + 1, job.values)

    def told(self, worker, work, value):
        job = self._jobs[worker]
        job.at = work[2]
        if self.over(job, self.task.sign * value):
            del self._jobs[worker]

    def over(self, job, value):
        """Tells the peer, where a job ends; of values more is better."""
        if job.at < job.to:
            return False
        self.tell(job, value)
        return True

    def close(self):
        pass

    def at(self, units):
        """The values of numbers between 0 and 1, ranges first."""
        units = iter(units)
        values = {name: unit if self.task.fold else x.at(unit)
                  for (name, x), unit in zip(self.task.ranges.items(), units)}
        for (name, words), unit in zip(self.task.choices.items(), units):
            values[name] = words[min(int(unit * len(words)), len(words) - 1)]
        return values

    def number(self, x):
        """The range that is searched, as (low, high, by logarithm, whole)."""
        if self.task.fold:
            return 0.0, 1.0, False, False
        return x.low, x.high, x.log, x.whole


class Optuna(Peer):
    """Optuna's samplers, which train each trial in full."""

    def __init__(self, task, seed, sampler):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        super().__init__(task, seed)
        samplers = {"tpe": optuna.samplers.TPESampler,
                    "random": optuna.samplers.RandomSampler,
                    "gp": optuna.samplers.GPSampler}
        self._study = optuna.create_study(direction="maximize",
                                          sampler=samplers[sampler](seed=seed))

    def ask(self):
        trial = self._study.ask()
        values = {}
        for name, words in self.task.choices.items():
            values[name] = trial.suggest_categorical(name, words)
        for name, x in self.task.ranges.items():
            if self.task.active(name, values):
                low, high, log, whole = self.number(x)
                suggest = trial.suggest_int if whole else trial.suggest_float
                values[name] = suggest(name, low, high, log=log)
        return Job(values, self.task.steps, trial)

    def tell(self, job, value):
        self._study.tell(job.handle, value)


class Dehb(Peer):
    """DEHB of its authors; each job trains from the start."""

    def __init__(self, task, seed):
        from dehb import DEHB
        super().__init__(task, seed)
        self._folder = tempfile.TemporaryDirectory()
        self._tuner = DEHB(
            dimensions=len(task.ranges) + len(task.choices), min_fidelity=1,
            max_fidelity=task.steps, eta=ETA, n_workers=1, seed=seed,
            output_path=self._folder.name, log_level="ERROR", save_freq="end")

    def ask(self):
        job = self._tuner.ask()
        return Job(self.at([float(x) for x in job["config"]]),
                   max(1, round(float(job["fidelity"]))), job)

    def tell(self, job, value):
        self._tuner.tell(job.handle, {"fitness": -value, "cost": job.to})

    def close(self):
        self._folder.cleanup()


class Smac(Peer):
    """SMAC's facades; that of several fidelities trains each job from the
    start.
    """

    def __init__(self, task, seed, facade, trainings):
        import ConfigSpace
        import smac
        super().__init__(task, seed)
        space = ConfigSpace.ConfigurationSpace(seed=seed)
        for name, words in task.choices.items():
            space.add(ConfigSpace.Categorical(name, words))
        for name, x in task.ranges.items():
            low, high, log, whole = self.number(x)
            kind = ConfigSpace.Integer if whole else ConfigSpace.Float
            space.add(kind(name, (low, high), log=log))
        for name, (parent, words) in task.conditions.items():
            space.add(ConfigSpace.InCondition(space[name], space[parent],
                                              words))
        self._folder = tempfile.TemporaryDirectory()
        several = facade == "multi-fidelity"
        about = {"min_budget": 1, "max_budget": task.steps} if several else {}
        scenario = smac.Scenario(
            space, deterministic=True, seed=seed,
            output_directory=self._folder.name,
            n_trials=trainings * (task.steps if several else 1), **about)
        facades = {"hpo": smac.HyperparameterOptimizationFacade,
                   "multi-fidelity": smac.MultiFidelityFacade}
        self._tuner = facades[facade](
            scenario, lambda config, seed=0, budget=0: 0.0, overwrite=True,
            logging_level=50)

    def ask(self):
        info = self._tuner.ask()
        return Job(dict(info.config),
                   max(1, round(info.budget or self.task.steps)), info)

    def tell(self, job, value):
        from smac.runhistory import TrialValue
        self._tuner.tell(job.handle, TrialValue(cost=-value, time=1))

    def close(self):
        self._folder.cleanup()


def seed_all(seed):
    """For peers that draw from the generators that a process has."""
    import numpy
    import torch
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


class Hebo(Peer):
    """HEBO, which trains each trial in full and knows no conditions."""

    def __init__(self, task, seed):
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO
        super().__init__(task, seed)
        seed_all(seed)
        space = []
        for name, x in task.ranges.items():
            low, high, log, whole = self.number(x)
            kind = {(False, False): "num", (True, False): "pow",
                    (False, True): "int", (True, True): "pow_int"}[log, whole]
            space.append({"name": name, "type": kind, "lb": low, "ub": high})
        space += [{"name": name, "type": "cat", "categories": words}
                  for name, words in task.choices.items()]
        self._tuner = HEBO(DesignSpace().parse(space), scramble_seed=seed)

    def ask(self):
        found = self._tuner.suggest(n_suggestions=1)
        values = {x: int(y) if x in self.task.ranges
                  and self.number(self.task.ranges[x])[3] else
                  float(y) if x in self.task.ranges else y
                  for x, y in found.iloc[0].items()}
        return Job(values, self.task.steps, found)

    def tell(self, job, value):
        import numpy
        self._tuner.observe(job.handle, numpy.array([[-value]]))


class Neps(Peer):
    """NePS's PriorBand without priors, which goes on with trials and knows no
    conditions.
    """

    def __init__(self, task, seed, algorithm):
        import neps
        super().__init__(task, seed)
        seed_all(seed)
        members = {name: neps.Categorical(choices=words)
                   for name, words in task.choices.items()}
        for name, x in task.ranges.items():
            low, high, log, whole = self.number(x)
            kind = neps.Integer if whole else neps.Float
            members[name] = kind(lower=low, upper=high, log=log)
        members["step"] = neps.IntegerFidelity(lower=1, upper=task.steps)
        space = type("Space", (neps.PipelineSpace,), members)()
        self._tuner = neps.AskAndTell(
            getattr(neps.algorithms, algorithm)(space, eta=ETA))
        self._reached = {}

    def ask(self):
        trial = self._tuner.ask()
        values = {x: y for x, y in trial.config.items() if x != "step"}
        return Job(values, int(trial.config["step"]), trial,
                   self._reached.get(trial.metadata.previous_trial_id, 0))

    def tell(self, job, value):
        name = job.handle.metadata.id
        self._reached[name] = job.to
        self._tuner.tell(name, -value)


class Syne(Peer):
    """Syne Tune's searches, which stop trials on their way and know no
    conditions.
    """

    def __init__(self, task, seed, method):
        import logging

        import numpy
        from syne_tune import config_space
        from syne_tune.optimizer import baselines
        super().__init__(task, seed)
        logging.disable(logging.WARNING)
        numpy.random.seed(seed)
        space = {name: config_space.choice(words)
                 for name, words in task.choices.items()}
        for name, x in task.ranges.items():
            low, high, log, whole = self.number(x)
            kind = {(False, False): config_space.uniform,
                    (True, False): config_space.loguniform,
                    (False, True): config_space.randint,
                    (True, True): config_space.lograndint}[log, whole]
            space[name] = kind(low, high)
        self._tuner = getattr(baselines, method)(
            space, metric="value", do_minimize=False, random_seed=seed,
            time_attr="step", max_t=task.steps, grace_period=1,
            reduction_factor=ETA)

    def ask(self):
        import datetime

        from syne_tune.backend.trial_status import Trial
        values = self._tuner.suggest().config
        trial = Trial(self._trials, values, datetime.datetime.now())
        self._tuner.on_trial_add(trial)
        return Job(values, self.task.steps, trial)

    def over(self, job, value):
        result = {"value": value, "step": job.at}
        if job.at == job.to:
            self._tuner.on_trial_complete(job.handle, result)
            return True
        return self._tuner.on_trial_result(job.handle, result) == "STOP"


PEERS = {"optuna": Optuna, "DEHB": Dehb, "SMAC": Smac, "HEBO": Hebo,
         "NePS": Neps, "SyneTune": Syne}


def method_of(task, seed, args):
    """The method of this name: PEER, PEER WORD or an algorithm of ours."""
    kind, _, rest = args.method.partition(" ")
    if kind not in PEERS:
        return Hippo(task, seed, args.workers, args.program, args.method,
                     args.budget)
    more = [rest] if rest else []
    if kind == "SMAC":
        more.append(args.trainings * task.unit)
    return PEERS[kind](task, seed, *more)
