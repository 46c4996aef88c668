"""`hippo_hpo.mcp` by the client of the protocol's own SDK, over stdin and
stdout, on a real service: HIPPO and HIPPO_TRAINER name its programs."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

from mcp import Client, StdioServerParameters

import hippo_hpo as hippo
from hippo_hpo import _mcp_answers, _mcp_budget
from hippo_hpo._mcp_tools import Tools
from hippo_hpo._packing import pack
from service_test import PATIENCE, Service, why_not

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "mcp")

CODE = open(os.path.join(EXAMPLE, "wave.py")).read()


def study_text(name, algorithm, space, steps=12, **more):
    """A study of the example's code, as its text."""
    return json.dumps({
        "study": name, "workload": {"python": "wave.py:Wave", "seed": 1},
        "objective": {"metric": "error", "direction": "minimize"},
        "max_steps": steps, "space": space, "algorithm": algorithm,
        **more}, indent=1)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if (why := why_not()) is not None:
            raise unittest.SkipTest(why)
        # The trainers' python3 is the one of this test.
        os.environ["PATH"] = os.pathsep.join(
            [os.path.dirname(sys.executable), os.environ["PATH"]])

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-mcp-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("wave.py", CODE)
        self.service = self.start()

    def start(self):
        service = Service(self.folder)
        self.addCleanup(service.end)
        return service

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def run_caller(self, calls, *options, name="mcp"):
        """Runs a coroutine with a server of these options."""
        async def run():
            parameters = StdioServerParameters(
                command=sys.executable,
                args=["-m", "hippo_hpo.mcp", "--server", self.service.address,
                      "--folder", self.folder, "--name", name, *options],
                env=dict(os.environ))
            async with Client(parameters) as client:
                return await calls(Caller(self, client))
        return asyncio.run(asyncio.wait_for(run(), PATIENCE))

    def run_submitter(self, calls, hours, name="mcp"):
        return self.run_caller(calls, "--allow-submit", "--budget-device-hours",
                              str(hours), name=name)

    def submit(self, client, text):
        """Submits a study with the code in the test's folder."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return client.submit(pack(text, "study", self.folder), "study")

    def connect(self):
        return contextlib.closing(
            hippo.connect(self.service.address, timeout=PATIENCE))


class Caller:
    """Calls tools, and sees that each answer is short."""

    def __init__(self, test, client):
        self.test = test
        self.client = client

    async def text(self, tool, **arguments):
        done = await self.client.call_tool(tool, arguments)
        found = done.content[0].text
        self.test.assertEqual(1, len(done.content))
        self.test.assertLessEqual(len(found), _mcp_answers.ANSWER_CHARS_MAX)
        return done.is_error, found

    async def call(self, tool, **arguments):
        is_error, text = await self.text(tool, **arguments)
        self.test.assertFalse(is_error, text)
        return json.loads(text)

    async def error(self, tool, **arguments):
        is_error, text = await self.text(tool, **arguments)
        self.test.assertTrue(is_error, text)
        return text

    async def ended(self, study):
        while not (told := await self.call("wait", study=study,
                                           seconds=10))["ended"]:
            pass
        return told


class Reading(Case):
    def test_nothing_is_changed_without_permission(self):
        with self.connect() as client:
            study = self.submit(client, study_text(
                "theirs", "client", {"lr": {"uniform": [0.1, 0.5]}}))

            async def calls(x):
                refused = [
                    await x.error("submit", file="study.yaml"),
                    await x.error("steer", study="theirs", verb="cancel"),
                    await x.error("ask", study="theirs"),
                    await x.error("train", study="theirs", trial=0, until=1),
                    await x.error("tell", study="theirs", trial=0),
                    await x.error("close_study", study="theirs"),
                    await x.error("extend", study="theirs", trials=1),
                    await x.error("enqueue", study="theirs",
                                  params=[{"lr": 0.2}]),
                    await x.error("fork", study="theirs", trial=0, at=1,
                                  params={}),
                    await x.error("set_space", study="theirs", space={}),
                    await x.error("note", study="theirs", text="words")]
                for text in refused:
                    self.assertRegex(text, "^this server may not .*--allow-"
                                           "submit and --budget-device-hours$")
                told = await x.call("service")
                self.assertFalse(told["may_submit"])
                self.assertEqual({"RUNNING": 1}, told["studies"])
                tools = (await x.client.list_tools()).tools
                for tool in tools:
                    self.assertTrue(tool.description)
                    self.assertEqual(
                        tool.name not in (
                            "submit", "steer", "extend", "enqueue", "fork",
                            "set_space", "note", "ask", "train", "tell",
                            "close_study"),
                        tool.annotations.read_only_hint, tool.name)

            self.run_caller(calls)
            self.assertEqual("RUNNING", study.state)
            self.assertEqual([], study.trials)
            self.assertEqual(1, len(client.studies()))

    def test_errors_are_the_services_sentences(self):
        async def calls(x):
            return [await x.error("study", study="none"),
                    await x.error("preview", text="study: a\nsteps: 3\n"),
                    await x.error("preview"),
                    await x.error("preview", file="../x.yaml"),
                    await x.error("preview", file="none.yaml"),
                    await x.error("preview", text=study_text(
                        "a", "grid", {"lr": 0.1}).replace(
                            '"seed": 1', '"python_executable": "./evil"')),
                    await x.error("curves", study="a", trials=[])]
        with self.connect() as client:
            said = []
            for call in (lambda: client.study("none"),
                         lambda: client.preview("study: a\nsteps: 3\n",
                                                "study")):
                with self.assertRaises(hippo.Error) as failed:
                    call()
                said.append(str(failed.exception))
        self.write("evil", "#!/bin/sh\ntouch ran\n")
        os.chmod(os.path.join(self.folder, "evil"), 0o755)
        found = self.run_caller(calls)
        self.assertEqual(said, found[:2])
        for text, wanted in zip(found[2:], [
                "either the 'text'", "not in the server's folder",
                "'none.yaml' cannot be read: No such file",
                "another interpreter is not run", "no study 'a'"],
                strict=True):
            self.assertIn(wanted, text)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ran")))

    def test_without_a_service(self):
        self.service.end()

        async def calls(x):
            return await x.error("list_studies")
        self.assertIn("cannot reach the service", self.run_caller(calls))

    def test_huge_studies_have_short_answers(self):
        word = "w" * 1_000
        space = {f"{'p' * 90}{i}": {"choice": [f"{word}{j}" for j in range(2)]}
                 for i in range(20)}
        space["lr"] = {"log_uniform": [1e-4, 1]}
        with self.connect() as client:
            wide = self.submit(client, study_text(
                "wide", {"sha": {"min": 1}}, space,
                budget={"trials": 120}))
            wide.pause()
            long = self.submit(client, study_text(
                "long", "grid", {"lr": {"choice": [0.001, 0.002]}}, 600))
            long.wait(progress=False, timeout=PATIENCE)
            trials = len(wide.trials)
            self.assertGreater(trials, 100)
            curve = [x.metrics["error"] for x in long.events()
                     if x.metrics and x.trial == 1]

        async def calls(x):
            seen, cursor = [], 0
            while cursor is not None:
                page = await x.call("trials", study="wide", cursor=cursor,
                                    most=1000)
                self.assertLessEqual(len(page["rows"]), 100)
                seen += [y["trial"] for y in page["rows"]]
                cursor = page["next"]
            self.assertEqual(list(range(trials)), seen)
            parts, cursor = "", 0
            while cursor is not None:
                part = await x.call("study_file", study="wide", cursor=cursor)
                parts += part["text"]
                cursor = part["next"]
            self.assertEqual(space, json.loads(parts)["space"])
            for points in 2, 50, 100_000:
                told = await x.call("curves", study="long", trials=[1],
                                    points=points)
                line = told["curves"][0]
                self.assertEqual(600, line["measurements"])
                self.assertEqual(min(points, 200), len(line["step"]))
                self.assertEqual((1, 600),
                                 (line["step"][0], line["step"][-1]))
                for step, value in zip(line["step"], line["value"]):
                    self.assertAlmostEqual(curve[step - 1], value, 6)
            same = await x.call("curves", study="long", trials=[1, 0],
                                metric="error", points=7)
            self.assertEqual([1, 0], [y["trial"] for y in same["curves"]])
            for tool in ("study", "tree", "cost", "service", "list_studies"):
                arguments = {} if tool in ("service", "list_studies") \
                    else {"study": "wide"}
                await x.call(tool, **arguments)
            await x.call("preview", text=study_text(
                "more", {"sha": {"min": 1}}, space, budget={"trials": 9}))
            self.assertIn("has no trial 9999: its trials are 0 to 1",
                          await x.error("curves", study="long",
                                        trials=[9999]))
        self.run_caller(calls)


class Driving(Case):
    def test_a_target_is_found_by_tools_alone(self):
        target = 0.003

        async def calls(x):
            text = study_text("mine", {"client": {"interval": 4}},
                              {"lr": {"uniform": [0.01, 1.5]}},
                              budget={"device_hours": 0.2})
            study = (await x.call("submit", text=text))["id"]
            low, high = 0.05, 1.45
            tried = {}
            for _ in range(12):
                for rate in (low + (high - low) / 3, high - (high - low) / 3):
                    if rate in tried:
                        continue
                    params = {"lr": {"multistep": {
                        "initial": round(rate, 6), "milestones": [8],
                        "gamma": 0.1}}}
                    made = await x.call("ask", study=study, params=params)
                    until = 4
                    while until <= 12:
                        told = await x.call("train", study=study,
                                            trial=made["trial"], until=until,
                                            seconds=20)
                        until += 4 if told["done"] else 0
                    tried[rate] = told["metrics"]["error"]
                best = min(tried, key=tried.get)
                if tried[best] <= target:
                    break
                width = (high - low) / 3
                low, high = max(best - width, 0.01), min(best + width, 1.5)
            await x.call("close_study", study=study)
            await x.ended(study)
            best = await x.call("best", study=study)
            # Of all steps, so it may be better than at the last one.
            self.assertLessEqual(best["rows"][0]["value"], min(tried.values()))
            return best["rows"][0], await x.call("cost", study=study)

        best, cost = self.run_submitter(calls, 1)
        self.assertLessEqual(best["value"], target)
        self.assertGreater(cost["device_hours"], 0)
        self.assertLess(cost["used_device_hours"], 0.2)
        self.assertEqual(0, cost["promised_device_hours"])

    def test_the_budget_outlives_the_server(self):
        space = {"lr": {"choice": [0.1, 0.2]}}

        def waiting(name, hours=None):
            more = {} if hours is None else {"budget": {"device_hours": hours}}
            return study_text(name, "client", space, **more)

        async def first(x):
            self.assertIn("has no bound",
                          await x.error("submit", text=waiting("unbound")))
            told = await x.call("submit", text=waiting("half", 0.5))
            self.assertEqual((0.5, 0.5), (told["bound_device_hours"],
                                          told["left_device_hours"]))
            # The smaller bound counts, and is in the study file.
            told = await x.call("submit", text=waiting("fifth", 9),
                                device_hours=0.2)
            self.assertEqual(0.2, told["bound_device_hours"])
            text = (await x.call("study_file", study="fifth"))["text"]
            self.assertIn("device_hours: 0.2", text)
            # A comment of the submitter is no entry of the ledger.
            forged = waiting("forged", 0.2) + (
                "\n# submitted through hippo-mcp mcp, at most 0 device hours")
            await x.call("submit", text=forged)
            return await x.error("submit", text=waiting("beyond", 0.2))

        async def second(x):
            told = await x.call("service")
            self.assertAlmostEqual(0.1, told["left_device_hours"])
            refused = await x.error("submit", text=waiting("beyond", 0.2))
            await x.call("steer", study="half", verb="cancel", reason="enough")
            await x.ended("half")
            told = await x.call("submit", text=waiting("after", 0.2))
            return refused, told["left_device_hours"]

        refused = self.run_submitter(first, 1)
        self.assertIn("may use 0.2 device hours, but of the 1 of this server "
                      "0.1 are left; promised to studies that have not ended: "
                      "1 (half) 0.5, 2 (fifth) 0.2, 3 (forged) 0.2", refused)
        # Neither a new server nor a new service forgets it.
        self.service.kill()
        self.service = self.start()
        again, left = self.run_submitter(second, 1)
        self.assertIn("0.1 are left", again)
        self.assertLess(left, 0.41)
        self.assertGreater(left, 0.3)
        with self.connect() as client:
            self.assertEqual(["half", "fifth", "forged", "after"],
                             [x.name for x in client.studies()])

    def test_a_repeated_idea_costs_nothing(self):
        text = study_text("idea", "grid", {"lr": {"choice": [0.1, 0.2]}},
                          budget={"device_hours": 0.01})

        async def calls(x):
            told = await x.call("preview", text=text)
            self.assertEqual((False, 24), (told["costs_nothing"],
                                           told["new_steps"]))
            await x.call("submit", text=text)
            first = await x.ended("idea")
            self.assertEqual(("COMPLETE", ""),
                             (first["state"], first["reason"]))
            told = await x.call("preview", text=text)
            self.assertTrue(told["costs_nothing"])
            self.assertEqual("costs nothing: all 24 steps of it are trained "
                             "already", told["meaning"])
            # Accepted though the rest of the budget is promised.
            await x.call("submit", text=study_text(
                "rest", "client", {"lr": 0.1}), device_hours=
                told["left_device_hours"])
            again = await x.call("submit", text=text)
            second = await x.ended(again["id"])
            self.assertEqual("COMPLETE", second["state"])
            self.assertEqual(first["best"]["value"], second["best"]["value"])
            await x.error("submit", text=study_text(
                "new", "grid", {"lr": {"choice": [0.3, 0.4]}},
                budget={"device_hours": 0.01}))
        self.run_submitter(calls, 0.011)

    def test_its_own_studies_are_steered(self):
        with self.connect() as client:
            self.submit(client, study_text("theirs", "client", {"lr": 0.1}))

            async def calls(x):
                text = study_text(
                    "mine", "client", {"lr": {"choice": [0.1, 0.2]}},
                    budget={"device_hours": 0.1})
                self.assertIn("a client decides", (await x.call(
                    "preview", text=text))["meaning"])
                await x.call("submit", text=text)
                for verb, state in (("pause", "PAUSED"), ("resume",
                                                          "RUNNING")):
                    await x.call("steer", study="mine", verb=verb)
                    while (await x.call("study", study="mine"))[
                            "state"] != state:
                        pass
                await x.call("steer", study="mine", verb="set_weight",
                             weight=2.5)
                while (await x.call("study", study="mine"))["weight"] != 2.5:
                    pass
                self.assertIn("'weight' is missing", await x.error(
                    "steer", study="mine", verb="set_weight"))
                self.assertIn("one of pause, resume", await x.error(
                    "steer", study="mine", verb="explode"))
                self.assertRegex(
                    await x.error("steer", study="mine", verb="retry"),
                    "fail")
                made = await x.call("ask", study="mine")
                await x.call("tell", study="mine", trial=made["trial"],
                             state="PRUNED")
                await x.call("steer", study="mine", verb="stop")
                await x.ended("mine")
                # Another name is another budget, and has other studies.
                for study in "theirs", "mine":
                    self.assertIn(
                        "was not submitted through this server",
                        await other(x, study))

            async def other(x, study):
                return await x.error("steer", study=study, verb="pause") \
                    if study == "theirs" else await self.by_another(study)
            self.run_submitter(calls, 1)
            self.assertEqual("RUNNING", client.study("theirs").state)

    def test_a_study_that_has_ended_goes_on_within_its_bound(self):
        text = study_text("mine", "random", {"lr": {"uniform": [0.1, 0.3]}},
                          budget={"trials": 2, "device_hours": 0.6})

        async def calls(x):
            await x.call("submit", text=text)
            await x.ended("mine")
            told = await x.call("enqueue", study="mine",
                                params=[{"lr": 0.25}, {"lr": 0.125}])
            self.assertEqual(4, told["trials"])
            self.assertGreaterEqual(told["left_device_hours"], 0)
            await x.ended("mine")
            told = await x.call("fork", study="mine", trial=2, at=8,
                                params={"lr": {"multistep": {
                                    "initial": 0.25, "milestones": [8],
                                    "gamma": 0.5}}})
            self.assertEqual(5, told["trials"])
            await x.ended("mine")
            told = await x.call("extend", study="mine", trials=2)
            self.assertEqual(7, told["trials"])
            whole = await x.ended("mine")
            self.assertEqual(("COMPLETE", 7), (whole["state"], whole["trials"]))
            best = (await x.call("best", study="mine"))["rows"][0]["trial"]
            await x.call("steer", study="mine", verb="remove", trials=[best])
            self.assertNotEqual(best, (await x.call(
                "best", study="mine"))["rows"][0]["trial"])
            await x.call("steer", study="mine", verb="restore", trials=[best])
            self.assertEqual(best, (await x.call(
                "best", study="mine"))["rows"][0]["trial"])
            wider = {"lr": {"uniform": [0.2, 0.5]}}
            told = await x.call("set_space", study="mine", space=wider)
            self.assertEqual(["lr"], [y["name"] for y in told["changes"]])
            self.assertEqual((0, 7), (told["replaced"],
                                      told["learned"] + told["outside"]))
            told = await x.call("set_space", study="mine", space=wider,
                                dry_run=False)
            self.assertEqual(("COMPLETE", 7), (told["state"], told["trials"]))
            self.assertEqual(
                {"id": 1, "note": "by hand", "tags": ["seen"]},
                await x.call("note", study="mine", text="by hand",
                             tags=["seen"]))
            self.assertEqual("by hand",
                             (await x.call("study", study="mine"))["note"])
            refused = [
                await x.error("extend", study="mine"),
                await x.error("extend", study="mine", trials=-1),
                await x.error("enqueue", study="mine", params=[{"lr": 9}]),
                await x.error("fork", study="mine", trial=99, at=1,
                              params={"lr": 0.2})]
            # Another study has been promised what is left.
            await x.call("submit", text=study_text(
                "other", "client", {"lr": 0.1}, budget={"device_hours": 0.5}))
            return refused, [
                await x.error("extend", study="mine", trials=1),
                await x.error("enqueue", study="mine", params=[{"lr": 0.2}])]
        refused, promised = self.run_submitter(calls, 1)
        for text, wanted in zip(refused, (
                "give 'trials', 'seconds' or 'steps'", "0 or more", "lr",
                "99"),
                strict=True):
            self.assertIn(wanted, text)
        for text in promised:
            self.assertIn("study 1 (mine) may use 0.6 device hours", text)
        with self.connect() as client:
            study = client.study("mine")
            self.assertEqual(7, len(study.trials))
            self.assertEqual([0.25, 0.125],
                             [x.params["lr"] for x in study.trials[2:4]])
            self.assertEqual(8, study.trials[4].shared_steps)

    async def by_another(self, study):
        """The refusal of a server of another name."""
        tools = Tools(self.service.address, None, self.folder,
                      _mcp_budget.Budget("another", 1.0))
        try:
            with self.assertRaises(hippo.NotAllowed) as failed:
                await asyncio.to_thread(tools.steer, study, "pause")
            return str(failed.exception)
        finally:
            tools.close()


class Ledger(Case):
    def test_servers_of_a_name_never_exceed_it_together(self):
        tools = [Tools(self.service.address, None, self.folder,
                       _mcp_budget.Budget("both", 1.0)) for _ in range(4)]
        for x in tools:
            self.addCleanup(x.close)

        def submit(x, number):
            try:
                return x.submit(text=study_text(
                    f"s{number}", "client", {"lr": 0.1},
                    budget={"device_hours": 0.4}))["id"]
            except hippo.InvalidArgument:
                return None

        async def all_at_once():
            return await asyncio.gather(*(
                asyncio.to_thread(submit, x, i)
                for i, x in enumerate(tools)))
        made = [x for x in asyncio.run(all_at_once()) if x is not None]
        with self.connect() as client:
            entries = _mcp_budget.Budget("both", 1.0).entries(client)
        self.assertEqual({x.id for x in entries if not x.is_over}, set(made))
        self.assertLessEqual(len(made), 2)
        self.assertGreaterEqual(len(made), 1)

    def test_failed_training_is_not_free(self):
        self.write("fails.py", "import time\nimport hippo_hpo as hippo\n\n\n"
                   "@hippo.workload\ndef train(ctx):\n    time.sleep(2)\n"
                   "    raise ValueError(ctx.hp.lr(0))\n")
        text = study_text("fails", "grid", {"lr": 0.1}, 1, budget={
            "device_hours": 0.5}).replace("wave.py:Wave", "fails.py:train")
        tools = Tools(self.service.address, None, self.folder,
                      _mcp_budget.Budget("mcp", 1.0))
        self.addCleanup(tools.close)
        tools.submit(text=text)
        with self.connect() as client:
            client.study("fails").wait(progress=False, timeout=PATIENCE)
            self.assertEqual(0, client.study("fails").info.cost_seconds)
        used = tools.service()["used_device_hours"]
        self.assertGreater(used * 3600, 2)
        self.assertLess(used, 0.5)


class Page(Case):
    """docs/mcp.md shows what examples/mcp/transcript.py prints."""

    def test_the_transcript(self):
        done = subprocess.run(
            [sys.executable, os.path.join(EXAMPLE, "transcript.py"),
             self.service.address], capture_output=True, text=True,
            timeout=PATIENCE)
        self.assertEqual(0, done.returncode, done.stderr)
        with open(os.path.join(ROOT, "docs", "mcp.md")) as file:
            shown, = re.findall(
                r"(?s)<!-- transcript begins -->\n```text\n(.*?)```\n"
                "<!-- transcript ends -->", file.read())
        self.assertEqual(shown.replace("\\\n", ""), done.stdout)

    def test_every_tool_is_on_it(self):
        async def calls(x):
            return {tool.name for tool in (await x.client.list_tools()).tools}
        with open(os.path.join(ROOT, "docs", "mcp.md")) as file:
            found = set(re.findall(r"(?m)^\| `(\w+)` \|", file.read()))
        self.assertEqual(self.run_caller(calls), found)


class Answers(unittest.TestCase):
    """Answers are short, whatever they hold."""

    def test_rows_are_cut(self):
        for value in ("x" * 10**6, ["y" * 1000] * 1000,
                      {f"{'k' * 500}{i}": {"a": [i] * 50} for i in range(99)},
                      {"a": {"b": {"c": {"d": {"e": {"f": ["g"] * 9}}}}}}):
            rows = [{"trial": i, "params": value} for i in range(500)]
            page = _mcp_answers.page(rows, 7, 10**9, True)
            self.assertLessEqual(len(_mcp_answers.to_json(page)),
                                 _mcp_answers.ANSWER_CHARS_MAX)
            self.assertEqual(list(range(len(page["rows"]))),
                             [x["trial"] for x in page["rows"]])
            self.assertEqual(7 + len(page["rows"]), page["next"])
        whole = _mcp_answers.page([{"trial": 1}], 0, 5, True)
        self.assertEqual({"rows": [{"trial": 1}], "next": None}, whole)

    def test_numbers_that_json_lacks(self):
        self.assertEqual('{"a":[null,null,1.5]}', _mcp_answers.to_json(
            {"a": [float("nan"), float("inf"), 1.5]}))

    def test_parts_of_texts(self):
        text = "\u00e9\0" * 9_000
        parts, first = "", 0
        while first is not None:
            part = _mcp_answers.part(text, first)
            self.assertLessEqual(len(_mcp_answers.to_json(part)),
                                 _mcp_answers.ANSWER_CHARS_MAX)
            parts, first = parts + part["text"], part["next"]
        self.assertEqual(text, parts)


class Command(unittest.TestCase):
    def test_bad_usage(self):
        for options, wanted in [
                (["--allow-submit"], "go together"),
                (["--budget-device-hours", "1"], "go together"),
                (["--allow-submit", "--budget-device-hours", "0"], "invalid"),
                (["--name", "a b"], "invalid")]:
            done = subprocess.run(
                [sys.executable, "-m", "hippo_hpo.mcp", *options],
                capture_output=True, text=True)
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(wanted, done.stderr)


if __name__ == "__main__":
    unittest.main()
