#!/usr/bin/env python3
"""Peers at the trainers' port that send what they like, beside a trainer at
work. None of it reaches any actor but the registrar, and the work goes on."""

import re
import resource
import socket
import struct
import threading
import time

import programs
from programs import SHA, wait_for
from nodes_test import NodeCase
from rude import GREETING, KINDS, PROTOCOL, frame, header, victim

HELLO, LEASE, REPORT, ENDED, RESENT, HEARTBEAT = (
    KINDS[x] for x in ("hello", "lease", "report", "ended", "resent",
                       "heartbeat"))
MIB = 1 << 20


def a_hello(device=b"cpu rude"):
    """A Hello with a kind of device, by hand: no workloads."""
    def text(words_ahead, value):
        return struct.pack("<II", words_ahead << 2 | 1,
                           (len(value) + 1) << 3 | 2)
    body = device + b"\0" * (8 - len(device) % 8)
    # Three words of data, six pointers, then the text.
    root = struct.pack("<IHH", 0, 3, 6)
    data = struct.pack("<IIQQ", PROTOCOL, 0, 4711, 0)
    pointers = [bytes(8)] * 6
    pointers[1] = text(4, device)
    message = root + data + b"".join(pointers) + body
    return struct.pack("<II", 0, len(message) // 8) + message


# -- what CAF's BASP was: the ids of actors are guessed -----------------------

LETTERS = (" 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
           "abcdefghijklmnopqrstuvwxyz")


def atom(word):
    value = 0xF
    for letter in word:
        value = value << 6 | LETTERS.index(letter)
    return struct.pack(">Q", value)


def basp(operation, payload, data=0, to=0):
    return struct.pack(">BBBBIQQQ", operation, 0, 0, 0, len(payload), data, 0,
                       to) + payload


def basp_message(to, word):
    kinds = b"@<>+@atom"
    return basp(2, b"\0" + struct.pack(">H", 0) + bytes([len(kinds)]) + kinds
                + atom(word), 0x1000000000000000, to)


def basp_attack():
    node = atom("default") + struct.pack(">I", 4242) + b"\7" * 20
    return basp(1, node) + b"".join(
        basp_message(to, word) for to in range(1, 200)
        for word in ("halt", "retire", "go"))


class RudePeers(NodeCase):
    def setUp(self):
        super().setUp()
        file = self.write("sha.yaml", victim("sha", steps=9, eval_every=2,
                                             algorithm=SHA))
        self.service = self.start(
            "serve", "--state", self.path("state"), "--listen", "127.0.0.1:0",
            "--rpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        self.ports = wait_for("the service", lambda: (
            lambda x: len(x) == 2 and x)(re.findall(
                r"(?:trainers|clients) connect to 127\.0\.0\.1:(\d+)",
                self.stderr())))
        self.healthy = self.trainer(f"127.0.0.1:{self.ports[0]}")
        self.await_word(self.healthy, "registered as number 1")
        self.hippo("submit", file, "--server", f"127.0.0.1:{self.ports[1]}")

    def connect(self):
        return socket.create_connection(("127.0.0.1", int(self.ports[0])), 20)

    def assert_let_go(self, said):
        """Whoever says that is greeted and let go."""
        with self.connect() as peer:
            heard = b""
            try:
                peer.sendall(said)
                while part := peer.recv(4096):
                    heard += part
            except ConnectionError:
                pass
            self.assertEqual(heard[:len(GREETING)], GREETING[:len(heard)])

    def memory(self):
        """Bytes that the service has."""
        with open(f"/proc/{self.service.pid}/statm") as figures:
            return int(figures.read().split()[1]) * resource.getpagesize()

    def assert_healthy(self):
        """The study comes to its end, and the trainer has noticed nothing."""
        self.hippo("watch", "sha", "--server",
                   f"127.0.0.1:{self.ports[1]}")
        self.assertNotIn("lost", self.said(self.healthy))
        self.assertNotIn("lost trainer 1", self.stderr())

    def test_what_no_trainer_may_say(self):
        before = self.memory()
        for said in (basp_attack(), b"GET / HTTP/1.1\r\n\r\n",
                     GREETING + header(0xffffffff, HELLO),
                     GREETING + header(1, REPORT),
                     GREETING + frame(HELLO, a_hello()) + header(1, LEASE),
                     GREETING + frame(HELLO, b"\xff" * 64),
                     GREETING + frame(HELLO, a_hello())
                     + frame(REPORT, b"\xff" * 80)):
            self.assert_let_go(said)
        # What a long header announces takes no memory before it comes.
        waiting = [self.connect() for _ in range(50)]
        for peer in waiting:
            peer.sendall(GREETING + frame(HELLO, a_hello())
                         + header(MIB, RESENT) + bytes(64))
        wait_for("50 trainers", lambda: self.stderr().count("cpu rude") >= 51)
        self.assertLess(self.memory() - before, 64 * MIB)
        self.assert_healthy()
        for peer in waiting:
            peer.close()
        self.assertIn("turned away from the trainers' port", self.stderr())
        self.assertLess(self.stderr().count("turned away"), 20)

    def test_who_speaks_in_others_names(self):
        with self.connect() as peer:
            said = GREETING + frame(HELLO, a_hello())
            for number in range(8):
                # One word for the frame of Cap'n Proto, one for the root.
                def message(*words):
                    return (struct.pack("<IIIHH", 0, 1 + len(words), 0,
                                        len(words), 0)
                            + struct.pack(f"<{len(words)}Q", *words))
                said += frame(HEARTBEAT, message(number, 0, 0, 0))
                said += frame(13, message(number))  # goodbye
                said += frame(ENDED, message(number, 0))
            peer.sendall(said)
            self.assert_healthy()

    def test_crowds(self):
        stop = threading.Event()

        def come_and_stay():
            held = []
            while not stop.is_set():
                try:
                    held.append(self.connect())
                except OSError:
                    time.sleep(0.01)
                if len(held) > 300:
                    held.pop(0).close()
            for peer in held:
                peer.close()

        crowd = threading.Thread(target=come_and_stay)
        crowd.start()
        try:
            late = self.trainer(f"127.0.0.1:{self.ports[0]}")
            self.await_word(late, "registered as number")
            self.assert_healthy()
        finally:
            stop.set()
            crowd.join()
        self.assertLess(self.memory(), 512 * MIB)


if __name__ == "__main__":
    programs.main()
