#!/usr/bin/env python3
"""Peers of the depot that would keep others from it, or wait for ever."""

import asyncio
import os
import time
import unittest

import capnp

from programs import wait_for
from rude import RudeCase, victim

_parser = capnp.SchemaParser()


def schema(name):
    return _parser.load(
        os.path.join(os.environ["HIPPO_SCHEMAS"], f"{name}.capnp"),
        imports=[os.path.dirname(os.path.dirname(capnp.__file__))])


class Depot(RudeCase):
    def setUp(self):
        super().setUp()
        self.study = victim(steps=2)
        self.submit(self.study)
        self.assert_unharmed(self.study)
        root = self.path("state/checkpoints")
        self.key_folder = next(x for x in os.listdir(root)
                           if os.path.isdir(os.path.join(root, x)))
        self.place = os.path.join(root, self.key_folder)

    def talk(self, what):
        """Runs `what(self)` where depots can be asked."""
        async def main():
            async with capnp.kj_loop():
                return await asyncio.wait_for(what(), 60)
        return asyncio.run(main())

    async def depot(self):
        stream = await capnp.AsyncIoStream.create_connection("127.0.0.1",
                                                             self.rpc)
        client = capnp.TwoPartyClient(stream)
        entrance = client.bootstrap().cast_as(schema("service").Entrance)
        depot = (await entrance.depot()).depot.as_interface(
            schema("depot").Depot)
        return client, depot

    def test_who_holds_all_uploads_makes_room(self):
        async def go():
            mine, greedy = await self.depot()
            held = []
            for i in range(64):
                held.append(await greedy.store(self.key_folder,
                                               f"n1-s{i}-l9.ckpt", 1 << 30))
            self.assertFalse([x for x in held if x.failure.code])
            theirs, modest = await self.depot()
            begin = time.monotonic()
            for i in range(8):
                await held[-1 - i].upload.put(b"x")
                got = await modest.store(self.key_folder, f"n2-s{i}-l9.ckpt", 1)
                self.assertEqual(got.failure.code, 0, got.failure.message)
                # It is written as soon as it is there.
                self.assertEqual((await got.upload.put(b"x")).failure.code, 0)
            self.assertLess(time.monotonic() - begin, 20)
            del mine, theirs
        self.talk(go)

    def test_takes_no_name_but_those_of_leases(self):
        async def go():
            mine, depot = await self.depot()
            for name in ("code.json", "x", "../x", ".hidden", "n1-s1-l1"):
                got = await depot.store(self.key_folder, name, 2)
                self.assertNotEqual(got.failure.code, 0, name)
                self.assertIn("is not the name", got.failure.message)
            del mine
        self.talk(go)

    def test_waits_for_no_pipe(self):
        os.mkfifo(os.path.join(self.place, "pipe.ckpt"))
        os.symlink("/etc/hostname", os.path.join(self.place, "link.ckpt"))

        class Chunks(schema("depot").Chunks.Server):
            async def put(self, chunk, _context, **_):
                raise AssertionError("it was sent")

        async def go():
            mine, depot = await self.depot()
            for name in ("pipe.ckpt", "link.ckpt"):
                got = await depot.fetch(
                    self.key_folder, {"file": name, "bytes": 0, "digest": 0},
                    Chunks())
                self.assertIn("is no file but", got.failure.message)
            del mine
        self.talk(go)
        self.assertEqual(self.get("/healthz")[0], 200)
        self.ask("ls", seconds=20)

    def test_code_that_was_damaged_is_written_anew(self):
        os.chmod(self.write("run.sh", "#!/bin/sh\n"
                            """echo '{"metrics": {"m": 1.5}}' > "$2"\n"""),
                 0o755)
        own = {"study": "own", "workload": {"files": ["run.sh"]},
               "objective": {"metric": "m", "direction": "minimize"},
               "max_steps": 2, "space": {"a": {"choice": [1, 2]}},
               "algorithm": "grid"}
        self.submit(own)
        self.ask("pause", "own", code=None)
        wait_for("it to end or pause", lambda: self.state_of("own")
                 in ("PAUSED", "COMPLETE"))
        root = self.path("state/checkpoints")
        files = [os.path.join(root, x, "code.json") for x in os.listdir(root)]
        for file in filter(os.path.exists, files):
            with open(file, "r+b") as code:
                code.write(b"damaged")
        self.submit({**own, "study": "again",
                     "space": {"a": {"choice": [3, 4]}}})
        self.ask("resume", "own", code=None)
        for name in ("own", "again"):
            wait_for(f"{name} to end",
                     lambda: self.state_of(name) == "COMPLETE", 60)


if __name__ == "__main__":
    unittest.main()
