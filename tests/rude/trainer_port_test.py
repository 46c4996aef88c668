#!/usr/bin/env python3
"""Peers at the trainers' port that cost the service what they can."""

import time
import unittest

from programs import wait_for
from rude import PROTOCOL, SCHEMA, Peer, RudeCase, frame, header, victim

# The memory that peers may take together, in MiB, and what else varies.
ROOM = 64
SLACK = 120


class TrainerPort(RudeCase):
    options = ("--memory-limit", f"{4 * ROOM}MiB")

    def peer(self, **more):
        peer = Peer(self.port, **more)
        self.addCleanup(peer.close)
        if more.get("hello", True):
            self.assertIsNotNone(peer.wait("welcome"))
        return peer

    def test_reports_for_what_nobody_knows(self):
        peer = self.peer()
        message = SCHEMA.Resent.new_message(workload="nobody knows this")
        report = message.init("report")
        report.lease, report.at, report.node, report.device = 7, 1, 1, "rude"
        report.identity, report.output = 1, "o" * 60_000
        values = report.init("values", 1000)
        for i, value in enumerate(values):
            value.name, value.value = f"m{i:04d}" + "n" * 500, 1.0
        before = self.memory()
        said = frame("resent", message)
        peer.socket.settimeout(30)
        for _ in range(4 * ROOM * (1 << 20) // len(said)):
            peer.socket.sendall(said)
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)
        self.assertLess(self.memory(), before + ROOM + SLACK)
        peer.close()

    def test_half_messages(self):
        before = self.memory()
        half = frame("report", b"\0" * (2 << 20))[:1 << 20]
        peers, told = [], 0
        for _ in range(2 * ROOM):
            peer = self.peer(device="rude")
            peers.append(peer)
            try:
                peer.socket.sendall(half)
            except OSError:
                told += 1  # others made it room
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)
        self.assertLess(self.memory(), before + ROOM + SLACK)
        self.assertEqual(self.get("/healthz")[0], 200)

    def test_a_header_and_then_a_byte_now_and_then(self):
        peer = self.peer()
        peer.socket.sendall(header((8 << 20) // 8, 7))

        def is_let_go():
            try:
                peer.socket.sendall(b"\0")
            except OSError:
                return True
            return peer.next(1) == "closed"

        begin = time.monotonic()
        wait_for("it to be let go", is_let_go, 90)
        self.assertGreater(time.monotonic() - begin, 10)

    def test_many_that_say_nothing_keep_nobody_out(self):
        silent = [self.peer(hello=False) for _ in range(300)]
        for peer in silent:
            peer.socket.settimeout(1)
        self.peer(workload="another")
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)

    def test_names_write_no_lines_of_their_own(self):
        evil = "evil\x1b]0;title\x07\n2026-01-31 12:00:00.000 info forged"
        self.peer(device="cpu \x1b[31mred\x1b[0m", workload="another")
        peer = Peer(self.port, hello=False)
        self.addCleanup(peer.close)
        message = SCHEMA.Hello.new_message(
            protocol=PROTOCOL, host=evil, processId=1, device="cpu rude",
            threads=1, memory=1 << 30)
        message.init("workloads", 1)[0].name = "another"
        peer.send("hello", message)
        self.assertIsNotNone(peer.wait("welcome"))

        def log():
            with open(self.path("state/hippo.log"), errors="replace") as said:
                text = said.read()
            return text if "evil" in text else None

        text = wait_for("the log to name it", log)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\x07", text)
        self.assertFalse([x for x in text.splitlines()
                          if x.endswith("forged") and "evil" not in x])


if __name__ == "__main__":
    unittest.main()
