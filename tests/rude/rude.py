"""A service with parties that cost it what they can, and a victim beside them.

`RudeCase` starts a service and compares a victim's results, digit for digit,
with those of the victim alone. `Peer` says to the trainers' port whatever one
wants, `http` to the others. The environment is that of `programs`, and
HIPPO_SCHEMAS.
"""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request

import capnp

from nodes_test import NodeCase
from programs import HIPPO, results, summing, trainers, wait_for

# How long a victim may take for the same: its time alone, and so many seconds.
SLOWER = 1.5
LATER = 15
# A victim alone, by the text of its study: (results, seconds). Once a process.
_alone = {}

PIECES = {"choice": [
    0.05, *({"multistep": {"initial": 0.05, "milestones": [step],
                           "gamma": gamma}}
            for step, gamma in [(2, 0.3), (2, 0.7), (3, 0.5), (4, 0.1),
                                (4, 0.9)])]}


def victim(name="victim", steps=5, **more):
    """A study of six trials that share what they can, a second long."""
    return {"study": name, "workload": summing(),
            "objective": {"metric": "total", "direction": "maximize"},
            "max_steps": steps, "space": {"lr": PIECES}, "algorithm": "grid",
            **more}


class RudeCase(NodeCase):
    """A test with a service, whose state is `state`."""

    trainers = 1  # that the service starts by itself
    options = ()  # further ones of `hippo serve`

    def setUp(self):
        super().setUp()
        self.answers = []  # (what, seconds) of who looked in meanwhile
        self.serve()

    def serve(self, *options, wrap=(), env=None):
        """Starts the service; one that is there has ended."""
        log = open(self.path("serve.log"), "a")
        self.addCleanup(log.close)
        begin = os.path.getsize(self.path("serve.log"))
        self.service = subprocess.Popen(
            [*wrap, HIPPO, "serve", "--state", self.path("state"),
             "--listen", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http",
             "127.0.0.1:0", "--trainers", str(self.trainers), *self.options,
             *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, **(env or {})})
        self.addCleanup(self.end_service, self.service)

        def ports():
            self.assertIsNone(self.service.poll(), self.log())
            found = [re.search(rf"{who}[^\n]*?127\.0\.0\.1:(\d+)",
                               self.log()[begin:])
                     for who in ("hippo: trainers", "hippo: clients",
                                 "hippo: people")]
            return all(found) and [int(x[1]) for x in found]

        started = time.monotonic()
        self.port, self.rpc, self.http = wait_for("the service", ports)
        self.start_seconds = time.monotonic() - started

    @staticmethod
    def end_service(service):
        """Ends it, and the trainers that it has started."""
        if service.poll() is None:
            service.send_signal(signal.SIGTERM)
            try:
                service.wait(20)
            except subprocess.TimeoutExpired:
                own = trainers(service.pid)
                service.kill()
                service.wait()
                for trainer in own:
                    try:
                        os.kill(trainer, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

    def log(self):
        with open(self.path("serve.log"), errors="replace") as said:
            return said.read()

    def kill_service(self):
        self.service.kill()
        self.service.wait()

    # -- what clients and people do --------------------------------------------

    def ask(self, *args, code=0, seconds=60):
        """Runs a verb against the service."""
        begin = time.monotonic()
        said = subprocess.run(
            [HIPPO, *map(str, args), "--server", f"127.0.0.1:{self.rpc}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=seconds)
        self.answers.append((args[0], time.monotonic() - begin))
        if code is not None:
            self.assertEqual(said.returncode, code, said.stdout + said.stderr
                             + self.log()[-3000:])
        return said

    def submit(self, text, code=0, seconds=60):
        """Submits a study, of its fields or as text."""
        self.submitted = getattr(self, "submitted", 0) + 1
        return self.ask("submit", self.write(f"study-{self.submitted}.yaml",
                                             text),
                        code=code, seconds=seconds)

    def state_of(self, name):
        """The state of a study, as `hippo ls` has it; None: there is none."""
        listed = json.loads(self.ask("ls", "-f", "json").stdout)
        return next((x["state"] for x in reversed(listed)
                     if x["name"] == name), None)

    def get(self, path, seconds=10):
        """GET of the port for people: its status and the answer."""
        begin = time.monotonic()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}",
                                        timeout=seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode(errors="replace")
        finally:
            self.answers.append((path, time.monotonic() - begin))

    def slowest(self):
        """Who waited longest for an answer: (what, seconds)."""
        return max(self.answers, key=lambda x: x[1], default=("nobody", 0.0))

    def memory(self, field="VmRSS"):
        """MiB that the service has, or had at most (`VmHWM`)."""
        with open(f"/proc/{self.service.pid}/status") as status:
            return int(re.search(rf"{field}:\s+(\d+)", status.read())[1]) >> 10

    # -- the victim ------------------------------------------------------------

    def alone(self, text):
        """What a study gives that nobody is beside: results, and seconds."""
        key = json.dumps(text, sort_keys=True)
        if key not in _alone:
            file = self.write("alone.yaml", text)
            begin = time.monotonic()
            self.hippo("run", file, "--merge", "off", "--trainers", 1,
                       "--quiet", "--state", self.path("alone"))
            _alone[key] = (results(self.report("alone")),
                           time.monotonic() - begin)
        return _alone[key]

    def assert_unharmed(self, text):
        """A victim that was submitted ends in time, with its results alone."""
        want, seconds = self.alone(text)
        name = text["study"]
        wait_for(f"{name} to end",
                 lambda: self.state_of(name) not in ("WAITING", "RUNNING"),
                 SLOWER * seconds + LATER + 60)
        self.assertEqual(self.state_of(name), "COMPLETE", self.log()[-3000:])
        self.ask("export", name, "--json", "-o", self.path("got.json"))
        with open(self.path("got.json")) as text_file:
            got = results({"studies": [json.load(text_file, parse_float=str)]})
        self.assertEqual(got[name]["best"], want[name]["best"])
        self.assertEqual(got[name]["trials"], want[name]["trials"])


# -- who says what one wants to the trainers' port -----------------------------

GREETING = b"Hippo: trainers connect here. 1\n"
KINDS = {"alive": 1, "hello": 2, "welcome": 3, "lease": 4, "stop": 5,
         "cancel": 6, "report": 7, "ended": 8, "ack": 9, "resent": 10,
         "heartbeat": 11, "lost": 12, "goodbye": 13, "farewell": 14}
NAMES = {number: name for name, number in KINDS.items()}
PROTOCOL = 8
# Codes of `hippo::errc` that a lease may end with.
DIVERGED, BAD_CHECKPOINT, TRAINING_FAILED, CANCELLED = 6, 7, 8, 9

_parser = capnp.SchemaParser()
SCHEMA = _parser.load(
    os.path.join(os.environ["HIPPO_SCHEMAS"], "trainer.capnp"),
    imports=[os.path.dirname(os.path.dirname(capnp.__file__))])


def header(words, kind):
    return struct.pack("<IB3x", words, kind)


def frame(kind, message=b""):
    """@param message its bytes, or one that pycapnp has made"""
    if not isinstance(message, bytes):
        message = message.to_bytes()
    number = KINDS[kind] if isinstance(kind, str) else kind
    return header(len(message) // 8, number) + message


class Peer:
    """A connection to the trainers' port. What it says is up to the test."""

    def __init__(self, port, device="cpu rude", workload="command",
                 hello=True, **more):
        """@param more further fields of a `Hello`"""
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.heard = b""
        self.greeted = False
        self.number = None  # given by the service
        self.beats = 0
        self.socket.sendall(GREETING)
        if hello:
            message = SCHEMA.Hello.new_message(
                protocol=PROTOCOL, host="rude", processId=1, device=device,
                threads=1, memory=1 << 30, **more)
            workloads = message.init("workloads", 1)
            workloads[0].name = workload
            self.send("hello", message)

    def send(self, kind, message=b""):
        self.socket.sendall(frame(kind, message))

    def next(self, seconds=1.0):
        """The next frame: (kind, bytes); None if there is none in time,
        "closed" if there will be none."""
        end = time.monotonic() + seconds
        while True:
            if not self.greeted and len(self.heard) >= len(GREETING):
                self.heard = self.heard[len(GREETING):]
                self.greeted = True
            if self.greeted and len(self.heard) >= 8:
                words, kind = struct.unpack("<IB", self.heard[:5])
                size = 8 + 8 * words
                if len(self.heard) >= size:
                    body = self.heard[8:size]
                    self.heard = self.heard[size:]
                    return self.take(NAMES.get(kind, kind), body)
            left = end - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                more = self.socket.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError:
                return "closed"
            if not more:
                return "closed"
            self.heard += more

    def take(self, kind, body):
        if kind == "welcome":
            with SCHEMA.Welcome.from_bytes(body) as welcome:
                if welcome.which() == "accepted":
                    self.number = welcome.accepted.trainer
        return kind, body

    def wait(self, kind, seconds=20):
        """The next frame of a kind; None if it does not come, "closed"."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            got = self.next(left)
            if got is None or got == "closed":
                return got
            if got[0] == kind:
                return got[1]
        return None

    def beat(self, lease=0, at=0):
        """Says that it is there, at a step of a lease; 0: it is idle."""
        message = SCHEMA.Heartbeat.new_message(
            trainer=self.number, lease=lease, at=at, count=self.beats)
        self.beats += 1
        self.send("heartbeat", message)

    def report(self, lease, at, values=None, saved=None, **more):
        """Says that a lease has come to a step.

        @param values the metrics measured there
        @param saved (file, bytes, digest) of a checkpoint
        @param more further fields of a `StopReport`
        """
        stage = next((x for x in lease["stages"]
                      if x["begin"] < at <= x["end"]), lease["stages"][0])
        fields = {"lease": lease["number"], "at": at, "trainNanos": 1_000_000,
                  "node": stage["node"], "identity": stage["identity"],
                  "device": lease["device"],
                  "trainedSteps": max(at - lease["stages"][0]["begin"], 0)}
        message = SCHEMA.StopReport.new_message(**{**fields, **more})
        measured = message.init("values", len(values or {}))
        for slot, name in zip(measured, sorted(values or {})):
            slot.name, slot.value = name, values[name]
        if saved:
            kept = message.init("saved")
            kept.file, kept.bytes, kept.digest = saved
        self.send("report", message)

    def end(self, lease, at, code=None, message="", log=""):
        """Ends a lease, with a failure if there is a code."""
        said = SCHEMA.LeaseEnd.new_message(lease=lease["number"], at=at,
                                           log=log)
        if code is not None:
            failure = said.init("failure")
            failure.code, failure.message = code, message
        self.send("ended", said)

    def close(self):
        self.socket.close()


def read_lease(body, device="cpu rude"):
    """The fields of a lease that tests look at."""
    with SCHEMA.Lease.from_bytes(body, traversal_limit_in_words=1 << 26) as x:
        return {
            "number": x.number, "device": device, "folder": x.folder,
            "token": x.token, "depot": x.depot, "workload": x.workload.name,
            "stages": [{"node": y.node, "begin": y.begin, "end": y.end,
                        "identity": y.identity} for y in x.stages],
            "stops": [{"at": y.at, "evaluate": y.evaluate, "save": y.save,
                       "last": y.last} for y in x.stops]}


class Liar(threading.Thread):
    """A trainer that answers each lease as `answer(peer, lease)` does, until
    the test ends."""

    def __init__(self, case, port, answer, device, beat=True, **more):
        super().__init__(daemon=True)
        self.peer = Peer(port, device=device, **more)
        self.answer, self.device, self.beat = answer, device, beat
        self.leases = 0
        self.done = threading.Event()
        case.addCleanup(self.stop)
        self.peer.wait("welcome")

    def run(self):
        beaten = 0.0
        try:
            while not self.done.is_set():
                if self.beat and time.monotonic() - beaten > 1:
                    self.peer.beat()
                    beaten = time.monotonic()
                got = self.peer.next(0.2)
                if got == "closed":
                    break
                if got and got[0] == "lease":
                    self.leases += 1
                    self.answer(self.peer, read_lease(got[1], self.device))
        except OSError:
            pass  # it was let go

    def stop(self):
        self.done.set()
        if self.ident is not None:
            self.join()
        self.peer.close()


# -- who says what one wants to the other ports --------------------------------

def http(port, said, seconds=5, most=1 << 16):
    """Sends bytes, and returns what comes until the end, or in time."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), seconds) as peer:
        try:
            peer.sendall(said)
            while len(heard) < most and (more := peer.recv(1 << 16)):
                heard += more
        except OSError:
            pass
    return heard
