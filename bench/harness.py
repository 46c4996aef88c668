"""What every benchmark needs: figures in turn with an opponent's, the table,
the programs and the Python environment that it runs.
"""

import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
VENV = ROOT / ".cache" / "bench-venv"
DEHB_VENV = ROOT / ".cache" / "dehb-venv"
PEERS = ROOT / "bench" / "peers"
CLIENTS = ROOT / "bench" / "clients"

PACKAGES = ["ray[tune]==2.60.0", "optuna==5.0.0",
            "optuna-dashboard==0.21.0", "syne-tune==0.16.0", "torch==2.11.0",
            "pycapnp==2.2.4", "PyYAML==6.0.3", "hatchling==1.33.0",
            "matplotlib==3.10.8", "onnxruntime==1.32.0",
            # Which Syne Tune's simulator wants.
            "fastparquet==2026.9.0", "h5py==3.16.0", "huggingface-hub==2.4.0"]

# In an environment of its own, since it needs an older NumPy.
DEHB_PACKAGES = ["dehb==0.1.2", "onnxruntime"]

# Environments of searches of public tables. What they do not have they take
# from .cache/bench-venv, PyTorch above all; so each has its own versions of
# what its peer wants otherwise.
PUBLIC_VENVS = {
    "public": ["coco-experiment==2.8.2"],
    "smac": ["--no-binary=pynisher,dask_jobqueue", "smac==2.4.0",
             "scikit-learn==1.7.2", "coco-experiment==2.8.2"],
    # Versions that go with NumPy before 1.25, which pip does not find alone.
    "hebo": ["--no-binary=pymoo", "HEBO==0.3.6", "torch==2.11.0",
             "numpy==1.24.4", "pandas==2.0.3", "scipy==1.10.1",
             "scikit-learn==1.3.2", "GPy==1.13.2", "gpytorch==1.13",
             "catboost==1.2.7", "coco-experiment==2.8.2"],
    "neps": ["neural-pipeline-search==0.17.0", "torch==2.11.0",
             "torchvision==0.26.0", "coco-experiment==2.8.2"],
}

# glibc gives large blocks back to the kernel at every iteration; with these it
# keeps them, as hippo-trainer does. They suit all peers better.
KEEPING_MEMORY = {"MALLOC_ARENA_MAX": "1",
                  "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
                  "MALLOC_TRIM_THRESHOLD_": str(512 << 20)}


class Failed(SystemExit):
    """A program has failed; the message says which one, and what it said."""


def public_data(given=None):
    """The folder of public tables, or None."""
    found = given or os.environ.get("HIPPO_PUBLIC_DATA")
    return pathlib.Path(found).absolute() if found else None


@dataclasses.dataclass
class Row:
    """One line of a table: a figure of ours, and perhaps an opponent's.

    ours, theirs: a figure for each round, measured in turn
    aim: what ours, or where `aim_of_ratio` says so the ratio, is to reach
    """

    what: str
    unit: str
    ours: list[float]
    opponent: str = ""
    theirs: list[float] = dataclasses.field(default_factory=list)
    more_is_better: bool = True
    aim: float | None = None
    aim_of_ratio: bool = False

    def ratios(self):
        """How many times better ours is, round by round."""
        pairs = zip(self.ours, self.theirs)
        return [a / b if self.more_is_better else b / a for a, b in pairs]

    def reached(self):
        """Whether the aim is reached; None: there is none."""
        if self.aim is None:
            return None
        if self.aim_of_ratio:
            return statistics.median(self.ratios()) >= self.aim
        value = statistics.median(self.ours)
        return value >= self.aim if self.more_is_better else value <= self.aim


@dataclasses.dataclass
class Panel:
    """A part of a picture: curves by label, each a list of (size, value), or of
    (size, value, low, high) where it has a band.

    linear: whether the values' axis is not logarithmic
    """

    title: str
    axes: tuple[str, str]
    curves: dict[str, list[tuple[float, ...]]]
    linear: bool = False


@dataclasses.dataclass
class Result:
    """What a benchmark has found: a table, and curves over sizes to plot, each
    a list of (size, value) by its label.

    data: what else is kept in build/bench/NAME.json
    panels: a picture in parts, in place of `curves`, two side by side
    """

    rows: list[Row]
    curves: dict[str, list[tuple[float, float]]] = dataclasses.field(
        default_factory=dict)
    axes: tuple[str, str] = ("", "")
    notes: list[str] = dataclasses.field(default_factory=list)
    data: dict = dataclasses.field(default_factory=dict)
    panels: list[Panel] = dataclasses.field(default_factory=list)

    def pictured(self):
        """What there is to plot."""
        return self.panels or [Panel("", self.axes, self.curves)] * bool(
            self.curves)


