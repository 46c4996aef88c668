#!/usr/bin/env python3
"""A run that others on its machine meet while it is at work."""

import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request

import programs
from programs import (HIPPO, LR, Case, is_alive, on_terminal, results, send,
                      study, summing, trainers, wait_for)

PLACE = re.compile(r"hippo: page (http://127\.0\.0\.1:\d+/), other verbs take "
                   r"--server (127\.0\.0\.1:\d+)")


def slow(name, algorithm="grid", every=3, steps=9, pause_ms=50):
    """A study whose steps take 50 ms: there is time to meet a run."""
    return {**study(name, algorithm, every, steps),
            "workload": summing(pause_ms),
            "objective": {"metric": "total", "direction": "maximize"}}


class Met(Case):
    def begin(self, *studies, state="state", args=()):
        """@returns a run, with what it says in a file of its own"""
        log = self.path(state + ".stderr")
        with open(log, "w") as err:
            run = self.start("run", *self.studies(*studies), "--state",
                             self.path(state), "--trainers", 1, *args,
                             stderr=err)
        run.log = log
        run.place = wait_for("the address", lambda: run.poll() is not None
                             or PLACE.search(self.said(run)))
        self.assertIsNone(run.poll(), self.said(run))
        return run

    @staticmethod
    def said(run):
        with open(run.log) as log:
            return log.read()

    def ask(self, run, *args, code=0):
        """What a verb says to somebody at another terminal."""
        return self.hippo(*args, "--server", run.place[2], code=code)

    def states(self, run):
        """The states of the run's studies, by name."""
        return {x["name"]: x["state"] for x in json.loads(
            self.ask(run, "ls", "-f", "json").out)}

    def states_after(self):
        """The same, once nobody is at work in the folder."""
        return {x["name"]: x["state"] for x in json.loads(
            self.hippo("ls", "--state", self.path("state"), "-f",
                       "json").out)}

    def middle(self, run):
        """Waits for the first trial that has ended."""
        wait_for("a trial", lambda: "Trial" in self.said(run) or run.poll())
        self.assertIsNone(run.poll(), self.said(run))

    def end_of(self, run, code=0):
        try:
            out, _ = run.communicate(timeout=programs.PATIENCE)
        except subprocess.TimeoutExpired:
            self.fail(f"hippo does not end:\n{self.said(run)}")
        self.assertEqual(run.returncode, code, out + self.said(run))
        return out


