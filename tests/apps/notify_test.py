#!/usr/bin/env python3
"""Events of studies are posted, signed, once the study's state is stored:
through crashes, and whatever the receiver does."""

import base64
import contextlib
import email
import hashlib
import hmac
import http.server
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import programs
from programs import Case, send, study, summing, wait_for


MAIL = os.path.join(os.path.dirname(__file__),
                    "../../examples/notify/mail.py")


class Receiver:
    """A receiver on loopback, which answers with the statuses it is given, the
    last one again and again."""

    def __init__(self, *statuses):
        self.statuses = list(statuses or [204])
        self.posts = []
        self.asked = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.asked += 1
                status = (outer.statuses.pop(0) if len(outer.statuses) > 1
                          else outer.statuses[0])
                if status < 300:
                    outer.posts.append((dict(self.headers.items()), body))
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{outer.url}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def bodies(self):
        return [json.loads(x) for _, x in self.posts]


class Mailbox:
    """A mail server that takes everything."""

    def __init__(self):
        self.received = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):  # it was closed
            while True:
                link, _ = self.server.accept()
                with link, link.makefile("rw", newline="\r\n") as talk:
                    self.take(talk)

    def take(self, talk):
        def say(text):
            talk.write(text + "\n")
            talk.flush()

        say("220 here")
        for line in talk:
            if line.upper().startswith("DATA"):
                say("354 go on")
                text = []
                for part in iter(talk.readline, ".\r\n"):
                    text.append(part)
                self.received.append("".join(text))
            say("221 bye" if line.upper().startswith("QUIT") else "250 fine")

    def close(self):
        self.server.close()


def is_signed(headers, body, key):
    """Checks as the specification "Standard Webhooks" has it."""
    headers = {name.lower(): value for name, value in headers.items()}
    text = (f"{headers['webhook-id']}.{headers['webhook-timestamp']}."
            ).encode() + body
    secret = base64.b64decode(key.removeprefix("whsec_"))
    found = base64.b64encode(hmac.digest(secret, text, hashlib.sha256))
    return headers["webhook-signature"] == f"v1,{found.decode()}"


def small(name, url, on=("ended",), **more):
    return {**study(name, "grid", every=1, steps=2,
                    lr={"choice": [0.1, 0.2]}),
            "workload": summing(0),
            "objective": {"metric": "total", "direction": "maximize"},
            "notify": {"url": url, "on": list(on)}, **more}


