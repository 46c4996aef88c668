"""Figures of studies, drawn by the page's own code (web/) in notebooks."""

from __future__ import annotations

import base64
import html
import json
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any

from ._whole import whole_file
from .errors import InvalidArgument

if TYPE_CHECKING:
    import plotly.graph_objects

    from .study import Study

# What each figure asks for, and how many pixels it is high.
KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "history": (("table", "curves"), 420),
    "curves": (("table", "curves"), 420),
    "parallel": (("table", "curves"), 560),
    "importance": (("importance",), 400),
    "tree": (("table", "curves", "tree", "work", "sharing", "timeline"), 620),
    "schedules": (("table", "curves", "schedules"), 420),
    "timeline": (("timeline",), 360),
    "front": (("table", "curves", "front"), 420),
}

_IMPORT = re.compile(r'(\bfrom\s+)"\./([\w.]+)"')


class Figure:
    """A chart of a study at the time of the call. A notebook shows it; it loads
    nothing from the network.

    Attributes:
        kind: which chart, such as ``"history"``.
    """

    def __init__(self, kind: str, study: dict[str, Any],
                 answers: dict[str, Any]) -> None:
        self.kind = kind
        self._study = study
        self._answers = answers

    def __repr__(self) -> str:
        return (f"<hippo.Figure {self.kind} of study {self._study['id']} "
                f"({self._study['name']}): a notebook shows it, save() writes "
                "a page>")

    @property
    def html(self) -> str:
        """The chart as an HTML page."""
        data = {"what": self.kind, "study": self._study,
                "answers": self._answers}
        text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        modules = json.dumps({"imports": _modules()})
        title = html.escape(f"{self._study['name']}: {self.kind}")
        return ("<!doctype html>\n<html lang=\"en\"><head>"
                "<meta charset=\"utf-8\">"
                "<meta name=\"color-scheme\" content=\"light dark\">"
                f"<title>{title}</title><style>{_source('style.css')}</style>"
                f"<script type=\"importmap\">{modules}</script>"
                f"<script type=\"application/json\" id=\"figure\">{text}"
                "</script></head><body class=\"figure\">"
                "<main id=\"main\"></main><script type=\"module\">"
                "import \"hippo/figure.js\";</script></body></html>\n")

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the chart as a page of its own, for any browser.

        Raises:
            OSError: the file cannot be written.
        """
        with whole_file(file) as part, open(part, "w", encoding="utf-8") as out:
            out.write(self.html)

    def _repr_html_(self) -> str:
        # A frame of its own: its styles and scripts meet nobody else's.
        return (f"<iframe srcdoc=\"{html.escape(self.html)}\" "
                f"title=\"{html.escape(self.kind)}\" "
                "sandbox=\"allow-scripts\" style=\"width: 100%; height: "
                f"{KINDS[self.kind][1]}px; border: 0\"></iframe>")

    def to_plotly(self) -> plotly.graph_objects.Figure:
        """Returns the same as a figure of plotly, to be changed or combined.

        Raises:
            InvalidArgument: plotly is not installed.
        """
        from ._plotly import draw

        return draw(self.kind, self._study, self._answers)


def figure_of(study: Study, kind: str, step: int = 0,
              metric: str = "") -> Figure:
    """Asks a service for what a figure of a study shows.

    Args:
        kind: one of `KINDS`.
        step: for ``"importance"``, the step at which trials are compared; 0:
            the last one at which nine tenths of them were measured.
        metric: for ``"importance"``, the goal by which trials are the best;
            empty: the study's first one.

    Raises:
        InvalidArgument: the study has nothing that such a figure could show.
    """
    known = study.info
    facts = {"id": known.id, "name": known.name, "state": known.state,
             "metric": known.metric, "direction": known.direction,
             "workload": known.workload,
             "step_seconds": known.step_seconds}
    answers: dict[str, Any] = {}
    for what in KINDS[kind][0]:
        if what == "importance":
            answers[what] = study.importance(step, metric)
        elif what == "timeline":
            answers[what] = _timeline(study, known.workload)
            answers["trainers"] = [
                {"trainer": x.number, "name": x.name}
                for x in study._client.trainers()]
        else:
            answers[what] = study._columns(what)
    if "curves" in answers:
        # One answer is all that a figure shows; the page asks for more.
        answers["curves"]["whole"] = True
    if kind == "schedules" and not answers["schedules"]["parameters"]:
        raise InvalidArgument(
            f"study {known.id} ({known.name}) has no hyper-parameter that "
            "changes while a trial trains, or nothing was measured yet")
    if kind == "front" and len(answers["front"]["values"]) < 2:
        raise InvalidArgument(
            f"study {known.id} ({known.name}) measures one metric: a front "
            "needs two")
    return Figure(kind, facts, answers)


def _timeline(study: Study, workload: str) -> dict[str, Any]:
    """What trainers did in the last hour for a workload."""
    all_rows = study._client._timeline()
    mine = [i for i, x in enumerate(all_rows["workload"]) if x == workload]
    return {name: [values[i] for i in mine]
            for name, values in all_rows.items()}


def _folder() -> pathlib.Path:
    """Where the page's files are: in the package, or in a checkout."""
    here = pathlib.Path(__file__).resolve().parent
    packed = here / "web"
    return packed if packed.is_dir() else here.parent.parent / "web"


def _source(name: str) -> str:
    return (_folder() / name).read_text(encoding="utf-8")


def _modules() -> dict[str, str]:
    """The modules that a figure needs, as addresses that hold them."""
    result: dict[str, str] = {}
    wanted = ["figure.js"]
    while wanted:
        name = wanted.pop()
        if f"hippo/{name}" in result:
            continue
        text = _source(name)
        wanted += [found[2] for found in _IMPORT.finditer(text)]
        packed = base64.b64encode(
            _IMPORT.sub(r'\1"hippo/\2"', text).encode()).decode()
        result[f"hippo/{name}"] = f"data:text/javascript;base64,{packed}"
    return result
