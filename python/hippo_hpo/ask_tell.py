"""Search for those who train and measure their trials themselves.

    tuner = hippo.Tuner({"lr": hippo.log_uniform(1e-4, 0.1)},
                        {"loss": "minimize"}, max_steps=52, total_steps=3120)
    while (work := tuner.ask()) is not None:
        tuner.tell(work, measure(work.params, work.to_step))
    print(tuner.best)

No service and no trainers take part: the tuner runs ``hippo ask-tell``.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ._arguments import check_space, goals_of
from ._document import write_document
from ._program import hippo_program
from ._telling import without_places
from .errors import Closed, Error, InvalidArgument, InvalidStudy
from .space import Form, plain
from .workload import HyperParameters


@dataclasses.dataclass(frozen=True)
class Work:
    """The steps to train next of a trial.

    Attributes:
        trial: its number, from 0.
        from_step: the step at which they begin.
        to_step: the step at which they end, where the trial is measured.
        params: the values of hyper-parameters as a study file has them: numbers
            and words, schedules as maps.
        hp: their values at each of these steps: ``work.hp.lr(step)``.
        start: trial and step of the state to go on from: a `trial` and
            `to_step` of earlier work, perhaps of another trial that has been
            the same up to there. None: begin anew, at step 0.
    """

    trial: int
    from_step: int
    to_step: int
    params: Mapping[str, Any]
    hp: HyperParameters = dataclasses.field(compare=False, repr=False)
    start: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What a trial has measured at a step.

    Attributes:
        value: that of the first metric of the objective.
        values: those of all metrics, by name.
    """

    trial: int
    step: int
    value: float
    values: Mapping[str, float]
    params: Mapping[str, Any]


