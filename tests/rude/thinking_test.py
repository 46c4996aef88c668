#!/usr/bin/env python3
"""Studies that think long, and clients that have much worked out for them:
nobody else waits for either."""

import asyncio
import json
import os
import signal
import sqlite3
import time
import unittest

import capnp

from programs import summing, wait_for
from rude import RudeCase, victim

# Nobody is to wait so long for an answer. On a machine of its own it is a
# second; here others compute as well.
ANSWER_SECONDS = 10

_parser = capnp.SchemaParser()
SERVICE = _parser.load(
    os.path.join(os.environ["HIPPO_SCHEMAS"], "service.capnp"),
    imports=[os.path.dirname(os.path.dirname(capnp.__file__))])
PROTOCOL = SERVICE.serviceProtocolVersion

TRAINING = """#!/bin/sh
mkdir -p "$HIPPO_X" 2>/dev/null
echo '{"metrics": {"m": 1.5}}' > "$2"
"""


def thinker(name, leaves, candidates, trials=1000):
    """A study whose sampler draws much for each of its trials."""
    space = ", ".join(f"h{i}: {{uniform: [0, 1]}}" for i in range(leaves))
    return (f"study: {name}\nworkload: {{files: [train.sh]}}\n"
            "objective: {metric: m, direction: minimize}\nmax_steps: 1\n"
            f"space: {{{space}}}\nalgorithm: {{tpe: {{startup: 1, candidates: "
            f"{candidates}}}}}\nbudget: {{trials: {trials}}}\n")


def heavy_preview(trials=500, pieces=1000):
    """A study that takes seconds to preview."""
    points = ", ".join(f"[{i}, {0.05 if i % 2 else 0.025}]"
                       for i in range(1, pieces))
    return (f"study: heavy\nworkload: {json.dumps(summing())}\n"
            "objective: {metric: total, direction: maximize}\n"
            f"max_steps: {pieces}\nspace:\n  lr: {{piecewise: [[0, "
            f"{{uniform: [0.01, 0.1]}}], {points}]}}\n"
            f"algorithm: random\nbudget: {{trials: {trials}}}\n")


class ThinkingCase(RudeCase):
    def setUp(self):
        super().setUp()
        path = self.write("train.sh", TRAINING)
        os.chmod(path, 0o755)

    def assert_answers(self):
        """`ls` and /healthz come, whoever thinks."""
        for _ in range(5):
            self.state_of("victim")
            self.assertEqual(self.get("/healthz")[0], 200)
            time.sleep(0.2)
        what, seconds = self.slowest()
        self.assertLess(seconds, ANSWER_SECONDS, what)


class SamplerBomb(ThinkingCase):
    def test_is_refused_with_the_number_that_would_do(self):
        refused = self.submit(thinker("bomb", 2000, 10000), code=None)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("algorithm.tpe.candidates", refused.stderr)
        self.assertIn("20000000 draws for each trial, and at most",
                      refused.stderr)


class WithinLimits(ThinkingCase):
    def test_a_victim_beside_it_is_as_alone(self):
        for i in range(2):
            self.submit(thinker(f"thinker{i}", 200, 500))
        study = victim()
        self.submit(study)
        self.assert_answers()
        self.assert_unharmed(study)


class Restart(ThinkingCase):
    def test_a_service_answers_while_its_studies_catch_up(self):
        for i in range(2):
            self.submit(thinker(f"thinker{i}", 200, 500))
        wait_for("some results", lambda: '"finished": 0' not in
                 self.get("/api/studies/thinker1")[1])
        time.sleep(5)
        self.kill_service()
        self.serve()
        self.assertLess(self.start_seconds, ANSWER_SECONDS)
        study = victim()
        self.submit(study)
        self.assert_answers()
        self.assert_unharmed(study)
        self.kill_service()
        self.serve()
        begin = time.monotonic()
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.wait(60), 0)
        self.assertLess(time.monotonic() - begin, 30)


class ManyUnended(ThinkingCase):
    """A service that is started with many studies that have not ended, each of
    which takes long to read."""

    COPIES = 20

    def copy(self):
        """Adds copies of the study to the database."""
        database = sqlite3.connect(self.path("state/hippo.db"))
        columns = [x[1] for x in database.execute("PRAGMA table_info(studies)")]
        others = ", ".join(x for x in columns if x not in ("id", "name"))
        database.executemany(
            f"INSERT INTO studies (name, {others}) SELECT ?, {others}"
            " FROM studies WHERE id = 1",
            [(f"copy-{i}",) for i in range(self.COPIES)])
        database.commit()
        database.close()

    def test_ports_open_and_are_answered_before_all_is_read(self):
        text = heavy_preview().replace("study: heavy", "study: first")
        self.submit(text.replace("algorithm: random", "algorithm: client"))
        self.end_service(self.service)
        self.copy()
        self.serve()
        self.assertLess(self.start_seconds, ANSWER_SECONDS)
        self.assert_answers()
        listed = json.loads(self.get("/api/studies")[1])
        self.assertEqual(len(listed), self.COPIES + 1)
        # Whatever the last one is at, nobody waits to cancel it.
        self.ask("cancel", f"copy-{self.COPIES - 1}")
        what, seconds = self.answers[-1]
        self.assertLess(seconds, ANSWER_SECONDS, what)
        self.assertEqual(self.state_of(f"copy-{self.COPIES - 1}"), "CANCELLED")
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)
        wait_for("all studies to be read", lambda: self.log().count(
            "goes on") >= self.COPIES, 300)
        print(f"{self.COPIES} studies: started in {self.start_seconds:.1f} s, "
              f"slowest answer {self.slowest()}", flush=True)


class Previews(ThinkingCase):
    async def flood(self, count, meanwhile):
        """Asks for previews on one connection and does something before it
        ends; returns what was refused by then."""
        async with capnp.kj_loop():
            stream = await capnp.AsyncIoStream.create_connection(
                "127.0.0.1", self.rpc)
            client = capnp.TwoPartyClient(stream)
            entrance = client.bootstrap().cast_as(SERVICE.Entrance)
            service = (await entrance.greet(PROTOCOL, "rude")).service
            refused = []

            async def one():
                try:
                    await service.preview(heavy_preview(), "heavy.yaml")
                except capnp.KjException as why:
                    refused.append(str(why))

            asked = [asyncio.ensure_future(one()) for _ in range(count)]
            await asyncio.sleep(1)
            await asyncio.get_running_loop().run_in_executor(None, meanwhile)
            for x in asked:
                x.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            return refused

    def test_nobody_waits_for_another_ones_previews(self):
        took = []

        def meanwhile():
            begin = time.monotonic()
            self.submit(victim())
            took.append(time.monotonic() - begin)

        refused = asyncio.run(self.flood(64, meanwhile))
        self.assertLess(took[0], ANSWER_SECONDS)
        # As many as may wait do, and one runs.
        self.assertGreater(len(refused), 30)
        self.assertIn("a client may have at most 16", refused[0])
        # What it asked for is forgotten with it.
        begin = time.monotonic()
        self.ask("preview", self.write("small.yaml", victim("small")))
        self.assertLess(time.monotonic() - begin, 2 * ANSWER_SECONDS)
        self.assert_unharmed(victim())


if __name__ == "__main__":
    unittest.main()
