"""The sweeper `hippo` of Hydra: a study of an application's overrides."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._document import write_document
from ._hydra_app import override_of
from ._packing import pack
from ._renamed import renamed_fields
from ._telling import Stuck, Watch, failed_study
from .client import Client, connect
from .errors import InvalidStudy
from .hydra import JOB, _running
from .optimizing import _same, service_of
from .study import Study

_log = logging.getLogger(__name__)

# The application in a study: its code is where it was started.
_CODE = """from hippo_hpo import _hydra_app


class App(_hydra_app.HydraApp):
    pass
"""

# How long an application may be silent, in seconds, by default.
SILENCE_SECONDS = 86_400


@renamed_fields(steps="max_steps", every="eval_every")
@dataclasses.dataclass
class Options:
    """The options of the sweeper: `hydra.sweeper` in Hydra's configuration.

    Attributes:
        metric: the name of the objective, or a list of several.
        direction: minimize or maximize, or a list of as many.
        algorithm: as in a study file: a name, or a map with one key.
        trials: the largest number of trials; None: the algorithm decides.
        max_steps: the last step that the application reports; 1: it returns
            its value.
        eval_every: steps between two reports.
        seed: the seed of the algorithm's random numbers.
        trainers: how many applications run at the same time, on the CPU.
        device: GPUs instead: `all`, `cuda:0`, or a list.
        threads: threads of each trainer.
        keep: applications of trials that may wait, beside the one that runs,
            for each trainer.
        name: the study's name; None: that of the job.
        state: the folder of the service on demand; None: `.hippo` in the
            sweep's folder.
        server: HOST:PORT of a service instead, whose trainers see the
            application and the sweep's folder under the same paths.
        study: further keys of the study file, such as `budget`, `stop_when`
            and `constraints`.
        params: overrides that are swept, by name; the command line's come
            first.
    """

    metric: Any = "value"
    direction: Any = "minimize"
    algorithm: Any = "auto"
    trials: int | None = None
    max_steps: int = 1
    eval_every: int = 1
    seed: int = 0
    trainers: int | str = 2
    device: Any = None
    threads: int = 1
    keep: int = 1
    name: str | None = None
    state: str | None = None
    server: str | None = None
    study: dict[str, Any] | None = None
    params: dict[str, Any] | None = None


def space_of(overrides: Iterable[Any]) -> tuple[dict[str, Any], list[str]]:
    """Returns the space of parsed overrides, and the fixed ones as text.

    Raises:
        InvalidStudy: nothing is swept, or something is swept twice.
    """
    space: dict[str, Any] = {}
    fixed: dict[str, str] = {}
    for x in overrides:
        key = x.get_key_element()
        # The last one counts, as in Hydra.
        space.pop(key, None)
        fixed.pop(key, None)
        if x.is_sweep_override():
            space[key] = _domain(x)
        else:
            fixed[key] = x.input_line
    if not space:
        raise InvalidStudy(
            "nothing is swept: give an override several values, such as "
            "'lr=choice(0.1,0.01)' or 'lr=tag(log,interval(1e-4,1e-1))'")
    return space, list(fixed.values())


def _domain(x: Any) -> dict[str, Any]:
    """The values of an override that is swept, as a study file has them."""
    sweep = x.value()
    if x.is_interval_sweep():
        ends = [sweep.start, sweep.end]
        kind = "int_uniform" if all(isinstance(y, int) for y in ends) \
            else "uniform"
        return {f"log_{kind}" if "log" in sweep.tags else kind: ends}
    if x.is_range_sweep():
        return _range(sorted(sweep.range()), x.input_line)
    # Hydra's own iterator would shuffle: a study draws anyway.
    found = sweep.list if hasattr(sweep, "list") else x.sweep_iterator()
    return {"choice": [_option(y) for y in found]}


def _range(values: Sequence[float], text: str) -> dict[str, Any]:
    if not values:
        raise InvalidStudy(f"{text}: has no value")
    if len(values) == 1:
        return {"choice": list(values)}
    ends = [values[0], values[-1]]
    if all(isinstance(x, int) for x in values):
        return {"int_uniform": ends, "step": values[1] - values[0]}
    return {"uniform": ends, "points": len(values)}


def _option(x: Any) -> Any:
    """An option: a number, a truth value or null as it is, anything else as
    the text that Hydra reads."""
    from hydra.core.override_parser.types import Transformer

    if x is None or isinstance(x, (bool, int, float)):
        return x
    return Transformer.str(x)


def sweep(options: Options, config: Any, context: Any, launcher: Any,
          arguments: list[str]) -> None:
    """Runs a sweep, or, in a process that a trainer has started, one job."""
    if os.environ.get(JOB):
        _run_job(config, launcher)
        return
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parser = OverridesParser.create(config_loader=context.config_loader)
    listed = [f"{name}={x}" for name, x in (options.params or {}).items()]
    space, fixed = space_of(parser.parse_overrides([*listed, *arguments]))
    folder = os.path.abspath(str(config.hydra.sweep.dir))
    os.makedirs(folder, exist_ok=True)
    _compose(config, context, space, fixed)
    study = _study_of(options, config, space, fixed, folder)
    text = _packed(study)
    client = connect(options.server) if options.server else service_of(
        options.state or os.path.join(folder, ".hippo"), options.trainers,
        options.device, options.threads)
    done = _wait(client, text, study["study"], options.server is not None)
    _write_results(done, folder)


def _compose(config: Any, context: Any, space: Mapping[str, Any],
             fixed: list[str]) -> None:
    """Composes the configuration of a job, so that a mistake in an override is
    found before anything starts."""
    sample = [f"{name}={override_of(next(iter(x.values()))[0])}"
              for name, x in space.items()]
    context.config_loader.load_sweep_config(config, [*fixed, *sample])


def _study_of(options: Options, config: Any, space: Mapping[str, Any],
              fixed: list[str], folder: str) -> dict[str, Any]:
    metrics, directions = _listed(options.metric), _listed(options.direction)
    if metrics == ["value"] and len(directions) > 1:
        metrics = [f"value_{i}" for i in range(len(directions))]
    if len(metrics) != len(directions):
        raise InvalidStudy(
            f"hydra.sweeper has {len(metrics)} metrics and {len(directions)} "
            "directions: give a direction for each metric")
    algorithm = options.algorithm
    if (name := next(iter(algorithm), "") if isinstance(algorithm, Mapping)
            else str(algorithm)) in ("client", "pbt"):
        raise InvalidStudy(
            f"hydra.sweeper.algorithm: {name}: "
            + ("decisions come from a client, and the sweeper is none"
               if name == "client" else
               "it changes values during training, which a job of Hydra "
               "cannot: choose another one, such as asha"))
    goals = [{"metric": metric, "direction": direction}
             for metric, direction in zip(metrics, directions)]
    args = {"command": _command(), "folder": os.getcwd(), "sweep_dir": folder,
            "jobs": os.path.join(folder, ".hippo-jobs"), "fixed": fixed,
            "metrics": metrics, "steps": options.max_steps, "keep": options.keep,
            "digest": _digest(config)}
    workload: dict[str, Any] = {
        "python": "app.py:App", "args": args, "silence_seconds":
        SILENCE_SECONDS, "exact": False, "share": "always"}
    if options.server is None:
        workload["python_executable"] = sys.executable
    study: dict[str, Any] = {
        "study": options.name or str(config.hydra.job.name),
        "workload": workload, "objective": goals[0] if len(goals) == 1
        else goals, "max_steps": options.max_steps,
        "eval_every": options.eval_every, "space": space,
        "algorithm": algorithm, "on_error": "end"}
    if options.seed:
        study["seed"] = options.seed
    further = dict(options.study or {})
    if options.trials is not None:
        further["budget"] = {"trials": options.trials,
                             **(further.get("budget") or {})}
    if taken := study.keys() & further.keys() - {"on_error"}:
        raise InvalidStudy(f"hydra.sweeper.study: {sorted(taken)[0]!r} is an "
                           "option of the sweeper itself")
    return {**study, **further}


def _listed(x: Any) -> list[str]:
    return [str(y) for y in x] if isinstance(x, (list, tuple)) else [str(x)]


def _command() -> list[str]:
    """The command that has started this application."""
    return [sys.executable, *sys.orig_argv[1:]]


def _digest(config: Any) -> str:
    """Stands for the application: the modules beside it that are imported by
    now, and its configuration."""
    from omegaconf import OmegaConf

    found = hashlib.sha256()
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    home = os.path.dirname(os.path.abspath(main)) + os.sep if main else ""
    files = [getattr(x, "__file__", None) for x in list(sys.modules.values())]
    paths = {os.path.abspath(x) for x in files if x}
    for path in sorted(paths):
        if home and path.startswith(home) and "site-packages" not in path \
                and os.path.isfile(path):
            with open(path, "rb") as file:
                found.update(path[len(home):].encode() + b"\0" + file.read())
    plain = {name: x for name, x in OmegaConf.to_container(
        config, resolve=False).items() if name != "hydra"}
    found.update(json.dumps(plain, sort_keys=True, default=str).encode())
    return found.hexdigest()


def _packed(study: Mapping[str, Any]) -> str:
    with tempfile.TemporaryDirectory(prefix="hippo-sweep-") as folder:
        with open(os.path.join(folder, "app.py"), "w",
                  encoding="utf-8") as file:
            file.write(_CODE)
        return pack(write_document(study), study["study"], folder)


def _wait(client: Client, text: str, name: str, is_others: bool) -> Study:
    """Runs a study, or goes on with the same one, and waits for its end."""
    study = _same(client, name, text, rerun=False)
    if study is None:
        study, warnings, notes = client._submit(text, name)
        for x in [*warnings, *notes]:
            _log.info("%s", x)
    elif study.state == "PAUSED":
        study.resume()
    _log.info("study %s at %s", study.id, client.address)
    watch = Watch(is_others, True)
    try:
        info = study.wait(watch)
    except Stuck as stuck:
        if not stuck.is_paused:
            study.cancel(stuck.why)
        raise failed_study(study, study.info, stuck.why, None) from None
    finally:
        watch.end()
    found = info.best_trial is not None or (
        info.front is not None and info.front.points)
    if not found:
        raise failed_study(study, info, info.reason, None)
    return study


def _write_results(study: Study, folder: str) -> None:
    """Writes `optimization_results.yaml`, with the keys that the sweeper of
    Optuna writes."""
    from omegaconf import OmegaConf

    info = study.info
    results: dict[str, Any] = {"name": "hippo"}
    if info.front is None:
        best = study.best_trial
        results.update(best_params=best.params, best_value=best.value)
        _log.info("Best parameters: %s", results["best_params"])
        _log.info("Best value: %s", best.value)
    else:
        trials = {x.number: x for x in study.best_trials}
        results["solutions"] = [
            {"params": trials[x.trial].params,
             "values": [x.values[name] for name in info.front.goals]}
            for x in info.front.points]
        _log.info("Number of Pareto solutions: %s", len(results["solutions"]))
    OmegaConf.save(OmegaConf.create(results),
                   os.path.join(folder, "optimization_results.yaml"))


# -- in the process of a job


def _run_job(config: Any, launcher: Any) -> None:
    """Runs one job as Hydra's own sweepers do, and tells the trainer of its
    end."""
    from hydra.core.utils import JobStatus
    from omegaconf import open_dict

    told = json.loads(os.environ[JOB])
    line = _running()
    with open_dict(config):
        config.hydra.sweep.dir = told["sweep_dir"]
    done, = launcher.launch([told["overrides"]], told["number"])
    if line is None:
        raise RuntimeError("the trainer that has started this job is gone")
    if done.status == JobStatus.COMPLETED:
        line.tell({"returned": _numbers(done.return_value)})
        return
    why = done._return_value
    line.tell({"failed": "".join(traceback.format_exception(why)).strip()
               if isinstance(why, BaseException) else str(why)})


def _numbers(x: Any) -> Any:
    """What an application returns, as numbers."""
    if isinstance(x, Mapping):
        return {str(name): float(y) for name, y in x.items()}
    if isinstance(x, (list, tuple)):
        return [float(y) for y in x]
    return None if x is None else float(x)