class Tuner:
    """Says which trial to train next, and up to which step.

    Work that was asked for may be told in any order, and any number may be out
    at a time. The same calls give the same answers. Threads may share a tuner.
    It is a context manager, which closes it.

    Args:
        space: hyper-parameters by name: values, choices, ranges, sequences.
        objective: metrics and their directions: ``{"loss": "minimize"}``, or
            the name of a metric that tells its direction.
        max_steps: the last step of a trial, or the lengths of trials:
            ``choice(1000, 2000)``.
        algorithm: as in a study file: ``"gp"``,
            ``{"asha": {"sampler": "gp"}}``. All but "client". "auto" chooses
            by the space, the budget, the steps and `workers`.
        trials: the largest number of trials; None: the algorithm decides.
        total_steps: ends the search as soon as its trials have been trained for
            so many steps, those in common once; None: no limit.
        seed: the seed of the algorithm's random numbers.
        workers: how many trainings run at a time, for "auto".
        eval_every: steps between two measurements.
        constraints: limits of metrics: ``["ms <= 5"]``.
        first: values of the first trials, as of `hippo_hpo.optimize`; so are
            `past`, results of training elsewhere, and `prior`, beliefs about
            good values.
        journal: the path of a file to which all calls are appended. If it has
            some of the same search, the search goes on after them, and work
            that was out is returned by `ask` again.

    Raises:
        InvalidStudy: the search cannot be run; the text has all errors.
        Error: there is no program `hippo`.
    """

    def __init__(self, space: Mapping[str, Any],
                 objective: Mapping[str, str] | str, *,
                 max_steps: int | Form = 1,
                 algorithm: str | Mapping[str, Any] = "auto",
                 trials: int | None = None, total_steps: int | None = None,
                 seed: int = 0, workers: int = 1, eval_every: int = 1,
                 constraints: Sequence[str] | None = None,
                 first: Sequence[Mapping[str, Any]] | None = None,
                 past: Sequence[Mapping[str, Any]] | None = None,
                 prior: Mapping[str, Mapping[str, Any]] | None = None,
                 journal: str | os.PathLike[str] | None = None) -> None:
        check_space(space)
        goals = goals_of(objective, Tuner)
        self._goals = list(goals)
        budget = {key: x for key, x in [("trials", trials),
                                        ("steps", total_steps)]
                  if x is not None}
        more = {key: x for key, x
                in [("budget", budget), ("constraints", constraints),
                    ("first", first), ("import", past), ("prior", prior)] if x}
        study = plain({
            "study": "tuner",
            "objective": [{"metric": x, "direction": y}
                          for x, y in goals.items()],
            "max_steps": max_steps, "eval_every": eval_every, "space": space,
            "algorithm": algorithm, "seed": seed, **more})
        self._lock = threading.Lock()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8",
                                            errors="replace")
        with tempfile.TemporaryDirectory(prefix="hippo-tuner-") as folder:
            path = os.path.join(folder, "tuner.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(write_document(study))
            command = [hippo_program(), "ask-tell", path, "--workers",
                       str(workers)]
            if journal is not None:
                command += ["--journal", os.fspath(journal)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._said, encoding="utf-8")
            self._finalizer = weakref.finalize(self, _end, self._process,
                                               self._said)
            hello = self._read(InvalidStudy)
        self._end = ""
        self._algorithm: Mapping[str, Any] = hello["algorithm"]

    def __enter__(self) -> Tuner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def algorithm(self) -> Mapping[str, Any]:
        """The algorithm and its options, by its name; that of "auto" too."""
        return self._algorithm

    @property
    def end(self) -> str:
        """The reason why the search has ended; empty: it has not."""
        return self._end

    @property
    def best(self) -> Measurement | None:
        """The best measurement of trials that have not failed, within the
        constraints; None: there is none.

        Raises:
            InvalidArgument: the search has several metrics: see `front`.
        """
        if len(self._goals) > 1:
            raise InvalidArgument("a search with several metrics has no best "
                                  "trial: see front")
        return next(iter(self.front), None)

    @property
    def front(self) -> list[Measurement]:
        """The measurements that no other one dominates; of one metric that of
        `best`."""
        return [Measurement(x["trial"], x["step"], x["values"][self._goals[0]],
                            x["values"], x["params"])
                for x in self._ask({"do": "best"})["best"]]

    def ask(self) -> Work | None:
        """Returns what to train next.

        Returns:
            None: there is nothing before the value of other work is told, or
            the search has ended: `end` has the reason then.
        """
        answer = self._ask({"do": "ask"})
        self._end = answer["end"]
        if (x := answer["work"]) is None:
            return None
        start = None if x["start"] is None else (x["start"], x["from"])
        return Work(x["trial"], x["from"], x["to"], x["params"],
                    HyperParameters(x["from"], x["to"], x["values"]), start)

    def tell(self, work: Work,
             value: float | Mapping[str, float] | None = None, *,
             failed: bool = False) -> None:
        """Tells what work has measured.

        Args:
            value: a number, or those of several metrics by name.
            failed: whether the trial has failed, in place of a value: it ends.

        Raises:
            InvalidArgument: the work has its value already, or the value is
                missing or not finite.
        """
        request = {"do": "tell", "trial": work.trial, "to": work.to_step}
        if failed == (value is not None):
            raise InvalidArgument("tell takes a value, or failed=True")
        if value is None:
            self._end = self._ask({**request, "failed": True})["end"]
            return
        values = value if isinstance(value, Mapping) \
            else {self._goals[0]: value}
        told = {}
        for name, x in values.items():
            if not math.isfinite(number := float(x)):
                raise InvalidArgument(
                    f"the value of {name!r} must be a finite number, found "
                    f"{number}: tell a trial that has diverged as failed=True")
            told[name] = number
        self._end = self._ask({**request, "values": told})["end"]

    def close(self) -> None:
        """Ends the tuner; its journal, if it has one, keeps the search."""
        self._finalizer()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            if not self._finalizer.alive:
                raise Closed("the tuner is closed")
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                pass # the answer says why
            answer = self._read(Error)
        if "error" in answer:
            raise InvalidArgument(answer["error"])
        return answer

    def _read(self, kind: type[Error]) -> dict[str, Any]:
        """Reads an answer.

        Args:
            kind: what is raised if the program has ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._process.wait()
        self._said.seek(0)
        said = [x.removeprefix("error: ").removeprefix("hippo: ")
                for x in self._said.read().splitlines()
                if not x.startswith(("note: ", "warning: "))]
        self._finalizer()
        raise kind(without_places("\n".join(said))
                   or f"hippo ask-tell has ended: {self._process.returncode}")


def _end(process: subprocess.Popen[str], said: Any) -> None:
    """Ends the program: its input ends."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.close()
    except BrokenPipeError:
        pass
    process.wait()
    process.stdout.close()
    said.close()
