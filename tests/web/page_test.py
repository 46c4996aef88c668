#!/usr/bin/env python3
"""The page of a service, in Debian's Chromium: every view with nothing in it,
with a study that was run, and with 10,000 trials; a service that dies; who may
ask.

The environment says where the programs are: HIPPO, HIPPO_TRAINER.
"""

import gzip
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

HIPPO = os.environ["HIPPO"]
TRAINER = os.environ.get("HIPPO_TRAINER")
PATIENCE = 120
LARGE = 10_000  # trials of the large study

# A workload of the toy kind: it needs no data and no LibTorch.
CODE = """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    state = {"x": 0.0}
    for step in ctx.steps(state=state):
        state["x"] += ctx.hp.lr(step)
        width = ctx.hp.width(step)
        print("at", step, "with", width)
        if width == 3 and step == 2:
            raise ValueError("width 3 is one too many")
        yield lambda: {"value": state["x"] / width, "size": width}
"""
STUDY = """
study: small
workload: {python: 'train.py:train', python_executable: PYTHON, check: false}
objective: {metric: value, direction: maximize}
max_steps: 6
space:
  lr:
    choice:
      - 0.5
      - multistep: {initial: 0.5, milestones: [3], gamma: 0.5}
      - 0.25
  width: {choice: [1, 2, 3]}
algorithm: grid
"""

# One that goes on while it is looked at.
SLOW_CODE = """
import time
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    for step in ctx.steps(state={}):
        time.sleep(0.1)
        lr = ctx.hp.lr(step)
        yield lambda: {"value": lr * step}
"""
SLOW = """
study: NAME
workload: {python: 'slow.py:train', python_executable: PYTHON, check: false}
objective: {metric: value, direction: maximize}
max_steps: 100000
space: {lr: {choice: [0.5]}}
algorithm: grid
"""

# One that wants two metrics, and a third to keep within bounds; its sampler
# says how it came to its values.
SEVERAL = """
study: several
workload: {python: 'train.py:train', python_executable: PYTHON, check: false}
objective: [{metric: value, direction: maximize},
            {metric: size, direction: maximize}]
constraints: ['value <= 0.6']
max_steps: 2
space: {lr: {uniform: [0.1, 0.9]}, width: {choice: [1, 2, 4]}}
algorithm: tpe
budget: {trials: 24}
seed: 1  # some trials break the constraint
"""

# One whose names a page, an address or a script may take for something else.
NAMES = ["val/acc", "train loss", "metrics/mAP_0.5", "100% #1?&a=b+c",
         "__proto__", "<b>", "été"]
NAMED_CODE = f"""
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    for step in ctx.steps(state={{}}):
        at = ctx.hp["model.lr"](step) + ctx.hp["__proto__"](step)
        yield lambda: {{name: (i + 1) * at + step
                       for i, name in enumerate({NAMES!r})}}
"""
NAMED = """
study: named
workload: {python: 'named.py:train', python_executable: PYTHON, check: false}
objective: {metric: val/acc, direction: maximize}
max_steps: 3
space:
  model.lr: {uniform: [0.01, 0.1], points: 4}
  __proto__: {choice: [1, 2, 3]}
algorithm: grid
"""

# Hyper-parameters that are choices of ranges and schedules; a loss, the least
# of which is the best.
CHOICES_CODE = """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    state = {"x": 0.0}
    for step in ctx.steps(state=state):
        lr, decay = ctx.hp.lr(step), ctx.hp.decay(step)
        state["x"] += lr
        yield lambda: {"loss": (lr - 0.02) ** 2 + decay / (1 + state["x"])}
"""
CHOICES = """
study: choices
workload: {python: 'choices.py:train', python_executable: PYTHON, check: false}
objective: {metric: loss, direction: minimize}
max_steps: 6
space:
  lr:
    choice:
      - log_uniform: [0.001, 0.3]
      - cosine: {initial: {log_uniform: [0.02, 0.3]}, horizon: 6, end: 0.0001}
      - exponential: {initial: {log_uniform: [0.05, 0.3]}, gamma: 0.9}
  decay: {log_uniform: [0.00001, 0.01]}
algorithm: random
budget: {trials: 40}
"""

# One whose trials begin from the state of a trial of another one.
ROOT_CODE = """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    state = {"x": 1.0 if ctx.initial else 0.0}
    for step in ctx.steps(state=state):
        state["x"] += ctx.hp.lr(step)
        yield lambda: {"loss": state["x"]}
"""
ROOT = """
study: root
workload: {python: 'root.py:train', python_executable: PYTHON, check: false}
objective: {metric: loss, direction: minimize}
max_steps: 3
space: {lr: {choice: [0.1, 0.2]}}
algorithm: grid
"""
ROOTED = ROOT.replace("study: root", "study: rooted").replace(
    "false}", "false, from: {study: root, trial: 1, step: 2}}")

# One of which every trial fails.
FAILS_CODE = """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    for step in ctx.steps(state={}):
        raise FileNotFoundError("no such file: 'data/numbers.csv'")
        yield lambda: {"loss": 1.0}
"""
FAILS = """
study: fails
workload: {python: 'fails.py:train', python_executable: PYTHON, check: false}
objective: {metric: loss, direction: minimize}
max_steps: 6
space: {lr: {log_uniform: [0.001, 0.3]}, width: {choice: [1, 2, 3, 4]}}
algorithm: random
budget: {trials: 12}
on_error: continue
"""

# One that is only looked at: 9 + 5 + 3 steps, in five stages.
PLANNED = """
study: planned
workload: {name: fashion-mlp}
objective: {metric: val_accuracy, direction: maximize}
max_steps: 9
space:
  lr:
    choice:
      - 0.1
      - multistep: {initial: 0.1, milestones: [4], gamma: 0.5}
      - multistep: {initial: 0.1, milestones: [6], gamma: 0.5}
algorithm: grid
"""

# Seven more hyper-parameters, of sixteen digits each.
DRAWN = ", ".join(f"'$.drawn{i}', abs(random()) / 9.3e18" for i in range(7))


def multiplied(many):
    """SQL that makes so many trials of the nine that are there; the others have
    the results of the first."""
    return f"""
INSERT INTO trials
  SELECT study, 9 + n, 'COMPLETE', json_set(params, '$.lr', 0.25 + n / 20000.0,
         '$.width', n % 7, '$.depth', n % 4, '$.part', n / 20000.0, {DRAWN}),
         asked_to, steps,
         best_step,
         best_value + n % 97 / 100.0, '', shared, chosen, predicted, untrained
  FROM trials, (WITH RECURSIVE numbers(n) AS
    (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {many - 10})
    SELECT n FROM numbers)
  WHERE trial = 0;
INSERT INTO events (study, time, kind, trial, step, workload, node, shared)
  SELECT e.study, e.time, e.kind, t.trial, e.step, e.workload, e.node, e.shared
  FROM events e, trials t WHERE e.trial = 0 AND e.kind = 'measured'
    AND t.trial >= 9;
"""


def wait_for(what, look):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come")


class Service:
    """`hippo serve` on a folder, at one address for all its life."""

    port = 0

    def __init__(self, folder, *flags):
        self.folder = pathlib.Path(folder)
        self.flags = flags
        self.start()

    def start(self):
        log = open(self.folder / "serve.log", "w")
        self.process = subprocess.Popen(
            [HIPPO, "serve", "--state", self.folder / "state", "--listen",
             "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http",
             f"127.0.0.1:{self.port}", *self.flags],
            stdout=subprocess.DEVNULL, stderr=log)
        log.close()
        said = wait_for("the service", lambda: re.search(
            r"people look at (http://127\.0\.0\.1:(\d+)/)", self.log()))
        self.url, self.port = said[1], int(said[2])

    def log(self):
        return (self.folder / "serve.log").read_text()

    def address(self, who):
        """Where trainers or clients connect to."""
        return re.search(rf"{who} connect to (\S+)", self.log())[1]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(PATIENCE)


def write_study(folder, file, code, name, text):
    (folder / file).write_text(code)
    (folder / name).write_text(text.replace("PYTHON", os.sys.executable))


