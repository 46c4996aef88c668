"""The page of a service, at 10,000 trials with 10 hyper-parameters

Figures of the answers behind it, of the page in Chromium, and of what 20 pages
that look on cost a service; beside optuna-dashboard on as many trials.
"""

import json
import shutil
import signal
import sqlite3
import subprocess
import time
import urllib.request

from harness import ROOT, Result, Row
from suite.service import service

TRIALS = 10_000
PAGES = 20
LOOK = ROOT / "bench" / "clients" / "look_at_page.py"
VENV = ROOT / ".cache" / "python-venv" / "bin" / "python"

# Ten hyper-parameters that are all drawn: the most that a table can hold.
GROW = f"""
UPDATE trials SET params = json_object({", ".join(
    f"'drawn{i}', abs(random()) / 9.3e18" for i in range(10))});
"""


def fetched(url, compressed=False):
    """(seconds, bytes) of an answer."""
    request = urllib.request.Request(
        url, headers={"Accept-Encoding": "gzip"} if compressed else {})
    begin = time.perf_counter()
    with urllib.request.urlopen(request, timeout=300) as answer:
        size = len(answer.read())
    return time.perf_counter() - begin, size


def look(url, *flags):
    done = subprocess.run([VENV, LOOK, url, *map(str, flags)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def answers(bench, state, rows):
    """What is behind the page: each time from a service that knows nothing."""
    seconds, sizes = {}, {}
    for _ in range(bench.rounds):
        with service(bench, state) as running:
            for name in ("table", "curves", "tree", "work", "front",
                         "schedules"):
                url = f"{running.page}api/studies/1/{name}"
                taken, size = fetched(url)
                seconds.setdefault(name, []).append(1000 * taken)
                sizes[name] = size, fetched(url, True)[1]
    for name, values in seconds.items():
        rows.append(Row(f"/{name}, the first time", "ms", values,
                        more_is_better=False, aim=100))
    rows.append(Row("/table", "MB", [sizes["table"][0] / 1e6],
                    more_is_better=False, aim=1))
    rows.append(Row("/table, compressed", "MB", [sizes["table"][1] / 1e6],
                    more_is_better=False))


def page(bench, state, rows):
    first, paint, update, longest = [], [], [], []
    with service(bench, state, trainers=1, step_seconds=0.02) as running:
        for _ in range(bench.rounds):
            found = look(running.page + "#/study/1")
            first.append(found["seconds"])
            paint.append(found["first_paint"])
        # One that goes on, watched once all of its trials are there.
        # It has to go on for as long as it is watched.
        many, share = (2000, 0.1) if bench.quick else (TRIALS, 0.6)
        bench.client("run_study.py", running.address, str(many), "--no-wait")
        study = f"{running.page}api/studies/2"
        while json.loads(urllib.request.urlopen(study).read())[
                "finished"] < share * many:
            time.sleep(0.2)
        found = look(running.page + "#/study/2", "--watch", 10)
        assert found["updates"] > 3, "the study has ended too early"
        update.append(found["main_thread_ms_per_update"])
        longest.append(found["longest_ms"])
    rows.append(Row("first paint", "s", paint, more_is_better=False, aim=1))
    rows.append(Row("the charts that are seen are whole", "s", first,
                    more_is_better=False, aim=1))
    rows.append(Row("main thread, a live update, processor time", "ms", update,
                    more_is_better=False, aim=50))
    rows.append(Row("longest task in these", "ms", longest,
                    more_is_better=False, aim=50))


def onlookers(bench, rows):
    """Results a second of a service, with pages that look on and without."""
    many = 500 if bench.quick else 30_000

    def measure(pages):
        folder = bench.scratch / f"onlookers{time.monotonic_ns()}"
        with service(bench, folder, trainers=2) as running:
            watching = None
            if pages:
                # As if on other machines: the service goes first.
                watching = subprocess.Popen(
                    ["nice", "-n", "19", VENV, LOOK,
                     running.page + "#/study/1", "--pages", str(pages)],
                    stdout=subprocess.PIPE, text=True)
                watching.stdout.readline()  # they are open
            seconds = bench.client("run_study.py", running.address,
                                   str(many))["seconds"]
            if watching:
                watching.send_signal(signal.SIGTERM)
                watching.wait()
        return many / seconds

    values = bench.in_turn({"with": lambda: measure(PAGES),
                            "without": lambda: measure(0)},
                           min(bench.rounds, 3))
    rows.append(Row(f"{many:,} trials, {PAGES} pages open", "trials/s",
                    values["with"], "no page open", values["without"]))


def dashboard(bench, rows):
    """optuna-dashboard on as many trials."""
    program = bench.python.parent / "optuna-dashboard"
    journal = bench.scratch / "optuna.log"
    bench.peer("fill_optuna.py", str(journal), str(TRIALS))
    server = subprocess.Popen([program, journal, "--port", "8931"],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        url = "http://127.0.0.1:8931/api/studies/0"
        for _ in range(300):
            try:
                fetched(url)
                break
            except OSError:
                time.sleep(0.2)
        found = [fetched(url) for _ in range(bench.rounds)]
        for row in rows:
            if row.what == "/table":
                row.opponent = "optuna-dashboard, study"
                row.theirs = [found[0][1] / 1e6]
            elif row.what == "/table, the first time":
                row.opponent = "optuna-dashboard, study"
                row.theirs = [1000 * x[0] for x in found]
    finally:
        server.kill()
        server.wait()


def run(bench):
    state = bench.scratch / "large"
    trials = 300 if bench.quick else TRIALS
    with service(bench, state, trainers=2) as running:
        bench.client("run_study.py", running.address, str(trials))
    base = sqlite3.connect(state / "hippo.db")
    base.executescript(GROW)
    base.close()
    rows, notes = [], []
    answers(bench, state, rows)
    chromium = shutil.which("chromium")
    if chromium and VENV.exists():
        page(bench, state, rows)
        onlookers(bench, rows)
    else:
        notes.append("There is no Chromium or no .cache/python-venv: the page "
                     "itself was not measured.")
    dashboard(bench, rows)
    return Result(rows, notes=notes)
