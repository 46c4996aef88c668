"""The package against a service that is scripted (fake_service.py)."""

import asyncio
import concurrent.futures
import contextlib
import gc
import io
import json
import math
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings
import weakref

import hippo_hpo as hippo
from hippo_hpo import _line, _tls, errors, progress

HERE = os.path.dirname(os.path.abspath(__file__))

# On a busy machine everything takes long; nothing here waits this long twice.
PATIENCE = 180

# For what has to end in vain; all that should succeed takes less.
BRIEF = 2

MNIST = {"name": "mnist", "state": "RUNNING", "metric": "val_accuracy",
         "maximize": True, "weight": 2.0, "algorithm": "asha",
         "workload": "abc", "trials": 4, "finished": 1, "askedSteps": 100,
         "deliveredSteps": 100, "sharedSteps": 25, "activeSeconds": 1.5,
         "savedSeconds": 0.5}

TRIAL = {"trial": 3, "state": "PAUSED",
         "params": json.dumps({"lr": {"step": [1, 2]}, "momentum": 0.9}),
         "askedSteps": 9, "deliveredSteps": 3, "sharedSteps": 2,
         "best": {"value": {"step": 3, "value": 0.75}},
         "chosen": "model", "predicted": {"value": 0.5},
         "untrained": {"value": 4}}


def study(trials=(), events=(), states=(), text="study: mnist\n", **info):
    return {"info": {**MNIST, **info}, "text": text, "trials": list(trials),
            "events": list(events), "states": list(states)}