# The state of a canvas: null until it has a picture as wide as it is now; else
# that it is hidden, the words that say why it is empty (if it may be), or the
# number of its colours.
PAINTED = """(x, mayBeEmpty) => {
  if (!x.checkVisibility()) return {hidden: true};
  const {width} = x.parentElement.getBoundingClientRect();
  if (x.width !== Math.round(width * devicePixelRatio)) return null;
  if (mayBeEmpty && x.dataset.drawn === "empty")
    return {words: x.parentElement.querySelector("p").textContent};
  if (x.dataset.drawn !== "whole") return null;
  const copy = new OffscreenCanvas(x.width, x.height).getContext("2d");
  copy.drawImage(x, 0, 0);
  const {data} = copy.getImageData(0, 0, x.width, x.height);
  const found = new Set();
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 40)
      found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return {colours: found.size};
}"""


# Labels of charts that lie over each other, or beyond their card. One that
# leans is as wide as its height has it beside others that lean.
OVERLAPS = """() => {
  const wrong = [];
  for (const svg of document.querySelectorAll(".plot svg")) {
    if (!svg.checkVisibility()) continue;
    const card = (svg.closest(".scroll") ? svg : svg.closest(".card"))
      .getBoundingClientRect();
    const all = [...svg.querySelectorAll("text")].filter(x => x.textContent)
      .map(x => {
        const {left, right, top, bottom} = x.getBoundingClientRect();
        const leans = x.getAttribute("transform")?.includes("rotate");
        return {text: x.textContent, left: leans ? right - 14 : left, right,
          top, bottom: leans ? top + 10 : bottom};
      });
    all.forEach((a, i) => {
      if (a.left < card.left || a.right > card.right)
        wrong.push(`${a.text} is cut`);
      for (const b of all.slice(i + 1))
        if (a.left < b.right - 1 && b.left < a.right - 1
          && a.top < b.bottom - 2 && b.top < a.bottom - 2)
          wrong.push(`${a.text} lies over ${b.text}`);
    });
  }
  return wrong;
}"""

# The contrast of two colours, as WCAG has it.
CONTRAST = r"""
const light = text => {
  const [r, g, b] = text.match(/[\d.]+/g).slice(0, 3).map(x => {
    const v = Number(x) / 255;
    return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  });
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + .05) / (y + .05);
};
"""


class Pages(unittest.TestCase):
    """What tests of the page in a browser have in common.

    `TRAINED` names the studies that they need: folder, study file, its text,
    code file, its text, and how `hippo run` ends.
    """

    TRAINED = ()

    @classmethod
    def setUpClass(cls):
        expect.set_options(timeout=1000 * PATIENCE)
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox"])  # who runs tests as root has none
        cls.addClassCleanup(cls.browser.close)
        folder = tempfile.TemporaryDirectory(prefix="hippo-page-")
        cls.addClassCleanup(folder.cleanup)
        cls.trained = pathlib.Path(folder.name)
        for state, name, text, file, code, end in cls.TRAINED:
            if not TRAINER:
                break
            write_study(cls.trained, file, code, name, text)
            ran = subprocess.run(
                [HIPPO, "run", name, "--quiet", "--state", state,
                 "--trainers", "1"], cwd=cls.trained, capture_output=True)
            assert ran.returncode == end, ran.stderr.decode()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-page-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_study(self, which="state"):
        """A state folder in which a study was run."""
        shutil.copytree(self.trained / which, self.folder / "state")

    def change(self, script):
        """Changes what is stored, by SQL."""
        base = sqlite3.connect(self.folder / "state/hippo.db")
        base.executescript(script)
        base.close()

    def serve(self):
        service = Service(self.folder)
        self.addCleanup(service.end)
        return service

    def open(self, service, view="", **options):
        """A page that shows a view. Errors of its scripts, and requests to
        other hosts, are noted."""
        page = self.browser.new_page(**options)
        self.addCleanup(page.close)
        page.set_default_timeout(1000 * PATIENCE)  # of what it is told to do
        page.troubles = []
        page.on("pageerror", lambda x: page.troubles.append(str(x)))
        page.on("console", lambda x: x.type == "error"
                and "Failed to load" not in x.text
                and "ERR_" not in x.text and page.troubles.append(x.text))
        page.on("request", lambda x: x.url.startswith((service.url, "data:"))
                or page.troubles.append(x.url))
        page.goto(service.url + view)
        expect(page.locator("#link")).to_have_class("live")
        return page

    @staticmethod
    def card(page, heading):
        return page.locator("section").filter(has=page.get_by_role(
            "heading", name=heading, exact=True))

    def assert_drawn(self, page, may_be_empty=False):
        """Every chart has marks on it, once it is seen, or says why not. One
        with nothing to show for it may hide meanwhile: all of a chart is looked
        at in the same moment."""
        for canvas in page.locator("canvas").element_handles():
            canvas.evaluate("x => x.scrollIntoView()")
            name = canvas.get_attribute("aria-label")
            # Not page.wait_for_function: what it asks again it asks by eval,
            # which the page's policy forbids.
            found = wait_for(name, lambda: canvas.evaluate(
                PAINTED, may_be_empty))
            if "words" in found:
                self.assertNotIn(found["words"], ("", "Loading …"), name)
            elif "hidden" not in found:
                self.assertGreater(found["colours"], 0, name)

    def assert_readable(self, page):
        """Nothing is wider than the page; in no chart do two labels lie over
        each other, or is one cut by the edge of its card."""
        self.assertLessEqual(
            page.evaluate("document.documentElement.scrollWidth"),
            page.viewport_size["width"])
        self.assertEqual([], page.evaluate(OVERLAPS))

    def assert_accessible(self, page):
        found = Axe().run(page)
        self.assertEqual(0, found.violations_count, found.generate_report())