class Looks(Met):
    def test_verbs_and_page_show_it(self):
        run = self.begin(slow("one"))
        page, address = run.place.groups()
        with open(self.path("state", "service.json")) as text:
            known = json.load(text)
        self.assertEqual(known["clients"], address)
        self.assertEqual(f"http://{known['http']}/", page)
        self.assertEqual(known["pid"], run.pid)
        self.assertFalse(known["tls"])
        self.assertEqual(self.hippo("open", "--print", "--state",
                                    self.path("state")).out, page + "\n")
        with urllib.request.urlopen(page + "api/studies") as reply:
            self.assertEqual(json.load(reply)[0]["name"], "one")
        self.middle(run)
        self.assertEqual(self.states(run), {"one": "RUNNING"})
        self.assertRegex(self.ask(run, "show", "one").out,
                         r"(?m)^state +RUNNING$")
        self.assertIn("COMPLETE", self.ask(run, "trials", "one").out)
        self.assertRegex(self.ask(run, "top", "--once").out, "step|busy")
        self.assertIn("coordinator: study 1 is one",
                      self.ask(run, "logs").out)
        self.end_of(run)
        self.assertFalse(os.path.exists(self.path("state", "service.json")))
        self.ask(run, "ls", code=1)

    def test_only_this_machine_meets_it(self):
        run = self.begin(slow("one"))
        with open("/proc/net/tcp") as table:
            rows = [x.split() for x in table.readlines()[1:]]
        inodes = set()
        for name in os.listdir(f"/proc/{run.pid}/fd"):
            try:
                to = os.readlink(f"/proc/{run.pid}/fd/{name}")
            except OSError:
                continue
            inodes.update(re.findall(r"socket:\[(\d+)\]", to))
        listening = {x[1].split(":")[0] for x in rows
                     if x[3] == "0A" and x[9] in inodes}
        self.assertEqual(listening, {"0100007F"})

    def test_quiet_says_no_address_and_has_one(self):
        log = self.path("quiet.stderr")
        file, = self.studies(slow("one") | {"space": {"lr": LR}})
        env = {"XDG_STATE_HOME": self.path("known")}
        self.hippo("check", file, "--steps", 2, env=env)  # or it warns
        with open(log, "w") as err:
            run = self.start("run", file, "--state", self.path("state"),
                             "--quiet", stderr=err, env=os.environ | env)
        file = self.path("state", "service.json")
        wait_for("the address", lambda: os.path.exists(file))
        with open(file) as text:
            address = json.load(text)["clients"]
        self.assertIn("one", self.hippo("ls", "--server", address).out)
        run.log = log
        self.end_of(run)
        self.assertEqual(self.said(run), "")

    def test_two_runs_at_once(self):
        runs = [self.begin(slow("first"), state="a"),
                self.begin(slow("second"), state="b")]
        self.assertNotEqual(runs[0].place[2], runs[1].place[2])
        for run, name in zip(runs, ["first", "second"]):
            self.assertEqual(self.states(run), {name: "RUNNING"})
        for run in runs:
            self.assertIsNone(run.poll(), "both are at work")
        for run, name in zip(runs, ["first", "second"]):
            self.end_of(run)
        self.assertEqual([x["name"] for x in self.report("a")["studies"]],
                         ["first"])
        self.assertEqual([x["name"] for x in self.report("b")["studies"]],
                         ["second"])

    def test_a_run_that_was_killed_is_not_looked_for(self):
        run = self.begin(slow("one"))
        self.middle(run)
        own = trainers(run.pid)
        run.kill()
        run.wait()
        wait_for("the trainer's end", lambda: not any(map(is_alive, own)))
        file = self.path("state", "service.json")
        self.assertTrue(os.path.exists(file))
        run = self.begin(slow("one"))
        with open(file) as text:
            self.assertEqual(json.load(text)["clients"], run.place[2])
        self.end_of(run)

    def test_the_view_of_a_run_is_that_of_watch(self):
        """Both draw the same lines of a study, up to what goes on."""
        lines = [r"hippo  [\d.]+ s elapsed, about [\d.]+ s left",
                 r"one █*░* +\d+/12  108 steps  total",
                 r"trainers 1/1 busy \| 1: step \d of 9 ",
                 r"steps 108 asked for, \d+ shared \| "
                 r"merging saved [\d.]+ s of device time"]
        file, = self.studies(slow("one", pause_ms=100))
        watched = []
        plain = {**os.environ, "NO_COLOR": "1"}

        def look(process, text):
            if all(re.search(x, text) for x in lines):
                process.terminate()

        def watch(address):
            watched.append(on_terminal(
                [HIPPO, "watch", "one", "--server", address], columns=100,
                heard=look, stderr=subprocess.STDOUT, env=plain)[1])

        watching = []

        def heard(process, text):
            place = PLACE.search(text)
            if not watching and place and "elapsed" in text:
                watching.append(threading.Thread(target=watch,
                                                 args=[place[2]]))
                watching[0].start()

        code, shown = on_terminal(
            [HIPPO, "run", file, "--state", self.path("state"), "--trainers",
             "1"], columns=100, heard=heard, stderr=subprocess.STDOUT,
            env=plain)
        self.assertEqual(code, 0, shown)
        watching[0].join()
        for text in [shown, *watched]:
            for line in lines:
                self.assertRegex(text, line)

    def test_who_watches_hears_how_it_ends(self):
        for verb in [["watch", "one"], ["watch", "one", "--quiet"]]:
            with self.subTest(verb):
                run = self.begin(slow("one"), state=f"{len(verb)}")
                begun = time.monotonic()
                said = self.ask(run, *verb).err
                self.assertIn("(one): COMPLETE; best is trial", said)
                self.end_of(run)
                # A connection that is lost is made again for 60 s.
                self.assertLess(time.monotonic() - begun, 55)


