"""Searches of public tables: each has `next`, which gives a worker its work or
None, and `told`, which takes what that measured.

Work is (trial, from, to, values): the steps from one state to the other are
trained, and `to` is measured. A peer that cannot go on with a trial trains it
from 0 each time.
"""

import json
import subprocess
import tempfile

ETA = 3  # of all that halve


def space_file(task):
    """The space of a task as a study file has it."""
    lines = []
    for name, x in task.ranges.items():
        key = name.replace(".", "_")
        if task.fold:
            lines.append(f"  {key}: {{uniform: [0, 1]}}")
        else:
            kind = (("log_" if x.log else "") + ("int_" if x.whole else "")
                    + "uniform")
            lines.append(f"  {key}: {{{kind}: [{x.low!r}, {x.high!r}]}}")
    for name, words in task.choices.items():
        lines.append(f"  {name.replace('.', '_')}: {{choice: "
                     f"{json.dumps(words)}}}")
    return "\n".join(lines)


class Hippo:
    """Ours, by `hippo ask-tell`."""

    def __init__(self, task, seed, workers, program, algorithm, budget):
        text = (f"study: public\n"
                f"objective: {{metric: value, direction: "
                f"{task.about['direction']}}}\n"
                f"max_steps: {task.steps}\nspace:\n{space_file(task)}\n"
                f"algorithm: {algorithm}\nseed: {seed}\n"
                f"budget: {budget}\n")
        self._file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self._file.write(text)
        self._file.flush()
        self._names = {x.replace(".", "_"): x
                       for x in [*task.ranges, *task.choices]}
        self._process = subprocess.Popen(
            [program, "ask-tell", self._file.name, "--workers", str(workers)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self._read()  # says which algorithm it is

    def _read(self):
        answer = json.loads(self._process.stdout.readline() or "null")
        if answer is None or "error" in answer:
            raise SystemExit(f"hippo ask-tell: {answer}")
        return answer

    def _ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        return self._read()

    def next(self, worker):
        x = self._ask(do="ask")["work"]
        if x is None:
            return None
        return (x["trial"], x["from"], x["to"],
                {self._names[k]: v for k, v in x["params"].items()})

    def told(self, worker, work, value):
        self._ask(do="tell", trial=work[0], to=work[2],
                  values={"value": value})

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._file.close()


class Full:
    """Trains each trial in full, step by step, so that what it measures on its
    way counts; a subclass suggests values.
    """

    def __init__(self, task):
        self.task = task
        self._trials = 0
        self._work = {}
        self._handles = {}

    def next(self, worker):
        work = self._work.get(worker)
        if work is None or work[2] == self.task.steps:
            values, self._handles[worker] = self.suggest()
            work = (self._trials, 0, 1, values)
            self._trials += 1
        else:
            work = (work[0], work[2], work[2] + 1, work[3])
        self._work[worker] = work
        return work

    def told(self, worker, work, value):
        if work[2] == self.task.steps:
            self.observe(self._handles[worker], value)

    def observe(self, handle, value):
        pass

    def close(self):
        pass


class Optuna(Full):
    """Optuna's samplers."""

    def __init__(self, task, seed, sampler):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        super().__init__(task)
        samplers = {"tpe": optuna.samplers.TPESampler,
                    "random": optuna.samplers.RandomSampler,
                    "gp": optuna.samplers.GPSampler}
        self._study = optuna.create_study(
            direction=task.about["direction"],
            sampler=samplers[sampler](seed=seed))

    def suggest(self):
        trial = self._study.ask()
        values = {}
        for name, x in self.task.ranges.items():
            if self.task.fold:
                values[name] = trial.suggest_float(name, 0, 1)
            elif x.whole:
                values[name] = trial.suggest_int(name, x.low, x.high,
                                                 log=x.log)
            else:
                values[name] = trial.suggest_float(name, x.low, x.high,
                                                   log=x.log)
        for name, words in self.task.choices.items():
            values[name] = trial.suggest_categorical(name, words)
        return values, trial

    def observe(self, handle, value):
        self._study.tell(handle, value)


class Dehb:
    """DEHB of its authors; each job trains from the start."""

    def __init__(self, task, seed):
        from dehb import DEHB
        self.task = task
        self._folder = tempfile.TemporaryDirectory()
        names = [*task.ranges, *task.choices]
        self._tuner = DEHB(
            dimensions=len(names), min_fidelity=1, max_fidelity=task.steps,
            eta=ETA, n_workers=1, seed=seed, output_path=self._folder.name,
            log_level="ERROR", save_freq="end")
        self._jobs = {}
        self._trials = 0

    def next(self, worker):
        if worker in self._jobs:
            job, values, here, to = self._jobs[worker]
            if here < to:
                self._jobs[worker] = (job, values, here + 1, to)
                return (job["_trial"], here, here + 1, values)
        job = self._tuner.ask()
        job["_trial"] = self._trials
        self._trials += 1
        units = [float(x) for x in job["config"]]
        values = {}
        for (name, x), unit in zip(self.task.ranges.items(), units):
            values[name] = unit if self.task.fold else x.at(unit)
        for (name, words), unit in zip(self.task.choices.items(),
                                       units[len(self.task.ranges):]):
            values[name] = words[min(int(unit * len(words)), len(words) - 1)]
        to = max(1, round(float(job["fidelity"])))
        self._jobs[worker] = (job, values, 1, to)
        return (job["_trial"], 0, 1, values)

    def told(self, worker, work, value):
        job, _, _, to = self._jobs[worker]
        if work[2] == to:
            self._tuner.tell(job, {"fitness": -self.task.sign * value,
                                   "cost": to})

    def close(self):
        self._folder.cleanup()
