#!/usr/bin/env python3
"""examples/deploy/preemption, with a stand-in for each cloud on loopback."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import unittest

PROGRAM = os.path.join(os.path.dirname(__file__), "..", "..", "examples",
                       "deploy", "preemption")

# Leaves with 7 when it is told to, and says so.
TRAINER = """
import signal, sys
def leave(number, _):
    print("told", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, leave)
print("there", flush=True)
while True:
    signal.pause()
"""


class Cloud(http.server.BaseHTTPRequestHandler):
    """What the metadata services of three clouds say."""

    def answer(self, code, text=""):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        wants = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
        self.answer(200 if self.path == "/latest/api/token" and wants else 400,
                    "secret")

    def do_GET(self):
        server = self.server
        goes = server.goes.is_set()
        server.asked.release()
        if server.broken:
            self.answer(500)
        elif self.path == "/latest/meta-data/spot/instance-action":
            if self.headers.get("X-aws-ec2-metadata-token") != "secret":
                self.answer(401)
            elif goes:
                self.answer(200, json.dumps({"action": "terminate",
                                             "time": "2030-01-01T00:00:00Z"}))
            else:
                self.answer(404)
        elif self.path == "/computeMetadata/v1/instance/preempted":
            is_allowed = self.headers.get("Metadata-Flavor") == "Google"
            self.answer(200 if is_allowed else 403, "TRUE" if goes else "FALSE")
        elif self.path == "/metadata/scheduledevents?api-version=2020-07-01":
            is_allowed = self.headers.get("Metadata") == "true"
            events = [{"EventType": "Reboot"}]
            if goes:
                events.append({"EventType": "Preempt"})
            self.answer(200 if is_allowed else 400,
                        json.dumps({"Events": events}))
        else:
            self.answer(400)

    def log_message(self, *args):
        pass


def start_cloud(case):
    """Starts a stand-in for the clouds; it ends with the test."""
    cloud = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cloud)
    cloud.goes = threading.Event()
    cloud.asked = threading.Semaphore(0)
    cloud.broken = False
    thread = threading.Thread(target=cloud.serve_forever)
    thread.start()
    case.addCleanup(thread.join)
    case.addCleanup(cloud.server_close)
    case.addCleanup(cloud.shutdown)
    return cloud


class Preemption(unittest.TestCase):
    def setUp(self):
        self.cloud = start_cloud(self)

    def start(self, cloud, *command):
        address = f"http://127.0.0.1:{self.cloud.server_port}/"
        process = subprocess.Popen(
            [sys.executable, "-B", PROGRAM, "--cloud", cloud, "--every", "0.05",
             "--address", address, "--",
             *(command or (sys.executable, "-c", TRAINER))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_the_trainer_is_told_once_the_machine_has_to_go(self):
        for cloud in ("aws", "gcp", "azure"):
            with self.subTest(cloud):
                self.cloud.goes.clear()
                process = self.start(cloud)
                self.assertEqual(process.stdout.readline(), "there\n")
                for _ in range(3): # and is left alone before
                    self.assertTrue(self.cloud.asked.acquire(timeout=60))
                self.assertIsNone(process.poll())
                self.cloud.goes.set()
                self.assertEqual(process.wait(60), 7)
                self.assertEqual(process.stdout.read(), "told\n")
                self.assertEqual(process.stderr.read(), "preemption: the "
                                 "machine has to go: SIGTERM to the trainer\n")

    def test_a_cloud_that_does_not_answer_takes_no_trainer_away(self):
        self.cloud.broken = True
        process = self.start("gcp")
        self.assertEqual(process.stdout.readline(), "there\n")
        for _ in range(3):
            self.assertTrue(self.cloud.asked.acquire(timeout=60))
        self.assertIsNone(process.poll())
        self.cloud.broken = False
        self.cloud.goes.set()
        self.assertEqual(process.wait(60), 7)
        said = process.stderr.read()
        self.assertEqual(said.count("cannot ask the cloud: HTTP Error 500"), 1)

    def test_ends_as_the_trainer_ends(self):
        process = self.start("aws", sys.executable, "-c",
                             "import sys; sys.exit(3)")
        self.assertEqual(process.wait(60), 3)

    def test_signals_are_passed_on(self):
        process = self.start("aws")
        self.assertEqual(process.stdout.readline(), "there\n")
        # Once it has asked, it has set its handlers.
        self.assertTrue(self.cloud.asked.acquire(timeout=60))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 7)

    def test_bad_input(self):
        for args, why in {("--cloud", "moon", "--", "true"): "invalid choice",
                          ("--cloud", "aws"): "required",
                          ("--cloud", "aws", "--every", "0", "--", "true"):
                          "--every must be above 0",
                          ("--cloud", "aws", "--", "/nowhere/trainer"):
                          "cannot start /nowhere/trainer"}.items():
            with self.subTest(args):
                done = subprocess.run([sys.executable, "-B", PROGRAM, *args],
                                      capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
