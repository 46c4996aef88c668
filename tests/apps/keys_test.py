#!/usr/bin/env python3
"""`hippo keys`: who may come in."""

import json
import os
import ssl
import stat
import time

import programs
from programs import Case

DAY = 24 * 60 * 60


def read(path):
    with open(path) as text:
        return text.read()


class KeysCase(Case):
    def keys(self, verb, *args, code=0):
        return self.hippo("keys", verb, *args, "--keys", self.path("keys"),
                          code=code)

    def refused(self, *args):
        done = self.keys(*args, code=2)
        self.assertEqual(done.out, "")
        return done.err

    def listed(self):
        return {x["name"]: x
                for x in json.loads(self.keys("ls", "-f", "json").out)}


class Keys(KeysCase):
    def test_from_nothing(self):
        self.keys("init", "--host", "hippo.example.org", "--host", "10.0.0.5")
        out = self.keys("add", "gpu1", "--role", "trainer").out
        self.assertIn(self.path("keys", "gpu1.pem"), out)
        self.keys("add", "ada", "--role", "client", "--days", 30)
        xs = self.listed()
        self.assertEqual(list(xs), ["service", "ada", "gpu1"])
        self.assertEqual([x["role"] for x in xs.values()],
                         ["service", "client", "trainer"])
        for name in "hippo", "localhost", "hippo.example.org", "10.0.0.5":
            self.assertIn(name, xs["service"]["hosts"])
        for name, days in ("gpu1", 825), ("ada", 30), ("service", 3650):
            self.assertIsNone(xs[name]["problem"])
            left = xs[name]["not_after"] - time.time()
            self.assertTrue((days - 1) * DAY < left <= days * DAY, name)
        table = self.keys("ls").out.splitlines()
        self.assertEqual(table[0].split(), ["name", "role", "until"])
        self.assertEqual(
            [x.split()[:2] for x in table[1:]],
            [["service", "service"], ["ada", "client"], ["gpu1", "trainer"]])

    def test_everything_is_private(self):
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        self.keys("init")
        self.keys("add", "gpu1", "--role", "trainer")
        for folder, folders, files in os.walk(self.path("keys")):
            for name in [".", *folders, *files]:
                mode = os.stat(os.path.join(folder, name)).st_mode
                self.assertEqual(stat.S_IMODE(mode) & 0o077, 0, name)

    def test_nothing_is_overwritten(self):
        self.keys("init")
        self.keys("add", "gpu1", "--role", "trainer")
        before = {x: read(self.path("keys", x))
                  for x in ("service.pem", "gpu1.pem")}
        self.assertIn("--renew", self.refused("init"))
        self.assertIn("--renew",
                      self.refused("add", "gpu1", "--role", "trainer"))
        self.assertIn("is the key of a trainer: choose another name",
                      self.refused("add", "gpu1", "--role", "client",
                                   "--renew"))
        for name, text in before.items():
            self.assertEqual(read(self.path("keys", name)), text)
        self.keys("init", "--renew")
        self.keys("add", "gpu1", "--role", "trainer", "--renew")
        for name, text in before.items():
            self.assertNotEqual(read(self.path("keys", name)), text)
        self.assertFalse(any(x["problem"] for x in self.listed().values()))

    def test_problems_are_listed(self):
        self.keys("init")
        for name in "a", "b", "c":
            self.keys("add", name, "--role", "client")
        os.chmod(self.path("keys", "a.pem"), 0o644)
        with open(self.path("keys", "b.pem"), "w") as out:
            out.write("\x1b[2Jrubbish")
        xs = self.listed()
        self.assertIn("chmod 600", xs["a"]["problem"])
        self.assertIn("b.pem", xs["b"]["problem"])
        self.assertIsNone(xs["c"]["problem"])
        table = self.keys("ls").out
        self.assertIn("chmod 600", table)
        self.assertNotIn("\x1b", table)

    def test_errors(self):
        for args in [("add", "x", "--role", "client"), ("ls",)]:
            self.assertIn("hippo keys init makes one", self.refused(*args))
        self.write("thesis.tex", "x")
        done = self.hippo("keys", "init", "--keys", self.folder, code=2)
        self.assertIn("(thesis.tex)", done.err)
        self.assertIn("neither a host name nor an IP address",
                      self.refused("init", "--host", "http://x"))
        self.assertFalse(os.path.exists(self.path("keys")))
        self.keys("init")
        self.assertIn("not '../x'",
                      self.refused("add", "../x", "--role", "client"))
        self.assertIn("root not in {trainer,client}",
                      self.refused("add", "x", "--role", "root"))
        # The authority has been there for a moment.
        self.assertRegex(
            self.refused("add", "x", "--role", "client", "--days", 0),
            "1 to (3650|3649) days, not 0")
        self.assertEqual(list(self.listed()), ["service"])
        self.assertIn("init, add or ls", self.hippo("keys", code=2).err)
        self.assertIn("foo", self.hippo("keys", "foo", code=2).err)

    def test_help_has_an_example(self):
        for verb in "init", "add", "ls":
            self.assertIn(f"Example: hippo keys {verb}",
                          self.hippo("keys", verb, "--help").out)

    def test_a_folder_that_cannot_be_made(self):
        self.write("file", "x")
        done = self.hippo("keys", "init", "--keys", self.path("file", "keys"),
                          code=1)
        self.assertIn("cannot make the folder", done.err)


class OtherPrograms(KeysCase):
    """Any TLS library can use the files, one file for each name."""

    def setUp(self):
        super().setUp()
        self.keys("init")

    def service(self, *roles):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("keys", "service.pem"))
        context.verify_mode = ssl.CERT_REQUIRED
        for role in roles:
            context.load_verify_locations(
                self.path("keys", "authority", role + ".crt"))
        return context

    def peer(self, name, role):
        self.keys("add", name, "--role", role)
        file = self.path("keys", name + ".pem")
        context = ssl.create_default_context(cafile=file)
        context.load_cert_chain(file)
        return context

    def meet(self, service, peer, host="hippo"):
        """Shakes hands in memory; returns whom the service sees."""
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        sides = [peer.wrap_bio(down, up, server_hostname=host),
                 service.wrap_bio(up, down, server_side=True)]
        for _ in range(4):
            for side in sides:
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    pass
        (((_, name),),) = sides[1].getpeercert()["subject"]
        return name

    def test_a_peer_comes_in(self):
        for name, role in ("gpu1", "trainer"), ("ada", "client"):
            peer = self.peer(name, role)
            for host in "hippo", "localhost", "127.0.0.1":
                self.assertEqual(
                    self.meet(self.service("trainer", "client"), peer, host),
                    f"{role}:{name}")

    def test_a_wrong_role_does_not(self):
        with self.assertRaisesRegex(ssl.SSLError, "VERIFY_FAILED"):
            self.meet(self.service("trainer"), self.peer("ada", "client"))

    def test_another_host_does_not(self):
        with self.assertRaisesRegex(ssl.SSLError, "Hostname mismatch"):
            self.meet(self.service("client"), self.peer("ada", "client"),
                      "other.example.org")


if __name__ == "__main__":
    programs.main()