class Fake:
    """A fake service, and what it was called for."""

    def __init__(self, state, port, *options):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "fake_service.py"), state,
             "--port", str(port), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.said = []
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.port = int(self.next("ready").split()[1])
        self.address = f"127.0.0.1:{self.port}"

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def next(self, word):
        """Waits for the next call that begins with a word."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            if line is None:
                raise AssertionError(f"ended before {word}: {self.said}")
            self.said.append(line)
            if line.split()[0] == word:
                return line

    def count(self, word):
        """How often something was called; ends the service."""
        self.end()
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            self.said.append(line)
        self._lines.put(None)
        return sum(x.split()[0] == word for x in self.said)

    def end(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.state = os.path.join(self.folder, "state.json")
        self.fakes = []

    def start(self, *options, studies=None, **content):
        """Starts a service; without `studies`, it goes on with what there
        is, at the address of the one before."""
        if studies is not None:
            with open(self.state, "w") as file:
                json.dump({"studies": studies, **content}, file)
        port = self.fakes[-1].port if self.fakes else 0
        fake = Fake(self.state, port, *options)
        self.addCleanup(fake.end)
        self.fakes.append(fake)
        return fake

    def connect(self, fake, timeout=PATIENCE):
        client = hippo.connect(fake.address, timeout=timeout)
        self.addCleanup(client.close)
        return client

    def fails(self, kind):
        return self.assertRaises(kind)


class Connecting(Case):
    def test_says_who_it_is_and_tells_whom_it_reached(self):
        fake = self.start(studies=[])
        with hippo.connect(fake.address) as client:
            self.assertEqual("1.2.3", client.service.version)
            self.assertEqual(self.state, client.service.state)
        said = fake.next("greet")
        self.assertIn(f"greet {client.service.protocol} hippo for Python",
                      said)
        self.assertIn(f"process {os.getpid()} on", said)

    def test_takes_the_address_from_the_environment(self):
        fake = self.start(studies=[])
        before = os.environ.get("HIPPO_SERVER")
        os.environ["HIPPO_SERVER"] = fake.address
        try:
            with hippo.connect() as client:
                self.assertEqual(fake.address, client.address)
        finally:
            if before is None:
                del os.environ["HIPPO_SERVER"]
            else:
                os.environ["HIPPO_SERVER"] = before

    def test_refuses_what_is_no_address(self):
        for address in ("", "localhost", ":1", "localhost:", "localhost:x",
                        "localhost:0", "localhost:65536", "::1:4849"):
            with self.fails(hippo.InvalidArgument) as failed:
                hippo.connect(address)
            self.assertIn("HOST:PORT is asked for", str(failed.exception))
        self.assertEqual(("::1", 4849), _line.split_address("[::1]:4849"))

    def test_a_socket_of_this_machine_is_an_address(self):
        path = os.path.join(self.folder, "socket")
        with self.fails(hippo.Disconnected) as failed:
            hippo.connect("unix:" + path, timeout=1)
        self.assertIn("No such file", str(failed.exception))
        with self.fails(hippo.InvalidArgument) as failed:
            hippo.connect("unix:" + path, credentials=__file__)
        self.assertIn("takes no credentials", str(failed.exception))

    def test_refuses_other_bad_arguments(self):
        with self.fails(hippo.InvalidArgument):
            hippo.connect("127.0.0.1:1", timeout=0)
        with self.fails(hippo.InvalidArgument) as failed:
            hippo.connect("127.0.0.1:1", credentials="/none/ada.pem")
        self.assertIn("/none/ada.pem", str(failed.exception))
        self.assertIn("hippo keys add", str(failed.exception))

    def test_fails_at_once_where_nobody_listens(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            with self.fails(hippo.Disconnected) as failed:
                hippo.connect(address)
        self.assertIn(address, str(failed.exception))
        self.assertIn("hippo serve", str(failed.exception))
        self.assertEqual("disconnected", failed.exception.code)

    def test_gives_the_reason_of_a_service_that_refuses(self):
        fake = self.start("--refuse", "incompatible_version: this service "
                          "speaks protocol 7", studies=[])
        with self.fails(hippo.IncompatibleVersion) as failed:
            self.connect(fake)
        self.assertEqual("this service speaks protocol 7",
                         str(failed.exception))
        self.assertEqual("incompatible_version", failed.exception.code)

    def test_says_that_an_older_service_is_to_be_upgraded(self):
        # As one of protocol 1 says it.
        fake = self.start("--refuse", "incompatible_version: this service "
                          "speaks version 1 and the client version 2: use the "
                          "same release of both", studies=[])
        with self.assertRaisesRegex(
                hippo.IncompatibleVersion,
                "client version 2: upgrade the service to the client's release "
                r"\(stop it, install that, and run hippo serve again\)$"):
            self.connect(fake)

    def test_notices_who_does_not_speak_as_a_service(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            def hang_up():
                other.accept()[0].close()
            thread = threading.Thread(target=hang_up)
            thread.start()
            with self.fails(hippo.Disconnected) as failed:
                hippo.connect("127.0.0.1:%d" % other.getsockname()[1])
            thread.join()
            self.assertIn("it ends the connection", str(failed.exception))
            self.assertIn("credentials", str(failed.exception))
            with self.fails(hippo.Disconnected) as failed:
                hippo.connect("127.0.0.1:%d" % other.getsockname()[1],
                              timeout=BRIEF)
            self.assertIn(f"no greeting for {BRIEF} s", str(failed.exception))

    def test_leaves_no_thread(self):
        before = threading.active_count()
        fake = self.start(studies=[])
        running = threading.active_count()
        client = self.connect(fake)
        self.assertEqual(running + 1, threading.active_count())
        client.close()
        client.close()
        self.assertEqual(running, threading.active_count())
        with self.fails(hippo.Closed):
            client.studies()
        with self.fails(hippo.IncompatibleVersion):
            fake.end()
            self.connect(self.start("--refuse", "incompatible_version: no"))
        self.fakes[-1].end()
        self.assertEqual(before, threading.active_count())

    def test_closes_what_nobody_refers_to_any_more(self):
        fake = self.start(studies=[study()])
        before = threading.enumerate()
        found = hippo.connect(fake.address).study(1)
        gc.collect()
        self.assertEqual("mnist", found.name)
        thread, = set(threading.enumerate()) - set(before)
        del found
        gc.collect()
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())


class Errors(unittest.TestCase):
    def test_have_a_class_for_each_code_or_else_the_code(self):
        for text, kind, code, message in (
                ("remote exception: unknown_study: no study 'a: b'",
                 hippo.UnknownStudy, "unknown_study", "no study 'a: b'"),
                ("not_allowed: no", hippo.NotAllowed, "not_allowed", "no"),
                ("in_use: by 7", hippo.Error, "in_use", "by 7"),
                ("remote exception: Something: else", hippo.Error, "failed",
                 "Something: else"),
                ("remote exception: what = invalid_study: a\nb: c\n",
                 hippo.InvalidStudy, "invalid_study", "a\nb: c")):
            error = errors.from_text(text)
            self.assertIs(kind, type(error))
            self.assertEqual((code, message, message),
                             (error.code, error.message, str(error)))

    def test_say_what_tls_means(self):
        for reason, said in (
                ("SSLV3_ALERT_CERTIFICATE_EXPIRED",
                 "it refuses ada.pem: it is expired, or not valid yet, by the "
                 "service's clock"),
                ("NO_SHARED_CIPHER", "TLS fails: ")):
            failure = ssl.SSLError(1, "no")
            failure.reason = reason
            self.assertTrue(_tls.explain(failure, "ada.pem").startswith(said))
        failure = ssl.SSLCertVerificationError(1, "no")
        for code, said in ((10, "its certificate is expired, or not valid"),
                           (19, "its certificate is of another authority"),
                           (62, "its certificate is not valid: why")):
            failure.verify_code, failure.verify_message = code, "why"
            self.assertTrue(_tls.explain(failure, "ada.pem").startswith(said))

    def test_timeouts_are_those_of_python_too(self):
        self.assertTrue(issubclass(hippo.Timeout, TimeoutError))


class Reading(Case):
    def test_a_connection_lets_go_of_the_studies_that_were_used_least(self):
        asked = []

        class Service:
            async def study(self, idOrName):
                asked.append(int(idOrName))
                return unittest.mock.Mock(study=f"study {idOrName}")

        async def use(numbers):
            return [await session.study(x) for x in numbers]

        session = _line.Session(None, None, None)
        session.service = Service()
        most = _line.STUDIES_HELD_MAX
        asyncio.run(use(range(1, most + 1)))
        self.assertEqual(asyncio.run(use([1, most, 1])),
                         ["study 1", f"study {most}", "study 1"])
        self.assertEqual(asked, list(range(1, most + 1)))
        asyncio.run(use([most + 1, 1, 2]))
        self.assertEqual(asked[most:], [most + 1, 2])

    def test_tells_of_studies(self):
        fake = self.start(studies=[
            study(best={"value": TRIAL}),
            study(name="other", state="CANCELLED", reason="by ada",
                  maximize=False)])
        first, second = self.connect(fake).studies()
        best = hippo.TrialInfo(
            number=3, state="PAUSED",
            params={"lr": {"step": [1, 2]}, "momentum": 0.9}, value=0.75,
            step=3, asked_steps=9, delivered_steps=3, shared_steps=2,
            failure="", chosen="model", predicted=0.5, untrained=4)
        self.assertEqual(hippo.StudyInfo(
            id=1, name="mnist", state="RUNNING", reason="",
            metric="val_accuracy", direction="maximize", weight=2.0,
            algorithm="asha", workload="abc", trials=4, finished=1,
            asked_steps=100, delivered_steps=100, shared_steps=25,
            best_trial=best, active_seconds=1.5, saved_seconds=0.5), first)
        self.assertFalse(first.ended)
        self.assertEqual(("minimize", None, "by ada", True),
                         (second.direction, second.best_trial, second.reason,
                          second.ended))

    def test_tells_of_costs_and_deadlines(self):
        fake = self.start(studies=[
            study(cost=12.5, costMax=40.0, deadlineSecondsLeft={"value": -60.0},
                  needed="3 more a100"),
            study()])
        self.assertEqual(
            [(12.5, 40, -60, "3 more a100"), (0, None, None, "")],
            [(x.cost, x.cost_max, x.deadline_seconds_left, x.needed)
             for x in self.connect(fake).studies()])

    def test_finds_studies_by_number_and_name(self):
        client = self.connect(self.start(studies=[
            study(), study(name="other", text="study: other\n"), study()]))
        self.assertEqual(2, client.study(2).id)
        self.assertEqual(2, client.study("other").id)
        self.assertEqual(3, client.study("mnist").id)
        found = client.study("other")
        self.assertEqual(("other", "RUNNING", "study: other\n"),
                         (found.name, found.state, found.text))
        self.assertEqual({"study": "other"}, found.export())
        with self.fails(hippo.UnknownStudy) as failed:
            client.study("mist")
        self.assertEqual("no study 'mist'.\nDid you mean 'mnist'?",
                         str(failed.exception))

    def test_tells_of_the_front(self):
        def metrics(**values):
            return [{"name": x, "value": y} for x, y in values.items()]

        front = {"goals": [{"metric": "acc", "maximize": True},
                           {"metric": "ms", "maximize": False}],
                 "constraints": ["ms <= 5"],
                 "points": [{"trial": 1, "step": 2, "values": metrics(
                                 acc=0.5, ms=3, x=math.nan)},
                            {"trial": 1, "step": 3, "values": metrics(
                                acc=0.4, ms=2, x=1)}],
                 "hypervolume": {"value": 0.25},
                 "reference": metrics(acc=0, ms=4)}
        one = {"goals": front["goals"][:1], "constraints": ["ms <= 5"]}
        client = self.connect(self.start(studies=[
            study([{**TRIAL, "trial": 0}, {**TRIAL, "trial": 1}],
                  front={"value": front}), study(front={"value": one})]))
        found = client.study(1)
        self.assertEqual({"acc": "maximize", "ms": "minimize"},
                         found.front.goals)
        self.assertEqual(("ms <= 5",), found.front.constraints)
        self.assertEqual([(1, 2), (1, 3)],
                         [(x.trial, x.step) for x in found.front.points])
        self.assertEqual(0.5, found.front.points[0].values["acc"])
        self.assertTrue(math.isnan(found.front.points[0].values["x"]))
        self.assertEqual(0.25, found.front.hypervolume)
        self.assertEqual({"acc": 0, "ms": 4}, found.front.reference)
        self.assertEqual([1], [x.number for x in found.best_trials])
        self.assertIn("front of 2, hypervolume 0.25",
                      progress.line_of(found.info))
        with self.assertRaisesRegex(hippo.InvalidArgument, "has one metric"):
            client.study(2).front
        self.assertEqual([], client.study(2).best_trials)

    def test_tells_of_the_best_trial(self):
        client = self.connect(self.start(studies=[
            study(best={"value": TRIAL}), study()]))
        found = client.study(1)
        self.assertEqual(3, found.best_trial.number)
        self.assertEqual(0.75, found.best_value)
        self.assertEqual(0.9, found.best_params["momentum"])
        with self.fails(hippo.InvalidArgument) as failed:
            client.study(2).best_value
        self.assertEqual("there is no result yet", str(failed.exception))

    def test_tells_of_the_best_of_each_length(self):
        def trial(number, length, value):
            best = {"value": {"step": length, "value": value}} \
                if value is not None else {"none": None}
            return {**TRIAL, "trial": number, "best": best,
                    "params": json.dumps({"steps.max": length, "lr": 0.1})}
        client = self.connect(self.start(studies=[
            study([trial(0, 20, 0.5), trial(1, 10, 0.25), trial(2, 20, 0.75),
                   trial(3, 10, None), trial(4, 10, 0.25)]),
            study([TRIAL])]))
        found = client.study(1).best_of_each_length
        self.assertEqual([(10, 1), (20, 2)],
                         [(length, x.number) for length, x in found.items()])
        self.assertEqual({}, client.study(2).best_of_each_length)

    def test_lists_trials_page_by_page(self):
        fake = self.start(studies=[study(
            {"trial": i, "state": "FAILED", "failure": "why"}
            for i in range(2001))])
        found = self.connect(fake).study(1)
        trials = found.trials
        self.assertEqual(list(range(2001)), [x.number for x in trials])
        self.assertEqual((None, None, {}, "why", "", None, None),
                         (trials[0].value, trials[0].step, trials[0].params,
                          trials[0].failure, trials[0].chosen,
                          trials[0].predicted, trials[0].untrained))
        for first in (0, 1000, 2000):
            self.assertEqual(f"trials {first} 1000", fake.next("trials"))

    def test_makes_a_table_of_trials(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        found = self.connect(self.start(studies=[study(
            [{"trial": 0, "state": "PENDING", "params": '{"lr": 0.5}'},
             TRIAL])])).study(1)
        table = found.trials_dataframe()
        self.assertIsInstance(table, pandas.DataFrame)
        self.assertEqual(["number", "value", "step", "state", "params_lr",
                          "asked_steps", "delivered_steps", "shared_steps",
                          "failure", "chosen", "predicted", "untrained",
                          "spread", "steps", "params_momentum"],
                         list(table.columns))
        self.assertEqual([0.5, {"step": [1, 2]}], list(table.params_lr))
        self.assertEqual(0.75, table.value[1])
        self.assertTrue(math.isnan(table.value[0]))

    def test_tells_of_trainers(self):
        fake = self.start(studies=[], trainers=[
            {"trainer": 0, "name": "gpu1 7", "device": "cuda H100",
             "memoryBytes": 85899345920, "driver": "13.0",
             "computeCapability": "9.0",
             "lease": {"value": {"values": "lr 0.1", "step": 3, "toStep": 9,
                                 "stepsPerSecond": 2.5, "lanes": 4}}},
            {"trainer": 1, "name": "gpu2 8", "device": "cpu", "lost": "killed",
             "noticeSeconds": 90, "failures": 2, "failure": "no room",
             "lease": {"none": None}}])
        busy, lost = self.connect(fake).trainers()
        self.assertEqual(hippo.TrainerInfo(
            number=0, name="gpu1 7", device="cuda H100", lost="",
            lease=hippo.LeaseInfo(values="lr 0.1", step=3, to_step=9,
                                  steps_per_second=2.5, lanes=4),
            memory_bytes=85899345920, driver="13.0",
            compute_capability="9.0"), busy)
        self.assertEqual(("killed", None), (lost.lost, lost.lease))
        self.assertEqual((90, 2, "no room"), (
            lost.notice_seconds, lost.failures, lost.failure))

    def test_tells_of_the_demand(self):
        fake = self.start(studies=[], trainers=[], demand={
            "trainers": 3,
            "work": [{"workload": "sum", "kinds": ["cuda H100"], "working": 1,
                      "waiting": 2, "seconds": {"value": 40.0},
                      "deadlineSeconds": {"none": None}}],
            "connected": [{"trainer": 7, "name": "lab-1:5", "device": "cpu",
                           "idleSeconds": {"value": 2.5}}]})
        self.assertEqual(hippo.Demand(
            trainers=3,
            work=(hippo.WorkDemand(workload="sum", kinds=("cuda H100",),
                                   working=1, waiting=2, seconds=40.0),),
            connected=(hippo.ConnectedTrainer(
                trainer=7, name="lab-1:5", device="cpu", idle_seconds=2.5),)),
            self.connect(fake).demand())

    def test_yields_events(self):
        fake = self.start(studies=[study(events=[
            {"id": 2, "time": 1.5, "trial": 1, "step": 3,
             "measured": [{"name": "a", "value": 1.0}]},
            {"id": 5, "trial": 1, "step": 4, "failure": "why"},
            {"id": 6, "command": {"verb": "pause", "text": "by ada"}},
            {"id": 7, "trial": 2, "chosen": "startup"}])])
        found = self.connect(fake).study(1)
        self.assertEqual(
            [hippo.Event(2, 1.5, 1, 3, {"a": 1.0}, None, None),
             hippo.Event(5, 0.0, 1, 4, None, "why", None),
             hippo.Event(6, 0.0, 0, 0, None, None, ("pause", "by ada")),
             hippo.Event(7, 0.0, 2, 0, None, None, None, "startup")],
            list(found.events()))
        self.assertEqual([7], [x.id for x in found.events(after=6)])

    def test_yields_events_page_by_page(self):
        fake = self.start(studies=[study(
            events=[{"id": i, "failure": "why"} for i in range(1, 2002)])])
        found = self.connect(fake).study(1)
        self.assertEqual(list(range(1, 2002)),
                         [x.id for x in found.events()])

    def test_previews(self):
        client = self.connect(self.start(studies=[]))
        self.assertEqual(
            {"trials": 4, "asked_steps": 9, "delivered_steps": 0,
             "unique_steps": 0, "merge_rate": 1.5, "k_wise_merge_rate": 1,
             "new_steps": 12, "studies": []},
            client.preview("study: mine\n", "mine"))


class Submitting(Case):
    def submitted(self, *args, **options):
        found = self.connect(self.start(studies=[])).submit(*args, **options)
        self.assertEqual(1, found.id)
        return found.name, found.text

    def test_takes_a_path(self):
        path = os.path.join(self.folder, "mine.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("study: mïne\n")
        self.assertEqual((path, "study: mïne\n"), self.submitted(path))

    def test_takes_a_text(self):
        self.assertEqual(("study", "study: a\nspace: {}\n"),
                         self.submitted("study: a\nspace: {}\n"))

    def test_takes_a_map(self):
        class Scalar:
            def item(self):
                return 0.25
        name, text = self.submitted(
            {"study": "mïne", "space": {"lr": Scalar(), "n": [1, 2]}})
        self.assertEqual("mïne", name)
        self.assertEqual({"study": "mïne",
                          "space": {"lr": 0.25, "n": [1, 2]}},
                         json.loads(text))
        self.assertIn("mïne", text)

    def test_takes_a_name(self):
        self.assertEqual("other", self.submitted({"study": "a"}, "other")[0])

    def test_refuses_what_it_cannot_write(self):
        client = self.connect(self.start(studies=[]))
        for x in ({"lr": math.nan}, {"lr": {1, 2}}, {"lr": object()}):
            with self.fails(hippo.InvalidArgument) as failed:
                client.submit(x)
            self.assertIn("the study cannot be written as JSON",
                          str(failed.exception))
        with self.fails(FileNotFoundError):
            client.submit(os.path.join(self.folder, "none.yaml"))
        self.assertEqual([], client.studies())

    def test_gives_every_finding_word_for_word(self):
        client = self.connect(self.start(studies=[]))
        with self.fails(hippo.InvalidStudy) as failed:
            client.submit({"nonsense": 1})
        self.assertEqual("mist.yaml:3:1: unknown key 'nonsense'\n"
                         "mist.yaml:4:1: and another", str(failed.exception))

    def test_passes_warnings_on(self):
        client = self.connect(self.start(studies=[]))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            client.submit({"study": "warn"})
        self.assertEqual(["one warning"], [str(x.message) for x in seen])
        self.assertEqual(__file__, seen[0].filename)

    def test_logs_what_was_decided(self):
        client = self.connect(self.start(studies=[]))
        with self.assertLogs("hippo_hpo", "INFO") as seen:
            client.submit({"study": "note"})
        self.assertEqual(["one note"], [x.getMessage() for x in seen.records])


class Steering(Case):
    def test_sends_each_command(self):
        fake = self.start(studies=[study()])
        found = self.connect(fake).study(1)
        for name, *args in (("pause",), ("resume",), ("stop",),
                            ("cancel", "enough"), ("close",)):
            getattr(found, name)(*args)
            self.assertEqual(" ".join([name, *args]), fake.next(name))
        self.assertEqual(4, found.retry())
        self.assertEqual("retry False", fake.next("retry"))
        self.assertEqual(2, found.retry([2, 3], all=True))
        self.assertEqual("retry 2 3 True", fake.next("retry"))
        found.set_weight(2.5)
        self.assertEqual("setWeight 2.5", fake.next("setWeight"))
        with self.fails(hippo.InvalidArgument) as failed:
            found.set_weight(0)
        self.assertIn("more than 0 is asked for", str(failed.exception))

    def test_gives_a_study_more(self):
        fake = self.start(studies=[study()])
        found = self.connect(fake).study(1)
        self.assertEqual(7, found.extend(trials=3, seconds=1.5))
        self.assertEqual("steer extend 3 1.5 0 0 0", fake.next("steer"))
        found.extend(deadline_seconds=60, steps=200, budget_steps=500)
        self.assertEqual("steer extend 0 0 60 200 500", fake.next("steer"))
        self.assertEqual(7, found.enqueue({"lr": 0.1}, {"lr": 0.2}))
        self.assertEqual(
            'steer enqueue {"trials":[{"lr":0.1},{"lr":0.2}]}',
            fake.next("steer").replace(": ", ":").replace(", ", ","))
        with self.fails(hippo.InvalidArgument) as failed:
            found.enqueue({"refuse": 1})
        self.assertIn("trials[0].refuse", str(failed.exception))
        fake.next("steer")
        found.enqueue({"lr": 7}, outside=True)
        self.assertEqual('steer enqueue {"outside": [{"lr": 7}]}',
                         fake.next("steer"))
        self.assertEqual(7, found.fork(3, 40, {"lr": 0.01}))
        self.assertEqual('steer enqueue {"forks": [{"trial": 3, "at": 40, '
                         '"params": {"lr": 0.01}}]}', fake.next("steer"))
        for wrong in (lambda: found.extend(trials=-1), found.enqueue):
            with self.fails(hippo.InvalidArgument):
                wrong()

    def test_sets_a_space_or_tells_its_effects(self):
        fake = self.start(studies=[study()])
        found = self.connect(fake).study(1)
        change = found.set_space({"lr": hippo.uniform(0.1, 0.2)}, dry_run=True)
        self.assertEqual(
            'steer setSpace {"space": {"lr": {"uniform": [0.1, 0.2]}}} True',
            fake.next("steer"))
        self.assertEqual(hippo.SpaceChange(
            changes=(hippo.ParameterChange("lr", "0.1", ""),), replaced=2,
            learned=3, outside=4, imported=5, trials=9), change)
        found.set_space({"lr": 0.1}, prior={"lr": {"mode": 0.1}})
        self.assertEqual(
            'steer setSpace {"space": {"lr": 0.1}, "prior": {"lr": {"mode": '
            "0.1}}} False", fake.next("steer"))
        with self.fails(hippo.InvalidArgument):
            found.set_space({"lr": object()})

    def test_sends_past_results_by_the_thousand(self):
        fake = self.start(studies=[study()])
        found = self.connect(fake).study(1)
        found.tell_past({"params": {"lr": i}, "metrics": {"loss": i}}
                        for i in range(1001))
        first, last = fake.next("steer"), fake.next("steer")
        self.assertTrue(first.startswith("steer tellPast"), first[:40])
        self.assertEqual((1000, 1),
                         (first.count('"loss"'), last.count('"loss"')))


class Waiting(Case):
    STATES = [{"finished": 1}, {"finished": 2, "best": {"value": TRIAL}},
              {"finished": 4, "state": "COMPLETE"}]

    def wait(self, out, **options):
        found = self.connect(self.start(
            studies=[study(states=self.STATES)])).study(1)
        with contextlib.redirect_stderr(out):
            return found.wait(**options)

    def test_writes_lines_where_it_cannot_redraw(self):
        out = io.StringIO()
        info = self.wait(out)
        self.assertEqual("COMPLETE", info.state)
        self.assertEqual(
            "mnist: RUNNING, 1 of 4 trials finished, 25% shared\n"
            "mnist: RUNNING, 2 of 4 trials finished, 25% shared, best 0.75 "
            "(trial 3)\n"
            "mnist: COMPLETE, 4 of 4 trials finished, 25% shared, best 0.75 "
            "(trial 3)\n", out.getvalue())

    def test_redraws_on_a_terminal(self):
        out = io.StringIO()
        out.isatty = lambda: True
        self.wait(out)
        lines = out.getvalue().split("\r")[1:]
        self.assertEqual(4, len(lines))
        self.assertTrue(lines[-1].endswith("(trial 3)\n"))
        self.assertNotIn("\n", "".join(lines[:-1]))

    def test_overwrites_the_rest_of_a_longer_line(self):
        out = io.StringIO()
        out.isatty = lambda: True
        show = progress.Progress(out)
        info = self.connect(self.start(studies=[study()])).studies()[0]
        show(hippo.StudyInfo(**{**vars(info), "name": "a-long-name"}))
        show(info)
        first, second = out.getvalue().split("\r")[1:]
        self.assertEqual(len(first), len(second))

    def test_is_silent_on_request(self):
        out = io.StringIO()
        self.wait(out, progress=False)
        self.assertEqual("", out.getvalue())

    def test_calls_back(self):
        seen = []
        self.wait(io.StringIO(), progress=lambda x: seen.append(x.finished))
        self.assertEqual([1, 1, 2, 4], seen)

    def test_ends_after_a_timeout(self):
        found = self.connect(self.start(studies=[study()])).study(1)
        with self.fails(hippo.Timeout) as failed:
            found.wait(progress=False, timeout=0.01)
        self.assertEqual("study 1 (mnist) is RUNNING after 0.01 s",
                         str(failed.exception))


class Training(Case):
    def setUp(self):
        super().setUp()
        self.fake = self.start(studies=[study()])
        self.study = self.connect(self.fake).study(1)

    def test_asks_trains_and_tells(self):
        trial = self.study.ask({"lr": 0.5})
        self.assertEqual('ask {"lr": 0.5}', self.fake.next("ask"))
        self.assertEqual((0, {"lr": 0.5}), (trial.number, trial.params))
        metrics = trial.train(4)
        self.assertEqual(2.0, metrics["val_accuracy"])
        self.assertTrue(math.isnan(metrics["loss"]))
        with self.assertWarnsRegex(DeprecationWarning,
                                   "until= .* is step= now") as warned:
            self.assertEqual(2.0, trial.train(until=4)["val_accuracy"])
        self.assertEqual(__file__, warned.filename)
        self.study.tell(trial, 0.7, step=4)
        self.assertEqual({"state": "COMPLETE", "step": 4,
                          "value": {"value": 0.7}}, self.told())
        self.study.tell(0, state="PRUNED")
        self.assertEqual({"state": "PRUNED", "step": 0,
                          "value": {"none": None}}, self.told())
        with self.fails(hippo.InvalidArgument) as failed:
            self.study.tell(0, state="DONE")
        self.assertIn("COMPLETE, PRUNED, FAILED", str(failed.exception))

    def told(self):
        return json.loads(self.fake.next("tell").partition(" 0 ")[2])

    def test_leaves_values_to_the_sampler(self):
        self.assertEqual({"lr": 0.1}, self.study.ask().params)
        self.assertEqual("ask ", self.fake.next("ask"))

    def test_raises_what_the_trainer_said(self):
        trial = self.study.ask({"lr": -1})
        with self.fails(hippo.TrialFailed) as failed:
            trial.train(3)
        self.assertEqual("the loss is nan\n  at step 1",
                         str(failed.exception))
        self.assertEqual((0, "FAILED", 1, "training_failed"),
                         (failed.exception.trial, failed.exception.state,
                          failed.exception.step, failed.exception.code))

    def test_raises_if_a_trial_ended_before(self):
        with self.fails(hippo.TrialFailed) as failed:
            self.study.ask({"lr": 2}).train(3)
        self.assertEqual("trial 0 ended at step 2, before step 3: it is "
                         "CANCELLED", str(failed.exception))

    def test_refuses_steps_that_are_none(self):
        with self.fails(hippo.InvalidArgument):
            self.study.ask().train(-1)

    def test_trains_many(self):
        trials = [self.study.ask({"lr": x}) for x in (0.5, -1, 1)]
        first, failed, third = self.study.train_many(
            (x, 2) for x in trials)
        self.assertEqual((1.0, 2.0),
                         (first["val_accuracy"], third["val_accuracy"]))
        self.assertIsInstance(failed, hippo.TrialFailed)

    def test_gives_futures(self):
        futures = [self.study.ask({"lr": x}).train_async(1)
                   for x in (0.5, 0.25)]
        done, _ = concurrent.futures.wait(futures, PATIENCE)
        self.assertEqual({0.5, 0.25},
                         {x.result()["val_accuracy"] for x in done})

    def test_a_callback_cannot_wait_for_the_service(self):
        seen = queue.Queue()

        def callback(_):
            try:
                self.study.info
            except hippo.Error as e:
                seen.put(str(e))
        # Blocks the thread, so that the callback runs on it.
        trial = self.study.ask()
        gate = threading.Event()
        self.study._client._line._loop.call_soon_threadsafe(gate.wait)
        future = trial.train_async(1)
        future.add_done_callback(callback)
        gate.set()
        self.assertIn("cannot wait for the service",
                      seen.get(timeout=PATIENCE))


class Hanging(Case):
    def test_more_trains_than_a_service_takes_wait_here(self):
        fake = self.start("--hang", "train", studies=[study()])
        found = self.connect(fake).study(1)
        futures = [found.train_async(found.ask(), 1)
                   for _ in range(_line.TRAINS_IN_FLIGHT_MAX + 1)]
        for _ in futures[1:]:
            most = fake.next("train")
        self.assertEqual(str(_line.TRAINS_IN_FLIGHT_MAX), most.split()[-1])
        # What is sent arrives in order.
        found._client.studies()
        fake.next("list")
        self.assertEqual(_line.TRAINS_IN_FLIGHT_MAX,
                         sum(x.startswith("train ") for x in fake.said))
        # Giving up waiting lets the next one go.
        self.assertTrue(futures[0].cancel())
        self.assertEqual(f"train {_line.TRAINS_IN_FLIGHT_MAX} 1",
                         fake.next("train").rpartition(" ")[0])

    def test_closing_ends_what_is_pending(self):
        fake = self.start("--hang", "train", studies=[study()])
        client = self.connect(fake)
        found = client.study(1)
        futures = [found.train_async(found.ask(), 1) for _ in range(3)]
        fake.next("train")
        client.close()
        for future in futures:
            self.assertIsInstance(future.exception(PATIENCE), hippo.Closed)

    def test_reads_end_after_a_timeout(self):
        client = self.connect(self.start("--hang", "list", studies=[study()]),
                              timeout=BRIEF)
        with self.fails(hippo.Timeout) as failed:
            client.studies()
        self.assertIn("cannot list studies: no answer from",
                      str(failed.exception))
        self.assertNotIn("carried out", str(failed.exception))
        self.assertEqual(1, client.study(1).id)  # on another connection
        self.assertEqual(2, self.fakes[0].count("greet"))

    def test_writes_may_have_been_carried_out(self):
        client = self.connect(self.start("--hang", "ask", studies=[study()]),
                              timeout=BRIEF)
        with self.fails(hippo.Timeout) as failed:
            client.study(1).ask()
        self.assertIn("it may or may not have been carried out",
                      str(failed.exception))

    def test_a_service_that_stopped_answering_is_left(self):
        fake = self.start("--hang", "train", studies=[study()])
        found = self.connect(fake, timeout=BRIEF).study(1)
        future = found.train_async(found.ask(), 1)
        fake.next("train")
        os.kill(fake.process.pid, signal.SIGSTOP)
        error = future.exception(PATIENCE)
        self.assertIsInstance(error, hippo.Disconnected)

    def test_training_may_take_longer_than_the_timeout(self):
        fake = self.start("--hang", "train", studies=[study()])
        found = self.connect(fake, timeout=BRIEF).study(1)
        fake.next("greet")
        future = found.train_async(found.ask(), 1)
        fake.next("train")
        fake.next("greet")  # asks whether anybody is there
        self.assertFalse(future.done())
        self.assertEqual(1, fake.count("train"))

    def program(self, text, *args):
        process = subprocess.Popen(
            [sys.executable, "-c", text, *args], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_an_interrupt_ends_waiting(self):
        fake = self.start("--hang", "train", studies=[study()])
        process = self.program(
            "import hippo_hpo as hippo, signal, sys\n"
            # In the background, a shell has it ignored.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "study = hippo.connect(sys.argv[1]).study(1)\n"
            "study.ask().train(1)\n", fake.address)
        fake.next("train")
        # The service hangs as well.
        os.kill(fake.process.pid, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(-signal.SIGINT, process.returncode)
        self.assertTrue(err.rstrip().endswith("KeyboardInterrupt"), err)

    def test_an_interrupted_call_is_given_up(self):
        fake = self.start("--hang", "train", studies=[study()])
        client = self.connect(fake)
        trial = client.study(1).ask()

        def interrupt():
            fake.next("train")
            os.kill(os.getpid(), signal.SIGINT)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.fails(KeyboardInterrupt):
            trial.train(1)
        thread.join()
        self.assertEqual(set(), client._line._futures)
        self.assertEqual(1, len(client.studies()))

    def test_a_program_may_end_without_closing(self):
        fake = self.start("--hang", "train", studies=[study()])
        process = self.program(
            "import hippo_hpo as hippo, sys\n"
            "study = hippo.connect(sys.argv[1]).study(1)\n"
            "future = study.ask().train_async(1)\n"
            "print(study.name)\n", fake.address)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((0, "mnist\n", ""), (process.returncode, out, err))

    def test_a_child_process_has_to_connect_itself(self):
        client = self.connect(self.start(studies=[study()]))
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forking with threads
            child = os.fork()
        if child == 0:
            try:
                client.studies()
            except hippo.Closed as e:
                os.write(write, str(e).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with open(read) as said:
            self.assertIn("connect again in this one", said.read())
        self.assertEqual(1, len(client.studies()))


class Restarts(Case):
    def test_training_goes_on(self):
        fake = self.start("--hang", "train", studies=[study()])
        found = self.connect(fake).study(1)
        futures = [found.train_async(found.ask({"lr": x}), 2)
                   for x in (0.5, 0.25)]
        fake.next("train")
        fake.next("train")
        fake.end()
        self.start()
        self.assertEqual([1.0, 0.5], [x.result(PATIENCE)["val_accuracy"]
                                      for x in futures])

    def test_events_go_on_after_the_last_one(self):
        def event(i):
            return {"id": i, "measured": [{"name": "a", "value": float(i)}]}
        first = [event(i) for i in range(1, 1502)]
        fake = self.start(studies=[study(events=first)])
        events = self.connect(fake, timeout=PATIENCE).study(1).events(
            follow=True)
        seen = [next(events).id for _ in range(1501)]
        fake.end()
        self.start(studies=[study(events=first + [event(1600)],
                                  state="COMPLETE")])
        seen += [x.id for x in events]
        self.assertEqual([*range(1, 1502), 1600], seen)

    def test_reads_find_the_next_service(self):
        fake = self.start(studies=[study()])
        client = self.connect(fake)
        found = client.study(1)
        fake.end()
        self.start()
        self.assertEqual("mnist", found.name)
        self.assertEqual(1, len(client.studies()))

    def test_what_was_not_sent_is_sent_to_the_next_service(self):
        fake = self.start(studies=[])
        client = self.connect(fake)
        fake.end()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            while client._line._session is not None:
                pass  # the loss has not been noticed
            pending = pool.submit(client.submit, {"study": "late"})
            self.start()
            self.assertEqual(1, pending.result(PATIENCE).id)

    def lose(self, method, call):
        """Calls for something in the middle of which the service dies."""
        fake = self.start("--hang", method, studies=[study()])
        client = self.connect(fake)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pending = pool.submit(call, client)
            fake.next(method)
            fake.end()
            error = pending.exception(PATIENCE)
        self.assertIsInstance(error, hippo.Disconnected)
        self.assertIn("it may or may not have been carried out", str(error))
        after = self.start()
        return str(error), client, after

    def test_submit_is_not_repeated(self):
        said, client, after = self.lose(
            "submit", lambda x: x.submit({"study": "once"}))
        self.assertIn("cannot submit once: the connection to", said)
        self.assertEqual(["mnist", "once"], [x.name for x in client.studies()])
        self.assertEqual(0, after.count("submit"))

    def test_ask_is_not_repeated(self):
        _, client, after = self.lose("ask", lambda x: x.study(1).ask())
        self.assertEqual([0], [x.number for x in client.study(1).trials])
        self.assertEqual(0, after.count("ask"))

    def test_tell_is_not_repeated(self):
        _, client, after = self.lose("tell", lambda x: x.study(1).tell(0, 1.0))
        client.studies()
        self.assertEqual(0, after.count("tell"))

    def test_a_call_that_always_costs_the_connection_is_given_up(self):
        fake = self.start("--drop", "list", studies=[study()])
        client = self.connect(fake, timeout=BRIEF)
        with self.fails(hippo.Disconnected) as failed:
            client.studies()
        self.assertIn("the connection was lost", str(failed.exception))
        self.assertEqual(1, client.study(1).id)
        self.assertGreater(fake.count("list"), 1)

    def test_a_service_that_stays_away_is_given_up(self):
        fake = self.start(studies=[study()])
        client = self.connect(fake, timeout=BRIEF)
        fake.end()
        with self.fails(hippo.Disconnected) as failed:
            client.studies()
        self.assertIn(f"cannot reach the service at {fake.address}",
                      str(failed.exception))


class Surroundings(Case):
    def test_works_where_an_event_loop_runs(self):
        fake = self.start(studies=[study()])

        async def cell():
            with hippo.connect(fake.address) as client:
                return client.study(1).name
        self.assertEqual("mnist", asyncio.run(cell()))

    def test_serves_several_threads_while_objects_are_collected(self):
        fake = self.start(studies=[study(best={"value": TRIAL})])
        client = self.connect(fake)
        before = gc.get_threshold()
        gc.set_threshold(5)  # collects on all threads, all the time
        try:
            def work(i):
                for j in range(25):
                    found = client.study(1)
                    trial = found.ask({"lr": i / 10})
                    if trial.train(j)["val_accuracy"] != i / 10 * j:
                        return "wrong metrics"
                    try:
                        client.study("none")
                        return "found it"
                    except hippo.UnknownStudy:
                        pass
                return None
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                self.assertEqual([None] * 8, list(pool.map(work, range(8))))
        finally:
            gc.set_threshold(*before)
        self.assertEqual(list(range(200)),
                         [x.number for x in client.study(1).trials])

    def test_connections_are_freed_where_they_live(self):
        # And without help of the garbage collector, which runs anywhere.
        seen = []
        make = _line.Session.__init__

        def noted(session, *args):
            make(session, *args)
            seen.append(None)
            weakref.finalize(session, lambda i=len(seen) - 1: seen.__setitem__(
                i, threading.current_thread()))
        gc.collect()
        gc.disable()
        try:
            with unittest.mock.patch.object(_line.Session, "__init__", noted):
                fake = self.start("--hang", "train", studies=[study()])
                client = self.connect(fake)
                found = client.study(1)
                with self.fails(hippo.UnknownStudy):
                    client.study("none")
                pending = found.train_async(found.ask(), 1)
                fake.next("train")
                fake.end()
                fake = self.start()
                pending.result(PATIENCE)
                fake.end()
                self.start("--refuse", "not_allowed: no")
                with self.fails(hippo.NotAllowed):
                    found.info
                line = client._line
                for _ in range(10):  # rounds of the event loop
                    line._result(line._start(lambda: asyncio.sleep(0)))
                self.assertEqual([line._thread] * 3, seen)
        finally:
            gc.enable()

    def test_several_clients_side_by_side(self):
        fake = self.start(studies=[study()])
        with hippo.connect(fake.address) as a, \
                hippo.connect(fake.address) as b:
            self.assertEqual(a.studies(), b.studies())


def has_keys():
    """Whether there is a program that makes keys."""
    program = os.environ.get("HIPPO", "")
    return os.path.exists(program) and subprocess.run(
        [program, "keys", "--help"], capture_output=True).returncode == 0


@unittest.skipUnless(has_keys(), "HIPPO names no program with `hippo keys`")
class Credentials(Case):
    def setUp(self):
        super().setUp()
        self.keys("init")
        self.keys("add", "ada", "--role", "client")
        self.fake = self.start(
            "--tls", self.key("service.pem"), self.key("authority/client.crt"),
            studies=[study()])
        self.address = self.fake.address

    def keys(self, *args, folder="keys"):
        subprocess.run(
            [os.environ["HIPPO"], "keys", *args, "--keys",
             os.path.join(self.folder, folder)],
            check=True, capture_output=True)

    def key(self, name, folder="keys"):
        return os.path.join(self.folder, folder, name)

    def refused(self, **options):
        with self.fails(hippo.Disconnected) as failed:
            hippo.connect(self.address, **options)
        return str(failed.exception)

    def test_let_a_client_in(self):
        with hippo.connect(self.fake.address,
                           credentials=self.key("ada.pem")) as client:
            self.assertEqual("mnist", client.study(1).name)
            # Also when the service has come back.
            self.fake.end()
            self.start("--tls", self.key("service.pem"),
                       self.key("authority/client.crt"))
            self.assertEqual("mnist", client.study(1).name)

    def test_are_asked_for(self):
        self.assertIn("it may ask for credentials", self.refused())

    @contextlib.contextmanager
    def service_that_refuses(self, clients):
        """A service that says in TLS why it lets nobody in; asyncio's own
        hangs up without a word."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.key("service.pem"))
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED

        def serve():
            while True:
                connection = server.accept()[0]
                with contextlib.suppress(OSError), connection:
                    context.wrap_socket(connection, server_side=True).close()
                    return  # somebody whom it lets in
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=serve)
            thread.start()
            self.address = "127.0.0.1:%d" % server.getsockname()[1]
            yield
            good = ssl.create_default_context(cafile=self.key("ada.pem"))
            good.load_cert_chain(self.key("ada.pem"))
            with socket.create_connection(server.getsockname()) as end, \
                    good.wrap_socket(end, server_hostname="hippo") as last:
                last.recv(1)
            thread.join()

    def test_of_another_role_are_refused(self):
        self.keys("add", "gpu1", "--role", "trainer")
        with self.service_that_refuses(self.key("authority/client.crt")):
            said = self.refused(credentials=self.key("gpu1.pem"))
        self.assertIn("it refuses " + self.key("gpu1.pem"), said)
        self.assertIn("its role has no business at this port", said)

    def test_are_named_if_no_reason_is_given(self):
        self.keys("add", "gpu1", "--role", "trainer")
        said = self.refused(credentials=self.key("gpu1.pem"))
        self.assertIn("it ends the connection, given "
                      + self.key("gpu1.pem"), said)

    def test_of_another_authority_do_not_trust_the_service(self):
        self.keys("init", folder="other")
        self.keys("add", "ada", "--role", "client", folder="other")
        said = self.refused(credentials=self.key("ada.pem", "other"))
        self.assertIn("its certificate is of another authority", said)
        self.assertIn(self.key("ada.pem", "other"), said)

    def test_are_of_no_use_where_nobody_speaks_tls(self):
        self.fake.end()
        self.start()
        said = self.refused(credentials=self.key("ada.pem"))
        self.assertIn("what listens there does not speak TLS", said)

    def test_must_be_a_whole_file(self):
        with self.fails(hippo.InvalidArgument) as failed:
            hippo.connect(self.fake.address,
                          credentials=self.key("authority/client.crt"))
        self.assertIn("hippo keys add", str(failed.exception))


if __name__ == "__main__":
    unittest.main()
