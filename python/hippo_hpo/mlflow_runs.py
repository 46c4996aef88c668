"""Studies as runs of MLflow."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._flat import Flattener
from .errors import InvalidArgument
from .records import has_result

if TYPE_CHECKING:
    from .study import Study

# What one request to MLflow may have.
METRICS_PER_BATCH = 1000
PARAMS_PER_BATCH = 100
NAME_MAX = 250     # characters
PARAM_MAX = 6000
TAG_MAX = 5000

_STATUS = {"COMPLETE": "FINISHED", "PRUNED": "FINISHED", "FAILED": "FAILED",
           "CANCELLED": "KILLED"}


def write_runs(study: Study, uri: str, best: int | None) -> int:
    """What `Study.to_mlflow` does."""
    try:
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.tracking import MlflowClient
    except ImportError as why:
        raise InvalidArgument(
            f"MLflow is needed for this: {why}. Install it with pip install "
            "'hippo-hpo[mlflow]'") from why
    if best is not None and best < 1:
        raise InvalidArgument(f"the best {best} trials: 1 or more can be "
                              "written")
    info = study.info
    sign = -1 if info.direction == "maximize" else 1
    trials = study.trials
    # Of several metrics, those of the front before all others.
    front = {x.trial for x in info.front.points} if info.front else set()
    ranked = sorted((x for x in trials if x.state in _STATUS
                     and (best is None or has_result(x.state))),
                    key=lambda x: (x.number not in front, x.value is None,
                                   sign * (x.value or 0), x.number))[:best]
    flat = dict(zip((x.number for x in ranked), Flattener(study._space()).add(
        x.params for x in ranked)))
    measured: dict[int, list[Metric]] = {x.number: [] for x in ranked}
    for event in study.events():
        if event.metrics is not None and event.trial in measured:
            measured[event.trial] += [
                Metric(name, value, round(1000 * event.time), event.step)
                for name, value in event.metrics.items()
                if not math.isnan(value)]

    params_as = _names(name for x in flat.values() for name in x)
    metrics_as = _names(
        x.key for metrics in measured.values() for x in metrics)

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name(info.name)
    where = (client.create_experiment(info.name) if experiment is None
             else experiment.experiment_id)
    mine = study.uid
    known = _known(client, where, mine)
    written = 0
    for x in ranked:
        if x.number in known:
            continue
        metrics = [Metric(metrics_as[y.key], y.value, y.timestamp, y.step)
                   for y in measured[x.number]]
        begin = metrics[0].timestamp if metrics else None
        run = client.create_run(where, start_time=begin,
                                run_name=f"trial {x.number}").info.run_id
        params = [Param(params_as[name], str(value)[:PARAM_MAX])
                  for name, value in flat[x.number].items()]
        tags = [RunTag("hippo.study", mine), RunTag("hippo.state", x.state),
                RunTag("hippo.shared_steps", str(x.shared_steps))]
        if info.front:
            tags.append(RunTag("hippo.front",
                               "yes" if x.number in front else "no"))
        if x.failure:
            tags.append(RunTag("hippo.failure", x.failure[:TAG_MAX]))
        if has_result(x.state) and x.value is not None and metrics:
            tags.append(RunTag("hippo.best", f"{x.value!r} at step {x.step}"))
        client.log_batch(run, tags=tags)
        for i in range(0, len(params), PARAMS_PER_BATCH):
            client.log_batch(run, params=params[i:i + PARAMS_PER_BATCH])
        for i in range(0, len(metrics), METRICS_PER_BATCH):
            client.log_batch(run, metrics=metrics[i:i + METRICS_PER_BATCH])
        # Last: a run without this number was not written to its end.
        client.set_tag(run, "hippo.trial", x.number)
        client.set_terminated(run, _STATUS[x.state],
                              metrics[-1].timestamp if metrics else None)
        written += 1
    return written


def _names(names: Iterable[str]) -> dict[str, str]:
    """What MLflow lets them be called: `lr.milestones.0`. None twice."""
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names)):
        plain = re.sub(r"\[(\d+)\]", r".\1", name)
        plain = re.sub(r"[^\w.\- :/]", "_", plain)
        if posixpath.normpath(plain) != plain or plain[0] in "./":
            plain = "_" + plain.replace("/", "_")  # a path that goes astray
        plain = plain[:NAME_MAX]
        number = 2
        shown = plain
        while shown in taken:
            end = f" {number}"
            shown = plain[:NAME_MAX - len(end)] + end
            number += 1
        taken.add(shown)
        result[name] = shown
    return result


def _known(client: Any, experiment: str, study: str) -> set[int]:
    """The trials of a study that are there already."""
    result: set[int] = set()
    token = None
    while True:
        page = client.search_runs(
            [experiment], f"tags.`hippo.study` = '{study}'",
            max_results=METRICS_PER_BATCH, page_token=token)
        result.update(int(run.data.tags["hippo.trial"]) for run in page
                      if "hippo.trial" in run.data.tags)
        token = page.token
        if not token:
            return result