class Changes(Met):
    def test_pause_and_resume(self):
        reference = self.run_studies(self.studies(slow("one")), "reference",
                                     "--trainers", 1)
        run = self.begin(slow("one"))
        self.middle(run)
        self.ask(run, "pause", "one")
        word = (f"study one is paused: hippo resume 1 --server {run.place[2]} "
                "goes on with it\n")
        wait_for("the word", lambda: word in self.said(run))
        wait_for("the end of what runs", lambda: json.loads(self.ask(
            run, "top", "-f", "json").out)[0]["state"] == "idle")
        before = self.ask(run, "trials", "one", "-f", "json").out
        time.sleep(2)
        self.assertIsNone(run.poll(), self.said(run))
        self.assertEqual(self.ask(run, "trials", "one", "-f", "json").out,
                         before)
        self.assertEqual(self.states(run), {"one": "PAUSED"})
        self.ask(run, "resume", "1")
        self.end_of(run)
        self.assertEqual(self.said(run).count("is paused"), 1)
        self.assertEqual(results(self.report("state")), results(reference))

    def test_others_go_on_while_one_is_paused(self):
        run = self.begin(slow("one"), slow("two", pause_ms=10))
        self.ask(run, "pause", "one")
        wait_for("the end of the other", lambda: self.states(run)
                 == {"one": "PAUSED", "two": "COMPLETE"})
        wait_for("the word", lambda: "study one is paused" in self.said(run))
        self.assertIsNone(run.poll(), self.said(run))
        self.ask(run, "resume", "one")
        self.end_of(run)

    def test_interrupt_while_it_is_paused(self):
        run = self.begin(slow("one"))
        self.ask(run, "pause", "one")
        wait_for("the word", lambda: "is paused" in self.said(run))
        send(run, signal.SIGINT)
        self.end_of(run, 130)
        self.assertIn("go on with: hippo run --resume", self.said(run))
        self.hippo("run", "--resume", self.path("state"), "--trainers", 1)
        self.assertEqual(self.states_after(), {"one": "COMPLETE"})

    def test_cancel(self):
        run = self.begin(slow("one"), slow("two", pause_ms=5))
        self.ask(run, "cancel", "one")
        out = self.end_of(run, 1)
        self.assertIn("hippo: study 'one' was cancelled\n", self.said(run))
        self.assertIn("report: ", out)
        self.assertEqual(self.states_after(),
                         {"one": "CANCELLED", "two": "COMPLETE"})
        self.assertEqual(len(self.report("state")["studies"]), 2)

    def test_stop_and_weight(self):
        run = self.begin(slow("one"))
        self.ask(run, "set-weight", "one", "2.5")
        self.assertRegex(self.ask(run, "show", "one").out,
                         r"(?m)^weight +2\.5$")
        self.middle(run)
        self.ask(run, "stop", "one")
        self.end_of(run)
        self.assertEqual(self.states_after(), {"one": "COMPLETE"})
        trials = self.report("state")["studies"][0]["trials"]
        self.assertIn("CANCELLED", {x["state"] for x in trials})

    def test_a_study_of_others_is_trained_too(self):
        run = self.begin(slow("one", steps=3))
        more, = self.studies(slow("guest"))
        self.ask(run, "submit", more)
        self.assertEqual(self.states(run)["guest"], "RUNNING")
        self.end_of(run)
        said = self.said(run)
        self.assertEqual(said.count("guest: Trial "), 12)
        self.assertNotIn("one: Trial", said)
        self.assertEqual(self.states_after(),
                         {"one": "COMPLETE", "guest": "COMPLETE"})
        self.assertEqual([x["name"] for x in self.report("state")["studies"]],
                         ["one", "guest"])

    def test_a_run_trains_no_code_of_others(self):
        run = self.begin(slow("one", steps=3))
        theirs = self.write("theirs.yaml", "study: theirs\n"
                            "workload: {command: [train], packages: "
                            "{train: '1.2'}}\n"
                            "objective: {metric: loss, direction: minimize}\n"
                            "max_steps: 2\nspace: {lr: {choice: [1, 2]}}\n"
                            "algorithm: grid\n")
        done = self.ask(run, "submit", theirs, code=1)
        self.assertIn("study theirs brings code of its own, and hippo run "
                      "trains only the code that it was started with",
                      done.err)
        self.assertNotIn("theirs", self.states(run))
        self.end_of(run)

    def test_a_client_decides_in_a_run(self):
        """Until it closes its study, whatever else has ended."""
        run = self.begin(slow("one", steps=3))
        mine, = self.studies(slow("mine", "client", steps=3))
        self.ask(run, "submit", mine)
        wait_for("the other's end", lambda: self.states(run)["one"]
                 == "COMPLETE")
        time.sleep(1)
        self.assertIsNone(run.poll(), self.said(run))
        self.ask(run, "close", "mine")
        self.end_of(run)


if __name__ == "__main__":
    programs.main()