class Notify(Case):
    def receiver(self, *statuses):
        result = Receiver(*statuses)
        self.addCleanup(result.close)
        return result

    def key(self, state):
        with open(self.path(state, "notify.key")) as text:
            return text.read().strip()

    def serve(self, *args):
        process = self.start("serve", "--state", self.path("state"),
                             "--trainers", 1, *args)
        wait_for("the service", lambda: process.poll() is not None
                 or self.is_there(process))
        self.assertIsNone(process.poll(), self.stderr())
        return process

    def announced(self):
        with open(self.path("state", "service.json")) as text:
            return json.load(text)

    def is_there(self, process):
        # A service that was killed leaves its file.
        with contextlib.suppress(FileNotFoundError):
            return self.announced()["pid"] == process.pid
        return False

    def server(self):
        """The variable by which clients find the service."""
        return {"HIPPO_SERVER": self.announced()["clients"]}

    def rows(self):
        with contextlib.closing(sqlite3.connect(
                self.path("state", "hippo.db"))) as base:
            return base.execute(
                "SELECT event, due, number, trouble FROM notifications"
                " ORDER BY study, event").fetchall()

    def test_a_run_posts_its_ends_and_its_best_before_it_is_over(self):
        receiver = self.receiver()
        report = self.run_studies(
            self.studies(small("a", receiver.url + "/hook?x=1",
                               ["ended", "best"])),
            "state", "--trainers", 1)
        for headers, body in receiver.posts:
            self.assertTrue(is_signed(headers, body, self.key("state")))
        last = receiver.bodies()[-1]
        self.assertEqual({x["type"] for x in receiver.bodies()},
                         {"study.best", "study.ended"})
        end = next(x for x in receiver.bodies() if x["type"] == "study.ended")
        best = report["studies"][0]["best"]
        self.assertEqual(end["data"]["name"], "a")
        self.assertEqual(end["data"]["state"], "COMPLETE")
        self.assertEqual(end["data"]["best"]["trial"], best["trial"])
        self.assertEqual(end["data"]["best"]["value"], float(best["value"]))
        self.assertIn("Study a (1) has ended: COMPLETE. Best: trial ",
                      end["text"])
        self.assertIn(last, receiver.bodies())
        self.assertEqual(
            len({x["Webhook-Id"] if "Webhook-Id" in x else x["webhook-id"]
                 for x, _ in receiver.posts}), len(receiver.posts))

    def test_a_service_reaches_private_addresses_only_if_it_may(self):
        receiver = self.receiver()
        process = self.serve()
        self.hippo("submit", *self.studies(small("a", receiver.url)),
                   "--wait", env=self.server())
        wait_for("the refusal", lambda: self.rows() == [
            ("ended", 0, 1, "its address is one of this machine or of a "
             "private network")])
        self.assertEqual(receiver.asked, 0)
        send(process, signal.SIGTERM)
        self.finish(process, 0)

    def test_what_fails_is_posted_again_and_a_redirection_is_not_followed(self):
        receiver = self.receiver(500, 204)
        elsewhere = self.receiver(302)
        process = self.serve("--notify-private")
        self.hippo("submit", *self.studies(small("a", receiver.url),
                                           small("b", elsewhere.url)),
                   "--wait", env=self.server())
        wait_for("a second attempt", lambda: receiver.posts)
        wait_for("the end", lambda: [x[1] for x in self.rows()] == [0, 0])
        self.assertEqual(receiver.asked, 2)
        self.assertEqual(elsewhere.asked, 1)
        self.assertEqual(self.rows()[1], (
            "ended", 0, 1, "it answered with status 302, a redirection, "
            "which is not followed"))
        send(process, signal.SIGTERM)
        self.finish(process, 0)

    def test_a_key_that_others_can_read_signs_nothing(self):
        receiver = self.receiver()
        self.run_studies(self.studies(small("a", "http://127.0.0.1:1/")),
                         "state", "--trainers", 1)
        os.chmod(self.path("state", "notify.key"), 0o644)
        self.run_studies(self.studies(small("b", receiver.url)), "state",
                         "--trainers", 1)
        self.assertEqual(receiver.asked, 0)
        self.assertEqual([x[1] for x in self.rows()], [1, 1])
        os.chmod(self.path("state", "notify.key"), 0o600)
        self.run_studies(self.studies(small("c", receiver.url)), "state",
                         "--trainers", 1)
        self.assertEqual({x["data"]["name"] for x in receiver.bodies()},
                         {"b", "c"})

    def test_the_example_sends_an_email(self):
        mails = Mailbox()
        self.addCleanup(mails.close)
        files = self.studies(small("a", "http://127.0.0.1:1/"))
        self.run_studies(files, "state", "--trainers", 1)  # makes the key
        relay = subprocess.Popen(
            [sys.executable, "-B", MAIL, "--port", "0", "--smtp",
             f"127.0.0.1:{mails.port}", "--from", "a@example.org", "--to",
             "b@example.org"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "HIPPO_NOTIFY_KEY": self.key("state")})
        self.addCleanup(self.end, relay)
        port = int(relay.stdout.readline().split()[-1])
        url = f"http://127.0.0.1:{port}/"
        stranger = urllib.request.Request(url, b"{}", method="POST")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(stranger)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        self.run_studies(self.studies(small("b", url)), "state", "--trainers",
                         1)
        wait_for("the e-mail", lambda: mails.received)
        self.assertEqual(len(mails.received), 1)
        mail = email.message_from_string(mails.received[0])
        self.assertIn("Study b (2) has ended: COMPLETE.",
                      mail["subject"].replace("\n", ""))

    def test_what_is_due_is_posted_after_a_crash(self):
        receiver = self.receiver(503)
        process = self.serve("--notify-private")
        self.hippo("submit", *self.studies(small("a", receiver.url)),
                   "--wait", env=self.server())
        wait_for("an attempt", lambda: receiver.asked)
        send(process, signal.SIGKILL)
        process.wait()
        self.assertEqual([x[:2] for x in self.rows()], [("ended", 1)])
        receiver.statuses = [204]
        process = self.serve("--notify-private")
        wait_for("the notification", lambda: receiver.posts)
        wait_for("its record", lambda: self.rows() == [("ended", 0, 1, "")])
        self.assertEqual(len(receiver.posts), 1)
        send(process, signal.SIGTERM)
        self.finish(process, 0)


if __name__ == "__main__":
    programs.main()
