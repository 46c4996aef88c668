#!/usr/bin/env python3
"""Clients that wait, do not read, flood, are silent or send halves, beside a
victim that must not notice."""

import asyncio
import os
import socket
import threading
import time
import unittest

import capnp

from rude import RudeCase, http, victim

_parser = capnp.SchemaParser()
SERVICE = _parser.load(
    os.path.join(os.environ["HIPPO_SCHEMAS"], "service.capnp"),
    imports=[os.path.dirname(os.path.dirname(capnp.__file__))])
PROTOCOL = SERVICE.serviceProtocolVersion

# What is asserted of an answer beside a flood, in seconds. The machine of a
# test does more than one thing at a time: what was measured is printed.
ANSWER_MAX = 10


def record(ask, seconds=0.5):
    """The bytes that a client sends for calls that hear no answer.

    @param ask starts them, given the entrance: each is of what the one before
           will have given
    """
    server = socket.create_server(("127.0.0.1", 0))
    heard = bytearray()
    done = threading.Event()

    def take():
        peer, _ = server.accept()
        peer.settimeout(0.2)
        while not done.is_set():
            try:
                more = peer.recv(1 << 20)
            except TimeoutError:
                continue
            if not more:
                break
            heard.extend(more)
        peer.close()

    async def say():
        async with capnp.kj_loop():
            stream = await capnp.AsyncIoStream.create_connection(
                "127.0.0.1", server.getsockname()[1])
            client = capnp.TwoPartyClient(stream)
            kept = ask(client.bootstrap().cast_as(SERVICE.Entrance))
            await asyncio.sleep(seconds)
            return kept

    taking = threading.Thread(target=take)
    taking.start()
    asyncio.run(say())
    done.set()
    taking.join()
    server.close()
    return bytes(heard)


class Clients(RudeCase):
    def connect(self, port, said, n):
        """Connections that say something and read nothing."""
        result = []
        for _ in range(n):
            peer = socket.create_connection(("127.0.0.1", port), 10)
            self.addCleanup(peer.close)
            peer.settimeout(2)
            try:
                peer.sendall(said)
            except OSError:
                pass  # it takes no more
            result.append(peer)
        return result

    def study_waiting(self):
        """A study that waits for its client, with a text of 1 MB."""
        text = victim("waiting", algorithm="client")
        text["space"] = {"lr": {"uniform": [0.01, 0.1]}}
        file = self.write("waiting.yaml", text)
        with open(file, "a") as more:
            more.write("# " + "x" * 900_000 + "\n")
        self.ask("submit", file)
        return "waiting"

    def assert_nobody_pays(self, what):
        """A victim is submitted and ends unharmed, and all are answered."""
        self.answers.clear()
        study = victim()
        self.submit(study)
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertEqual(self.get("/api/studies")[0], 200)
        self.assert_unharmed(study)
        who, seconds = self.slowest()
        print(f"{what}: slowest answer {who} {seconds:.2f} s, "
              f"{self.memory()} MiB", flush=True)
        self.assertLess(seconds, ANSWER_MAX)

    def test_waiting(self):
        name = self.study_waiting()

        def ask(entrance):
            study = entrance.greet(PROTOCOL, "w").service.study(name).study
            return [study.events(1 << 40, 0, 60000) for _ in range(200)]
        self.connect(self.rpc, record(ask), 9)
        self.assert_nobody_pays("waiting")

    def test_unread(self):
        name = self.study_waiting()

        def ask(entrance):
            study = entrance.greet(PROTOCOL, "w").service.study(name).study
            return [study.describe() for _ in range(120)]
        before = self.memory()
        self.connect(self.rpc, record(ask), 12)
        self.assert_nobody_pays("unread")
        self.assertLess(self.memory() - before, 300)

    def test_flooding(self):
        def ask(entrance):
            service = entrance.greet(PROTOCOL, "w").service
            return [service.list() for _ in range(5000)]
        self.connect(self.rpc, record(ask, 2), 5)
        self.assert_nobody_pays("flooding")

    def test_silent(self):
        self.connect(self.rpc, b"", 300)
        self.connect(self.http, b"", 300)
        self.assert_nobody_pays("silent")

    def test_halves(self):
        self.connect(self.http, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", 300)
        self.connect(self.http, b"POST /api/studies HTTP/1.1\r\nHost: "
                     b"localhost\r\nHippo-Page: 1\r\nContent-Type: "
                     b"application/json\r\nContent-Length: 1000000\r\n\r\n{",
                     100)
        # Half of a message of 4 MiB, which is not there in memory.
        self.connect(self.rpc, b"\0\0\0\0\0\0\x07\0" + b"\0" * 1000, 200)
        before = self.memory()
        self.assert_nobody_pays("halves")
        self.assertLess(self.memory() - before, 300)

    def test_greeted(self):
        """Who has said who he is, and then nothing for long."""
        self.connect(self.rpc, record(lambda x: [x.greet(PROTOCOL, "w")]), 256)
        time.sleep(12)
        self.assert_nobody_pays("greeted")

    def test_who_sends_half_a_request_is_told(self):
        begin = time.monotonic()
        said = http(self.http, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", 40)
        self.assertTrue(said.startswith(b"HTTP/1.1 408"), said)
        self.assertIn(b"within the time for it", said)
        self.assertLess(time.monotonic() - begin, 35)


if __name__ == "__main__":
    unittest.main()
