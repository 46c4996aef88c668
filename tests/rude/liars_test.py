#!/usr/bin/env python3
"""Trainers that lie, beside one that does not, while they stay connected."""

import json
import unittest

from programs import wait_for
from rude import CANCELLED, DIVERGED, Liar, RudeCase, victim


class Liars(RudeCase):
    # More leases than states that were tried, a few times each.
    MOST = 60

    def lie(self, answer, may_rest=True):
        """A victim beside a trainer that answers leases so."""
        device = wait_for("a trainer", lambda: next(
            iter(json.loads(self.get("/api/trainers")[1])), None))["device"]
        liar = Liar(self, self.port, answer, device)
        liar.peer.beat()
        liar.start()
        study = victim()
        self.submit(study)
        self.assert_unharmed(study)
        self.assertLess(liar.leases, self.MOST)
        self.assertLess(self.slowest()[1], 20)
        if may_rest:
            known = json.loads(self.get("/api/trainers")[1])
            self.assertTrue(liar.leases == 0
                            or any(x.get("sick") or x.get("failures")
                                   for x in known), known)
        return liar

    def test_diverged(self):
        def answer(peer, lease):
            first = lease["stages"][0]["begin"]
            peer.end(lease, min(first + 1, lease["stages"][-1]["end"]),
                     DIVERGED, "diverged: loss is nan")
        self.lie(answer, may_rest=False)

    def test_handed_back(self):
        self.lie(lambda peer, lease: peer.end(
            lease, lease["stages"][0]["begin"], CANCELLED, "not wanted"))

    def test_done_with_nothing(self):
        self.lie(lambda peer, lease: peer.end(
            lease, lease["stages"][-1]["end"]))

    def test_idle_with_a_lease(self):
        self.lie(lambda peer, lease: None)

    def test_a_checkpoint_that_is_not_there(self):
        def answer(peer, lease):
            stop = next((x for x in lease["stops"]
                         if x["save"] and not x["evaluate"]), None)
            if stop:
                at = stop["at"]
                node = next(x["node"] for x in lease["stages"]
                            if x["begin"] < at <= x["end"])
                peer.report(lease, at, saved=(
                    f"n{node}-s{at}-l{lease['number']}.ckpt", 123, 456))
            peer.end(lease, lease["stages"][0]["begin"], CANCELLED, "gone")
        self.lie(answer)


if __name__ == "__main__":
    unittest.main()