class Bench:
    """What a benchmark is given.

    rounds: how often to measure each side
    scratch: a folder that is removed afterwards
    quick: whether to look only if it works
    build: where our programs are
    python: what runs the peers' scripts
    data: the folder of public tables, if one is named
    part: what to measure of it, as the benchmark reads it; None: all
    """

    def __init__(self, rounds, scratch, quick, build=BUILD,
                 python=VENV / "bin" / "python", data=None, part=None):
        self.data = public_data(data)
        self.part = part
        self.rounds = rounds
        self.scratch = pathlib.Path(scratch)
        self.quick = quick
        self.build = pathlib.Path(build).absolute()
        self.python = python

    def say(self, text):
        print(f"  {text}", file=sys.stderr, flush=True)

    def in_turn(self, sides, rounds=None):
        """Calls each of `sides`, a function by name, once a round, one after the
        other. Returns their values as lists by name.
        """
        values = {name: [] for name in sides}
        for _ in range(rounds or self.rounds):
            for name, measure in sides.items():
                values[name].append(measure())
        return values

    def at_once(self, sides):
        """Calls each of `sides`, a function by name, as many at once as there
        are cores: for what takes no time, or virtual time alone. Returns their
        values by name.
        """
        def called(name):
            self.say(name if isinstance(name, str) else ": ".join(name))
            return sides[name]()

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(sides, pool.map(called, sides)))

    def program(self, name):
        """Returns the path of a program of the build."""
        for folder in ("bench", "apps/hippo", "apps/hippo-trainer", "bin"):
            path = self.build / folder / name
            if path.is_file():
                return path
        raise Failed(f"{self.build} has no program '{name}'")

    def output(self, command, **environment):
        """Runs a command and returns its standard output."""
        done = subprocess.run(
            [str(x) for x in command], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.scratch,
            env={**os.environ, **environment})
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))} failed:\n"
                         f"{done.stderr[-4000:]}")
        return done.stdout

    def json(self, command, **environment):
        """Runs a command that prints JSON as its last line."""
        return json.loads(
            self.output(command, **environment).strip().splitlines()[-1])

    def peer(self, script, *arguments, **environment):
        """Runs a script of bench/peers, which prints JSON as its last line."""
        return self.json([self.python, PEERS / script, *arguments],
                         **environment)

    def client(self, script, *arguments):
        """Runs a script of bench/clients, which prints JSON as its last line."""
        return self.json([self.python, CLIENTS / script, *arguments])


def make_venv(folder, packages, note="", beside=None):
    """Makes an environment with these packages, unless it is there. Returns the
    command that installs more.

    beside: another environment, which has what this one does not
    """
    stamp = folder / "stamp"
    wanted = "\n".join(packages)
    pip = [folder / "bin" / "pip", "install", "--quiet",
           "--disable-pip-version-check"]
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making .cache/{folder.name}{note}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder],
                       check=True)
        if beside:
            own, other = (next(x.glob("lib/python*/site-packages"))
                          for x in (folder, beside))
            (own / "beside.pth").write_text(f"{other}\n")
        subprocess.run([*pip, "--only-binary=:all:", *packages], check=True)
        stamp.write_text(wanted)
    return pip


def public_python(name):
    """What runs searches in an environment of PUBLIC_VENVS, or DEHB's."""
    return ROOT / ".cache" / f"{name}-venv" / "bin" / "python"


def make_public_venvs(names):
    """Makes those of the environments, unless they are there."""
    for name in names:
        if name == "dehb":
            make_venv(DEHB_VENV, DEHB_PACKAGES)
        else:
            make_venv(ROOT / ".cache" / f"{name}-venv", PUBLIC_VENVS[name],
                      beside=VENV)


def prepare_venv():
    """Makes the environment of the peers, unless it is there, and installs the
    present Python client into it.
    """
    pip = make_venv(VENV, PACKAGES,
                    " (about 5 GB: PyTorch comes with CUDA)")
    subprocess.run([*pip, "--no-deps", "--no-build-isolation",
                    "--force-reinstall", ROOT / "python"], check=True)


def number(x):
    """A number with three digits that count; a dash where it is infinite, as
    what never came is."""
    if math.isinf(x):
        return "–"
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def markdown(lines):
    """Lines of cells as a Markdown table, columns aligned; the first is its
    head."""
    widths = [max(map(len, column)) for column in zip(*lines)]

    def text(line):
        return "| " + " | ".join(x.ljust(width) for x, width in
                                 zip(line, widths)) + " |"

    head, *rest = lines
    rule = ["-" * width for width in widths]
    return "\n".join(map(text, [head, rule, *rest]))


def table(rows):
    """The rows as a Markdown table, columns aligned."""
    head = ["what", "unit", "Hippo", "opponent", "theirs", "ratio", "spread",
            "aim", ""]
    lines = []
    for row in rows:
        ratios = row.ratios()
        sample = ratios or row.ours
        middle = statistics.median(sample)
        spread = "–"
        if not math.isinf(middle):
            spread = (max(sample) - min(sample)) / middle if middle else 0
            spread = f"{100 * spread:.0f} %"
        aim = ""
        if row.aim is not None:
            sign = "≥" if row.more_is_better or row.aim_of_ratio else "≤"
            aim = f"{sign} {number(row.aim)}{' ×' if row.aim_of_ratio else ''}"
        lines.append([
            row.what, row.unit, number(statistics.median(row.ours)),
            row.opponent,
            number(statistics.median(row.theirs)) if row.theirs else "",
            f"{middle:.2f}".replace("inf", "∞") if ratios else "", spread, aim,
            {None: "", True: "yes", False: "**no**"}[row.reached()]])
    return markdown([head, *lines])


def plot(path, title, result):
    """Draws what a result has to plot."""
    script = PEERS / "plot.py"
    panels = [dataclasses.asdict(x) for x in result.pictured()]
    subprocess.run([VENV / "bin" / "python", script, path],
                   input=json.dumps({"title": title, "panels": panels}),
                   text=True, check=True)
