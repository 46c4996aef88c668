#!/usr/bin/env python3
"""The victim of the tests beside this one, while nobody is rude to it."""

import unittest

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


if __name__ == "__main__":
    unittest.main()
