#!/usr/bin/env python3
"""The verbs that ask a service: what they print, and how they end."""

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import threading
import unittest

import programs
from programs import HIPPO, PATIENCE, SHA, TRAINER, Case, on_terminal, study

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def serves():
    """Whether this hippo has a service that clients can connect to."""
    done = subprocess.run([HIPPO, "serve", "--help"], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=PATIENCE)
    return done.returncode == 0 and "--rpc" in done.stdout


class Asking(Case):
    """Knows the address of a service."""

    def ask(self, *args, **options):
        env = {"HIPPO_SERVER": self.address, **options.pop("env", {})}
        return self.hippo(*args, env=env, **options)

    def json(self, *args):
        return json.loads(self.ask(*args, "-f", "json").out)


class Fake(Asking):
    """Against a service that has a finished study, a slow one and trainers."""

    def setUp(self):
        super().setUp()
        service = subprocess.Popen(
            [os.environ["FAKE_SERVICE"]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, service)
        self.address = "127.0.0.1:" + service.stdout.readline().strip()
        self.addCleanup(service.stdout.close)
        self.addCleanup(service.stdin.close)

    def on_terminal(self, *args, until, columns=60):
        """Runs hippo on a terminal until it has written something, then
        interrupts it. @returns all that it writes"""
        interrupted = False

        def heard(process, text):
            nonlocal interrupted
            if not interrupted and until(text):
                process.send_signal(signal.SIGINT)
                interrupted = True

        code, text = on_terminal(
            [HIPPO, *args, "--server", self.address], columns, heard,
            stderr=subprocess.STDOUT)
        self.assertEqual(code, 130, text)
        return text

    def test_ls(self):
        self.assertEqual(
            self.ask("ls").out,
            "id  name      state     finished  trials  best  steps  shared"
            "  saved_seconds\n"
            " 1  mnist     COMPLETE         3       3  0.72      6       2"
            "     1 min 15 s\n"
            " 2  slow-one  RUNNING          0       3     -      0       2"
            "     1 min 15 s\n")
        # COLUMNS is heeded: what can be spared is left out, names are not.
        self.assertEqual(
            self.ask("ls", env={"COLUMNS": "70"}).out.splitlines()[0].split(),
            ["id", "name", "state", "finished", "trials", "best", "steps",
             "saved_seconds"])
        self.assertRegex(self.ask("ls", env={"COLUMNS": "20"}).out,
                         r"^id  name      state\n 1  mnist     COMPLETE\n"
                         r" 2  slow-one  RUNNING\n$")

    def test_ls_options(self):
        self.assertEqual(
            self.ask("ls", "--filter", "state!=RUNNING", "--columns",
                     "name,best_trial,best_params", "--sort", "name",
                     "--limit", 1).out,
            "name   best_trial  best_params\n"
            "mnist           2  lr=0.3 batch_size=64\n")
        rows = list(csv.DictReader(io.StringIO(
            self.ask("ls", "-f", "csv").out)))
        self.assertEqual([x["saved_seconds"] for x in rows], ["75", "75"])
        self.assertIn("name: mnist", self.ask("ls", "-f", "yaml").out)

    def test_unknown_column(self):
        done = self.ask("ls", "--sort", "stat", code=2)
        self.assertEqual(done.out, "")
        self.assertIn("there is no column 'stat', did you mean 'state'?",
                      done.err)

    def test_show(self):
        text = self.ask("show", "mnist").out
        self.assertRegex(text, r"(?m)^state +COMPLETE$")
        self.assertRegex(text, r"(?m)^best_params +lr=0.3 batch_size=64$")
        shown = self.json("show", "1")
        self.assertEqual(shown["best_params"], {"lr": 0.3, "batch_size": 64})
        self.assertEqual(shown["saved_seconds"], 75)
        self.assertEqual(self.ask("show", "1", "--text").out,
                         "study: mnist\n")

    def test_trials(self):
        self.assertEqual(
            self.ask("trials", "mnist", "--sort", "best:desc", "--limit",
                     2).out,
            "trial  state     best  step  steps  asked  shared  params\n"
            "    2  COMPLETE  0.72     2      2      2       1  "
            "lr=0.3 batch_size=64\n"
            "    1  COMPLETE  0.62     2      2      2       1  "
            "lr=0.2 batch_size=64\n")
        self.assertEqual(
            self.ask("trials", "mnist", "--filter", "lr<0.3", "--columns",
                     "trial,lr").out, "trial  lr\n    0  0.1\n    1  0.2\n")

    def test_best(self):
        self.assertEqual(self.ask("best", "mnist").out,
                         "study mnist: trial 2 (COMPLETE) at step 2, "
                         "val_accuracy 0.72\n"
                         "  lr: 0.3\n  batch_size: 64\n")
        self.assertEqual(self.json("best", "1"),
                         {"study": "mnist", "trial": 2, "state": "COMPLETE",
                          "step": 2,
                          "metric": "val_accuracy", "value": 0.72,
                          "params": {"lr": 0.3, "batch_size": 64}})
        done = self.ask("best", "slow-one", code=1)
        self.assertIn("'slow-one' has no result yet", done.err)
        # What a service of before cannot give is said.
        self.assertIn("older than this client", self.ask(
            "best", "mnist", "--export", "x.pt", code=1).err)

    def test_importance(self):
        done = self.ask("importance", "mnist")
        self.assertEqual(done.err, "what the best 2 of the 20 trials with "
                         "val_accuracy at step 3 have in common:\n")
        self.assertEqual(done.out, "parameter  share  trials\n"
                                   "lr          0.75      20\n"
                                   "momentum    0.25      12\n")
        rows = self.json("importance", "mnist", "--at", 3, "--columns",
                         "parameter,importance")
        self.assertEqual(rows, [{"parameter": "lr", "importance": 0.3},
                                {"parameter": "momentum", "importance": 0.1}])
        self.assertIn("nothing was measured",
                      self.ask("importance", "mnist", "--at", 4, code=2).err)
        self.assertIn("--at", self.ask("importance", "mnist", "--at", 0,
                                       code=2).err)

    def test_submit(self):
        files = [self.write(x + ".yaml", f"study: {x}\n") for x in "ab"]
        done = self.ask("submit", *files)
        self.assertEqual(done.out, "3\n4\n")
        self.assertEqual(done.err, "".join(
            f"note: {x}:2:1: grid, as it is a fake\n"
            f"warning: {x}:1:1: is a fake\n" for x in files))

    def test_submit_and_wait(self):
        done = self.ask("submit", self.write("a.yaml", "study: a\n"), "--wait")
        self.assertEqual(done.out, "3\n")
        lines = done.err.splitlines()[2:]
        self.assertEqual(
            lines[:2],
            ['Trial 0 finished with value: 0.52 and parameters: {"lr": 0.1, '
             '"batch_size": 64}. Best is trial 0 with value: 0.52.',
             'Trial 1 finished with value: 0.62 and parameters: {"lr": 0.2, '
             '"batch_size": 64}. Best is trial 1 with value: 0.62.'])
        self.assertEqual(lines[3:],
                         ["study 3 (a): COMPLETE; best is trial 2 with "
                          "val_accuracy 0.72 at step 2"])
        quiet = self.ask("submit", self.write("a.yaml", "study: a\n"),
                         "--wait", "--quiet")
        self.assertEqual(quiet.err.splitlines()[2:],
                         [lines[3].replace("study 3", "study 4")])

    def test_two_studies_at_once(self):
        files = [self.write(x + ".yaml", f"study: {x}\n") for x in "ab"]
        lines = self.ask("submit", "--wait", *files).err.splitlines()
        for name in "ab":
            for trial in range(3):
                self.assertEqual(sum(x.startswith(f"{name}: Trial {trial} ")
                                     for x in lines), 1, lines)

    def test_bad_study(self):
        done = self.ask("submit", self.write("x.yaml", "nothing\n"), code=2)
        self.assertEqual(done.out, "")
        self.assertEqual(done.err, "error: x.yaml:1:1: study: is missing\n"
                                   "error: x.yaml:2:1: space: is missing\n")
        done = self.ask("submit", self.path("none.yaml"), code=2)
        self.assertIn("none.yaml: cannot be read", done.err)

    def test_watch_what_has_ended(self):
        done = self.ask("watch", "mnist")
        self.assertEqual(done.out, "")
        self.assertEqual(len(done.err.splitlines()), 4)
        self.ask("cancel", "slow-one", "--reason", "no time")
        done = self.ask("watch", "slow-one", code=1)
        self.assertIn("study 2 (slow-one): CANCELLED: no time", done.err)

    def test_watch_on_a_terminal(self):
        text = self.on_terminal("watch", "slow-one", columns=80,
                                until=lambda x: x.count("asked for") > 2)
        for part in ["slow-one", "trainers 1/2 busy", "step 3 of 12",
                     "6 asked for, 2 shared", "saved 1 min 15 s"]:
            self.assertIn(part, CONTROL.sub("", text))
        self.assertRegex(text, r"\x1b\[[0-9]+A")
        self.assertLessEqual(max(map(len, re.split(
            r"[\r\n]+", CONTROL.sub("", text)))), 80)
        self.assertIn("interrupted; the service goes on", text)

    def test_top(self):
        self.assertEqual(
            self.ask("top", "--columns",
                     "trainer,name,state,values,step,to_step").out,
            "trainer  name       state  values                 step  to_step\n"
            "      1  alpha/100  busy   lr 0.1, batch_size 64     3       12\n"
            "      2  alpha/101  idle   -                         -        -\n")
        # Former names are columns, too.
        self.assertEqual(
            self.ask("top", "--columns", "number,what,to").out,
            self.ask("top", "--columns", "trainer,values,to_step").out)
        self.assertEqual([x["state"] for x in self.json("top", "--all")],
                         ["busy", "idle", "gone"])
        self.assertEqual(
            self.ask("top", "--all", "--filter", "state=gone", "--columns",
                     "memory_bytes,driver,compute_capability").out,
            "memory_bytes  driver  compute_capability\n"
            " 85899345920  13.0    9.0\n")
        text = self.on_terminal("top", until=lambda x: x.count("busy") > 1)
        self.assertRegex(text, r"\x1b\[3A")
        self.assertLessEqual(max(map(len, re.split(
            r"[\r\n]+", CONTROL.sub("", text)))), 60)

    def test_logs(self):
        self.assertEqual(self.ask("logs").out,
                         "the first line of the log\nand the second one\n")
        text = self.on_terminal("logs", "-f",
                                until=lambda x: "second one" in x)
        self.assertIn("the first line", text)

    def test_commands(self):
        for verb, state in [("pause", "PAUSED"), ("resume", "RUNNING"),
                            ("stop", "STOPPING"), ("cancel", "CANCELLED")]:
            done = self.ask(verb, "1", "slow-one")
            self.assertEqual(done.out, "")
            self.assertRegex(done.err,
                             "^study 1: .*\nstudy slow-one: .*\n$")
            self.assertEqual([x["state"] for x in self.json("ls")],
                             [state, state])
        done = self.ask("pause", "1", "mnits", "2", code=2)
        self.assertIn("no study 'mnits', did you mean 'mnist'?", done.err)
        self.assertEqual([x["state"] for x in self.json("ls")],
                         ["PAUSED", "PAUSED"])

    def test_set_weight(self):
        self.ask("set-weight", "mnist", 2.5)
        self.assertEqual(self.json("show", "mnist")["weight"], 2.5)
        for bad in ["0", "much"]:
            self.assertIn("weight", self.ask("set-weight", "mnist", bad,
                                             code=2).err)

    def test_extend(self):
        before = self.json("show", "mnist")["trials"]
        done = self.ask("extend", "mnist", "--trials", "+20")
        self.assertEqual(("", f"study mnist has {before + 20} trials now\n"),
                         (done.out, done.err))
        self.ask("extend", "mnist", "--seconds", 60)
        self.ask("extend", "mnist", "--device-hours", .5, "--cost", 2)
        done = self.ask("extend", "mnist", "--steps", 200)
        self.assertEqual(f"study mnist has {before + 20} trials of 200 steps "
                         "now\n", done.err)
        self.ask("extend", "mnist", "--budget-steps", 500)
        self.assertIn("give --trials, --steps, --budget-steps, --seconds, "
                      "--deadline-seconds, --device-hours or --cost",
                      self.ask("extend", "mnist", code=2).err)
        for wrong in (["--trials", -1], ["--steps", 0], ["--seconds", 0],
                      ["--deadline-seconds", "soon"], ["--cost", -1],
                      ["--device-hours", 0], ["--budget-steps", 0]):
            self.assertIn(wrong[0], self.ask("extend", "mnist", *wrong,
                                             code=2).err)

    def test_enqueue(self):
        done = self.ask("enqueue", "mnist", "--params", "{lr: 0.1}")
        self.assertRegex(done.err, "^study mnist has [0-9]+ trials now; those "
                         "that were given come next\n$")
        self.assertIn("trials[0].refuse: trials: [{refuse: 1}\n]",
                      self.ask("enqueue", "mnist", "--params", "{refuse: 1}",
                               code=2).err)
        table = self.write("more.csv", 'lr,opt,refuse\n0.1,"a, b",\n'
                           '"{""a"": [1]}",,x\n')
        self.assertIn('trials[0].refuse: {"trials":[{"lr":0.1,"opt":"a, b"},'
                      '{"lr":{"a":[1]},"refuse":"x"}]}',
                      self.ask("enqueue", "mnist", "--file", table,
                               code=2).err)
        for text, why in (("lr\n", ":1: must have a line with the names"),
                          ("lr,lr\n1,2\n", ":1: has two columns"),
                          ("lr,b\n1\n", ":2: has 1 fields, and the first "
                                        "line 2")):
            table = self.write("wrong.csv", text)
            self.assertIn(table + why, self.ask("enqueue", "mnist", "--file",
                                                table, code=2).err)
        self.assertIn("give either --params or --file",
                      self.ask("enqueue", "mnist", code=2).err)
        self.assertIn("none.csv", self.ask("enqueue", "mnist", "--file",
                                           self.path("none.csv"), code=2).err)
        for given in (["--params", "{refuse: 1}"],
                      ["--file", self.write("more.csv", "refuse\n1\n")]):
            self.assertRegex(
                self.ask("enqueue", "mnist", "--outside", *given, code=2).err,
                '"?outside"?: ?\\[')

    def test_fork(self):
        done = self.ask("fork", "mnist", 3, "--at", 40, "--params", "{lr: 1}")
        self.assertRegex(done.err, "^study mnist has [0-9]+ trials now; the "
                         "fork comes next, and shares 40 steps with trial 3\n$")
        self.assertIn("forks: [{trial: 3, at: 40, params: {refuse: 1}\n}]",
                      self.ask("fork", "mnist", 3, "--at", 40, "--params",
                               "{refuse: 1}", code=2).err)
        for missing in (["--at", 40], ["--params", "{lr: 1}"]):
            self.ask("fork", "mnist", 3, *missing, code=2)

    def test_note(self):
        self.assertEqual("no note\n", self.ask("note", "mnist").out)
        self.assertEqual("[a b] [paper] a baseline\n", self.ask(
            "note", "mnist", "a baseline", "--tag", "a b", "--tag",
            "paper").out)
        self.assertEqual("[paper] a baseline\n", self.ask(
            "note", "mnist", "--untag", "a b").out)
        def listed(*options):
            return [x["name"] for x in self.json("ls", *options)]
        self.assertEqual(["mnist"], listed("--tag", "paper"))
        self.assertEqual([], listed("--tag", "paper", "--tag", "a b"))
        self.assertEqual(["mnist"], listed("--search", "baseline"))
        self.assertIn("paper", self.ask("ls", "--columns", "name,tags").out)
        self.assertEqual("[paper] \n", self.ask("note", "mnist", "").out)
        self.assertEqual("no note\n", self.ask("note", "mnist", "--untag",
                                               "paper").out)

    def test_rm(self):
        done = self.ask("rm", "mnist", 1, 0)
        self.assertEqual(("", "study mnist: 2 trials are hidden (--undo shows "
                          "them again)\n"), (done.out, done.err))
        self.assertEqual("study mnist: 1 trial is shown again\n",
                         self.ask("rm", "mnist", 1, "--undo").err)
        self.assertIn("has no trial 9999",
                      self.ask("rm", "mnist", 9999, code=2).err)
        self.assertEqual("study mnist is hidden (--undo shows it again)\n",
                         self.ask("rm", "mnist").err)
        self.assertEqual("study mnist is shown again\n",
                         self.ask("rm", "mnist", "--undo").err)
        self.ask("rm", "mnist", "one", code=2)

    def test_set_space(self):
        trials = self.json("show", "mnist")["trials"]
        file = self.write("space.yaml", "space: {lr: 0.2}\n")
        rows = ('  dropout: added, {"uniform":[0,0.5]}\n'
                "  lr: 0.1 -> 0.2\n"
                "  momentum: dropped, it was 0.9\n")
        self.assertEqual(
            "study mnist would have a new space:\n" + rows
            + "  12 trials not begun: drawn anew, from this space\n"
            "  3 trials begun inside of it: samplers that learn use them\n"
            "  0 trials begun outside of it: kept, and not learned from\n"
            f"and then {trials} trials in all; nothing was changed "
            "(--dry-run)\n",
            self.ask("set-space", "mnist", file, "--dry-run").out)
        done = self.ask("set-space", "mnist", file)
        self.assertIn("study mnist has a new space:\n" + rows
                      + "  1 trial not begun: drawn anew", done.out)
        file = self.write("bad.yaml", "space: {refuse: 0.2}\n")
        self.assertIn(f"{file}: space.refuse: is unknown",
                      self.ask("set-space", "mnist", file, code=2).err)
        self.ask("set-space", "mnist", "none.yaml", code=2)

    def test_tell_past(self):
        metric = self.json("show", "mnist")["metric"]
        head = f"trial,step,state,{metric},params.lr\n"
        table = self.write("past.csv", head + "0,10,COMPLETE,0.5,0.1\n"
                           "1,0,FAILED,,0.2\n")
        done = self.ask("tell-past", "mnist", "--file", table)
        self.assertEqual(f"study mnist learns from 1 result of {table}; 1 line "
                         "without all its metrics is left out\n", done.err)
        table = self.write("bad.csv", head + "0,10,COMPLETE,0.5,refuse\n")
        self.assertIn('{"results":[{"params":{"lr":"refuse"},"metrics":{"'
                      + metric + '":0.5},"step":10}]}',
                      self.ask("tell-past", "mnist", "--file", table,
                               code=2).err)
        many = head + "0,10,COMPLETE,0.5,0.1\n" * 1000
        table = self.write("many.csv", many + "0,10,COMPLETE,0.5,refuse\n")
        self.assertIn("part 2 of 2 (1000 results each): ",
                      self.ask("tell-past", "mnist", "--file", table,
                               code=2).err)
        table = self.write("other.csv", "step,params.lr\n1,0.1\n")
        self.assertIn(f"{table}: no line has a number for each of {metric}",
                      self.ask("tell-past", "mnist", "--file", table,
                               code=2).err)

    def test_update_is_the_former_name_of_set_weight(self):
        done = self.ask("update", "mnist", "--weight", 1.5)
        self.assertEqual(self.json("show", "mnist")["weight"], 1.5)
        self.assertIn("warning: 'hippo update' is now 'hippo set-weight'; the "
                      "next release refuses the former name\n", done.err)

    def test_export(self):
        self.assertEqual(json.loads(
            self.ask("export", "mnist", "--json").out), {"name": "mnist"})
        file = self.path("trials.csv")
        self.assertEqual(self.ask("export", "mnist", "--csv", "-o",
                                  file).out, "")
        with open(file, newline="") as text:
            rows = list(csv.DictReader(text))
        self.assertEqual([x["best_value"] for x in rows],
                         ["0.52", "0.62", "0.72"])
        self.assertEqual([x["lr"] for x in rows], ["0.1", "0.2", "0.3"])
        self.assertIn("--csv, --json",
                      self.ask("export", "mnist", code=2).err)
        self.assertIn("cannot write",
                      self.ask("export", "mnist", "--csv", "-o",
                               self.path("none", "x"), code=1).err)

    def test_driving_a_study(self):
        file = self.write("mine.yaml", "study: mine\nalgorithm: client\n")
        self.ask("submit", file)
        done = self.ask("ask", "mine")
        self.assertEqual((done.out, done.err), ("0\n", "trial 0: lr=0.25\n"))
        self.assertEqual(self.json("ask", "mine", "--params",
                                   '{"lr": 0.5}'),
                         {"trial": 1, "params": {"lr": 0.5}})
        self.assertEqual(self.ask("train", "mine", 1, "--until", 3).out,
                         "metric        value\nval_accuracy  0.63\n")
        self.assertEqual(
            self.json("train", "mine", 0, "--until", 1)["metrics"],
            {"val_accuracy": 0.51})
        self.ask("tell", "mine", 1, "--value", 0.75, "--state", "PRUNED",
                 "--step", 3)
        trials = self.json("trials", "mine")
        self.assertEqual((trials[1]["state"], trials[1]["best"],
                          trials[1]["step"]), ("PRUNED", 0.75, 3))
        self.ask("close", "mine")
        self.assertEqual(self.json("show", "mine")["state"], "COMPLETE")

    def test_preview(self):
        file = self.write("a.yaml", "study: a\n")
        done = self.ask("preview", file, "--server", self.address)
        self.assertEqual(done.out.split()[:6], ["study", "trials", "asked",
                                                "unique", "known", "new"])
        self.assertEqual(done.out.split()[7:], ["3", "30", "20", "5", "15"])
        shown = self.json("preview", file, "--server", self.address)
        self.assertEqual(shown[0]["new_steps"], 15)


class Nobody(Case):
    def test_nobody_answers(self):
        for args in [["ls"], ["submit", self.write("a.yaml", "study: a\n")],
                     ["best", "x"], ["top"], ["pause", "x"]]:
            with self.subTest(args[0]):
                done = self.hippo(*args, "--server", "127.0.0.1:1", code=1)
                self.assertEqual(done.out, "")
                self.assertEqual(
                    done.err, "hippo: cannot connect to a service at "
                    "127.0.0.1:1: Connection refused; start one with: "
                    "hippo serve --state DIR\n")

    def test_somebody_else_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            def answer():
                stream, _ = other.accept()
                with stream:
                    stream.sendall(b"SSH-2.0-nothing\r\n")
                    stream.recv(1000)
            threading.Thread(target=answer, daemon=True).start()
            address = "127.0.0.1:%d" % other.getsockname()[1]
            done = self.hippo("ls", "--server", address, code=1)
        self.assertEqual(
            done.err, f"hippo: cannot connect to a service at {address}: who "
            "answers there does not speak as a service does to clients: give "
            "the port of its --rpc, and --keys FILE if it has keys\n")

    def test_names_that_nobody_has(self):
        done = self.hippo("ls", "--server", "nowhere.invalid:1", code=1)
        self.assertRegex(done.err, r"at nowhere\.invalid:1: [A-Z][a-z ]+; ")

    def test_a_weight_must_be_above_zero(self):
        done = self.hippo("set-weight", "x", "--weight", "0", "--server",
                          "127.0.0.1:1", code=2)
        self.assertIn("--weight: must be a number above 0, found 0\n",
                      done.err)

    def test_bad_address(self):
        done = self.hippo("ls", env={"HIPPO_SERVER": "nowhere"}, code=2)
        self.assertIn("'nowhere' is not HOST:PORT", done.err)

    def test_every_help_has_an_example(self):
        verbs = re.findall(r"(?m)^  ([a-z]+) {2,}", self.hippo("--help").out)
        self.assertIn("submit", verbs)
        for verb in verbs:
            with self.subTest(verb):
                self.assertIn("Example: hippo " + verb,
                              self.hippo(verb, "--help").out)


@unittest.skipUnless(TRAINER, "there is no trainer in this build")
@unittest.skipUnless(serves(), "hippo serve takes no clients yet")
class Service(Asking):
    """Against a real service with two trainers."""

    def setUp(self):
        super().setUp()
        self.serve()

    def serve(self):
        with open(self.path("service.log"), "w") as log:
            self.service = self.start(
                "serve", "--state", self.path("s"), "--trainers", 2, "--rpc",
                "127.0.0.1:0", "--listen", "127.0.0.1:0", "--http",
                "127.0.0.1:0", stdout=subprocess.DEVNULL, stderr=log)

        def address():
            with open(self.path("service.log")) as text:
                return re.search(r"clients connect to (\S+)", text.read())
        self.address = programs.wait_for("the service", address)[1]

    def test_a_study_from_submit_to_export(self):
        file, = self.studies(study("with-sha", SHA))
        done = self.ask("submit", file, "--wait")
        name = done.out.strip()
        self.assertIn(f"study {name} (with-sha): COMPLETE", done.err)
        shown = self.json("show", name)
        self.assertEqual((shown["finished"], shown["trials"]), (12, 12))
        self.assertGreater(shown["shared"], 0)
        trials = self.json("trials", name, "--sort", "best:desc")
        self.assertEqual(len(trials), 12)
        best = self.json("best", "with-sha")
        self.assertEqual((best["trial"], best["value"]),
                         (trials[0]["trial"], trials[0]["best"]))
        rows = list(csv.DictReader(io.StringIO(
            self.ask("export", name, "--csv").out)))
        self.assertEqual(len(rows), 12)
        self.assertEqual(
            len(json.loads(self.ask("export", name, "--json").out)["trials"]),
            12)
        self.assertEqual(len(self.json("top")), 2)
        self.ask("export", name, 0, "--weights", self.path("asked.pt"))
        self.ask("export", name, 0, "--weights", self.path("there"), "--step",
                 999, code=2)
        self.hippo("export", name, 0, "--weights", self.path("looked.pt"),
                   "--state", self.path("s"))
        with open(self.path("asked.pt"), "rb") as asked, \
                open(self.path("looked.pt"), "rb") as looked:
            self.assertEqual(asked.read(), looked.read())
        again = self.json("preview", file, "--server", self.address)
        self.assertEqual(again[0]["known_steps"] + again[0]["new_steps"],
                         again[0]["unique_steps"])
        self.preview_with_its_times(file)

    def preview_with_its_times(self, file):
        def machines(**kinds):
            return self.write("machines.yaml", json.dumps({"machines": {
                name: {"device": device, "price": 1, "count": 2}
                for name, device in kinds.items()}}))

        here = machines(here="cpu")
        other = json.loads(open(file).read())
        other["workload"]["seed"] = 2  # makes no step longer
        for what in (file, "with-sha",
                     self.write("other.yaml", json.dumps(other))):
            found = self.json("preview", what, "--server", self.address,
                              "--machines", here)
            self.assertRegex(found["sources"]["here"],
                             r"^measured \([0-9]+ stages?\)$")
            best = found["candidates"][found["cheapest"]]
            self.assertEqual(best["step_times"], found["sources"])
            self.assertGreater(best["seconds"]["mean"], 0)
        done = self.ask("preview", file, "--server", self.address,
                        "--machines", machines(here="cpu", l4="L4"), code=2)
        self.assertIn("machines.l4: has no profile of 'fashion-mlp'", done.err)
        self.assertIn("hippo profile STUDY -o l4.yaml", done.err)
        done = self.ask("preview", "nothing", "--server", self.address,
                        "--machines", here, code=2)
        self.assertIn("nothing is no file, and the service says", done.err)

    def test_how_trials_were_chosen(self):
        file, = self.studies(study(
            "learns", {"gp": {"startup": 3}}, every=3, steps=3))
        name = self.ask("submit", file, "--wait").out.strip()
        told = self.json("trials", name, "--columns",
                         "trial,chosen,predicted,untrained")
        self.assertEqual(12, len(told))
        self.assertEqual(["startup"] * 3, [x["chosen"] for x in told[:3]])
        model = [x for x in told if x["chosen"] == "model"]
        self.assertTrue(model)
        for x in model:
            self.assertIsInstance(x["predicted"], float)
        self.assertEqual(3, told[0]["untrained"])
        self.assertIsNone(told[0]["predicted"])

    def test_driving_a_study(self):
        file, = self.studies(study("mine", "client"))
        self.ask("submit", file)
        trial = self.ask("ask", "mine", "--params",
                         '{"lr": 0.1, "batch_size": 32, "momentum": 0.9}').out
        metrics = self.json("train", "mine", trial.strip(), "--until",
                            3)["metrics"]
        self.assertIn("val_accuracy", metrics)
        self.ask("tell", "mine", trial.strip())
        self.ask("close", "mine")
        self.ask("watch", "mine")
        self.assertEqual(self.json("show", "mine")["state"], "COMPLETE")

    def test_bad_study(self):
        file = self.write("x.yaml", "study: x\nworkload: {name: fashion-mpl}")
        self.assertIn("did you mean 'fashion-mlp'?",
                      self.ask("submit", file, code=2).err)
        good, = self.studies(study("good", SHA))
        self.assertEqual(self.ask("submit", good, file, code=2).out, "")
        self.assertEqual(self.json("ls"), [])

    def test_end_early(self):
        file, = self.studies(study("long", "grid", steps=2000, every=1000))
        self.ask("submit", file)
        self.ask("pause", "long")
        self.assertEqual(self.json("show", "long")["state"], "PAUSED")
        self.ask("resume", "long")
        self.ask("set-weight", "long", 2)
        self.ask("cancel", "long", "--reason", "no time")
        done = self.ask("watch", "long", "--quiet", code=1)
        self.assertIn("CANCELLED: no time", done.err)


if __name__ == "__main__":
    programs.main()
