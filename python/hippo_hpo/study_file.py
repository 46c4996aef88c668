"""Study files as objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ._document import read_document, write_document
from ._renamed import renamed_fields, with_new_keys
from .errors import InvalidStudy
from .space import Form, from_plain, plain


@renamed_fields(steps="max_steps")
@dataclasses.dataclass
class StudyFile:
    """A study file as an object; docs/study-file.md explains the keys.

    `Client.submit` accepts it, like all functions that take a study.

        >>> from hippo_hpo import choice, cosine
        >>> x = StudyFile("a", "fashion-mlp", {"metric": "val_accuracy"}, 9,
        ...               {"lr": choice(0.1, cosine(9, 0.1))}, "grid")
        >>> print(x.to_yaml())
        study: a
        workload: fashion-mlp
        objective: {metric: val_accuracy}
        max_steps: 9
        space:
          lr:
            choice:
            - 0.1
            - cosine: {initial: 0.1, horizon: 9}
        algorithm: grid
        <BLANKLINE>
        >>> StudyFile.from_yaml(x.to_yaml()) == x
        True

    Attributes:
        study: its name.
        workload: the workload: a name, or a map.
        objective: `{"metric": ..., "direction": ...}`, or a list of several
            such maps.
        max_steps: the last step of a trial, or a choice or range of such: the
            length of a trial then belongs to the search.
        space: hyper-parameters by name, as objects of `hippo_hpo.space`.
        algorithm: a name, or a map with one key.
        budget: any of `trials`, `steps`, `failed`, `seconds`, `device_hours`,
            `cost` and `deadline`; None: the algorithm decides the end.
        seed: the seed of the algorithm's random numbers.
        more: other keys, such as `constraints`, `stop_when`, `weight` and
            `on_error`.
        code: the files that it brings, as the service stores them; empty: they
            are read from the working directory at submission.
        eval_every: steps between two measurements.
    """

    study: str
    workload: str | Mapping[str, Any]
    objective: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    max_steps: int | Form
    space: Mapping[str, Any]
    algorithm: str | Mapping[str, Any] = "auto"
    budget: Mapping[str, Any] | None = None
    seed: int = 0
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    code: str = dataclasses.field(default="", repr=False, compare=False)
    eval_every: int = 1

    def to_map(self) -> dict[str, Any]:
        """Returns the study as maps and lists, as `from_map` takes it.

        Raises:
            InvalidArgument: a study file cannot have one of the values.
        """
        result: dict[str, Any] = {
            "study": self.study, "workload": self.workload,
            "objective": self.objective, "max_steps": self.max_steps,
            **({} if self.eval_every == 1 else {"eval_every": self.eval_every}),
            "space": self.space, "algorithm": self.algorithm}
        if self.budget is not None:
            result["budget"] = self.budget
        if self.seed:
            result["seed"] = self.seed
        found: dict[str, Any] = plain({**result, **self.more})
        return found

    def to_yaml(self) -> str:
        """Returns the text of the study file. Raises as `to_map`."""
        return write_document(self.to_map())

    @classmethod
    def from_map(cls, x: Mapping[str, Any]) -> StudyFile:
        """Reads a study of maps and lists.

        Raises:
            InvalidStudy: a required key is missing, or has an invalid value.
        """
        known = with_new_keys(x)
        for key in ("study", "workload", "objective", "max_steps", "space"):
            if key not in known:
                raise InvalidStudy(f"this is no study: {key!r} is missing")
        return cls(study=known.pop("study"), workload=known.pop("workload"),
                   objective=known.pop("objective"),
                   max_steps=from_plain(known.pop("max_steps")),
                   space=from_plain_space(known.pop("space")),
                   algorithm=from_plain(known.pop("algorithm", "auto")),
                   budget=known.pop("budget", None),
                   seed=known.pop("seed", 0),
                   eval_every=known.pop("eval_every", 1), more=known)

    @classmethod
    def from_yaml(cls, text: str) -> StudyFile:
        """Reads the text of a study file; raises as `from_map`."""
        return cls.from_map(read_document(text))


def from_plain_space(space: Any) -> dict[str, Any]:
    """Returns the objects of a study file's `space`."""
    if not isinstance(space, Mapping) and space is not None:
        raise InvalidStudy("this is no study: 'space' must be a map of "
                           f"hyper-parameters, found {space!r}")
    return {name: from_plain(x) for name, x in (space or {}).items()}
