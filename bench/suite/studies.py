"""Studies of real training that Hippo and its peers run: the same
configurations, network, data and two workers of one thread each.
"""

import contextlib
import dataclasses
import json
import math
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

from harness import KEEPING_MEMORY, ROOT, Row
from peers import schedules

STUDIES = ROOT / "bench" / "studies"
LOOK_SECONDS = 0.2


@dataclasses.dataclass
class Outcome:
    """What a run of studies came to.

    core_seconds: of all processes
    epochs: trained in all
    improvements: (seconds since the start, accuracy) whenever it was the best
    report: Hippo's, see docs/report.md
    """

    wall_seconds: float
    core_seconds: float
    epochs: int
    improvements: list[tuple[float, float]]
    report: dict = dataclasses.field(default_factory=dict)

    def best(self):
        return self.improvements[-1][1]

    def seconds_to(self, accuracy):
        return next(at for at, x in self.improvements if x >= accuracy)

    def then(self, other):
        """Returns this and another run after it as one."""
        later = [(self.wall_seconds + at, x) for at, x in other.improvements
                 if x > self.best()]
        return Outcome(self.wall_seconds + other.wall_seconds,
                       self.core_seconds + other.core_seconds,
                       self.epochs + other.epochs, self.improvements + later)


def files(bench, names, folder=STUDIES):
    """Returns the paths of studies of a folder, small ones if quick."""
    if not bench.quick:
        return [folder / name for name in names]
    for name in names:
        text = (folder / name).read_text()
        text = re.sub(r"train: \d+", "train: 1000", text)
        text = re.sub(r"validation: \d+", "validation: 500", text)
        text = re.sub(r"trials: \d+", "trials: 6", text)
        (bench.scratch / name).write_text(text)
    return [bench.scratch / name for name in names]


def hippo(bench, paths, *flags):
    """Runs studies at once in Hippo; the seconds are those of the program, from
    its start to its end.
    """
    with tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        with open(f"{folder}/said", "w+") as said:
            process = subprocess.Popen(
                [bench.program("hippo"), "run", *paths, "--trainers", "2",
                 "--quiet", "--state", f"{folder}/state", *flags],
                stdout=subprocess.DEVNULL, stderr=said)
            try:
                improvements = watch(process, begin,
                                     f"{folder}/state/hippo.db")
            except BaseException:
                process.terminate()
                process.wait()
                raise
            wall = time.perf_counter() - begin
            if process.returncode != 0:
                said.seek(0)
                sys.exit(f"hippo run failed:\n{said.read()[-4000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(f"{folder}/state/report/latest/report.json") as file:
            report = json.load(file)
    # What came between the last look and the end.
    best = max(study["best"]["value"] for study in report["studies"])
    if best > improvements[-1][1]:
        improvements.append((wall, best))
    cores = (after.ru_utime + after.ru_stime
             - before.ru_utime - before.ru_stime)
    return Outcome(wall, cores, report["trained_steps"], improvements[1:],
                   report)


def watch(process, begin, database):
    """Waits for a run's end. Returns when its results became better, from
    (0, 0) on: a report does not say when a result came.
    """
    improvements = [(0, 0)]
    while process.poll() is None:
        best = best_accuracy(database)
        if best > improvements[-1][1]:
            improvements.append((time.perf_counter() - begin, best))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_SECONDS)
    return improvements


def best_accuracy(database):
    """Returns the best of all results in a state folder's database; 0: none."""
    try:
        state = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        with contextlib.closing(state):
            (best,), = state.execute("SELECT max(value) FROM metrics "
                                     "WHERE name = 'val_accuracy'")
            return best or 0
    except sqlite3.OperationalError:  # it is not there yet
        return 0


def for_peers(bench, path, study):
    """Writes what the peers' scripts take: the configurations that Hippo's
    report of a study has, and what the study's file says. Returns its path.
    """
    text = path.read_text()

    def number(key):
        return int(re.search(rf"\b{key}: (\d+)", text)[1])

    asha = re.search(r"asha: {eta: (\d+), min: (\d+)", text)
    names = ("lr", "batch_size", "momentum", "weight_decay")
    configurations = [{name: trial["params"][name] for name in names}
                      for trial in study["trials"]]
    check_schedules(bench, configurations, number("max"))
    result = bench.scratch / f"{study['name']}.json"
    result.write_text(json.dumps(
        {"configurations": configurations, "file": str(path),
         "epochs": number("max"),
         "train": number("train"), "validation": number("validation"),
         "asha": asha and {"eta": int(asha[1]), "min": int(asha[2])}}))
    return result


def check_schedules(bench, configurations, epochs):
    """Ends the program unless the peers' schedules have Hippo's values."""
    texts = {json.dumps(sequence) for configuration in configurations
             for sequence in configuration.values()}
    for text in sorted(texts):
        told = json.loads(bench.output(
            [bench.program("hippo"), "sequence", text, "--steps", str(epochs),
             "--format", "json"]))
        ours = told["sequences"][0]["values"]
        theirs = [schedules.value(json.loads(text), epoch)
                  for epoch in range(epochs)]
        if not all(map(lambda a, b: math.isclose(a, b, rel_tol=1e-9), ours,
                       theirs)):
            sys.exit(f"the values of {text} are not the same: {ours} and, of "
                     f"bench/peers/schedules.py, {theirs}")


def peer(bench, script, paths, *flags, memory=KEEPING_MEMORY):
    """Runs studies one after the other in a peer; the seconds begin when the
    peer is ready for the study.

    memory: settings of glibc's allocator, as environment variables
    """
    result = None
    for path in paths:
        part = Outcome(**bench.peer(script, "--study", path, *flags,
                                    OMP_NUM_THREADS="1", **memory))
        result = result.then(part) if result else part
    return result


def rows(opponent, ours, theirs, aim=None):
    """The table's lines of two runs.

    aim: of the ratios of time and core-seconds
    """
    both = min(ours.best(), theirs.best())
    lines = [
        ("time to finish", "s", [x.wall_seconds for x in (ours, theirs)],
         False, aim),
        ("core-seconds", "s", [x.core_seconds for x in (ours, theirs)],
         False, aim),
        ("epochs trained", "", [x.epochs for x in (ours, theirs)],
         False, None),
        ("best accuracy", "", [x.best() for x in (ours, theirs)], True, None),
        (f"time to accuracy {both:.4f}", "s",
         [x.seconds_to(both) for x in (ours, theirs)], False, None)]
    return [Row(what, unit, [a], opponent, [b], more, limit,
                aim_of_ratio=limit is not None)
            for what, unit, (a, b), more, limit in lines]


def epoch_row(opponent, ours, theirs, aim=None):
    """The table's line of what an epoch costs, whoever asked for it."""
    return Row("merging off: time per epoch trained", "ms",
               [1000 * ours.wall_seconds / ours.epochs], opponent,
               [1000 * theirs.wall_seconds / theirs.epochs], False, aim,
               aim_of_ratio=aim is not None)
