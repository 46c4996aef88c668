#!/usr/bin/env python3
"""The victim of the tests beside this one, while nobody is rude to it, and
while somebody only has much more to train."""

import json
import time
import unittest

from programs import summing, wait_for
from rude import Peer, RudeCase, victim


class Victim(RudeCase):
    def test_is_what_it_is_alone(self):
        peer = Peer(self.port, workload="another")
        self.addCleanup(peer.close)
        self.assertIsNotNone(peer.wait("welcome"))
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)
        self.assertEqual(self.get("/healthz")[0], 200)
        self.assertGreater(self.memory(), 10)
        self.assertLess(self.slowest()[1], 20)


class Behind(RudeCase):
    """One trainer, and a study before it whose paths take a minute each."""

    # A turn of seconds, and what a machine that does more than this needs.
    first_result_seconds = 20

    def submit_both(self, key):
        self.submit(victim("huge", steps=4000, eval_every=4000,
                           space={"lr": {"uniform": [0.01, 0.1]}},
                           algorithm="random", budget={"trials": 50}))
        wait_for("it to be trained",
                 lambda: any(x["lease"] for x in
                             json.loads(self.get("/api/trainers")[1])))
        self.submit(victim("small", steps=1, workload=summing(seed=key),
                           space={"lr": {"choice": [0.1, 0.2]}}))

    def assert_first_result(self):
        begin = time.monotonic()
        wait_for("the small study's first result", lambda: any(
            x["name"] == "small" and x["finished"] > 0 for x in
            json.loads(self.get("/api/studies")[1])))
        seconds = time.monotonic() - begin
        print(f"first result after {seconds:.1f} s", flush=True)
        self.assertLess(seconds, self.first_result_seconds)

    def test_of_the_same_key(self):
        self.submit_both(1)
        self.assert_first_result()

    def test_of_another_key_after_a_restart(self):
        self.submit_both(2)
        self.kill_service()
        self.serve()
        self.assert_first_result()


if __name__ == "__main__":
    unittest.main()