class Browser(Pages):
    """What the page does."""

    TRAINED = (("state", "study.yaml", STUDY, "train.py", CODE, 0),
               ("several", "several.yaml", SEVERAL, "train.py", CODE, 0),
               ("named", "named.yaml", NAMED, "named.py", NAMED_CODE, 0),
               ("rooted", "root.yaml", ROOT, "root.py", ROOT_CODE, 0),
               ("rooted", "rooted.yaml", ROOTED, "root.py", ROOT_CODE, 0),
               ("rooted", "root.yaml", ROOT, "root.py", ROOT_CODE, 0))

    def test_nothing_yet(self):
        service = self.serve()
        page = self.open(service)
        expect(page.get_by_text("There is no study yet")).to_be_visible()
        self.assert_accessible(page)
        # A study is looked at before it is submitted.
        page.get_by_text("Submit a study").click()
        page.get_by_label("Study file", exact=True).fill(PLANNED)
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_text("unique steps: 17")).to_be_visible()
        expect(page.get_by_text("5 stages, 5 of them of this study, each "
                                "trial of it trained to its end: 17 steps are "
                                "new, 0 shared")).to_be_visible()
        self.assert_drawn(page)
        self.assert_accessible(page)
        page.get_by_label("Study file", exact=True).fill(PLANNED + "steps: 3")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_text("page.yaml:")).to_be_visible()
        expect(page.locator("canvas:visible")).to_have_count(0)
        page.get_by_role("link", name="Trainers").click()
        expect(page.get_by_text("There is no trainer")).to_be_visible()
        page.goto(service.url + "#/study/7")
        expect(page.get_by_role("alert")).to_contain_text("no study")
        page.goto(service.url + "#/nowhere")
        expect(page.get_by_text("There is no such view")).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_study_that_was_run(self):
        self.run_study()
        service = self.serve()
        page = self.open(service)
        first = page.get_by_role("region", name="Studies").get_by_role(
            "row").nth(1)
        expect(first.get_by_role("img", name="6 COMPLETE, 3 FAILED")
               ).to_be_visible()
        expect(first).to_contain_text(re.compile(
            r"3 value.*(just now| ago).*9 / 9"))
        page.get_by_role("link", name="small").click()
        expect(page.get_by_role("heading", name="small")).to_be_visible()
        trials = page.get_by_role("region", name="Trials", exact=True)
        rows = trials.get_by_role("row")
        expect(rows).to_have_count(9 + 1)
        self.assert_drawn(page)
        # Behind each chart is a table.
        for closed in page.locator("summary").filter(
                has_text="As a table").all():
            if closed.is_visible():
                closed.click()
        for name in ("History", "Learning curves", "Empirical distribution",
                     "Parallel coordinates", "Schedules", "Slice plot",
                     "Contour plot", "Stage tree"):
            behind = page.get_by_role("region", name=f"{name}, as a table")
            self.assertGreater(behind.get_by_role("row").count(), 1, name)
        self.assert_accessible(page)
        for closed in page.locator("summary").filter(
                has_text="As a table").all():
            if closed.is_visible():
                closed.click()
        # A colour of the tree says what it means, and its table stays.
        colours = page.get_by_role("group", name="Stage tree").locator(
            ".legend")
        for kind, words in (
                ("value", "worst"), ("trials", "2"), ("seconds", " s"),
                ("device", " s"), ("trainer", ":"),
                ("study", "this study only"), ("best", "best")):
            page.get_by_role("group", name="Stage tree").get_by_label(
                "colour").select_option(kind)
            expect(colours).to_contain_text(words)
        self.assert_drawn(page)
        # Stages of trials that were pruned or failed are there if they are
        # asked for.
        card = page.get_by_role("group", name="Stage tree")
        include = page.get_by_label("include pruned and failed")
        expect(include).not_to_be_checked()
        expect(card.get_by_text("6 of 8 stages", exact=True)).to_be_visible()
        way = card.get_by_label("path of trial")
        way.fill("2")
        expect(card).to_contain_text("trial 2 is not among the trials")
        include.check()
        expect(card.get_by_text("8 stages", exact=True)).to_be_visible()
        self.assert_drawn(page)
        way.fill("")
        include.uncheck()
        expect(card.get_by_text("6 of 8 stages", exact=True)).to_be_visible()
        # Schedules are curves; those that came to the second piece of theirs.
        courses = trials.locator("svg.course")
        expect(courses).to_have_count(2)
        self.assertIn("multistep", courses.first.get_attribute("aria-label"))
        expect(page.get_by_role("group", name="Hyper-parameters")
               ).to_contain_text("5 different schedules")
        # What a chart shows can be heard, and opened, by keys.
        chart = page.get_by_role("img", name="Learning curves")
        chart.press("ArrowRight")
        chart.press("ArrowRight")
        expect(page.locator("#said")).to_contain_text("step 2")
        # Conditions choose trials for the table and all charts.
        search = page.get_by_label("filter")
        search.fill("width=2 state=complete")
        expect(rows).to_have_count(3 + 1)
        expect(page.get_by_text("3 of 9 trials", exact=True)).to_be_visible()
        search.fill("width~2")
        expect(page.get_by_text("is no condition")).to_be_visible()
        search.fill("")
        expect(rows).to_have_count(9 + 1)
        # The first click on a number's head puts the largest above.
        heads = trials.get_by_role("columnheader")
        trials.get_by_role("button", name="best value").click()
        expect(heads.nth(2)).to_have_attribute("aria-sort", "descending")
        cells = trials.locator("tbody tr td:nth-child(3)").all_inner_texts()
        values = [float(x) for x in cells if x not in ("", "–")]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual(3.0, values[0])
        # A choice on an axis is a choice in the table.
        chart = page.get_by_role("img", name="Hyper-parameters of trials")
        chart.hover(position={"x": 60, "y": 25})
        page.mouse.down()
        chart.hover(position={"x": 60, "y": 120})
        page.mouse.up()
        expect(rows).to_have_count(3 + 1)
        page.get_by_role("button", name="Show all trials").click()
        expect(rows).to_have_count(9 + 1)
        # Of a metric that is no goal the page says what it takes as better.
        page.get_by_label("metric").select_option("size")
        expect(page.get_by_text("direction guessed from its name: minimize",
                                exact=True)).to_be_visible()
        expect(trials.get_by_role("button", name="best size")).to_be_visible()
        expect(page.get_by_text("'size' is no goal of study")).to_be_visible()
        page.get_by_label("metric").select_option("value")
        expect(trials.get_by_role("button", name="best value")).to_be_visible()
        # A trial that failed says why, and where it parted from others.
        rows.filter(has_text=re.compile("FAILED")).first.get_by_role(
            "link").click()
        expect(page.get_by_text("width 3 is one too many").first
               ).to_be_visible()
        way = page.get_by_role("region", name="Stages of the trial")
        expect(way).to_contain_text("width=3")
        # Who trained it and when is known long after.
        expect(way).to_contain_text(re.compile(r":\d+: steps? 1.*, \d"))
        expect(page.locator("section").filter(has_text="Output")
               .locator("pre")).to_contain_text("at 1 with 3")
        happened = page.get_by_role("region", name="Events of").get_by_role(
            "row")
        expect(happened.nth(1)).to_contain_text(re.compile(
            r"size 3, value 0\.\d+"))
        expect(happened.last).to_contain_text("failed: ")
        page.get_by_label("metric").select_option("size")
        self.assert_drawn(page)
        # Who shares a stage, and back again.
        expect(way.get_by_role("row").nth(1).get_by_role("link")
               ).to_have_count(1)
        here = page.url
        other = way.get_by_role("link").first
        number = other.inner_text()
        other.click()
        expect(page.get_by_role("heading", name=f"Trial {number} FAILED")
               ).to_be_visible()
        page.go_back()
        self.assertEqual(here, page.url)
        # On this machine whoever looks may do what the command line does.
        page.go_back()
        page.get_by_role("button", name="Retry failed trials").click()
        expect(page.get_by_role("heading", name="small RUNNING")
               ).to_be_visible()
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("heading", name="small CANCELLED")
               ).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_several_metrics(self):
        self.run_study("several")
        service = self.serve()
        with urllib.request.urlopen(service.url + "api/studies/1") as answer:
            front = json.load(answer)["front"]
        points = len(front["points"])
        self.assertGreater(points, 1)
        page = self.open(service)
        studies = page.get_by_role("region", name="Studies")
        expect(studies).to_contain_text(re.compile(
            f"front of {points} hypervolume [0-9.]+"))
        page.get_by_role("link", name="several").click()
        expect(page.get_by_text("maximize value, maximize size, value <= 0.6")
               ).to_be_visible()
        card = self.card(page, "Pareto front")
        # Its goals are the axes, and their directions its own: of its name
        # a size had better be small.
        card.scroll_into_view_if_needed()
        expect(card.locator("svg")).to_contain_text(
            "size (maximize)")
        expect(card.locator("svg")).to_contain_text(
            "value (maximize)")
        expect(card).to_contain_text(re.compile(
            rf"{points} of \d+ results are not dominated, hypervolume"))
        expect(card.locator(".legend")).to_contain_text("Pareto front")
        expect(card.locator(".legend")).to_contain_text("breaks value <= 0.6")
        card.get_by_text("As a table").click()
        table = page.get_by_role("region", name="Pareto front, as a table")
        expect(table).to_contain_text("keeps the constraints")
        shown = {tuple(row.split("\t")[:2]) for row in
                 table.locator("tbody").inner_text().splitlines()
                 if row.split("\t")[4:5] == ["yes"]}
        self.assertEqual({(str(x["trial"]), str(x["step"]))
                          for x in front["points"]}, shown)
        # All by another metric, if somebody wants to see it so.
        card = self.card(page, "Learning curves")
        card.scroll_into_view_if_needed()
        expect(card.locator("svg")).to_contain_text("value")
        page.get_by_label("metric").select_option("size")
        expect(card.locator("svg")).to_contain_text("size")
        card.get_by_text("As a table").click()
        rows = page.get_by_role("region", name="Learning curves, as a table")
        heads = rows.get_by_role("columnheader")
        expect(heads.nth(2)).to_have_text("size")
        with urllib.request.urlopen(
                service.url + "api/studies/1/curves?metric=size") as answer:
            curves = json.load(answer)
        trial, step, size = (float(x) for x in rows.get_by_role(
            "row").nth(1).inner_text().split("\t"))
        i = list(zip(curves["trial"], curves["step"])).index((trial, step))
        self.assertAlmostEqual(curves["value"][i], size, 3)
        trials = page.get_by_role("region", name="Trials", exact=True)
        best = {}
        for no, value in zip(curves["trial"], curves["value"]):
            best[no] = max(value, best.get(no, value))
        row = trials.get_by_role("row").nth(1).get_by_role("cell")
        no = int(row.nth(0).inner_text())
        self.assertAlmostEqual(best[no], float(row.nth(2).inner_text()), 4)
        for name in "Slice plot", "Empirical distribution", "History":
            card = self.card(page, name)
            card.scroll_into_view_if_needed()
            expect(card.locator("svg").first).to_contain_text("size")
        common = self.card(page, "Parameter importance")
        common.scroll_into_view_if_needed()
        expect(common).to_contain_text("trials with size at step 2")
        # How its sampler came to its values, as `hippo trials` has it.
        heads = page.get_by_role("region", name="Trials", exact=True
                                 ).get_by_role("columnheader")
        self.assertEqual(["chosen", "predicted", "untrained"],
                         heads.all_inner_texts()[-3:])
        expect(page.get_by_role("region", name="Trials", exact=True)
               ).to_contain_text("model")
        self.assert_drawn(page)
        self.assert_readable(page)
        self.assert_accessible(page)
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_whatever_metrics_are_called_each_shows_its_own_curve(self):
        self.run_study("named")
        service = self.serve()
        page = self.open(service, "#/study/1")
        card = self.card(page, "Learning curves")
        card.scroll_into_view_if_needed()
        card.get_by_text("As a table").click()
        rows = page.get_by_role("region", name="Learning curves, as a table")
        common = self.card(page, "Parameter importance")
        for i, name in enumerate(NAMES):
            page.locator(".jump").get_by_role("combobox").select_option(name)
            card.scroll_into_view_if_needed()  # what nobody sees is not drawn
            expect(rows.get_by_role("columnheader").nth(2)).to_have_text(name)
            with urllib.request.urlopen(
                    f"{service.url}api/studies/1/curves?"
                    + urllib.parse.urlencode({"metric": name})) as answer:
                curves = json.load(answer)
            self.assertEqual(name, curves["metric"])
            trial, step, value = (float(x) for x in rows.get_by_role(
                "row").nth(1).inner_text().split("\t"))
            at = list(zip(curves["trial"], curves["step"])).index((trial, step))
            self.assertAlmostEqual(curves["value"][at], value, 3)
            self.assertGreater(value, i + 1)  # each has another value
            self.assertLess(value, 4 * (i + 1) + 4)
        # Of a goal it is known what the best have in common.
        page.locator(".jump").get_by_role("combobox").select_option(NAMES[0])
        common.scroll_into_view_if_needed()
        expect(common).to_contain_text(f"trials with {NAMES[0]} at step 3")
        trials = page.get_by_role("region", name="Trials", exact=True)
        expect(trials.get_by_role("columnheader").filter(
            has_text="__proto__")).to_have_count(1)
        at = trials.get_by_role("columnheader").all_inner_texts().index(
            "__proto__")
        self.assertIn(trials.get_by_role("row").nth(1).get_by_role("cell").nth(
            at).inner_text(), ("1", "2", "3"))
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_tree_goes_on_in_the_study_that_it_begins_from(self):
        self.run_study("rooted")
        service = self.serve()
        root = "trial 1 of study root at step 2"
        page = self.open(service, "#/study/1")
        expect(page.get_by_text("begins from")).to_have_count(0)
        for view in "#/study/2", "#/study/2/trial/0":
            page.goto(service.url + view)
            expect(page.get_by_text("begins from")).to_be_visible()
            page.get_by_role("link", name=root).click()
            # Not that of the later study of the same name.
            expect(page).to_have_url(service.url + "#/study/1/trial/1")
            expect(self.card(page, "Path through the stage tree").get_by_role(
                "region", name="Stages of the trial")).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_preview_is_drawn_among_what_is_there(self):
        self.run_study()
        service = self.serve()
        page = self.open(service)
        page.get_by_text("Submit a study").click()
        # Six of nine trials are there; those of another width begin anew.
        text = self.stored_text().replace("[1, 2, 3]", "[1, 2, 5]")
        self.assertIn("[1, 2, 5]", text)
        page.get_by_label("Study file", exact=True).fill(text)
        page.get_by_role("button", name="Preview").click()
        submit = page.locator("details").filter(has_text="Submit a study")
        colours = submit.locator(".legend")
        expect(colours).to_contain_text("of other studies alone: ")
        expect(colours).to_contain_text("shared, trained already: 30 steps")
        expect(colours).to_contain_text("new: 15 steps")
        expect(submit).to_contain_text("15 steps are new, 30 shared with what")
        self.assert_drawn(page)
        self.assert_accessible(page)
        submit.get_by_label("without other studies").check()
        expect(colours).not_to_contain_text("of other studies alone")
        self.assert_drawn(page)
        self.assertEqual([], page.troubles)

    def stored_text(self):
        """The study file of the study that was run, with its code."""
        base = sqlite3.connect(self.folder / "state/hippo.db")
        (text,) = base.execute("SELECT text FROM studies").fetchone()
        base.close()
        return text

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_news_take_nothing_from_who_reads(self):
        self.run_study()
        service = self.serve()
        page = self.open(service, "#/study/1")
        trials = page.get_by_role("region", name="Trials", exact=True)
        expect(trials.get_by_role("row")).to_have_count(10)
        link = trials.get_by_role("link", name="4", exact=True)
        link.focus()
        page.evaluate("""() => getSelection().selectAllChildren(
            document.querySelector("h1").nextSibling)""")
        marked = page.evaluate("String(getSelection())")
        self.assertIn("study 1", marked)
        self.change("UPDATE trials SET best_value = 77 WHERE trial = 0;")
        expect(trials.get_by_role("cell", name="77", exact=True)
               ).to_be_visible()
        expect(link).to_be_focused()
        self.assertEqual(marked, page.evaluate("String(getSelection())"))
        # Nor does a row that goes to another place.
        trials.get_by_role("button", name="best value").click()
        link.focus()
        self.change("UPDATE trials SET best_value = 99 WHERE trial = 4;")
        expect(trials.get_by_role("cell", name="99", exact=True)
               ).to_be_visible()
        expect(link).to_be_focused()
        page.goto(service.url + "#/")
        name = page.get_by_role("link", name="small")
        name.focus()
        self.change("UPDATE studies SET weight = 77;")
        expect(page.get_by_role("cell", name="77", exact=True)
               ).to_be_visible()
        expect(name).to_be_focused()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_errors_of_trainers_are_counted(self):
        write_study(self.folder, "train.py", CODE, "study.yaml", STUDY)
        service = self.serve()
        trainer = subprocess.Popen(
            [TRAINER, "--connect", service.address("trainers")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        subprocess.run([HIPPO, "submit", "study.yaml", "--server",
                        service.address("clients")], cwd=self.folder,
                       check=True, capture_output=True)
        page = self.open(service, "#/trainers")
        does = page.get_by_role("region", name="Trainers")
        expect(does).to_contain_text("width 3 is one too many")
        errors = does.locator("tbody tr").nth(1).locator("td:nth-last-child(2)")
        expect(errors).to_have_text(re.compile(r"^[1-9]\d*$"))
        self.assert_accessible(page)
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_three_hundred_trials_and_one(self):
        self.run_study()
        left = "UPDATE trials SET state = 'PRUNED', steps = 3 WHERE trial > 99;"
        for many, change in ((300, multiplied(300) + left), (1, """
                DELETE FROM trials WHERE trial > 0;
                DELETE FROM events WHERE trial > 0;""")):
            self.change(change)
            service = self.serve()
            page = self.open(service)
            for view, title in (("", "Studies"), ("study/1", "small"),
                                ("study/1/trial/0", "Trial 0"),
                                ("trainers", "Trainers")):
                page.goto(f"{service.url}#/{view}")
                expect(page).to_have_title(f"{title} · Hippo")
                if title == "small":
                    expect(page.get_by_text(f"{many} of {many} trials",
                                            exact=True)).to_be_visible()
                if title == "small" and many == 300:
                    # Where trials were left there is a rung to look at.
                    rung = page.locator("select").filter(has_text="at step 3")
                    rung.select_option(label="the 297 at step 3")
                    expect(page.get_by_text("297 of 300 trials")
                           ).to_be_visible()
                for width, scheme in (1280, "light"), (390, "dark"):
                    page.set_viewport_size({"width": width, "height": 900})
                    page.emulate_media(color_scheme=scheme)
                    self.assert_drawn(page, may_be_empty=many == 1)
                    self.assert_readable(page)
                self.assert_accessible(page)
            self.assertEqual([], page.troubles)
            page.close()
            service.end()

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_while_it_trains(self):
        service = self.serve()
        for name in "one", "two":
            write_study(self.folder, "slow.py", SLOW_CODE, f"{name}.yaml",
                        SLOW.replace("NAME", name))
            subprocess.run([HIPPO, "submit", f"{name}.yaml", "--server",
                            service.address("clients")], cwd=self.folder,
                           check=True, capture_output=True)
        page = self.open(service)
        expect(page.get_by_text("no trainer is connected").first
               ).to_be_visible()
        trainer = subprocess.Popen(
            [TRAINER, "--connect", service.address("trainers")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        # Both wait for the same training.
        studies = page.get_by_role("region", name="Studies")
        expect(studies).to_contain_text("1 trainer, also for one")
        expect(studies).to_contain_text("1 trainer, also for two")
        expect(page.get_by_text("q = 2.00")).to_be_visible()
        page.get_by_role("link", name="Trainers").click()
        does = page.get_by_role("region", name="Trainers")
        expect(does).to_contain_text("trains")
        expect(does).to_contain_text(re.compile("one, two|two, one"))
        expect(does).to_contain_text(re.compile(r"\d %"))
        expect(page.get_by_text("being trained", exact=True)).to_be_visible()
        self.assert_drawn(page)
        self.assert_readable(page)
        self.assert_accessible(page)
        page.goto(service.url + "#/study/1")
        expect(page.get_by_text("1 trainer, also for two")).to_be_visible()
        self.assert_drawn(page, may_be_empty=True)
        # What runs says so, and by whom.
        expect(page.locator("[data-part=tree]")).to_contain_text("1 stage")
        page.get_by_role("img", name="Stage tree of the study").press("n")
        expect(page.locator("#said")).to_contain_text(re.compile(
            r"being trained by .+ \(at step \d"))
        trainer.send_signal(signal.SIGTERM)
        page.get_by_role("link", name="Trainers").click()
        expect(does).to_contain_text("gone")
        expect(does).to_contain_text("has left")
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_ten_thousand_trials(self):
        self.run_study()
        self.change(multiplied(LARGE))
        service = self.serve()
        for path, most in ("table", 1_000_000), ("curves", 2_000_000):
            with urllib.request.urlopen(
                    f"{service.url}api/studies/1/{path}") as answer:
                text = answer.read()
            self.assertLess(len(text), most)
            self.assertGreaterEqual(len(set(json.loads(text)["trial"])),
                                    LARGE)
        page = self.open(service, "#/study/1",
                         viewport={"width": 700, "height": 900},
                         color_scheme="dark")
        expect(page.get_by_text(f"{LARGE:,} of {LARGE:,} trials")
               ).to_be_visible()
        search = page.get_by_label("filter")
        search.fill("part<=0.3")
        expect(page.get_by_text(f"6,001 of {LARGE:,} trials")).to_be_visible()
        search.fill("")
        self.assert_drawn(page)
        # Only what is seen of the table is made.
        region = page.get_by_role("region", name="Trials", exact=True)
        self.assertLess(region.get_by_role("row").count(), 100)
        region.evaluate("x => x.scrollTo(0, x.scrollHeight)")
        expect(region.get_by_role("link", name=str(LARGE - 1), exact=True)
               ).to_be_visible()
        for width, scheme in (1280, "light"), (390, "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            self.assert_drawn(page)
            self.assert_readable(page)
        self.assert_accessible(page)
        # And in every other view.
        for view, title in (("study/1/trial/9", "Trial 9"),
                            ("trainers", "Trainers"), ("", "Studies")):
            page.goto(f"{service.url}#/{view}")
            expect(page).to_have_title(f"{title} · Hippo")
            self.assert_drawn(page, may_be_empty=True)
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_what_nobody_sees_is_not_asked_for(self):
        self.run_study()
        service = self.serve()
        page = self.open(service, "#/study/1",
                         viewport={"width": 700, "height": 500})
        trials = page.get_by_role("region", name="Trials", exact=True)
        # Once everything is there.
        expect(trials.get_by_role("row")).to_have_count(10)
        expect(page.locator("[data-part=tree]")).to_contain_text(
            re.compile(r"\d stages"))
        asked = []
        page.on("request", lambda x: asked.append(x.url.split("/")[-1]))
        for value in 77, 88:
            with page.expect_response(lambda x: "/table?" in x.url
                                      and x.status == 200):
                self.change(f"UPDATE trials SET best_value = {value} "
                            "WHERE trial = 0;")
        self.assertFalse({"tree", "schedules"}.intersection(asked), asked)
        # It is up to date once it is seen.
        with page.expect_request(lambda x: x.url.endswith("/tree")):
            page.get_by_role("button", name="Stage tree").click()
        trials.scroll_into_view_if_needed()
        expect(trials.get_by_role("cell", name="88", exact=True)
               ).to_be_visible()
        self.assertEqual([], page.troubles)

    def test_a_view_says_that_it_loads_and_why_it_cannot(self):
        service = self.serve()
        page = self.open(service, "#/none")  # which asks nothing itself
        held = []
        page.route("**/api/trainers", lambda x: held.append(x))
        page.get_by_role("link", name="Trainers").click()
        loading = page.locator("main > p.quiet")
        expect(loading).to_have_text("Loading …")
        # Playwright hands requests over while it is asked something.
        wait_for("the question", lambda: page.evaluate("1") and held)
        held[0].fulfill(status=503, json={"error": "too much at a time"})
        expect(page.get_by_role("alert")).to_have_text("too much at a time")
        expect(loading).to_have_count(0)
        page.unroute_all()
        page.get_by_role("link", name="Studies").click()
        expect(page.get_by_text("There is no study yet")).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_service_that_dies(self):
        self.run_study()
        service = self.serve()
        page = self.open(service, "#/study/1")
        service.end(signal.SIGKILL)
        link = page.locator("#link")
        expect(link).to_have_class("lost")
        expect(link).to_have_text("no connection to the service")
        service.start()
        expect(link).to_have_class("live")
        expect(page.get_by_role("heading", name="small")).to_be_visible()
        self.assertEqual([], page.troubles)


class Looks(Pages):
    """What people see."""

    TRAINED = (("state", "study.yaml", STUDY, "train.py", CODE, 0),
               ("several", "several.yaml", SEVERAL, "train.py", CODE, 0),
               ("choices", "choices.yaml", CHOICES, "choices.py", CHOICES_CODE,
                0), ("fails", "fails.yaml", FAILS, "fails.py", FAILS_CODE, 1))

    def test_the_best_is_seen_best_on_both_backgrounds(self):
        service = self.serve()
        for scheme in "light", "dark":
            page = self.open(service, color_scheme=scheme)
            at, ramp = page.evaluate(r"""async () => {%s
                const {scale} = await import("./base.js");
                const card = document.body.appendChild(
                    document.createElement("section"));
                card.className = "card";
                const legend = card.appendChild(document.createElement("div"));
                legend.className = "legend";
                const ramp = legend.appendChild(document.createElement("i"));
                ramp.className = "ramp";
                const ground = getComputedStyle(card).backgroundColor;
                const stops = getComputedStyle(ramp).backgroundImage.match(
                    /rgb\([^)]*\)/g);
                return [[0, .25, .5, .75, 1].map(x => contrast(scale(x),
                    ground)), [contrast(stops[0], scale(0)),
                    contrast(stops.at(-1), scale(1))]];
            }""" % CONTRAST)
            with self.subTest(scheme):
                self.assertEqual(at, sorted(at), "the better, the clearer")
                self.assertGreater(at[0], 1.5)
                self.assertGreater(at[-1], 7)
                # The bars that say so have the same ends.
                self.assertLess(max(ramp), 1.05)

    def test_numbers_and_times_as_people_read_them(self):
        page = self.open(self.serve())
        for call, wanted in (
                ("together([0, .5, 1])", ["0.0", "0.5", "1.0"]),
                ("together([0, .25, .5])", ["0.00", "0.25", "0.50"]),
                ("together([0, 5000, 10000])", ["0", "5,000", "10,000"]),
                ("together([1e-5, 1e-4, 1e-3], true)",
                 ["1e-5", "1e-4", "1e-3"]),
                ("together([.001, .01, 1, 10], true)",
                 ["0.001", "0.01", "1", "10"]),
                ("together([0, 5e-6, 1e-5])", ["0", "5e-6", "1e-5"]),
                ("together([15e5, 2e6])", ["1.5e6", "2.0e6"]),
                ("[0, .043, 3.21, 48, 59.7, 75, 3600, 16680, 90000].map(span)",
                 ["0 s", "0.043 s", "3.2 s", "48 s", "1 min", "1 min 15 s",
                  "1 h", "4 h 38 min", "1 d 1 h"]),
                ("span(3599.7)", "1 h"), ("span(86399)", "1 d"),
                ("ticks(.15, .92, 2)", [.2, .4, .6, .8]),
                ("areLog([.0011, .004, .02, .08])", True),
                ("areLog([.1, .3, .5, .7, .99])", False),
                ("areLog([0, .001, 1])", False)):
            found = page.evaluate(f"""async () => {{
                const {{together, span, ticks, areLog}} = await import(
                    "./base.js");
                return {call};
            }}""")
            self.assertEqual(wanted, found, call)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_study_that_failed_says_why(self):
        self.run_study("fails")
        service = self.serve()
        page = self.open(service)
        # No colour says that anything was done.
        bar = page.get_by_role("region", name="Studies").get_by_role(
            "img", name="12 FAILED")
        expect(bar).to_be_visible()
        page.get_by_role("link", name="fails").click()
        why = page.get_by_role("region", name="Failures")
        expect(why).to_contain_text("12 of 12 trials failed")
        expect(why).to_contain_text("no such file: 'data/numbers.csv'")
        self.assertLess(why.bounding_box()["y"], 250)
        why.locator("summary").click()
        expect(why.locator("pre")).to_contain_text("fails.py")
        # It stays open when there are news.
        self.change("UPDATE studies SET weight = 77;")
        expect(page.get_by_text("weight 77")).to_be_visible()
        expect(why.locator("pre")).to_be_visible()
        # Nothing that is empty is shown.
        expect(page.get_by_role("region", name="Trials", exact=True)
               .get_by_role("row")).to_have_count(13)
        expect(page.locator("canvas:visible")).to_have_count(0)
        expect(page.locator(".jump button:visible")).to_have_text(["Trials"])
        why.get_by_role("link", name="3", exact=True).click()
        expect(page.get_by_role("heading", name="Trial 3 FAILED")
               ).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_bars_say_what_their_colours_mean(self):
        write_study(self.folder, "fails.py", FAILS_CODE, "fails.yaml", FAILS)
        service = self.serve()
        subprocess.run([HIPPO, "submit", "fails.yaml", "--server",
                        service.address("clients")], cwd=self.folder,
                       check=True, capture_output=True)
        page = self.open(service)
        # Of twelve trials none has ended: the bar is empty.
        bar = page.get_by_role("img", name=re.compile("^12 "))
        track = bar.evaluate("x => getComputedStyle(x).backgroundColor")
        self.assertEqual([track], bar.locator("i").evaluate_all(
            "all => all.map(x => getComputedStyle(x).backgroundColor)"))
        expect(page.locator(".brief .legend")).to_contain_text(
            "completeprunedfailed or cancellednot finished")
        page.goto(f"{service.url}#/study/1")
        page.get_by_role("button", name="Pause").click()
        progress = page.locator(".legend.progress")
        expect(progress).to_contain_text("12 not finished")
        expect(progress).to_contain_text("steps  0 of 72")

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_trial_goes_on_in_another_way(self):
        self.run_study("choices")
        page = self.open(self.serve(), "#/study/1/trial/0")
        fork = page.get_by_role("group", name="A new trial that goes on from "
                                "this one")
        expect(fork.get_by_label("from step")).to_have_value("3")
        for wrong, why in (("decay: 1", "a map in JSON"),
                           ('{"decays": 1}', "did you mean 'decay'?")):
            fork.get_by_label("with").fill(wrong)
            fork.get_by_role("button", name="Fork").click()
            expect(fork.get_by_role("status")).to_contain_text(why)
        fork.get_by_label("with").fill('{"decay": 0.5}')
        fork.get_by_role("button", name="Fork").click()
        expect(fork.get_by_role("status")).to_have_text("done")
        page.goto(page.url.replace("/trial/0", "/trial/40"))
        expect(page.get_by_text("fork of trial 0 at step 3")).to_be_visible()
        expect(page.get_by_text("join(")).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_notes_are_written_and_trials_hidden(self):
        self.run_study("state")
        page = self.open(self.serve(), "#/study/1")
        actions = page.get_by_role("group", name="What to do with the study")
        note = page.locator("p.note", has_text="baseline")
        page.get_by_text("Note, tags, hidden trials").click()
        page.get_by_label("note").fill("baseline <b>")
        page.get_by_label("tags").fill("paper, 2026")
        page.get_by_role("button", name="Save").click()
        expect(actions.get_by_role("status")).to_have_text("done")
        expect(note).to_have_text("2026paperbaseline <b>")
        page.get_by_label("tags").fill("x" * 65)
        page.get_by_role("button", name="Save").click()
        expect(actions.get_by_role("status")).to_contain_text("64 bytes")
        expect(page.get_by_label("note")).to_have_value("baseline <b>")
        page.get_by_label("tags").fill("paper")
        page.get_by_role("button", name="Save").click()
        expect(note).to_have_text("paperbaseline <b>")

        best = page.get_by_role("link", name=re.compile("^trial ")).first
        trial = int(best.text_content().split()[1])
        count = page.get_by_text("9 / 9")
        expect(count).to_be_visible()
        best.click()
        page.get_by_role("button", name="Hide trial").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"Hide trial {trial}?")
        self.assert_accessible(page)
        dialog.get_by_role("button", name="Hide trial").click()
        page.wait_for_url("**/#/study/1")
        expect(page.get_by_text("8 / 8")).to_be_visible()
        page.get_by_label("hidden trial").fill("77")
        page.get_by_role("button", name="Show again").click()
        expect(actions.get_by_role("status")).to_contain_text("77")
        page.get_by_label("hidden trial").fill(str(trial))
        page.get_by_role("button", name="Show again").click()
        expect(count).to_be_visible()
        self.assert_accessible(page)

        page.get_by_label("length of trials").fill("1")
        page.get_by_role("button", name="Lengthen").click()
        expect(actions.get_by_role("status")).to_contain_text("steps already")

        page.get_by_text("Another space").click()
        space = page.get_by_label("space of trials that have not begun")
        for wrong, why in (("lr: 1", "a map in JSON"),
                           ('{"lr": {"uniform": [0, 1]}}', "finite space")):
            space.fill(wrong)
            page.get_by_role("button", name="Tell the effects").click()
            expect(actions.get_by_role("status")).to_contain_text(why)
        space.fill('{"lr": 0.5, "width": {"choice": [1, 2]}}')
        for name in ("Tell the effects", "Set the space"):
            page.get_by_role("button", name=name).click()
            expect(actions.get_by_role("status")).to_contain_text(
                "width: {\"choice\":[1,2,3]} → {\"choice\":[1,2]}; 0 trials "
                "not begun are drawn anew; of those begun, 2 lie in it, 7 do "
                "not")
        self.assert_accessible(page)

        page.get_by_role("button", name="Hide study").click()
        page.get_by_role("dialog").get_by_role(
            "button", name="Hide study").click()
        back = page.get_by_role("button", name="Show study again")
        expect(back).to_be_visible()
        page.goto(page.url.replace("#/study/1", "#/"))
        expect(page.get_by_role("link", name="small")).to_have_count(0)
        page.go_back()
        back.click()
        expect(page.get_by_role("button", name="Hide study")).to_be_visible()
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_choices_of_ranges_and_schedules(self):
        self.run_study("choices")
        service = self.serve()
        page = self.open(service, "#/study/1")
        with urllib.request.urlopen(service.url + "api/studies/1") as answer:
            best = json.load(answer)["best"]
        with urllib.request.urlopen(
                service.url + "api/studies/1/table") as answer:
            table = json.load(answer)
        # The best one, its values and the way to it.
        head = page.get_by_role("region", name="Best parameters")
        expect(head).to_contain_text("decay")
        expect(head.get_by_role("link", name=f"trial {best['trial']}")
               ).to_have_attribute("href", f"#/study/1/trial/{best['trial']}")
        lr = table["params"]["lr"]
        brief = lr[best["trial"]]
        expect(head).to_contain_text(brief if isinstance(brief, str)
                                     else f"{brief:.3g}"[:4])
        # One of few kinds has its ticks: numbers, then schedules.
        kinds = {re.sub(r"\(.*", "", x) for x in lr if isinstance(x, str)}
        self.assertEqual({"cosine", "exponential"}, kinds)
        card = self.card(page, "Slice plot")
        card.scroll_into_view_if_needed()
        at = card.locator("svg").filter(has_text="lr")
        for text in *kinds, "0.1":
            expect(at.get_by_text(text, exact=True)).to_have_count(1)
        # The other one was drawn by its magnitude, and so are its ticks.
        at = card.locator("svg").filter(has_text="decay")
        expect(at.get_by_text("0.0001", exact=True)).to_have_count(1)
        expect(at.get_by_text("0.001", exact=True)).to_have_count(1)
        card = self.card(page, "Schedules")
        card.scroll_into_view_if_needed()
        expect(card.get_by_label("log values")).to_be_checked()
        # Bars of colours have the values at their ends.
        for name in ("Learning curves", "Parallel coordinates", "Schedules",
                     "Slice plot", "Contour plot", "Stage tree"):
            card = self.card(page, name)
            card.scroll_into_view_if_needed()
            expect(card.locator(".legend")).to_contain_text(re.compile(
                r"loss: worst [\d.e-]+ +best [\d.e-]+"), use_inner_text=True)
        # A dot for each trial, and the best so far.
        card = self.card(page, "History")
        card.scroll_into_view_if_needed()
        card.get_by_text("As a table").click()
        rows = page.get_by_role("region", name="History, as a table")
        expect(rows.get_by_role("row")).to_have_count(1 + 40)
        for axis in "seconds", "steps", "device", "trial":
            card.get_by_label("x axis").select_option(axis)
            expect(rows.get_by_role("row")).to_have_count(1 + 40)
            expect(rows.get_by_role("row").last.get_by_role("cell").last
                   ).to_have_text(re.compile(
                       "^" + re.escape(f"{best['best']['value']:.3g}"[:4])))
        canvas = page.get_by_role("img", name="History")
        canvas.press("ArrowDown")  # below the line of the best so far
        canvas.press("ArrowRight")
        expect(page.locator("#said")).to_contain_text("loss, trial 1: ")
        # Two goals make a front, and this one has one.
        expect(self.card(page, "Pareto front")).to_be_hidden()
        # A click on the head of what is minimised has the best above.
        trials = page.get_by_role("region", name="Trials", exact=True)
        head = trials.get_by_role("columnheader").nth(2)
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "ascending")
        self.assertIn("↑", head.get_by_role("button").evaluate(
            "x => getComputedStyle(x, '::after').content"))
        expect(trials.get_by_role("row").nth(1).get_by_role("link")
               ).to_have_text(str(best["trial"]))
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", "descending")
        # In the table a schedule has its first and last value.
        head = trials.get_by_role("columnheader").filter(has_text="lr")
        head.get_by_role("button").click()
        column = trials.get_by_role("columnheader").all_inner_texts().index(
            "lr")
        cell = trials.get_by_role("row").filter(has=page.locator(
            "svg.course")).first.get_by_role("cell").nth(column)
        expect(cell).to_contain_text(re.compile(r"[\d.]+ → [\d.]+"))
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_filter_reads_schedules_and_says_what_it_does_not_know(self):
        self.run_study("choices")
        service = self.serve()
        page = self.open(service, "#/study/1")
        trials = page.get_by_role("region", name="Trials", exact=True)
        rows = trials.get_by_role("row")
        expect(rows).to_have_count(1 + 40)
        with urllib.request.urlopen(
                service.url + "api/studies/1/table") as answer:
            lr = json.load(answer)["params"]["lr"]
        with urllib.request.urlopen(
                service.url + "api/studies/1/tree") as answer:
            nodes = json.load(answer)
        above = dict(zip(nodes["id"], nodes["parent"]))

        def passed(trials):
            """How many stages some trials pass."""
            found = set()
            for trial, node in zip(nodes["at"]["trial"], nodes["at"]["node"]):
                while trial in trials and node in above:
                    found.add(node)
                    node = above[node]
            return len(found)

        def values(x):
            """The values that a hyper-parameter takes in six steps."""
            if not isinstance(x, str):
                return [x]
            first = float(re.search(r"[\d.]+(e-\d+)?", x)[0])
            if x.startswith("exponential"):
                return [first * 0.9 ** i for i in range(6)]
            return [0.0001 + (first - 0.0001) * (1 + math.cos(
                math.pi * i / 6)) / 2 for i in range(6)]

        search = page.get_by_label("filter")
        tree = page.get_by_role("group", name="Stage tree")
        for text, keeps in (
                ("lr<0.01", lambda v: v < 0.01), ("lr>=0.2",
                                                  lambda v: v >= 0.2)):
            those = [i for i, x in enumerate(lr) if any(map(keeps, values(x)))]
            kept = len(those)
            self.assertNotIn(kept, (0, 40, sum(
                not isinstance(x, str) and keeps(x) for x in lr)))
            search.fill(text)
            expect(rows).to_have_count(1 + kept)
            # All charts and the tree follow.
            expect(tree.get_by_text(f"{passed(those)} of {len(above)} stages")
                   ).to_be_visible()
            expect(page.get_by_text(f"{kept} of 40 trials", exact=True)
                   ).to_be_visible()
        search.fill("lr=cosine")
        expect(rows).to_have_count(1 + sum(
            str(x).startswith("cosine") for x in lr))
        for text, said in (
                ("rl<0.01", "there is no 'rl': names are decay, lr, trial, "),
                ("lr<small", "'small' in 'lr<small' is no number"),
                ("lr", "'lr' is no condition")):
            search.fill(text)
            expect(page.get_by_role("status").filter(has_text=said)
                   ).to_be_visible()
            expect(search).to_have_attribute("aria-invalid", "true")
            expect(rows).to_have_count(1 + 40)
        search.fill("loss<1000")  # the metric is another word for best
        expect(search).to_have_attribute("aria-invalid", "false")
        expect(rows).to_have_count(1 + 40)
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_a_stage_that_is_zoomed_into_keeps_its_labels(self):
        self.run_study()
        service = self.serve()
        page = self.open(service, "#/study/1")
        chart = page.get_by_role("img", name="Stage tree of the study")
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_attribute("data-drawn", "whole")
        page.evaluate("""() => {
            const kind = OffscreenCanvasRenderingContext2D.prototype;
            const own = kind.fillText;
            globalThis.written = [];
            kind.fillText = function (text, x, y) {
                written.push([text, x, y]);
                return own.call(this, text, x, y);
            };
        }""")
        for _ in range(6):
            chart.press("+")
        box = chart.bounding_box()

        def labels():
            return [x for x in page.evaluate("written.splice(0)")
                    if "width=" in x[0]]
        found = wait_for("a label", labels)
        for text, x, y in found:
            self.assertTrue(0 < x < box["width"] and 0 < y < box["height"],
                            (text, x, y))
        self.assert_readable(page)
        self.assertEqual([], page.troubles)

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_the_index_stays_and_says_where_one_is(self):
        self.run_study("choices")
        service = self.serve()
        page = self.open(service, "#/study/1", reduced_motion="reduce")
        here = page.locator(".jump button[aria-current]")
        expect(here).to_have_text("Results")
        for name in "Stage tree", "Hyper-parameters", "Results":
            page.get_by_role("navigation", name="Sections").get_by_role(
                "button", name=name).click()
            expect(here).to_have_text(name)
            expect(here).to_be_in_viewport()

    @unittest.skipUnless(TRAINER, "there is no trainer in this build")
    def test_every_width_and_background(self):
        wide, narrow = (1280, "light"), (390, "dark")
        # Browser.test_several_metrics looks at the other one.
        for which, looks in (("fails", (wide, narrow)),
                             ("choices", (wide, narrow)),
                             ("several", (narrow,))):
            shutil.rmtree(self.folder / "state", ignore_errors=True)
            self.run_study(which)
            service = self.serve()
            for width, scheme in looks:
                page = self.open(service, color_scheme=scheme,
                                 viewport={"width": width, "height": 900})
                for view in "", "study/1", "study/1/trial/0", "trainers":
                    page.goto(f"{service.url}#/{view}")
                    expect(page.locator("h1").last).to_be_visible()
                    with self.subTest(which, width=width, scheme=scheme,
                                      view=view):
                        self.assert_drawn(page, may_be_empty=True)
                        self.assert_readable(page)
                        self.assert_accessible(page)
                self.assertEqual([], page.troubles)
                page.close()
            service.end()


class Answers(unittest.TestCase):
    """What is asked without a browser."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-page-")
        self.addCleanup(folder.cleanup)
        self.service = Service(folder.name)
        self.addCleanup(self.service.end)

    def get(self, path, **headers):
        to = http.client.HTTPConnection("127.0.0.1", self.service.port,
                                        timeout=PATIENCE)
        self.addCleanup(to.close)
        to.request("GET", path, headers=headers)
        return to.getresponse()

    def test_files_are_compressed_and_remembered(self):
        whole = self.get("/app.js")
        text = whole.read()
        self.assertIn("text/javascript", whole.headers["Content-Type"])
        self.assertIn("default-src 'none'",
                      whole.headers["Content-Security-Policy"])
        small = self.get("/app.js", **{"Accept-Encoding": "gzip"})
        body = small.read()
        self.assertEqual("gzip", small.headers["Content-Encoding"])
        self.assertEqual(text, gzip.decompress(body))
        self.assertLess(len(body), len(text) / 2)
        same = self.get("/app.js", **{"If-None-Match": whole.headers["ETag"]})
        self.assertEqual((304, b""), (same.status, same.read()))
        other = self.get("/", **{"If-None-Match": whole.headers["ETag"]})
        self.assertEqual(200, other.status)
        self.assertEqual(404, self.get("/../data.js").status)
        self.assertEqual(404, self.get("/none.js").status)

    def test_foreign_names_are_refused(self):
        for host, status in [("localhost:1", 200), ("127.0.0.1", 200),
                             ("evil.example", 403),
                             ("127.0.0.1.evil.example", 403)]:
            with self.subTest(host):
                answer = self.get("/api/studies", Host=host)
                self.assertEqual(status, answer.status, answer.read())

    def test_the_stream_tells_of_what_is_stored(self):
        answer = self.get("/api/stream")
        self.assertEqual("text/event-stream", answer.headers["Content-Type"])
        first = [answer.readline() for _ in range(5)]
        self.assertRegex(b"".join(first), rb"retry: \d+\nid: \d+\.\d+\n"
                         rb"event: news\ndata: {}\n\n")


class Visitors(unittest.TestCase):
    """The port for people, who need a token."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-page-")
        self.addCleanup(folder.cleanup)
        self.service = Service(folder.name, "--people", "127.0.0.1:0")
        self.addCleanup(self.service.end)
        said = re.search(r"with a token look at http://127\.0\.0\.1:(\d+)/",
                         wait_for("the port", lambda: (
                             self.service.folder / "serve.log").read_text()))
        self.port = int(said[1])
        self.state = self.service.folder / "state"

    def hippo(self, *words):
        return subprocess.run(
            [HIPPO, "token", *words, "--state", self.state], check=True,
            capture_output=True, text=True).stdout

    def token(self, *words):
        """A new token: its id, its link and the token."""
        said = self.hippo("new", *words)
        return (re.search(r"token (\w+) lets in", said)[1],
                re.search(r"http://127\.0\.0\.1:\d+/(\?token=\S+)", said)[1],
                re.search(r"Bearer (\S+)", said)[1])

    def ask(self, path, body=None, **headers):
        to = http.client.HTTPConnection("127.0.0.1", self.port,
                                        timeout=PATIENCE)
        self.addCleanup(to.close)
        to.request("GET" if body is None else "POST", path, body=body,
                   headers={k.replace("_", "-"): v for k, v in
                            headers.items()})
        answer = to.getresponse()
        answer.text = answer.read().decode()
        return answer

    def test_a_link_lets_in_one_browser_until_it_is_revoked(self):
        self.assertEqual(401, self.ask("/api/studies").status)
        self.assertEqual(200, self.ask("/app.js").status)
        self.assertEqual(401, self.ask("/metrics").status)
        _, link, token = self.token("--name", "ada")
        first = self.ask("/" + link)
        self.assertEqual(303, first.status)
        self.assertEqual("./", first.headers["Location"])
        cookie = first.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        cookie = cookie.split(";")[0]
        self.assertEqual(401, self.ask("/" + link).status, "it is used up")
        self.assertEqual(200, self.ask("/api/studies", Cookie=cookie).status)
        self.assertEqual(200, self.ask(
            "/api/studies", Authorization=f"Bearer {token}").status)
        self.assertIn("ada", self.hippo("ls"))
        # Nothing that is stored lets anybody in.
        stored = b"".join(x.name.encode() + x.read_bytes() for x in
                          (self.state / "tokens").rglob("*") if x.is_file())
        for secret in (token, link[7:], cookie.split("=")[1]):
            self.assertNotIn(secret.split(".")[1].encode(), stored)
        self.hippo("rm", "ada")
        self.assertEqual(401, self.ask("/api/studies", Cookie=cookie).status)
        self.assertEqual(401, self.ask(
            "/api/studies", Authorization=f"Bearer {token}").status)

    def test_a_viewer_may_look_alone(self):
        study = json.dumps({"text": "study: x", "name": "x"})
        asked = {"Content_Type": "application/json"}
        viewer = f"Bearer {self.token()[2]}"
        self.assertIn("viewer", self.ask("/api/me", Authorization=viewer).text)
        refused = self.ask("/api/studies", study, Authorization=viewer,
                           **asked)
        self.assertEqual(403, refused.status)
        self.assertIn("role viewer may only look", refused.text)
        operator = f"Bearer {self.token('--role', 'operator')[2]}"
        heard = self.ask("/api/studies", study, Authorization=operator,
                         **asked)
        self.assertEqual(400, heard.status, "it is heard, and no study")
        self.assertIn("x:1:1", heard.text)

    def test_foreign_pages_change_nothing(self):
        _, link, _ = self.token("--role", "operator")
        cookie = self.ask("/" + link).headers["Set-Cookie"].split(";")[0]
        own = {"Cookie": cookie, "Content_Type": "application/json",
               "Hippo_Page": "1", "Origin": f"http://127.0.0.1:{self.port}"}
        path, body = "/api/studies/1/pause", "{}"
        self.assertEqual(404, self.ask(path, body, **own).status)
        for name, value in (("Origin", "https://evil.example"),
                            ("Origin", "null"), ("Hippo_Page", None),
                            ("Content_Type", "text/plain"),
                            ("Cookie", None)):
            headers = {k: v for k, v in {**own, name: value}.items() if v}
            with self.subTest(name):
                self.assertEqual(401 if name == "Cookie" else 403,
                                 self.ask(path, body, **headers).status)

    def test_the_page_says_that_a_token_is_needed(self):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM",
                                               "/usr/bin/chromium"),
                args=["--no-sandbox"])
            expect.set_options(timeout=1000 * PATIENCE)
            page = browser.new_page()
            page.set_default_timeout(1000 * PATIENCE)
            page.goto(f"http://127.0.0.1:{self.port}/")
            expect(page.get_by_role("alert")).to_contain_text("needs a token")
            name, link, _ = self.token()
            page.goto(f"http://127.0.0.1:{self.port}/{link}")
            expect(page.get_by_text("There is no study yet")).to_be_visible()
            self.assertNotIn("token", page.url)
            expect(page.get_by_text("Submit a study")).to_be_hidden()
            # One that is revoked ends what is open, at the next question.
            self.hippo("rm", name)
            page.get_by_role("link", name="Trainers").click()
            expect(page.get_by_role("alert")).to_contain_text("was removed")
            browser.close()


if __name__ == "__main__":
    unittest.main()
