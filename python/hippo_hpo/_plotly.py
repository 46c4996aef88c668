"""Figures of studies for plotly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._columns import column
from .errors import InvalidArgument
from .records import has_result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def draw(kind: str, study: dict[str, Any], answers: dict[str, Any]) -> Figure:
    """What `Figure.to_plotly` does."""
    try:
        import plotly.graph_objects as go
    except ImportError as why:
        raise InvalidArgument(f"plotly is needed for this: {why}. Install it "
                              "with pip install plotly") from why
    figure = _DRAWN[kind](go, study, answers)
    figure.update_layout(title=f"{study['name']}: {kind}",
                         template="plotly_white")
    return figure


def _values(answers: dict[str, Any]) -> list[tuple[int, int, float, float]]:
    """(trial, step, value, seconds) of all that was measured, in order."""
    curves = answers["curves"]
    rows = zip(curves["trial"], curves["step"], column(curves["value"]),
               column(curves["seconds"]))
    return [(trial, step, value, seconds) for trial, step, value, seconds
            in rows if value is not None]


def _history(go: Any, study: dict[str, Any], answers: dict[str, Any]) -> Any:
    better = max if study["direction"] == "maximize" else min
    table = answers["table"]
    counts = {trial for trial, state
              in zip(table["trial"], column(table["state"]))
              if has_result(state)}
    x: list[float] = []
    y: list[float] = []
    for trial, _, value, seconds in _values(answers):
        if trial not in counts:
            continue
        if not y or better(value, y[-1]) != y[-1]:
            x.append(seconds)
            y.append(value)
    return go.Figure(
        go.Scatter(x=x, y=y, mode="lines", line_shape="hv", name="best"),
        {"xaxis_title": "seconds", "yaxis_title": study["metric"]})


def _curves(go: Any, study: dict[str, Any], answers: dict[str, Any]) -> Any:
    lines: dict[int, tuple[list[int], list[float]]] = {}
    for trial, step, value, _ in _values(answers):
        steps, values = lines.setdefault(trial, ([], []))
        steps.append(step)
        values.append(value)
    return go.Figure(
        [go.Scatter(x=steps, y=values, name=f"trial {trial}",
                    mode="lines" if len(steps) > 1 else "markers")
         for trial, (steps, values) in sorted(lines.items())],
        {"xaxis_title": "step", "yaxis_title": study["metric"]})


def _parallel(go: Any, study: dict[str, Any], answers: dict[str, Any]) -> Any:
    table = answers["table"]
    values = column(table["value"])
    rows = [i for i, x in enumerate(values) if x is not None]
    axes = []
    for name, coded in table["params"].items():
        params = [column(coded)[i] for i in rows]
        if len({str(x) for x in params}) < 2:
            continue
        if all(isinstance(x, (int, float)) for x in params):
            axes.append({"label": name, "values": params})
            continue
        words = sorted({str(x) for x in params})
        axes.append({"label": name, "tickvals": list(range(len(words))),
                     "ticktext": words,
                     "values": [words.index(str(x)) for x in params]})
    best = [values[i] for i in rows]
    axes.append({"label": study["metric"], "values": best})
    return go.Figure(go.Parcoords(
        dimensions=axes,
        line={"color": best, "colorscale": "Viridis", "showscale": True,
              "reversescale": study["direction"] != "maximize"}))


def _importance(go: Any, study: dict[str, Any], answers: dict[str, Any]
                ) -> Any:
    rows = list(reversed(answers["importance"]["importance"]))
    return go.Figure(
        go.Bar(x=[x["share"] for x in rows], y=[x["parameter"] for x in rows],
               orientation="h"), {"xaxis_title": "share of the importance"})


def _tree(go: Any, study: dict[str, Any], answers: dict[str, Any]) -> Any:
    tree = answers["tree"]
    known = set(tree["id"])
    return go.Figure(go.Icicle(
        ids=[str(x) for x in tree["id"]],
        parents=[str(x) if x in known else "" for x in tree["parent"]],
        labels=[x or "as before" for x in tree["label"]],
        values=tree["trials"], branchvalues="total",
        customdata=list(zip(tree["begin"], tree["end"],
                            column(tree["value"]))),
        hovertemplate="%{label}<br>steps %{customdata[0]} to %{customdata[1]}"
                      "<br>%{value} trials<br>at its end: %{customdata[2]}"
                      "<extra></extra>"))


def _schedules(go: Any, study: dict[str, Any], answers: dict[str, Any]
               ) -> Any:
    name, known = next(iter(answers["schedules"]["parameters"].items()))
    trials: dict[int, list[int]] = {}
    for trial, curve in zip(known["trial"], known["curve"]):
        trials.setdefault(curve, []).append(trial)
    return go.Figure(
        [go.Scatter(x=step, y=value, mode="lines", name=(
            f"trial {trials[i][0]}" if len(trials[i]) == 1
            else f"trial {trials[i][0]} and {len(trials[i]) - 1} more"))
         for i, (step, value) in enumerate(zip(known["step"],
                                               known["value"]))],
        {"xaxis_title": "step", "yaxis_title": name})


def _timeline(go: Any, study: dict[str, Any], answers: dict[str, Any]) -> Any:
    rows = answers["timeline"]
    names = {x["trainer"]: f"{x['trainer']} {x['name']}"
             for x in answers["trainers"]}
    return go.Figure(
        go.Bar(base=rows["begin"], orientation="h",
               x=[b - a for a, b in zip(rows["begin"], rows["end"])],
               y=[names.get(x, str(x)) for x in rows["trainer"]],
               hovertext=[f"steps {a} to {b}" for a, b
                          in zip(rows["from_step"], rows["to_step"])]),
        {"xaxis_title": "seconds from now"})


def _front(go: Any, study: dict[str, Any], answers: dict[str, Any]) -> Any:
    front = answers["front"]
    told = front["front"]
    goals = [x["metric"] for x in told["goals"]] if told else []
    # The study's goals first.
    ours, other = list(dict.fromkeys(
        [*goals, study["metric"], *front["values"]]))[:2]
    x, y = (column(front["values"][name]) for name in (other, ours))
    drawn = [go.Scatter(
        x=[math.nan if v is None else v for v in x],
        y=[math.nan if v is None else v for v in y], mode="markers",
        name="trials", text=[f"trial {t}" for t in front["trial"]])]
    if len(goals) > 1:  # of more than two no line between two of them
        points = sorted(told["points"], key=lambda p: p["values"][other])
        drawn.append(go.Scatter(
            x=[p["values"][other] for p in points],
            y=[p["values"][ours] for p in points], name="front",
            mode="lines+markers" if len(goals) == 2 else "markers",
            text=[f"trial {p['trial']}, step {p['step']}" for p in points]))
    return go.Figure(drawn, {"xaxis_title": other, "yaxis_title": ours})


_DRAWN: dict[str, Callable[[Any, dict[str, Any], dict[str, Any]], Any]] = {
    "history": _history, "curves": _curves, "parallel": _parallel,
    "importance": _importance, "tree": _tree, "timeline": _timeline,
    "front": _front, "schedules": _schedules}
